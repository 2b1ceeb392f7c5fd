import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { createUpstream } from './upstream.ts';
import type { Answer, Seen, Upstream } from './upstream.ts';

/** The object of a domain, as RDAP has it (RFC 9083 §5.3). */
export function toDomainObject(name: string, changes: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ objectClassName: 'domain', ldhName: name, status: ['active'], ...changes });
}

/** Starts an RDAP server that has these names, and answers 404 for all others. */
export async function createRdapUpstream(names: readonly string[] = []): Promise<Upstream> {
  return await createUpstream((request) => answerRdap(request, names));
}

/** What an RDAP server that has these names answers. */
export function answerRdap({ path }: Seen, names: readonly string[]): Answer {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const headers = { 'content-type': 'application/rdap+json' };
  if (names.includes(name)) return { status: 200, headers, body: toDomainObject(name) };
  return { status: 404, headers, body: JSON.stringify({ errorCode: 404, title: 'Not Found' }) };
}

/** IANA's list, with as many services as it must have at least, and these beside them. */
export function toBootstrap(bases: Readonly<Record<string, string>>, fillers = 500): string {
  const services = [
    ...Object.entries(bases).map(([tld, base]) => [[tld], [base]]),
    ...Array.from({ length: fillers }, (_, index) => [[`filler${index}`], ['https://rdap.example.com/']]),
  ];
  return JSON.stringify({ version: '1.0', publication: '2026-02-13T23:00:01Z', services });
}

/** Starts a server of IANA's list. */
export async function createBootstrapUpstream(bases: Readonly<Record<string, string>>): Promise<Upstream> {
  return await createUpstream(() => ({ status: 200, headers: { etag: '"1"' }, body: toBootstrap(bases) }));
}

/** What a WHOIS or DAS server does with a line: a text that it sends before it closes, or whatever it does by itself. */
export type TextAnswer = string | Buffer | ((socket: Socket) => void);

/** A real WHOIS or DAS server in the place of that of a registry. */
export interface TextUpstream {
  /** As `host:port`. */
  readonly address: string;
  /** The lines that reached it. */
  readonly seen: readonly string[];
}

/** Starts a server of text over TCP that answers each line as told, until the test ends. */
export async function createTextUpstream(answer: (line: string) => TextAnswer): Promise<TextUpstream> {
  const seen: string[] = [];
  const server = createServer((socket) => {
    let received = '';
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString();
      if (!received.endsWith('\r\n')) return;
      seen.push(received.slice(0, -2));
      const told = answer(received.slice(0, -2));
      if (typeof told === 'function') told(socket);
      else socket.end(told);
    });
  });
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}
