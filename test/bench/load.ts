// A closed-loop client: on each keep-alive connection, it sends the next request as soon as the response is complete.
// The request comes over IPC.
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { lengthOf } from './http-answer.ts';
import { readCpu, readResident } from './measure.ts';

/** The load that the client creates. */
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

/** The measured result. */
export interface Measured {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Measured while all connections are open. */
  readonly residentMegabytes: number;
  readonly p99Milliseconds: number;
  /** The first error, if any. */
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
    // One after the other: connections beyond the listen backlog would wait for a SYN retransmission.
    // oxlint-disable-next-line no-await-in-loop
    await once(socket, 'connect');
    sockets.push(socket);
  }
  const times: number[] = [];
  const bytes = Buffer.from(request, 'latin1');
  const expected = Buffer.from(`HTTP/1.1 ${status} `);
  let failure: string | undefined;
  /** The length of the last response. A chunk of the same length is taken as a complete response without parsing. */
  let lastLength = 0;

  const cpuBefore = readCpu(pid);
  const started = performance.now();
  let sent = 0;
  const exchange = (socket: Socket): Promise<void> =>
    new Promise((done) => {
      let isFirst = true;
      let chunks: Buffer[] = [];
      let sentAt = 0;
      const send = (): void => {
        sent += 1;
        chunks = [];
        sentAt = performance.now();
        socket.write(bytes);
      };
      const fail = (message: string): void => {
        failure ??= message;
        done();
      };
      const next = (): void => {
        // All first requests are sent at once, so their latency only shows the number of connections.
        if (!isFirst) times.push(performance.now() - sentAt);
        isFirst = false;
        if (sent < requests && failure === undefined) send();
        else done();
      };
      socket.on('error', ({ message }) => fail(message));
      socket.setTimeout(30_000, () => fail('no answer for 30 s'));
      socket.on('close', () => fail('the server closed a connection'));
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
        if (answer.length > length || !answer.subarray(0, expected.length).equals(expected)) {
          fail(`expected ${status}, not: ${answer.toString('latin1', 0, 500)}`);
          return;
        }
        lastLength = length;
        next();
      });
      send();
    });

  await Promise.all(sockets.map(exchange));
  const seconds = (performance.now() - started) / 1000;
  const cpuSeconds = readCpu(pid) - cpuBefore;
  const residentMegabytes = readResident(pid);
  for (const socket of sockets) socket.removeAllListeners('close').destroy();
  const p99Milliseconds = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;
  return { seconds, cpuSeconds, residentMegabytes, p99Milliseconds, failure };
}
