import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { PlatformStatus } from '../../server/status/platform.ts';
import type { Logger } from '../../server/log.ts';
import { createStatus } from '../../server/status/service.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { until } from '../helpers/upstream.ts';

const up: PlatformStatus = { status: 'up' };
const broken: PlatformStatus = { status: 'disrupted', disrupted: ['Panel'] };
const second = 1000;

// Fakes only the service's timers: files and sockets stay real.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }));
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0.5));
afterEach(() => void vi.useRealTimers());
afterEach(() => void vi.restoreAllMocks());

/** Creates the service with a fake source, whose next read returns `answer`. */
function createWorld(
  { file, cacheMs = 15 * second }: { file?: string; cacheMs?: number } = {},
  answer = () => Promise.resolve(up),
) {
  const failures: string[] = [];
  const record =
    (subject: string) =>
    ({ err }: { err: NodeJS.ErrnoException }) =>
      void failures.push(`${subject}: ${err.code ?? String(err)}`);
  const world = { answer, reads: 0, closed: false, failures };
  const source = {
    read() {
      world.reads += 1;
      return world.answer();
    },
    close() {
      world.closed = true;
      return Promise.resolve();
    },
  };
  const info = (message: string): void => void failures.push(message.replace('the status of the platform is ', ''));
  const log = { error: record('file'), warn: record('source'), info } as unknown as Logger;
  const status = createStatus(source, log, cacheMs, file);
  onTestFinished(() => status.stop());
  status.start();
  return Object.assign(world, { status });
}

describe('the state', () => {
  test('is read only for requests, and cached for 15 s', async () => {
    const world = createWorld();
    await vi.advanceTimersByTimeAsync(60 * second);
    expect(world.reads).toBe(0);
    expect(await world.status.read()).toEqual(up);
    world.answer = () => Promise.resolve(broken);
    await vi.advanceTimersByTimeAsync(15 * second - 1);
    expect(await world.status.read()).toEqual(up);
    expect(world.reads).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await world.status.read()).toEqual(broken);
    expect(world.reads).toBe(2);
  });

  test('stays for 60 s after a failed read, and is read again every 2 s', async () => {
    const world = createWorld();
    await world.status.read();
    world.answer = () => Promise.reject(new Error('away'));
    await vi.advanceTimersByTimeAsync(15 * second);
    expect(await world.status.read()).toEqual(up);
    expect(world.reads).toBe(2);
    await vi.advanceTimersByTimeAsync(60 * second - 1);
    expect(await world.status.read()).toEqual(up);
    await vi.advanceTimersByTimeAsync(1);
    expect(await world.status.read()).toBeUndefined();
    world.answer = () => Promise.resolve(broken);
    const { reads } = world;
    await vi.advanceTimersByTimeAsync(2 * second - 2);
    expect(await world.status.read()).toBeUndefined();
    expect(world.reads).toBe(reads);
    await vi.advanceTimersByTimeAsync(1);
    expect(await world.status.read()).toEqual(broken);
    await vi.advanceTimersByTimeAsync(120 * second);
    expect(await world.status.read()).toEqual(broken);
  });

  test('is unknown after ten minutes, also while a read hangs', async () => {
    const world = createWorld();
    await world.status.read();
    const { promise, resolve } = Promise.withResolvers<PlatformStatus>();
    world.answer = () => promise;
    await vi.advanceTimersByTimeAsync(595 * second);
    const last = world.status.read();
    await vi.advanceTimersByTimeAsync(5 * second);
    expect(await last).toEqual(up);
    const next = world.status.read();
    await vi.advanceTimersByTimeAsync(5 * second);
    expect(await next).toBeUndefined();
    resolve(broken);
  });

  test('is returned at once while a failing source hangs', async () => {
    const world = createWorld();
    await world.status.read();
    world.answer = () => Promise.reject(new Error('away'));
    await vi.advanceTimersByTimeAsync(15 * second);
    await world.status.read();
    const { promise, resolve } = Promise.withResolvers<PlatformStatus>();
    world.answer = () => promise;
    await vi.advanceTimersByTimeAsync(3 * second);
    expect(await world.status.read()).toEqual(up);
    expect(world.reads).toBe(3);
    resolve(broken);
  });

  test('is awaited for 5 s during the first read', async () => {
    const world = createWorld();
    const { promise, resolve } = Promise.withResolvers<PlatformStatus>();
    world.answer = () => promise;
    const [early, late] = [world.status.read(), world.status.read()];
    await vi.advanceTimersByTimeAsync(5 * second);
    expect(await early).toBeUndefined();
    expect(await late).toBeUndefined();
    const next = world.status.read();
    await vi.advanceTimersByTimeAsync(4 * second);
    resolve(broken);
    expect(await next).toEqual(broken);
    expect(world.reads).toBe(1);
  });

  test('is reported once as unreadable, until a read succeeds', async () => {
    const world = createWorld({ cacheMs: 0 });
    world.answer = () => Promise.reject(new Error('away'));
    await world.status.read();
    await vi.advanceTimersByTimeAsync(2 * second);
    await world.status.read();
    expect(world.failures).toEqual(['source: Error: away']);
    world.answer = () => Promise.resolve(up);
    await vi.advanceTimersByTimeAsync(2 * second);
    await world.status.read();
    world.answer = () => Promise.reject(new Error('away again'));
    await world.status.read();
    expect(world.failures).toEqual(['source: Error: away', 'known again', 'source: Error: away again']);
  });

  test.each([-3600, 3600])('does not depend on the wall clock, which is set by %s s', async (seconds) => {
    const world = createWorld();
    await world.status.read();
    world.answer = () => Promise.reject(new Error('away'));
    await vi.advanceTimersByTimeAsync(15 * second);
    expect(await world.status.read()).toEqual(up);
    vi.setSystemTime(Date.now() + seconds * second);
    await vi.advanceTimersByTimeAsync(59 * second);
    expect(await world.status.read()).toEqual(up);
    await vi.advanceTimersByTimeAsync(second);
    expect(await world.status.read()).toBeUndefined();
  });
});

describe('the snapshot', () => {
  const place = (): string => join(temporaryFolder(), 'public', 'status.json');
  const textOf = (file: string): string => {
    try {
      return readFileSync(file, 'utf8');
    } catch {
      return '';
    }
  };
  const expectFile = (file: string, value: unknown): Promise<void> =>
    until(`the file holds ${JSON.stringify(value)}`, () => textOf(file) === JSON.stringify(value));

  test('is written at once with the content of the response, readable for all users', async () => {
    const file = place();
    const world = createWorld({ file });
    await expectFile(file, up);
    expect(world.reads).toBe(1);
    expect(statSync(file).mode & 0o444).toBe(0o444);
    expect(readdirSync(dirname(file))).toEqual(['status.json']);
  });

  test('follows changes without requests, and is never replaced by an unknown state', async () => {
    const file = place();
    const world = createWorld({ file });
    await expectFile(file, up);
    world.answer = () => Promise.resolve(broken);
    await vi.advanceTimersByTimeAsync(16 * second);
    await expectFile(file, broken);
    world.answer = () => Promise.reject(new Error('away'));
    await vi.advanceTimersByTimeAsync(300 * second);
    expect(await world.status.read()).toBeUndefined();
    expect(textOf(file)).toBe(JSON.stringify(broken));
    world.answer = () => Promise.resolve(up);
    await vi.advanceTimersByTimeAsync(3 * second);
    await expectFile(file, up);
  });

  test.each([
    ['of the last ten minutes is the state until the first read of a start', 9, JSON.stringify(broken), broken],
    ['that is older is not used', 11, JSON.stringify(broken), undefined],
    ['of an unknown state is not used', 1, '{"status":"error"}', undefined],
    ['that is damaged is not used', 1, '{"status":"u', undefined],
  ])('%s', async (_, minutes, text, expected) => {
    const file = join(temporaryFolder(), 'status.json');
    writeFileSync(file, text);
    const writtenAt = Date.now() / 1000 - minutes * 60;
    utimesSync(file, writtenAt, writtenAt);
    const { promise, resolve } = Promise.withResolvers<PlatformStatus>();
    const { status } = createWorld({ file }, () => promise);
    const answer = status.read();
    if (!expected) await vi.advanceTimersByTimeAsync(5 * second);
    expect(await answer).toEqual(expected);
    expect(textOf(file)).toBe(text);
    resolve(broken);
  });

  test('of an earlier process is shown for 60 s after a failed first read', async () => {
    const file = join(temporaryFolder(), 'status.json');
    writeFileSync(file, JSON.stringify(broken));
    const { status } = createWorld({ file }, () => Promise.reject(new Error('away')));
    expect(await status.read()).toEqual(broken);
    await vi.advanceTimersByTimeAsync(60 * second - 1);
    expect(await status.read()).toEqual(broken);
    await vi.advanceTimersByTimeAsync(1);
    expect(await status.read()).toBeUndefined();
  });

  test.each([15, 60])('is written every 30 seconds without changes, with a cache of %i s', async (cache) => {
    const file = place();
    createWorld({ file, cacheMs: cache * second });
    for (let round = 0; round < 3; round += 1) {
      await expectFile(file, up);
      rmSync(file);
      await vi.advanceTimersByTimeAsync(30 * second);
    }
    await expectFile(file, up);
  });

  test('is replaced atomically for constant readers', async () => {
    const file = place();
    const long: PlatformStatus = { status: 'disrupted', disrupted: ['x'.repeat(1_000_000)] };
    const world = createWorld({ file, cacheMs: 0 });
    await expectFile(file, up);
    const texts = new Set<string>();
    let round = 0;
    world.answer = () => Promise.resolve((round += 1) % 2 === 0 ? up : long);
    await until('it changed often', () => {
      void world.status.read();
      texts.add(readFileSync(file, 'utf8'));
      return round > 200;
    });
    expect(texts).toEqual(new Set([up, long].map((status) => JSON.stringify(status))));
  });

  test('is written again after a write error, which is reported once', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'public'), 'a file where the folder should be');
    const file = join(folder, 'public', 'status.json');
    const world = createWorld({ file });
    await until('it is reported', () => world.failures.length > 0);
    expect(await world.status.read()).toEqual(up);
    await vi.advanceTimersByTimeAsync(60 * second);
    expect(world.failures).toHaveLength(1);
    expect(world.failures[0]).toMatch(/^file: (?:EEXIST|ENOTDIR)$/);
    rmSync(join(folder, 'public'));
    await until('it is written', () => {
      vi.advanceTimersByTime(second);
      return textOf(file) === JSON.stringify(up);
    });
  });

  test('leaves no temporary file after a write error', async () => {
    const file = place();
    mkdirSync(join(file, 'taken'), { recursive: true });
    const world = createWorld({ file });
    await until('it is reported', () => world.failures.length > 0);
    await world.status.stop();
    expect(readdirSync(dirname(file))).toEqual(['status.json']);
  });

  test('is kept when the service stops, even if the closed source fails', async () => {
    const file = place();
    const world = createWorld({ file });
    await expectFile(file, up);
    const { promise, reject } = Promise.withResolvers<PlatformStatus>();
    world.answer = () => promise;
    await vi.advanceTimersByTimeAsync(16 * second);
    expect(world.reads).toBe(2);
    const stopping = world.status.stop();
    reject(new Error('closed'));
    await stopping;
    expect(world.closed).toBe(true);
    expect(textOf(file)).toBe(JSON.stringify(up));
    expect(world.failures).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
