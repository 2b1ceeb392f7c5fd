// An open-loop client: it sends requests at a steady rate, whether or not the server keeps up. The request comes over IPC.
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { switchTo } from './checkouts.ts';
import { lengthOf } from './http-answer.ts';

/** The load that the client creates. */
export interface SteadyLoad {
  readonly port: number;
  /** The full text of the request. */
  readonly request: string;
  /** The link to the served release, and the release to switch it to; undefined if it stays. */
  readonly change?: { readonly link: string; readonly release: string } | undefined;
}

/** The measured result, from the switch until the first response of the new release. */
export interface SteadyMeasured {
  readonly seconds: number;
  readonly p99Milliseconds: number;
  /** The first error, if any. */
  readonly failure?: string | undefined;
}

const perSecond = 500;
const connections = 32;
const settleMs = 1500;
/** How long is measured if the release is not switched. */
const unchangedMs = 1000;
const atMostMs = 120_000;

/** A response: when its request was due, how long after that it was complete, and its ETag. */
interface TimedResponse {
  readonly dueAt: number;
  readonly ms: number;
  readonly etag: string | undefined;
}

process.on('message', (load: SteadyLoad) => {
  const fail = (error: Error): Pick<SteadyMeasured, 'failure'> => ({ failure: error.message });
  void drive(load)
    .catch(fail)
    .then((measured) => process.send!(measured));
});

async function drive({ port, request, change }: SteadyLoad): Promise<SteadyMeasured> {
  const sockets: Socket[] = [];
  for (let count = 0; count < connections; count += 1) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    // oxlint-disable-next-line no-await-in-loop
    await once(socket, 'connect');
    sockets.push(socket);
  }
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
      // oxlint-disable-next-line no-await-in-loop
      await sleep(5);
    }
    const over = performance.now();
    await sender.stop();
    const times = sender.responses.filter(({ dueAt }) => dueAt >= changed && dueAt <= over).map(({ ms }) => ms);
    const p99Milliseconds = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]!;
    return { seconds: (over - changed) / 1000, p99Milliseconds };
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/**
 * Sends each request when it is due, on a free connection. If no connection is free, the request waits, and the wait
 * counts as latency, as it does for real clients.
 */
function sendSteadily(sockets: readonly Socket[], bytes: Buffer) {
  const responses: TimedResponse[] = [];
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
    responses: responses as readonly TimedResponse[],
    /** Sends no more requests, and waits for the open ones. */
    async stop() {
      clearInterval(timer);
      for (const end = performance.now() + 10_000; due.length > 0 || free.length < sockets.length;) {
        failure ??= performance.now() > end ? new Error('no answer for 10 s') : undefined;
        if (failure) break;
        // oxlint-disable-next-line no-await-in-loop
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
