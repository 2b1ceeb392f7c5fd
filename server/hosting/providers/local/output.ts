import { createWriteStream, renameSync, statSync } from 'node:fs';
import type { WriteStream } from 'node:fs';
import { constants, open as openFile, realpath } from 'node:fs/promises';
import { once } from 'node:events';
import { dirname, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFolder } from '#common/folder.ts';
import type { Logger } from '../../../log.ts';
import { providerLogBytes, toLogEnd } from '../game-log.ts';
import type { ConsoleEvents } from '../types.ts';

/** The output of a local server: the newest lines in memory, and more in a file. */
export type ServerLog = ReturnType<typeof createServerLog>;

/** The lines for a new reader, as in Wings (websocket_log_count). */
const maxLines = 150;
const maxLineLength = 64 * 1024;
const maxFileBytes = 4 * 1024 * 1024;

/** The rate limit of Wings; a faster server is slowed down, and loses no lines. */
const linesPerMs = 20;

/** Creates the output of a server, for those who watch it; it appends to an existing log, which is rotated when it is full. */
export function createServerLog(file: string, log: Logger, watchers: ReadonlySet<ConsoleEvents>) {
  const previous = `${file}.1`;
  const recent: string[] = [];
  let stream: WriteStream | undefined;
  let size = 0;
  /** After an error nothing is written until the server's next start: a full disk must not end the server. */
  let isBroken = false;

  const fail = (error: unknown): void => {
    if (!isBroken) log.error({ err: error, file }, 'a log cannot be written');
    isBroken = true;
  };
  const open = (): WriteStream | undefined => {
    try {
      createFolder(dirname(file), 0o700);
      size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
      if (size > maxFileBytes) {
        renameSync(file, previous);
        size = 0;
      }
      return createWriteStream(file, { flags: 'a', mode: 0o600 }).on('error', fail);
    } catch (error) {
      fail(error);
      return undefined;
    }
  };
  const write = async (text: string): Promise<void> => {
    if (isBroken) return;
    if (size > maxFileBytes || stream?.destroyed) {
      stream?.end();
      stream = undefined;
    }
    const target = (stream ??= open());
    size += Buffer.byteLength(text);
    await new Promise((written) => (target ? target.write(text, written) : written(undefined)));
  };
  const append = async (lines: readonly string[]): Promise<void> => {
    if (lines.length === 0) return;
    for (const line of lines) {
      recent.push(line);
      for (const watcher of watchers) watcher.line(line);
    }
    recent.splice(0, recent.length - maxLines);
    await write(`${lines.join('\n')}\n`);
  };
  return {
    /** Reads a stream until it ends. Never throws. */
    async pump(source: Readable): Promise<void> {
      const decoder = new StringDecoder('utf8');
      let rest = '';
      isBroken = false;
      try {
        for await (const chunk of source as AsyncIterable<Buffer>) {
          const lines = (rest + decoder.write(chunk)).split('\n').map((line) => line.replace(/\r$/, ''));
          rest = lines.pop()!;
          if (rest.length > maxLineLength) {
            lines.push(rest);
            rest = '';
          }
          await append(lines);
          if (lines.length > linesPerMs) await sleep(lines.length / linesPerMs);
        }
      } catch {
        // The stream was destroyed, since a descendant kept its pipe open.
      }
      if (rest) await append([rest]);
    },
    /** The newest lines. */
    lines: (): readonly string[] => recent,
    /** Reads the end of the log file; undefined if there is none. */
    async latest(): Promise<string | undefined> {
      const newest = await readEnd(file);
      if (newest === undefined || newest.length > providerLogBytes) return newest && toLogEnd(newest);
      return toLogEnd(Buffer.concat([(await readEnd(previous)) ?? Buffer.alloc(0), newest]));
    },
    async close(): Promise<void> {
      if (!stream) return;
      const closed = once(stream, 'close').catch(() => undefined);
      stream.end();
      if (!stream.closed) await closed;
    },
  };
}

/**
 * Reads the end of a file in a server's folder; undefined if there is none. The server controls this folder, so links out
 * of it and special files are ignored.
 */
export async function readServerFile(folder: string, path: string): Promise<string | undefined> {
  try {
    const real = await realpath(path);
    if (!real.startsWith((await realpath(folder)) + sep)) return undefined;
    const bytes = await readEnd(real);
    return bytes && toLogEnd(bytes);
  } catch {
    return undefined;
  }
}

/** Reads the last bytes of a file: one more than is returned, so that truncation can be detected. */
async function readEnd(path: string): Promise<Buffer | undefined> {
  // Non-blocking, since opening a FIFO without a writer would block.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await openFile(path, flags).catch(() => undefined);
  if (!handle) return undefined;
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) return undefined;
    const length = Math.min(stats.size, providerLogBytes + 1);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, stats.size - length);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
