import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { listen } from './free-port.ts';
import { createUpstream } from './upstream.ts';
import type { Upstream } from './upstream.ts';

/** Creates IANA's bootstrap list: the given services, plus fillers up to the required minimum. */
export function toBootstrap(bases: Readonly<Record<string, string>>, fillers = 500): string {
  const services = [
    ...Object.entries(bases).map(([tld, base]) => [[tld], [base]]),
    ...Array.from({ length: fillers }, (_, index) => [[`filler${index}`], ['https://rdap.example.com/']]),
  ];
  return JSON.stringify({ version: '1.0', publication: '2026-02-13T23:00:01Z', services });
}

/** Starts a server for IANA's bootstrap list. */
export async function createBootstrapUpstream(bases: Readonly<Record<string, string>>): Promise<Upstream> {
  return await createUpstream(() => ({ status: 200, headers: { etag: '"1"' }, body: toBootstrap(bases) }));
}

/** Reaction of a WHOIS or DAS server to a line: a text to send before closing, or a function. */
export type TextAnswer = string | Buffer | ((socket: Socket) => void);

/**
 * Starts a TCP server in place of a registry's WHOIS or DAS server, until the test ends. `address` is its `host:port`,
 * `seen` holds the received lines.
 */
export async function createTextUpstream(answer: (line: string) => TextAnswer) {
  const seen: string[] = [];
  const server = createServer((socket) => {
    let received = '';
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString();
      if (!received.endsWith('\r\n')) return;
      seen.push(received.slice(0, -2));
      const response = answer(received.slice(0, -2));
      if (typeof response === 'function') response(socket);
      else socket.end(response);
    });
  });
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  const port = await listen(server);
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { address: `127.0.0.1:${port}`, seen };
}
