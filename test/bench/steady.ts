// A client that asks at a steady rate, whether the server keeps up or not; what to ask comes over IPC.
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { switchTo } from './checkouts.ts';
import { lengthOf } from './http-answer.ts';

/** What the client does. */
export interface SteadyLoad {
  readonly port: number;
  /** The request, to the last byte. */
  readonly request: string;
  /** The link to the release that is served, and the release that it is made to lead to; nothing where it stays. */
  readonly change?: { readonly link: string; readonly release: string } | undefined;
}

/** What came of it, from the change until the first answer that is of the new release. */
export interface SteadyMeasured {
  readonly seconds: number;
  readonly p99Milliseconds: number;
  /** What went wrong, if anything did. */
  readonly failure?: string | undefined;
}

const perSecond = 500;
const connections = 32;
const settleMs = 1500;
/** How long is measured where nothing changes. */
const unchangedMs = 1000;
const atMostMs = 120_000;

/** An answer that came: when it should have been asked for, how long after that it was there, and its ETag. */
interface Answered {
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
  const asking = askSteadily(sockets, Buffer.from(request, 'latin1'));
  try {
    await sleep(settleMs);
    const before = asking.answered.at(-1)?.etag;
    const changed = performance.now();
    if (change) switchTo(change.link, change.release);
    const isOver = (): boolean =>
      change ? asking.answered.at(-1)?.etag !== before : performance.now() - changed > unchangedMs;
    while (!isOver()) {
      if (performance.now() - changed > atMostMs) throw new Error('the new release is not served');
      // oxlint-disable-next-line no-await-in-loop
      await sleep(5);
    }
    const over = performance.now();
    await asking.stop();
    const times = asking.answered.filter(({ dueAt }) => dueAt >= changed && dueAt <= over).map(({ ms }) => ms);
    const p99Milliseconds = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)]!;
    return { seconds: (over - changed) / 1000, p99Milliseconds };
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/**
 * Asks whenever a request is due, on a connection that is free; one that finds none waits, and its wait counts, as it
 * does for those who ask.
 */
function askSteadily(sockets: readonly Socket[], bytes: Buffer) {
  const answered: Answered[] = [];
  const due: number[] = [];
  const free = [...sockets];
  const started = performance.now();
  let count = 0;
  let failure: Error | undefined;
  const askAll = (): void => {
    while (due.length > 0 && free.length > 0) {
      const [socket, dueAt] = [free.pop()!, due.shift()!];
      readAnswer(socket, (etag) => {
        answered.push({ dueAt, ms: performance.now() - dueAt, etag });
        free.push(socket);
        askAll();
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
    askAll();
  }, 1);
  return {
    answered: answered as readonly Answered[],
    /** Asks for no more, and waits for what was asked for. */
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
