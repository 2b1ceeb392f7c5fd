import { createHash, randomInt } from 'node:crypto';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createAuthenticate, generateApiKey, parseApiKey } from '../../server/keys/authorize.ts';
import { Problem } from '../../server/problem.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import type { HostingWorld } from '../helpers/hosting.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { apiKeyPattern } from '#contract/api-keys.ts';
import { rotateKey } from '../store/samples.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Authenticates requests with a key, and counts the look-ups in the store. */
function createCounted({ store }: HostingWorld) {
  let lookUps = 0;
  const find = (...args: Parameters<typeof store.keyring.find>) => {
    lookUps += 1;
    return store.keyring.find(...args);
  };
  const authenticate = createAuthenticate('hk', { ...store.keyring, find }, (error) => {
    throw error;
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

/** Sets the time until the test ends. Returns a function that advances it. */
function setTime(start: number): (ms: number) => void {
  vi.useFakeTimers({ toFake: ['Date'], now: start });
  onTestFinished(() => void vi.useRealTimers());
  return (ms) => void vi.setSystemTime(Date.now() + ms);
}

function randomText(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}

/** Mistypes a key: changes, drops or doubles one character, or swaps two. */
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

test('10,000 made-up or mistyped keys are refused without a look-up', async () => {
  const world = await createHostingWorld(temporaryFolder());
  const key = await world.issueKey();
  const { ask, lookUps } = createCounted(world);
  const answers = new Set<string>();
  for (let count = 0; count < 5_000; count += 1) {
    answers.add(await ask(mistype(key)));
    answers.add(await ask(`hk_${key.slice(3, 15)}_${randomText(49)}`));
  }
  expect([...answers]).toEqual(['unauthorized']);
  // A random checksum is valid once in 57 billion (62^6).
  expect(lookUps()).toBe(0);
  expect(await ask(key)).toBe('ok');
  expect(lookUps()).toBe(1);
});

test('a key is valid until it expires, and a rotated secret until the end of its overlap', async () => {
  const world = await createHostingWorld(temporaryFolder());
  const pass = setTime(1_800_000_000_000);
  const key = await world.issueKey({ expiresAt: Date.now() + 2_000 });
  const id = key.split('_')[1]!;
  await rotateKey(world.store.apiKeys, id, 'a'.repeat(64), Date.now() + 1_000);
  const { ask } = createCounted(world);
  expect(await ask(key)).toBe('ok');
  pass(999);
  expect(await ask(key)).toBe('ok');
  pass(1);
  expect(await ask(key)).toBe('unauthorized');

  const other = await world.issueKey({ expiresAt: Date.now() + 1 });
  expect(await ask(other)).toBe('ok');
  pass(1);
  expect(await ask(other)).toBe('unauthorized');
});

test('the last use of a key is stored to the minute', async () => {
  const world = await createHostingWorld(temporaryFolder());
  const minute = 1_800_000_000_000;
  const key = await world.issueKey({ createdAt: minute });
  setTime(minute + 59_999);
  await createCounted(world).ask(key);
  expect((await world.store.apiKeys.find(key.split('_')[1]!))?.lastUsedAt).toBe(minute);
});

test('a key is written as its id, secret and checksum', () => {
  const [id, secret] = ['0123456789AB', 'CDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrs'];
  const secretHash = createHash('sha256').update(secret).digest('hex');
  // Computed with Python: the zlib CRC-32 of the text before it, in base 62.
  expect(parseApiKey(`hk_${id}_${secret}2g7aPq`)).toEqual({ id, secretHash });
  const key = generateApiKey(id);
  expect(key.text.slice(0, -6)).toBe(`hk_${id}_${key.secret}`);
});

test('a small checksum is padded with zeros', () => {
  // A first character 0 means that the CRC-32 is below 62^5.
  const keys = Array.from({ length: 300 }, () => generateApiKey());
  const small = keys.find(({ text }) => text.at(-6) === '0')!;
  expect(small.text).toHaveLength(3 + 12 + 1 + 43 + 6);
  expect(parseApiKey(small.text)).toEqual({ id: small.id, secretHash: small.hash });
});

test('a key is parsed into its id and the hash of its secret', () => {
  for (let round = 0; round < 100; round += 1) {
    const { id, text, hash } = generateApiKey();
    expect(text).toMatch(apiKeyPattern);
    expect(parseApiKey(text)).toEqual({ id, secretHash: hash });
  }
});

test('a text that is not a key is not parsed', () => {
  const { text, secret } = generateApiKey();
  const others = ['', 'hk_', secret, ` ${text}`, `${text} `, `${text}\n`, text.slice(0, -1), text + text];
  const written = [text.toLowerCase(), text.toUpperCase(), text.replace('hk', 'hK'), encodeURIComponent(`${text}=`)];
  for (const wrong of [...others, ...written, text.replaceAll('_', '-'), 'constructor', 'é'.repeat(65)]) {
    expect(parseApiKey(wrong)).toBeUndefined();
  }
});
