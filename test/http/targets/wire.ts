import { hash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** An answer in its raw form. */
export interface WireAnswer {
  readonly statusLine: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

/** Everything received on one connection after one request. */
export interface Recorded {
  /** Interim answers (1xx) and the final one; empty if the connection was closed without an answer. */
  readonly answers: readonly WireAnswer[];
  /** The state of the connection: it serves another request, is closed, or is open and silent. */
  readonly connection: 'kept' | 'closed' | 'silent';
}

/** How long a connection may be idle before it counts as silent. */
const silenceMs = 3_000;

/** Sends one request on its own connection and records everything received. */
export async function exchange(port: number, bytes: Buffer, from?: string): Promise<Recorded> {
  const { answers, socket } = await ask(port, bytes, from);
  const connection = await probe(socket, valueOf(answers.at(-1), 'connection') === 'close');
  socket.destroy();
  return { answers, connection };
}

/** Sends one request on its own connection, waits for the answer as long as it takes, and closes the connection. */
export async function exchangeOnce(port: number, bytes: Buffer, from?: string): Promise<Recorded> {
  const { answers, socket } = await ask(port, bytes, from, 60_000);
  socket.destroy();
  return { answers, connection: 'closed' };
}

async function ask(port: number, bytes: Buffer, from = '127.0.0.1', patienceMs = silenceMs) {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  const isHead = bytes.toString('latin1', 0, 5) === 'HEAD ';
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => (received = Buffer.concat([received, chunk])));
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(bytes);
  const answers: WireAnswer[] = [];
  const isFinal = () => answers.some(({ statusLine }) => !statusLine.startsWith('HTTP/1.1 100 '));
  while (!isFinal()) {
    const next = readAnswer(received, isHead);
    if (next) {
      answers.push(next.answer);
      received = received.subarray(next.size);
    } else if (!(await hasMore(socket, patienceMs))) break;
  }
  return { answers, socket };
}

/** Waits for more bytes; false if the connection ends or stays silent. */
async function hasMore(socket: Socket, patienceMs = silenceMs): Promise<boolean> {
  if (socket.destroyed || socket.readableEnded) return false;
  const abort = new AbortController();
  const { signal } = abort;
  const more = once(socket, 'data', { signal }).then(() => true);
  const end = once(socket, 'close', { signal }).then(() => false);
  const silence = sleep(patienceMs, false, { signal });
  try {
    return await Promise.race([more, end, silence]);
  } finally {
    abort.abort();
    await Promise.allSettled([more, end, silence]);
  }
}

/** Requests `/health` on the same connection unless its close was announced. */
async function probe(socket: Socket, ends: boolean): Promise<Recorded['connection']> {
  if (!ends && socket.writable) socket.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
  if (!ends && (await hasMore(socket))) return 'kept';
  if (ends) while (await hasMore(socket));
  return socket.readableEnded || socket.destroyed ? 'closed' : 'silent';
}

function valueOf(answer: WireAnswer | undefined, header: string): string | undefined {
  return answer?.headers.find(([name]) => name.toLowerCase() === header)?.[1];
}

/** Reads the first answer of the bytes; undefined if it is incomplete. */
function readAnswer(bytes: Buffer, isHead: boolean): { answer: WireAnswer; size: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const headers = lines.map((line) => {
    const at = line.indexOf(':');
    return [line.slice(0, at), line.slice(at + 1).trim()] as const;
  });
  const head = { statusLine, headers, body: Buffer.alloc(0) };
  const start = end + 4;
  if (isHead || /^HTTP\/1\.1 (?:1\d\d|204|304) /.test(statusLine)) return { answer: head, size: start };
  if (valueOf(head, 'transfer-encoding') === 'chunked') {
    const last = bytes.indexOf('0\r\n\r\n', start);
    return last < 0 ? undefined : { answer: { ...head, body: bytes.subarray(start, last) }, size: last + 5 };
  }
  const size = start + Number(valueOf(head, 'content-length') ?? 0);
  return bytes.length < size ? undefined : { answer: { ...head, body: bytes.subarray(start, size) }, size };
}

/** The longest body that is recorded unchanged. */
const maxText = 200;

/**
 * Formats a recorded exchange: status lines, all headers sorted by name, bodies and the state of the connection. Names
 * are in lower case, and lines with the same name are joined (RFC 9110 5.1, 5.3). Values that change in each run are
 * replaced: Date, generated request ids, the seconds of RateLimit, times in bodies. The `usual` header lines are left out,
 * and those of them that an answer does not have are named, so that nothing is lost.
 */
export function toRecord({ answers, connection }: Recorded, isVolatile = false, usual: readonly string[] = []): string {
  const texts = answers.map(({ statusLine, headers, body }) => {
    const byName = Map.groupBy(headers, ([name]) => name.toLowerCase());
    // Node.js adds its keep-alive timeout.
    byName.delete('keep-alive');
    const lines = [...byName].map(([name, fields]) => {
      const values = fields.map(([, value]) => toStable(name, value, isVolatile));
      return `${name}: ${values.join(', ')}`;
    });
    const missing = usual.map((line) => line.split(':')[0]!).filter((name) => !byName.has(name));
    const head = [statusLine, ...lines.filter((line) => !usual.includes(line)).toSorted()];
    if (missing.length > 0) head.push(`(without ${missing.join(', ')})`);
    const text = body.length > 0 ? [toText(body, isVolatile)] : [];
    return [...head, ...(usual.length > 0 && text.length === 0 ? [] : ['']), ...text].join('\n');
  });
  return [...texts, `(${connection})`].join('\n');
}

function toStable(header: string, value: string, isVolatile: boolean): string {
  if (header === 'date') return '<date>';
  if (header === 'x-request-id' || header === 'idempotent-request-id')
    return value.replace(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, '<id>');
  if (header === 'ratelimit') return value.replaceAll(/;t=\d+/g, ';t=<s>');
  if (isVolatile && (header === 'etag' || header === 'content-length')) return `<${header}>`;
  return value;
}

function toText(body: Buffer, isVolatile: boolean): string {
  if (isVolatile) return '<body>';
  const text = body.toString().replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>');
  const isPlain = body.length <= maxText && /^[\n\x20-\x7e]*$/.test(text);
  if (isPlain) return text.endsWith('\n') ? text.slice(0, -1) : `${text}<no newline>`;
  return `<${body.length} bytes, sha256 ${hash('sha256', body)}>`;
}

/** Header lines that most answers have. */
export const usualLines = [
  'access-control-allow-origin: *',
  'access-control-expose-headers: Accept-Ranges, Action-Outcome, Content-Location, Content-Range, ETag, Idempotent-Replayed, ' +
    'Idempotent-Request-Id, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Domain-Unicode, X-Request-Id',
  'connection: keep-alive',
  'date: <date>',
  'x-content-type-options: nosniff',
  'x-request-id: <id>',
];
