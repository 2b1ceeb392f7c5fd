import { createHash, randomBytes as cryptoRandomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { apiKeyPattern } from '#contract/api-keys.ts';
import type { ApiKeyRecord } from '../store/types.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const idLength = 12;
const secretLength = 43;
const checkLength = 6;

type RandomBytes = (size: number) => Uint8Array;

/**
 * Makes a key, or a new secret for the key of a given id. Its text, `hk_<id>_<secret><check>`, is shown once; the hash of
 * its secret is what is kept.
 */
export function generateApiKey({
  id: given,
  randomBytes = cryptoRandomBytes,
}: { id?: string; randomBytes?: RandomBytes } = {}) {
  const id = given ?? randomText(idLength, randomBytes);
  const secret = randomText(secretLength, randomBytes);
  const checked = `hk_${id}_${secret}`;
  return { id, secret, text: checked + checkOf(checked), hash: hashOf(secret) };
}

/** Makes a key with its record; the text is to be shown once. */
export function createApiKey(
  { label, servers, scopes, expiresAt }: Pick<ApiKeyRecord, 'label' | 'servers' | 'scopes' | 'expiresAt'>,
  now: number = Date.now(),
): { record: ApiKeyRecord; text: string } {
  const { id, hash, text } = generateApiKey();
  const past = { previousHash: null, previousUntil: null, revokedAt: null, lastUsedAt: null };
  return { record: { id, secretHash: hash, label, servers, scopes, createdAt: now, expiresAt, ...past }, text };
}

/** Takes a key's text apart; undefined where it cannot be one, its checksum included, so that no look-up is needed. */
export function parseApiKey(text: string): { id: string; secretHash: string } | undefined {
  const [, id, secret, check] = apiKeyPattern.exec(text) ?? [];
  if (id === undefined || secret === undefined || check !== checkOf(text.slice(0, -checkLength))) return undefined;
  return { id, secretHash: hashOf(secret) };
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** CRC32 of a text, in base 62. */
function checkOf(text: string): string {
  let rest = crc32(text);
  let digits = '';
  while (digits.length < checkLength) {
    digits = alphabet.charAt(rest % alphabet.length) + digits;
    rest = Math.floor(rest / alphabet.length);
  }
  return digits;
}

/** Random base 62. Bytes past the last multiple of 62 are thrown away: taken modulo 62 they would favour some characters. */
function randomText(length: number, randomBytes: RandomBytes): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && text.length < length) text += alphabet.charAt(byte % alphabet.length);
    }
  }
  return text;
}
