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
  /** Interim answers (1xx) and the final answer; empty if the connection closed without an answer. */
  readonly answers: readonly WireAnswer[];
  /** The state of the connection: usable, closed, or open and silent. */
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

/** Waits in steps: a process without CPU for seconds must not count as a silent server. */
async function countDown(ms: number, signal: AbortSignal): Promise<false> {
  for (let left = ms; left > 0; left -= 100) await sleep(100, undefined, { signal });
  return false;
}

/** Waits for more bytes; false if the connection ends or stays silent. */
async function hasMore(socket: Socket, patienceMs = silenceMs): Promise<boolean> {
  if (socket.destroyed || socket.readableEnded) return false;
  const abort = new AbortController();
  const { signal } = abort;
  const more = once(socket, 'data', { signal }).then(() => true);
  const end = once(socket, 'close', { signal }).then(() => false);
  const silence = countDown(patienceMs, signal);
  try {
    return await Promise.race([more, end, silence]);
  } finally {
    abort.abort();
    await Promise.allSettled([more, end, silence]);
  }
}

/** Requests `/health` on the same connection, unless the server announced its close. */
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

/** Common groups of header lines, by their name in a short record. */
const common: Readonly<Record<string, readonly string[]>> = {
  usual: ['connection: keep-alive', 'date: <date>', 'x-content-type-options: nosniff', 'x-request-id: <id>'],
  'any origin': [
    'access-control-allow-origin: *',
    'access-control-expose-headers: Accept-Ranges, Action-Outcome, Content-Location, Content-Range, ETag, ' +
      'Idempotent-Replayed, Idempotent-Request-Id, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, ' +
      'X-Domain-Unicode, X-Request-Id',
  ],
  closing: ['connection: close', 'x-content-type-options: nosniff', 'x-request-id: <id>'],
  dated: ['date: <date>'],
  JSON: ['content-type: application/json'],
  text: ['content-type: text/plain; charset=utf-8'],
  length: ['content-length: <body>'],
  ETag: ['etag: <body>'],
  'not stored': ['cache-control: no-store'],
  cached: ['cache-control: public, max-age=60, stale-while-revalidate=600, stale-if-error=86400'],
  'by encoding': ['vary: Accept-Encoding'],
  'by origin': ['vary: Origin'],
  limited: ['ratelimit-policy: "default";q=100;w=100', 'ratelimit: "default";r=99;t=<s>'],
  'limited as content': ['ratelimit-policy: "content";q=20000;w=100', 'ratelimit: "content";r=19999;t=<s>'],
};

/**
 * Formats a recorded exchange: status lines, all headers sorted by name, bodies and the state of the connection. Names
 * are in lower case, and lines with the same name are joined (RFC 9110 5.1, 5.3). Values that change in each run are
 * replaced: Date, generated request ids, the seconds of RateLimit, times in bodies.
 */
export function toRecord({ answers, connection }: Recorded, isVolatile: boolean): string {
  const texts = answers.map((answer) => {
    const text = answer.body.length > 0 ? [toText(answer.body, isVolatile)] : [];
    return [answer.statusLine, ...toLines(answer, isVolatile), '', ...text].join('\n');
  });
  return [...texts, `(${connection})`].join('\n');
}

/**
 * Formats a short record: the connection first, and names of the `common` header groups in brackets.
 * `<body>` is a length or a hash that agrees with the body.
 */
export function toShortRecord({ answers, connection }: Recorded, isVolatile: boolean): string {
  const texts = answers.map((answer) => {
    const { statusLine, body } = answer;
    const derived = [`content-length: ${body.length}`, `etag: "${hash('sha256', body).slice(0, 32)}"`];
    const lines = toLines(answer, isVolatile).map((line) =>
      body.length > 0 && derived.includes(line) ? line.replace(/:.*/, ': <body>') : line,
    );
    const names: string[] = [];
    for (const [name, ofName] of Object.entries(common)) {
      if (!ofName.every((line) => lines.includes(line))) continue;
      names.push(name);
      for (const line of ofName) lines.splice(lines.indexOf(line), 1);
    }
    return [`${statusLine} (${names.join(', ')})`, ...lines, ...(body.length > 0 ? [toText(body, isVolatile)] : [])];
  });
  return [connection, ...texts.flat()].join('\n').replace('\n', ': ');
}

function toLines({ headers }: WireAnswer, isVolatile: boolean): string[] {
  const byName = Map.groupBy(headers, ([name]) => name.toLowerCase());
  // Node.js adds its keep-alive timeout.
  byName.delete('keep-alive');
  const toLine = ([name, fields]: [string, typeof headers]): string =>
    `${name}: ${fields.map(([, value]) => toStable(name, value, isVolatile)).join(', ')}`;
  return [...byName].map(toLine).toSorted();
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
