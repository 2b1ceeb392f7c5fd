import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

/** The standard output or standard error of the process. Writing never waits for its reader. */
export interface Output {
  /** Queues text. If the queue is full, the text is dropped. */
  write(text: string): void;
  /** How many texts were dropped since the start. */
  dropped(): number;
  /** Resolves when the queue is written, or after {@link flushMs}. */
  flush(): Promise<void>;
}

/** Options of {@link openOutput}. */
interface OutputOptions {
  /** Called with the number of dropped texts, when something is written again. */
  readonly onDropped?: (count: number) => void;
}

/** At most this much waits for a reader; about 4,000 lines of the log. */
const maxQueueBytes = 1024 * 1024;

/** The size of a pipe's buffer. */
const maxWriteBytes = 64 * 1024;

/** How long the end of the process waits for the reader. */
const flushMs = 1000;

/** The minimum time between two reports of dropped texts while the queue is not empty. */
const reportMs = 1000;

/** The pause after a write that was not possible. It doubles up to the second value. */
const [minPauseMs, maxPauseMs] = [1, 50];

/**
 * Opens an output of the process. Its descriptor is non-blocking: a thread that waits for a reader would keep the process
 * from ending. What cannot be written is retried until the process ends. What is queued at an exit gets a last try.
 */
export function openOutput(standard: 1 | 2, { onDropped }: OutputOptions = {}): Output {
  const descriptor = openNonBlocking(standard);
  const queue = createQueue();
  let dropped = 0;
  let droppedBefore = 0;
  let isReporting = false;
  let reportedAt = -Infinity;
  let running: Promise<void> | undefined;
  /** The size of the write that a thread is executing. */
  let writing = 0;
  let flushUntil = Infinity;

  /** Reports dropped texts as soon as something is written again, but not once for each write to a slow reader. */
  const report = (): void => {
    if (dropped === 0 || (queue.bytes() > 0 && performance.now() < reportedAt + reportMs)) return;
    const count = dropped;
    dropped = 0;
    droppedBefore += count;
    reportedAt = performance.now();
    isReporting = true;
    onDropped?.(count);
    isReporting = false;
  };

  /** Writes until the queue is empty. */
  const run = async (): Promise<void> => {
    let pause = minPauseMs;
    while (queue.bytes() > 0) {
      const head = queue.head();
      writing = head.length;
      // oxlint-disable-next-line no-await-in-loop -- one write at a time keeps the order
      const written = await writeOnce(descriptor, head);
      writing = 0;
      queue.remove(written);
      pause = written > 0 ? minPauseMs : Math.min(2 * pause, maxPauseMs);
      if (written > 0) report();
      // oxlint-disable-next-line no-await-in-loop
      else await sleep(pause);
    }
    running = undefined;
  };

  process.on('exit', () => {
    const until = Math.min(flushUntil, performance.now() + flushMs);
    // The thread completes its write before the process ends.
    queue.remove(writing);
    while (queue.bytes() > 0) {
      const written = tryWrite(descriptor, queue.head());
      queue.remove(written);
      if (written === 0 && performance.now() >= until) return;
      if (written === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, maxPauseMs);
    }
  });

  return {
    write(text) {
      if (!queue.add(text, isReporting ? Infinity : maxQueueBytes)) dropped += 1;
      running ??= run();
    },
    dropped: () => droppedBefore + dropped,
    async flush() {
      flushUntil = performance.now() + flushMs;
      await Promise.race([running, sleep(flushMs)]);
    },
  };
}

/** Creates a queue of text with a limited size. */
function createQueue() {
  let texts: string[] = [];
  let head: Buffer = Buffer.alloc(0);
  let bytes = 0;
  return {
    bytes: () => bytes,
    /** Returns false if the text does not fit. */
    add(text: string, limit: number): boolean {
      const length = Buffer.byteLength(text);
      if (bytes + length > limit) return false;
      bytes += length;
      texts.push(text);
      return true;
    },
    /** The first bytes. */
    head(): Buffer {
      if (head.length === 0) {
        head = Buffer.from(texts.join(''));
        texts = [];
      }
      return head.subarray(0, maxWriteBytes);
    },
    /** Removes some of the first bytes, which have been written. */
    remove(count: number): void {
      head = head.subarray(count);
      bytes -= count;
    },
  };
}

/** Resolves to the number of written bytes; 0 if nothing could be written. */
function writeOnce(descriptor: number, bytes: Buffer): Promise<number> {
  return new Promise((resolve) => {
    write(descriptor, bytes, (error, written) => resolve(error ? 0 : written));
  });
}

function tryWrite(descriptor: number, bytes: Buffer): number {
  try {
    return writeSync(descriptor, bytes);
  } catch {
    return 0;
  }
}

/**
 * Opens a pipe or terminal once more, without blocking. The flag of the inherited descriptor would also apply to other
 * processes that have it. A file has no reader to wait for; its inherited descriptor shares its position with others.
 */
function openNonBlocking(standard: 1 | 2): number {
  if (fstatSync(standard).isFile()) return standard;
  try {
    return openSync(`/dev/fd/${standard}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    // A socket, or a pipe of another user, cannot be opened again. The stream of Node.js makes it non-blocking.
    void (standard === 1 ? process.stdout : process.stderr);
    return standard;
  }
}
