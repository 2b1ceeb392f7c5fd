import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { createLog } from '../../server/log.ts';
import type { Logger } from '../../server/log.ts';

/** A request as it reached an upstream. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** An answer of an upstream. */
export interface Answer {
  readonly status: number;
  /** The reason phrase, where the upstream has its own. */
  readonly reason?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const always = (_request: Seen): boolean => true;

/** How an upstream fails: an answer that it does not usually give, or something worse. */
export type Fault = Answer | 'hang' | 'stall' | 'drop' | 'cut' | 'garbage' | 'huge';

/** A real HTTP server in the place of an outside system. */
export interface Upstream {
  readonly url: string;
  readonly server: Server;
  /** The requests that reached it. */
  readonly seen: readonly Seen[];
  /** Whether a client went away in the middle of a huge answer. */
  wasLeft(): boolean;
  /** Fails from now on, on the requests that match. */
  fail(fault: Fault | undefined, matches?: (request: Seen) => boolean): void;
  /** Stops at once; the port refuses connections from then on. */
  stop(): Promise<void>;
}

/** What is told the end of what was started; that of the running test, where nothing else is said. */
export type OnEnd = (end: () => void | Promise<void>) => void;

/** Starts an upstream that answers as told, until the test ends; with a certificate and key, over TLS. */
export async function createUpstream(
  answer: (request: Seen) => Answer,
  { tls, onEnd = onTestFinished }: { tls?: { readonly key: string; readonly cert: string }; onEnd?: OnEnd } = {},
): Promise<Upstream> {
  const seen: Seen[] = [];
  let fault: Fault | undefined;
  let matches = always;
  let left = false;
  const serve = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = {
      method: message.method!,
      path: message.url!,
      headers: message.headers,
      body: await text(message),
    };
    seen.push(request);
    const failing = fault !== undefined && matches(request) ? fault : undefined;
    if (failing === 'huge') left = await writeHuge(response);
    else if (typeof failing === 'string') misbehave(failing, response);
    else write(failing ?? answer(request), response);
  };
  const listener = (message: IncomingMessage, response: ServerResponse): void =>
    // A client that goes away in the middle of its request is part of what is tested.
    void serve(message, response).catch(() => response.destroy());
  const server = tls ? createSecureServer(tls, listener) : createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
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
    stop,
  };
}

function write({ status, reason, headers = {}, body }: Answer, response: ServerResponse): void {
  if (reason === undefined) response.writeHead(status, headers);
  else response.writeHead(status, reason, headers);
  response.end(body);
}

function misbehave(fault: Exclude<Fault, Answer | 'huge'>, response: ServerResponse): void {
  if (fault === 'hang') return;
  if (fault === 'drop') response.socket!.destroy();
  else if (fault === 'garbage') response.socket!.end('220 this is another service altogether\r\n\r\n');
  else {
    response.writeHead(200, { 'content-length': 100 });
    response.write('{"data":', () => fault === 'cut' && response.socket!.destroy());
  }
}

/** Writes an answer that no client should read; answers whether the client went away before its end. */
async function writeHuge(response: ServerResponse): Promise<boolean> {
  response.writeHead(200);
  const chunk = Buffer.alloc(100_000, 'a');
  const chunks = Readable.from(Array.from({ length: 500 }, () => chunk));
  return await pipeline(chunks, response).then(
    () => false,
    () => true,
  );
}

/** Waits until something is so, and fails where that takes longer than 20 s. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  for (const end = performance.now() + 20_000; !holds();) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`);
    await sleep(5);
  }
}

/** A log whose lines can be read. */
export function createTestLog(): { log: Logger; written: () => string } {
  const destination = new PassThrough();
  let written = '';
  destination.on('data', (chunk: Buffer) => (written += chunk.toString()));
  return { log: createLog({ level: 'trace', format: 'json', destination }), written: () => written };
}
