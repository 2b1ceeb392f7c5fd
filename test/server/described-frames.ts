import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { closeCodes, streamEvents } from '#contract/console-stream.ts';

/** An argument of the table, as any row may have it. */
interface Argument {
  readonly name: string;
  readonly values?: Readonly<Record<string, string>>;
  readonly json?: { safeParse(value: unknown): { success: boolean } };
}

/** Differences between console frames and the table of the contract. */
const differences: string[] = [];
let count = 0;

/** Returns the number of frames compared since the last call; throws if any differs from the table. */
export function takeFrames(): number {
  const compared = count;
  count = 0;
  const found = differences.splice(0);
  if (found.length > 0) throw new Error([...new Set(found)].join('\n'));
  return compared;
}

/** Compares a message of the service with the table. */
export function compareMessage(text: string): void {
  count += 1;
  const problem = findProblem(text);
  if (problem !== undefined) differences.push(`the stream sent ${text.slice(0, 200)}: ${problem}`);
}

/** Finds the difference of a message from the table, if any. */
export function findProblem(text: string): string | undefined {
  const message = JSON.parse(text) as { event: string; args: unknown[] };
  if (Object.keys(message).join() !== 'event,args') return 'it has other fields than event and args';
  const { event, args } = message;
  const row = Object.hasOwn(streamEvents, event) ? streamEvents[event as keyof typeof streamEvents] : undefined;
  if (row?.from !== 'service') return 'there is no such event';
  if (args.length !== row.args.length) return `it has ${args.length} arguments`;
  for (const [at, { name, values, json }] of row.args.entries() as ArrayIterator<[number, Argument]>) {
    const value = args[at];
    if (typeof value !== 'string') return `${name} is not a text`;
    if (values && !Object.hasOwn(values, value)) return `${name} has another value`;
    if (json && !json.safeParse(JSON.parse(value)).success) return `${name} has another shape`;
  }
  return undefined;
}

/** The close codes of the table, and codes that echo the client. */
const codes = new Set<number>([1000, 1001, ...Object.values(closeCodes).map(({ code }) => code)]);

function compareClose(code: number): void {
  count += 1;
  if (!codes.has(code)) differences.push(`the stream was closed with ${code}: there is no such code`);
}

/** The number of compared messages per connection; load tests send more, and measure memory. */
const maxCompared = 200;

/** Compares the frames of a stream, up to the maximum; server frames are unfragmented and unmasked. */
function createFrameReader(): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  let messages = 0;
  return (chunk) => {
    if (messages >= maxCompared) return;
    let bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    while (bytes.length >= 2) {
      const [head, length] = readLength(bytes);
      if (length === undefined || bytes.length < head + length) break;
      const payload = bytes.subarray(head, head + length);
      const opcode = bytes[0]! & 0x0f;
      if (opcode === 1) {
        messages += 1;
        compareMessage(payload.toString());
      }
      if (opcode === 8 && length >= 2) compareClose(payload.readUInt16BE());
      bytes = bytes.subarray(head + length);
    }
    rest = Buffer.from(bytes);
  };
}

/** Reads the lengths of head and payload of an unmasked frame; undefined if incomplete. */
export function readLength(bytes: Buffer): [head: number, length: number | undefined] {
  const short = bytes[1]! & 0x7f;
  if (short < 126) return [2, short];
  if (short === 126) return [4, bytes.length < 4 ? undefined : bytes.readUInt16BE(2)];
  return [10, bytes.length < 10 ? undefined : Number(bytes.readBigUInt64BE(2))];
}

// Every stream of a server in this process passes here; simulated Wings send no request id.
subscribe('net.server.socket', (message) => {
  const { socket } = message as { socket: Socket };
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  let read: ((chunk: Buffer) => void) | undefined;
  socket.write = (...args: [unknown, ...unknown[]]) => {
    const [chunk] = args;
    if (read) read(Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk as string));
    else if (typeof chunk === 'string' && /^HTTP\/1\.1 101 [^]*\r\nX-Request-Id: /.test(chunk))
      read = createFrameReader();
    return write(...args);
  };
});
