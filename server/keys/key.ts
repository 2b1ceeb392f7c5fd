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
 * Generates a key, or a new secret for the key with an id. The text, `hk_<id>_<secret><check>`, is shown once; only the
 * hash of the secret is stored.
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

/** Creates a key and its record; the text must be shown only once. */
export function createApiKey(
  { label, servers, scopes, expiresAt }: Pick<ApiKeyRecord, 'label' | 'servers' | 'scopes' | 'expiresAt'>,
  now: number = Date.now(),
): { record: ApiKeyRecord; text: string } {
  const { id, hash, text } = generateApiKey();
  const past = { previousHash: null, previousUntil: null, revokedAt: null, lastUsedAt: null };
  return { record: { id, secretHash: hash, label, servers, scopes, createdAt: now, expiresAt, ...past }, text };
}

/** Parses the text of a key; undefined if the format or the checksum is wrong. */
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

/** A random base 62 text. Bytes from 248 on are discarded: modulo 62 they would favour some characters. */
function randomText(length: number, randomBytes: RandomBytes): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && text.length < length) text += alphabet.charAt(byte % alphabet.length);
    }
  }
  return text;
}
