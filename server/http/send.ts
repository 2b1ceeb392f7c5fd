import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { H3Event } from 'h3';
import type { JsonReply, Redirect, RouteReply } from './handle.ts';
import { toStoredReply } from './stored.ts';
import type { StoredFile } from './stored.ts';

/** Sends the reply of a route; returns the body. */
export function send(event: H3Event, reply: RouteReply, isPreview: boolean): unknown {
  if ('to' in reply) return sendRedirect(event, reply);
  return 'variants' in reply ? sendStored(event, reply, isPreview) : sendJson(event, reply);
}

/** The request and response of Node.js. */
export function nodeOf(event: H3Event) {
  const { req, res } = event.runtime!.node!;
  return { req: req as IncomingMessage, res: res as ServerResponse };
}

/** Sets the status and its reason phrase, which h3 leaves empty. */
export function setStatus(event: H3Event, status: number): void {
  event.res.status = status;
  event.res.statusText = STATUS_CODES[status]!;
}

/** Adds headers, given as alternating names and values. */
export function append(event: H3Event, headers: readonly string[] = []): void {
  for (let at = 0; at < headers.length; at += 2) event.res.headers.append(headers[at]!, headers[at + 1]!);
}

function sendJson(event: H3Event, { status, body, headers = {} }: JsonReply): string {
  const text = `${JSON.stringify(body)}\n`;
  setStatus(event, status);
  append(event, ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(text))]);
  append(event, ['Cache-Control', 'no-store', ...Object.entries(headers).flat()]);
  append(event, event.context.limits);
  return text;
}

function sendRedirect(event: H3Event, { to }: Redirect): string {
  setStatus(event, 302);
  append(event, ['Location', to, 'Cache-Control', 'no-cache', 'Content-Length', '0']);
  return '';
}

async function sendStored(event: H3Event, file: StoredFile, isPreview: boolean): Promise<unknown> {
  const { status, headers, variant, range } = toStoredReply(file, nodeOf(event).req, isPreview);
  const bytes = variant && (file.inMemory(variant) ?? (await file.read(variant, range)));
  // The response has begun, so it can only be broken off.
  if (bytes instanceof Readable) bytes.once('error', (error) => (event.context.failure = error));
  setStatus(event, status);
  append(event, headers);
  if (range && Buffer.isBuffer(bytes)) return bytes.subarray(range.start, range.end + 1);
  return bytes ?? '';
}
