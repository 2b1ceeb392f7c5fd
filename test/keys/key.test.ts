import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { apiKeyPattern } from '#contract/api-keys.ts';
import { generateApiKey, parseApiKey } from '../../server/keys/authorize.ts';

/** Bytes that count from 0 to 255, repeatedly. */
function countingBytes(): (size: number) => Uint8Array {
  let next = 0;
  return (size) => Uint8Array.from({ length: size }, () => next++ % 256);
}

test('a key is written as its id, secret and checksum', () => {
  const key = generateApiKey({ randomBytes: countingBytes() });
  expect(key).toEqual({
    id: '0123456789AB',
    secret: 'CDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrs',
    // Computed with Python: the zlib CRC-32 of the text before it, in base 62.
    text: 'hk_0123456789AB_CDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrs2g7aPq',
    hash: createHash('sha256').update('CDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrs').digest('hex'),
  });
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

test('a new secret for an id keeps the id', () => {
  const key = generateApiKey();
  const next = generateApiKey({ id: key.id });
  expect(next.id).toBe(key.id);
  expect(next.secret).not.toBe(key.secret);
  expect(parseApiKey(next.text)).toEqual({ id: key.id, secretHash: next.hash });
});

test('the checksum detects every single wrong character', () => {
  const { text } = generateApiKey();
  for (let index = 0; index < text.length; index += 1) {
    for (const other of ['0', 'a', 'Z', '_']) {
      if (text[index] === other) continue;
      expect(parseApiKey(text.slice(0, index) + other + text.slice(index + 1))).toBeUndefined();
    }
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

test('random bytes that would bias the characters are rejected', () => {
  // 4 * 62 = 248, so the bytes 248 to 255 would make the characters 0 to 7 more frequent.
  const { text } = generateApiKey({ randomBytes: sequence([255, 248, 247, 252, 0, 61]) });
  expect(text.slice(3, 15)).toBe('z0zz0zz0zz0z');
});

test('all 62 characters are about equally frequent', () => {
  const counts = new Map<string, number>();
  const rounds = 4000;
  for (let round = 0; round < rounds; round += 1) {
    for (const character of generateApiKey().secret) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  const expected = (rounds * 43) / 62;
  expect(counts.size).toBe(62);
  // Eight standard deviations: chance stays below, and a modulo without rejection exceeds it.
  for (const count of counts.values()) expect(Math.abs(count - expected)).toBeLessThan(8 * Math.sqrt(expected));
});

function sequence(bytes: readonly number[]): (size: number) => Uint8Array {
  return (size) => Uint8Array.from({ length: size }, (_, index) => bytes[index % bytes.length]!);
}
