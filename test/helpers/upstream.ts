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

/** A request received by an upstream. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Recognises actions: providers' APIs use GET only for reads. */
export const isPost = ({ method }: Seen): boolean => method === 'POST';

/** An upstream's answer. */
export interface Answer {
  readonly status: number;
  /** Custom reason phrase. */
  readonly reason?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Delay of the answer. */
  readonly ms?: number;
}

const always = (_request: Seen): boolean => true;

/** A fault: an unusual answer or a connection failure. */
export type Fault = Answer | 'hang' | 'stall' | 'drop' | 'cut' | 'garbage' | 'huge';

/** An HTTP server in place of an external system. */
export interface Upstream {
  readonly url: string;
  readonly server: Server;
  readonly seen: readonly Seen[];
  /** A client closed the connection in the middle of a huge answer. */
  wasLeft(): boolean;
  /** Fails all further requests that match. */
  fail(fault: Fault | undefined, matches?: (request: Seen) => boolean): void;
  /** Holds the answer to one request. Resolves when the request has arrived, to a function that releases the answer. */
  hold(isHeld?: (request: Seen) => boolean): Promise<() => void>;
  /** Clears the received requests and faults. */
  forget(): void;
  /** Stops at once; the port then refuses connections. */
  stop(): Promise<void>;
}

/** Registers a cleanup, by default for the end of the current test. */
export type OnEnd = (end: () => void | Promise<void>) => void;

/** Starts an upstream with given answers until the test ends. With a certificate and key, uses TLS. */
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
  const holds = new Set<{ isHeld: typeof always; arrive: (release: () => void) => void }>();
  const respond = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method, url: path, headers } = message;
    const request = { method: method!, path: path!, headers, body: await text(message) };
    seen.push(request);
    const hold = holds.values().find(({ isHeld }) => isHeld(request));
    if (hold) {
      holds.delete(hold);
      await new Promise<void>(hold.arrive);
    }
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
    hold: (isHeld = always) => new Promise((arrive) => holds.add({ isHeld, arrive })),
    forget() {
      seen.length = 0;
      fault = undefined;
    },
    stop,
  };
}

/** Starts an HTTP server until the test ends, and returns its URL. */
export async function serve(listener: RequestListener, host = '127.0.0.1'): Promise<string> {
  const server = createServer(listener);
  const port = await listen(server, host);
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://${host}:${port}`;
}

/** Creates a JSON answer. */
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

/** Writes an answer of 50 MB; resolves to true if the client disconnected before the end. */
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

/** Creates a log, with its text and parsed lines. */
export function createTestLog(level = 'trace') {
  const destination = new PassThrough();
  let output = '';
  destination.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const log = createLog({ level, destination });
  const parse = (line: string) => JSON.parse(line) as Record<string, unknown>;
  return { log, written: () => output, lines: () => output.split('\n').filter(Boolean).map(parse) };
}
