import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { createLog } from '../../server/log.ts';
import { listen } from './free-port.ts';

/** A request that an upstream received. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Whether a request is an action; to read, the APIs of providers have GET alone. */
export const isPost = ({ method }: Seen): boolean => method === 'POST';

/** An answer of an upstream. */
export interface Answer {
  readonly status: number;
  /** The reason phrase, if the upstream sets one. */
  readonly reason?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** How long it takes. */
  readonly ms?: number;
}

const always = (_request: Seen): boolean => true;

/** A fault: an unusual answer, or a failure of the connection. */
export type Fault = Answer | 'hang' | 'stall' | 'drop' | 'cut' | 'garbage' | 'huge';

/** A real HTTP server that replaces an external system. */
export interface Upstream {
  readonly url: string;
  readonly server: Server;
  readonly seen: readonly Seen[];
  /** Whether a client closed the connection in the middle of a huge answer. */
  wasLeft(): boolean;
  /** Fails all following requests that match. */
  fail(fault: Fault | undefined, matches?: (request: Seen) => boolean): void;
  /** Forgets the received requests, and fails none. */
  forget(): void;
  /** Stops at once; the port refuses connections from then on. */
  stop(): Promise<void>;
}

/** Registers a cleanup; the default runs it when the current test ends. */
export type OnEnd = (end: () => void | Promise<void>) => void;

/** Starts an upstream with given answers; it stops when the test ends. With a certificate and key it uses TLS. */
export async function createUpstream(
  answer: (request: Seen) => Answer,
  {
    tls,
    onEnd = onTestFinished,
  }: { tls?: { readonly key: string; readonly cert: string }; onEnd?: OnEnd | undefined } = {},
): Promise<Upstream> {
  const seen: Seen[] = [];
  let fault: Fault | undefined;
  let matches = always;
  let left = false;
  const respond = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method, url: path, headers } = message;
    const request = { method: method!, path: path!, headers, body: await text(message) };
    seen.push(request);
    const failing = fault !== undefined && matches(request) ? fault : undefined;
    if (failing === 'huge') left = await writeHuge(response);
    else if (typeof failing === 'string') applyFault(failing, response);
    else {
      const given = failing ?? answer(request);
      if (given.ms) await sleep(given.ms);
      write(given, response);
    }
  };
  const listener = (message: IncomingMessage, response: ServerResponse): void =>
    // Some tests disconnect in the middle of a request.
    void respond(message, response).catch(() => response.destroy());
  const server = tls ? createSecureServer(tls, listener) : createServer(listener);
  const port = await listen(server);
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  onEnd(stop);
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    server,
    seen,
    wasLeft: () => left,
    fail(next, which = always) {
      fault = next;
      matches = which;
    },
    forget() {
      seen.length = 0;
      fault = undefined;
    },
    stop,
  };
}

/** Starts an HTTP server until the test ends, and returns its URL. */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  const port = await listen(server);
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${port}`;
}

/** An answer in JSON. */
export function json(status: number, body: unknown, type = 'application/json'): Answer {
  return { status, headers: { 'content-type': type }, body: JSON.stringify(body) };
}

function write({ status, reason, headers = {}, body }: Answer, response: ServerResponse): void {
  if (reason === undefined) response.writeHead(status, headers);
  else response.writeHead(status, reason, headers);
  response.end(body);
}

function applyFault(fault: Exclude<Fault, Answer | 'huge'>, response: ServerResponse): void {
  if (fault === 'hang') return;
  if (fault === 'drop') response.socket!.destroy();
  else if (fault === 'garbage') response.socket!.end('220 another service\r\n\r\n');
  else {
    response.writeHead(200, { 'content-length': 100 });
    response.write('{"data":', () => fault === 'cut' && response.socket!.destroy());
  }
}

/** Writes an answer of 50 MB; returns whether the client disconnected before its end. */
async function writeHuge(response: ServerResponse): Promise<boolean> {
  response.writeHead(200);
  const chunk = Buffer.alloc(100_000, 'a');
  const chunks = Readable.from(Array.from({ length: 500 }, () => chunk));
  return await pipeline(chunks, response).then(
    () => false,
    () => true,
  );
}

/** Waits until a condition holds; throws after 120 s. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  for (const end = performance.now() + 120_000; !holds();) {
    if (performance.now() > end) throw new Error(`timed out waiting until ${what}`);
    await sleep(5);
  }
}

/** A log, its text and its lines parsed. */
export function createTestLog(level = 'trace') {
  const destination = new PassThrough();
  let output = '';
  destination.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const log = createLog({ level, format: 'json', destination });
  const parse = (line: string) => JSON.parse(line) as Record<string, unknown>;
  return { log, written: () => output, lines: () => output.split('\n').filter(Boolean).map(parse) };
}
