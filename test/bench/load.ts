// A client that keeps its connections and asks on each again as soon as it is answered; what to ask comes over IPC.
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { lengthOf } from './http-answer.ts';
import { readCpu, readResident } from './measure.ts';

/** What the client does. */
export interface Load {
  readonly port: number;
  /** The process of the server, which is measured from the first request to the last answer. */
  readonly pid: number;
  /** The request, to the last byte. */
  readonly request: string;
  /** The status that every answer must have. */
  readonly status: number;
  readonly connections: number;
  /** How many requests in all: a number and not a time, so that a machine that is busy with others changes less. */
  readonly requests: number;
}

/** What came of it. */
export interface Measured {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** While all connections are open. */
  readonly residentMegabytes: number;
  readonly p99Milliseconds: number;
  /** What went wrong first, if anything did. */
  readonly failure?: string | undefined;
}

process.on('message', (load: Load) => {
  const fail = (error: Error): Pick<Measured, 'failure'> => ({ failure: error.message });
  void drive(load)
    .catch(fail)
    .then((measured) => process.send!(measured));
});

async function drive({ port, pid, request, status, connections, requests }: Load): Promise<Measured> {
  const sockets: Socket[] = [];
  for (let count = 0; count < connections; count += 1) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    // One after the other: more at once than a server's backlog holds would wait for a second try of the kernel.
    // oxlint-disable-next-line no-await-in-loop
    await once(socket, 'connect');
    sockets.push(socket);
  }
  const times: number[] = [];
  const bytes = Buffer.from(request, 'latin1');
  const expected = Buffer.from(`HTTP/1.1 ${status} `);
  let failure: string | undefined;
  /** How long the last answer was: the next is mostly as long and comes at once, and is not parsed then. */
  let usual = 0;

  const cpuBefore = readCpu(pid);
  const started = performance.now();
  let sent = 0;
  const converse = (socket: Socket): Promise<void> =>
    new Promise((done) => {
      let isFirst = true;
      let kept: Buffer[] = [];
      let asked = 0;
      const ask = (): void => {
        sent += 1;
        kept = [];
        asked = performance.now();
        socket.write(bytes);
      };
      const fail = (message: string): void => {
        failure ??= message;
        done();
      };
      const next = (): void => {
        // The first requests of all come at once, and how long they wait for each other is how many they are.
        if (!isFirst) times.push(performance.now() - asked);
        isFirst = false;
        if (sent < requests && failure === undefined) ask();
        else done();
      };
      socket.on('error', ({ message }) => fail(message));
      socket.setTimeout(30_000, () => fail('no answer for 30 s'));
      socket.on('close', () => fail('the server closed a connection'));
      socket.on('data', (chunk) => {
        const isUsual = kept.length === 0 && chunk.length === usual;
        if (isUsual && chunk.compare(expected, 0, expected.length, 0, expected.length) === 0) {
          next();
          return;
        }
        kept.push(chunk);
        const answer = kept.length === 1 ? chunk : Buffer.concat(kept);
        const length = lengthOf(answer, status);
        if (length === undefined || answer.length < length) return;
        if (answer.length > length || !answer.subarray(0, expected.length).equals(expected)) {
          fail(`expected ${status}, not: ${answer.toString('latin1', 0, 500)}`);
          return;
        }
        usual = length;
        next();
      });
      ask();
    });

  await Promise.all(sockets.map(converse));
  const seconds = (performance.now() - started) / 1000;
  const cpuSeconds = readCpu(pid) - cpuBefore;
  const residentMegabytes = readResident(pid);
  for (const socket of sockets) socket.removeAllListeners('close').destroy();
  const p99Milliseconds = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;
  return { seconds, cpuSeconds, residentMegabytes, p99Milliseconds, failure };
}
