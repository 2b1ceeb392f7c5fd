// A client that keeps its connections and asks on each again as soon as it is answered; told over IPC what to ask.
import { connect } from 'node:net';

/** What the client does. */
export interface Load {
  readonly port: number;
  /** The request, to the last byte. */
  readonly request: string;
  /** The status that every answer must have. */
  readonly status: number;
  readonly connections: number;
  readonly seconds: number;
}

/** What came of it. */
export interface Measured {
  readonly requests: number;
  readonly seconds: number;
  /** In milliseconds. */
  readonly p99: number;
  /** What went wrong first, if anything did. */
  readonly failure?: string | undefined;
}

process.on('message', (load: Load) => void drive(load).then((measured) => process.send!(measured)));

async function drive({ port, request, status, connections, seconds }: Load): Promise<Measured> {
  const times: number[] = [];
  const bytes = Buffer.from(request, 'latin1');
  const expected = `HTTP/1.1 ${status} `;
  let failure: string | undefined;
  const started = performance.now();
  const end = started + seconds * 1000;

  const converse = (): Promise<void> =>
    new Promise((done) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      let missing = -1;
      let head = '';
      let asked = 0;
      const ask = (): void => {
        asked = performance.now();
        missing = -1;
        head = '';
        socket.write(bytes);
      };
      socket.on('connect', ask);
      socket.on('error', (error) => (failure ??= error.message));
      socket.on('close', () => done());
      socket.on('data', (chunk) => {
        let { length } = chunk;
        if (missing < 0) {
          const before = head.length;
          head += chunk.toString('latin1', 0, 4096);
          const ended = head.indexOf('\r\n\r\n');
          if (ended < 0) return;
          const [, content] = /\r\ncontent-length: (\d+)/i.exec(head.slice(0, ended)) ?? [];
          missing = status === 304 ? 0 : Number(content ?? Number.NaN);
          length -= ended + 4 - before;
          if (!head.startsWith(expected) || Number.isNaN(missing)) {
            failure ??= `expected ${status}, not: ${head.slice(0, ended)}`;
            socket.destroy();
            return;
          }
        }
        missing -= length;
        if (missing > 0) return;
        const now = performance.now();
        times.push(now - asked);
        if (now < end) ask();
        else socket.destroy();
      });
    });

  await Promise.all(Array.from({ length: connections }, converse));
  const sorted = times.toSorted((a, b) => a - b);
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
  return { requests: times.length, seconds: (performance.now() - started) / 1000, p99, failure };
}
