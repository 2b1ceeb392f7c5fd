// The client for both kinds of load, in a separate process. Receives the load over IPC and sends back the result; an
// error ends the process.
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { switchTo } from './bench.ts';
import type { Request } from './peers/answers.ts';
import { readCpu, readMemory } from './processes.ts';
import type { Figures } from './table.ts';

/** Sends the next request on each keep-alive connection as soon as the response is complete (closed loop). */
export interface Load {
  readonly port: number;
  /** Process of the server, measured from the first request to the last response. */
  readonly pid: number;
  readonly request: Request;
  /** Required status of every response. */
  readonly status: number;
  readonly connections: number;
  /** Total number of requests. A fixed number, unlike a fixed duration, is less sensitive to other load. */
  readonly requests: number;
}

/** Sends requests at a steady rate, even if the server does not keep up (open loop). */
export interface SteadyLoad {
  readonly port: number;
  readonly request: Request;
  /** The link to the served release and the target of the switch; undefined without a switch. */
  readonly change?: { readonly link: string; readonly release: string } | undefined;
}

const perSecond = 500;
const steadyConnections = 32;
const settleMs = 1500;
/** Duration of a measurement without a switch. */
const unchangedMs = 1000;

process.on('message', (load: Load | SteadyLoad) => {
  const measured = 'status' in load ? drive(load) : driveSteadily(load);
  void measured.then((figures) => process.send!(figures));
});

async function connectAll(port: number, connections: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let count = 0; count < connections; count += 1) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    // Connect sequentially: connections beyond the listen backlog would wait for a SYN retransmission.
    await once(socket, 'connect');
    socket.on('close', () => fail('the server closed a connection'));
    sockets.push(socket);
  }
  return sockets;
}

function closeAll(sockets: readonly Socket[]): void {
  for (const socket of sockets) socket.removeAllListeners('close').destroy();
}

function toBytes(port: number, { method, target, headers }: Request): Buffer {
  const lines = Object.entries({ Host: `127.0.0.1:${port}`, ...headers }).map((header) => `${header.join(': ')}\r\n`);
  return Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
}

function fail(message: string): never {
  throw new Error(message);
}

/** Returns the total length of a response: undefined until the head is complete, 0 without Content-Length. */
function lengthOf(answer: Buffer, status: number): number | undefined {
  const ended = answer.indexOf('\r\n\r\n');
  if (ended < 0) return undefined;
  if (status === 304) return ended + 4;
  const [, content] = /\r\ncontent-length: (\d+)/i.exec(answer.toString('latin1', 0, ended)) ?? [];
  return content === undefined ? 0 : ended + 4 + Number(content);
}

/** Calls `onAnswer` for each complete response on these connections; fails on an unexpected status. */
function readAnswers(
  sockets: readonly Socket[],
  status: number,
  onAnswer: (socket: Socket, answer: Buffer) => void,
): void {
  const expected = Buffer.from(`HTTP/1.1 ${status} `);
  const isExpected = (answer: Buffer): boolean =>
    answer.compare(expected, 0, expected.length, 0, expected.length) === 0;
  /** Length of the last response. A chunk of the same length counts as a complete response without parsing. */
  let lastLength = 0;
  for (const socket of sockets) {
    let chunks: Buffer[] = [];
    socket.on('data', (chunk) => {
      if (chunks.length === 0 && chunk.length === lastLength && isExpected(chunk)) {
        onAnswer(socket, chunk);
        return;
      }
      chunks.push(chunk);
      const answer = chunks.length === 1 ? chunk : Buffer.concat(chunks);
      const length = lengthOf(answer, status);
      if (length === undefined || answer.length < length) return;
      chunks = [];
      // A client over its limit is allowed one request a second.
      if (answer.length > length || (!isExpected(answer) && status !== 429)) {
        fail(`expected ${status}, not: ${answer.toString('latin1', 0, 500)}`);
      }
      if (isExpected(answer)) lastLength = length;
      onAnswer(socket, answer);
    });
  }
}

const toP99 = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;

async function drive({ port, pid, request, status, connections, requests }: Load): Promise<Figures> {
  const sockets = await connectAll(port, connections);
  const times: number[] = [];
  const bytes = toBytes(port, request);
  /** Start of the current request on each connection; 0 for the first request. */
  const sentAt = new Map(sockets.map((socket) => [socket, 0]));
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let answered = 0;
  let sent = sockets.length;
  readAnswers(sockets, status, (socket) => {
    const at = sentAt.get(socket)!;
    // First requests are sent at once, so their latency only shows the number of connections.
    if (at > 0) times.push(performance.now() - at);
    answered += 1;
    if (sent < requests) {
      sent += 1;
      sentAt.set(socket, performance.now());
      socket.write(bytes);
    } else if (answered === sent) end();
  });

  const cpuBefore = readCpu(pid);
  const started = performance.now();
  for (const socket of sockets) {
    socket.setTimeout(30_000, () => fail('no answer for 30 s'));
    socket.write(bytes);
  }
  await ended;
  const seconds = (performance.now() - started) / 1000;
  const figures = {
    cpuMicroseconds: ((readCpu(pid) - cpuBefore) / requests) * 1e6,
    requestsPerSecond: requests / seconds,
    p99Milliseconds: toP99(times),
    // Measured while all connections are open.
    residentMegabytes: readMemory(pid, 'VmRSS'),
    peakMegabytes: readMemory(pid, 'VmHWM'),
  };
  closeAll(sockets);
  return figures;
}

/** Measures from the switch to the first response of the new release. */
async function driveSteadily({ port, request, change }: SteadyLoad): Promise<Figures> {
  const sockets = await connectAll(port, steadyConnections);
  const bytes = toBytes(port, request);
  const responses: { dueAt: number; ms: number; etag: string | undefined }[] = [];
  /** Due times of requests that wait for a free connection, and of running requests. */
  const waiting: number[] = [];
  const underWay = new Map<Socket, number>();
  const free = [...sockets];
  // Send each request when it is due, on a free connection. Without a free connection, the request waits; the wait
  // counts as latency, as for real clients.
  const sendDue = (): void => {
    while (waiting.length > 0 && free.length > 0) {
      const socket = free.pop()!;
      underWay.set(socket, waiting.shift()!);
      socket.write(bytes);
    }
  };
  readAnswers(sockets, 200, (socket, answer) => {
    const dueAt = underWay.get(socket)!;
    const [, etag] = /\r\netag: ([^\r]+)/i.exec(answer.toString('latin1', 0, 2000)) ?? [];
    responses.push({ dueAt, ms: performance.now() - dueAt, etag });
    free.push(socket);
    sendDue();
  });
  const started = performance.now();
  let count = 0;
  const timer = setInterval(() => {
    const reached = Math.floor(((performance.now() - started) * perSecond) / 1000);
    for (; count < reached; count += 1) waiting.push(started + (count * 1000) / perSecond);
    sendDue();
  }, 1);

  await sleep(settleMs);
  const before = responses.at(-1)?.etag;
  const changed = performance.now();
  if (change) {
    switchTo(change.link, change.release);
    await until(120_000, 'the new release is not served', () => responses.at(-1)?.etag !== before);
  } else await sleep(unchangedMs);
  const over = performance.now();
  clearInterval(timer);
  await until(10_000, 'no answer for 10 s', () => waiting.length === 0 && free.length === sockets.length);
  closeAll(sockets);
  const times = responses.filter(({ dueAt }) => dueAt >= changed && dueAt <= over).map(({ ms }) => ms);
  return { wallSeconds: (over - changed) / 1000, p99Milliseconds: toP99(times) };
}

async function until(ms: number, failure: string, isDone: () => boolean): Promise<void> {
  for (const end = performance.now() + ms; !isDone();) {
    if (performance.now() > end) fail(failure);
    await sleep(5);
  }
}
