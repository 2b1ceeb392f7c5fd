import { expect, test } from 'vitest';
import { createReadLatestLog } from '../../server/hosting/service.ts';
import type { GameProvider } from '../../server/hosting/providers/types.ts';
import type { ServerRecord } from '../../server/store/types.ts';
import { ProviderError } from '../../server/upstream/client.ts';

const record: ServerRecord = {
  server: 'game:mc',
  provider: 'panel',
  ref: 'one',
  logFile: null,
  suspendedAt: null,
  shared: 'no',
};

/** A provider that only counts its reads. */
function createCounted(answer: () => Promise<string | undefined> = () => Promise.resolve('a\u001B[0m line\n')) {
  const reads: string[] = [];
  const latestLog = (ref: string, file: string | null) => {
    reads.push(`${ref} ${file ?? ''}`);
    return answer();
  };
  // lru-cache takes 0 for no time.
  let time = 1;
  const read = createReadLatestLog(() => time);
  return {
    reads,
    advance: (ms: number) => (time += ms),
    read: (changes: Partial<ServerRecord> = {}) =>
      read({ ...record, ...changes }, { latestLog } as unknown as GameProvider),
  };
}

test('a log is read at most once in 3 s, by readers at once and one after the other', async () => {
  const { reads, advance, read } = createCounted();
  expect(await Promise.all([read(), read(), read({ server: 'game:other-name' })])).toEqual(Array(3).fill('a line\n'));
  advance(2999);
  expect(await read()).toBe('a line\n');
  expect(reads).toHaveLength(1);
  advance(2);
  await read();
  expect(reads).toHaveLength(2);
});

test('a log of another provider, server or file is another one', async () => {
  const { reads, read } = createCounted();
  await Promise.all([read(), read({ provider: 'other' }), read({ ref: 'two' }), read({ logFile: 'b.log' })]);
  expect(reads).toEqual(['one ', 'one ', 'two ', 'one b.log']);
});

test('a failure and a missing log are shared too', async () => {
  const failure = new ProviderError('The request could not be completed', { outcome: 'refused' });
  const failing = createCounted(() => Promise.reject(failure));
  await expect(failing.read()).rejects.toBe(failure);
  await expect(failing.read()).rejects.toBe(failure);
  expect(failing.reads).toHaveLength(1);
  const missing = createCounted(() => Promise.resolve(undefined));
  expect([await missing.read(), await missing.read()]).toEqual([undefined, undefined]);
  expect(missing.reads).toHaveLength(1);
});

test('a read that takes long is shared until its end', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const { reads, advance, read } = createCounted(() => promise);
  const first = read();
  advance(20_000);
  const second = read();
  resolve('late\n');
  expect([await first, await second]).toEqual(['late\n', 'late\n']);
  expect(reads).toHaveLength(1);
});
