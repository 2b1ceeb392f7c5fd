// The client of both kinds of load, in a process of its own. The load comes over IPC, the measured result goes back.
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { switchTo } from './checkouts.ts';
import { readCpu, readResident } from './processes.ts';

/** On each keep-alive connection, the next request is sent as soon as the response is complete (a closed loop). */
export interface Load {
  readonly port: number;
  /** The process of the server, measured from the first request to the last response. */
  readonly pid: number;
  /** The full text of the request. */
  readonly request: string;
  /** The status that every response must have. */
  readonly status: number;
  readonly connections: number;
  /** The number of requests in all. It is not a duration, so that other load on the machine changes less. */
  readonly requests: number;
}

/** Requests are sent at a steady rate, whether or not the server keeps up (an open loop). */
export interface SteadyLoad {
  readonly port: number;
  /** The full text of the request. */
  readonly request: string;
  /** The link to the served release, and the release to switch it to; undefined if it stays. */
  readonly change?: { readonly link: string; readonly release: string } | undefined;
}

/** What is measured under a steady load: from the switch until the first response of the new release. */
export interface SteadyMeasured {
  readonly seconds: number;
  readonly p99Milliseconds: number;
}

/** What is measured under a load. */
export interface Measured extends SteadyMeasured {
  readonly cpuSeconds: number;
  /** Measured while all connections are open. */
  readonly residentMegabytes: number;
}

const perSecond = 500;
const steadyConnections = 32;
const settleMs = 1500;
/** How long is measured if the release is not switched. */
const unchangedMs = 1000;
const atMostMs = 120_000;

process.on('message', (load: Load | SteadyLoad) => {
  void ('status' in load ? drive(load) : driveSteadily(load))
    .catch(({ message }: Error) => ({ failure: message }))
    .then((measured) => process.send!(measured));
});

async function connectAll(port: number, connections: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let count = 0; count < connections; count += 1) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    // One after the other: connections beyond the listen backlog would wait for a SYN retransmission.
    await once(socket, 'connect');
    sockets.push(socket);
  }
  return sockets;
}

const toP99 = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;

/** The total length of a response. Undefined until its head is complete; 0 if it has no Content-Length. */
function lengthOf(answer: Buffer, status: number): number | undefined {
  const ended = answer.indexOf('\r\n\r\n');
  if (ended < 0) return undefined;
  const [, content] = /\r\ncontent-length: (\d+)/i.exec(answer.toString('latin1', 0, ended)) ?? [];
  if (content === undefined && status !== 304) return 0;
  return ended + 4 + (status === 304 ? 0 : Number(content));
}

async function drive({ port, pid, request, status, connections, requests }: Load): Promise<Measured> {
  const sockets = await connectAll(port, connections);
  const times: number[] = [];
  const bytes = Buffer.from(request, 'latin1');
  const expected = Buffer.from(`HTTP/1.1 ${status} `);
  /** The length of the last response. A chunk of the same length is taken as a complete response without parsing. */
  let lastLength = 0;

  const cpuBefore = readCpu(pid);
  const started = performance.now();
  let sent = 0;
  const exchange = (socket: Socket): Promise<void> =>
    new Promise((done, reject) => {
      let isFirst = true;
      let chunks: Buffer[] = [];
      let sentAt = 0;
      const send = (): void => {
        sent += 1;
        chunks = [];
        sentAt = performance.now();
        socket.write(bytes);
      };
      const next = (): void => {
        // All first requests are sent at once, so their latency only shows the number of connections.
        if (!isFirst) times.push(performance.now() - sentAt);
        isFirst = false;
        if (sent < requests) send();
        else done();
      };
      socket.on('error', reject);
      socket.setTimeout(30_000, () => reject(new Error('no answer for 30 s')));
      socket.on('close', () => reject(new Error('the server closed a connection')));
      socket.on('data', (chunk) => {
        const isSameLength = chunks.length === 0 && chunk.length === lastLength;
        if (isSameLength && chunk.compare(expected, 0, expected.length, 0, expected.length) === 0) {
          next();
          return;
        }
        chunks.push(chunk);
        const answer = chunks.length === 1 ? chunk : Buffer.concat(chunks);
        const length = lengthOf(answer, status);
        if (length === undefined || answer.length < length) return;
        const isExpected = answer.subarray(0, expected.length).equals(expected);
        // Of the requests of a client over its limit, one a second is allowed.
        if (answer.length > length || (!isExpected && status !== 429)) {
          reject(new Error(`expected ${status}, not: ${answer.toString('latin1', 0, 500)}`));
          return;
        }
        if (isExpected) lastLength = length;
        next();
      });
      send();
    });

  await Promise.all(sockets.map(exchange));
  const seconds = (performance.now() - started) / 1000;
  const cpuSeconds = readCpu(pid) - cpuBefore;
  const residentMegabytes = readResident(pid);
  for (const socket of sockets) socket.removeAllListeners('close').destroy();
  return { seconds, cpuSeconds, residentMegabytes, p99Milliseconds: toP99(times) };
}

async function driveSteadily({ port, request, change }: SteadyLoad): Promise<SteadyMeasured> {
  const sockets = await connectAll(port, steadyConnections);
  const sender = sendSteadily(sockets, Buffer.from(request, 'latin1'));
  try {
    await sleep(settleMs);
    const before = sender.responses.at(-1)?.etag;
    const changed = performance.now();
    if (change) switchTo(change.link, change.release);
    const isOver = (): boolean =>
      change ? sender.responses.at(-1)?.etag !== before : performance.now() - changed > unchangedMs;
    while (!isOver()) {
      if (performance.now() - changed > atMostMs) throw new Error('the new release is not served');
      await sleep(5);
    }
    const over = performance.now();
    await sender.stop();
    const times = sender.responses.filter(({ dueAt }) => dueAt >= changed && dueAt <= over).map(({ ms }) => ms);
    return { seconds: (over - changed) / 1000, p99Milliseconds: toP99(times) };
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/**
 * Sends each request when it is due, on a free connection. If no connection is free, the request waits, and the wait
 * counts as latency, as it does for real clients.
 */
function sendSteadily(sockets: readonly Socket[], bytes: Buffer) {
  const responses: { dueAt: number; ms: number; etag: string | undefined }[] = [];
  const due: number[] = [];
  const free = [...sockets];
  const started = performance.now();
  let count = 0;
  let failure: Error | undefined;
  const sendDue = (): void => {
    while (due.length > 0 && free.length > 0) {
      const [socket, dueAt] = [free.pop()!, due.shift()!];
      readAnswer(socket, (etag) => {
        responses.push({ dueAt, ms: performance.now() - dueAt, etag });
        free.push(socket);
        sendDue();
      });
      socket.write(bytes);
    }
  };
  for (const socket of sockets) {
    socket.on('error', (error) => (failure ??= error));
    socket.on('close', () => (failure ??= new Error('the server closed a connection')));
  }
  const timer = setInterval(() => {
    const reached = Math.floor(((performance.now() - started) * perSecond) / 1000);
    for (; count < reached; count += 1) due.push(started + (count * 1000) / perSecond);
    sendDue();
  }, 1);
  return {
    responses,
    /** Sends no more requests, and waits for the open ones. */
    async stop() {
      clearInterval(timer);
      for (const end = performance.now() + 10_000; due.length > 0 || free.length < sockets.length;) {
        failure ??= performance.now() > end ? new Error('no answer for 10 s') : undefined;
        if (failure) break;
        await sleep(5);
      }
      for (const socket of sockets) socket.removeAllListeners('close');
      if (failure) throw failure;
    },
  };
}

function readAnswer(socket: Socket, done: (etag: string | undefined) => void): void {
  let answer = Buffer.alloc(0);
  const take = (chunk: Buffer): void => {
    answer = Buffer.concat([answer, chunk]);
    const length = lengthOf(answer, 200);
    if (length === undefined || answer.length < length) return;
    socket.off('data', take);
    if (answer.toString('latin1', 0, 12) !== 'HTTP/1.1 200') {
      socket.destroy(new Error(`expected 200, not: ${answer.toString('latin1', 0, 500)}`));
      return;
    }
    done(/\r\netag: ([^\r]+)/i.exec(answer.toString('latin1', 0, 2000))?.[1]);
  };
  socket.on('data', take);
}
