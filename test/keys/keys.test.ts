import { randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import { createAuthenticate } from '../../server/keys/authorize.ts';
import { Problem } from '../../server/problem.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import type { HostingWorld } from '../helpers/hosting.ts';
import { temporaryFolder } from '../helpers/project.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Authenticates requests with a key, and counts the look-ups in the store. */
function createCounted({ store }: HostingWorld, now: () => number = Date.now) {
  let lookUps = 0;
  const find = (...args: Parameters<typeof store.apiKeys.find>) => {
    lookUps += 1;
    return store.apiKeys.find(...args);
  };
  const authenticate = createAuthenticate({
    apiKeys: { ...store.apiKeys, find },
    onTouchFailure: (error) => {
      throw error;
    },
    now,
  });
  const ask = async (key: string): Promise<string> => {
    try {
      await authenticate({ authorization: `Bearer ${key}` });
      return 'ok';
    } catch (error) {
      if (error instanceof Problem) return error.code;
      throw error;
    }
  };
  return { ask, lookUps: () => lookUps };
}

function randomText(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}

/** A mistyped key: one character changed, left out or doubled, or two swapped. */
function mistype(key: string): string {
  const at = randomInt(key.length - 1);
  const typed = [
    key.slice(0, at) + randomText(1) + key.slice(at + 1),
    key.slice(0, at) + key.slice(at + 1),
    key.slice(0, at) + key[at] + key.slice(at),
    key.slice(0, at) + key[at + 1] + key[at] + key.slice(at + 2),
  ][randomInt(4)]!;
  return typed === key ? mistype(key) : typed;
}

test('10,000 invented or mistyped keys are refused without a look-up', async () => {
  const world = await createHostingWorld(temporaryFolder());
  const key = await world.issueKey();
  const { ask, lookUps } = createCounted(world);
  const answers = new Set<string>();
  for (let count = 0; count < 5_000; count += 1) {
    answers.add(await ask(mistype(key)));
    answers.add(await ask(`hk_${key.slice(3, 15)}_${randomText(49)}`));
  }
  expect([...answers]).toEqual(['unauthorized']);
  // A random checksum is right by chance once in 57 billion (62^6).
  expect(lookUps()).toBe(0);
  expect(await ask(key)).toBe('ok');
  expect(lookUps()).toBe(1);
});

test('a key is valid until it expires, and a rotated secret until the end of its overlap', async () => {
  const world = await createHostingWorld(temporaryFolder());
  let now = 1_800_000_000_000;
  const key = await world.issueKey({ expiresAt: now + 2_000 });
  const id = key.split('_')[1]!;
  await world.store.apiKeys.rotate(id, 'a'.repeat(64), now + 1_000);
  const { ask } = createCounted(world, () => now);
  expect(await ask(key)).toBe('ok');
  now += 999;
  expect(await ask(key)).toBe('ok');
  now += 1;
  expect(await ask(key)).toBe('unauthorized');

  const other = await world.issueKey({ expiresAt: now + 1 });
  expect(await ask(other)).toBe('ok');
  now += 1;
  expect(await ask(other)).toBe('unauthorized');
});

test('the last use of a key is stored to the minute', async () => {
  const world = await createHostingWorld(temporaryFolder());
  const minute = 1_800_000_000_000;
  const key = await world.issueKey({ createdAt: minute });
  const { ask } = createCounted(world, () => minute + 59_999);
  await ask(key);
  expect((await world.store.apiKeys.find(key.split('_')[1]!))?.lastUsedAt).toBe(minute);
});
