import { hash, randomBytes as cryptoRandomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { crc32 } from 'node:zlib';
import { allows, apiKeyPattern } from '#contract/api-keys.ts';
import type { Scope, ServerName } from '#contract/api-keys.ts';
import { keyProblems } from '#contract/problem.ts';
import { Problem } from '../problem.ts';
import type { ApiKeyRecord, Store } from '../store/types.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const idLength = 12;
const secretLength = 43;
const checkLength = 6;

type RandomBytes = (size: number) => Uint8Array;

/** Generates a key, `hk_<id>_<secret><check>`, or a new secret for an id. Only the hash is stored. */
export function generateApiKey(options: { readonly id?: string; readonly randomBytes?: RandomBytes } = {}) {
  const { randomBytes = cryptoRandomBytes, id = randomText(idLength, randomBytes) } = options;
  const secret = randomText(secretLength, randomBytes);
  const checked = `hk_${id}_${secret}`;
  return { id, secret, text: checked + checkOf(checked), hash: hash('sha256', secret) };
}

/** Creates a key and its record; the text must be shown only once. */
export function createApiKey(fields: Pick<ApiKeyRecord, 'label' | 'servers' | 'scopes' | 'expiresAt'>) {
  const { id, hash: secretHash, text } = generateApiKey();
  const past = { previousHash: null, previousUntil: null, revokedAt: null, lastUsedAt: null };
  const record: ApiKeyRecord = { id, secretHash, ...fields, createdAt: Date.now(), ...past };
  return { record, text };
}

/** Parses the text of a key; undefined if the format or the checksum is wrong. */
export function parseApiKey(text: string): { id: string; secretHash: string } | undefined {
  const [, id, secret, check] = apiKeyPattern.exec(text) ?? [];
  if (id === undefined || secret === undefined || check !== checkOf(text.slice(0, -checkLength))) return undefined;
  return { id, secretHash: hash('sha256', secret) };
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

/** Finds the API key of a request. Throws 401, with the reason, unless it is valid and active. */
export type Authenticate = ReturnType<typeof createAuthenticate>;

/** Creates {@link Authenticate}. If the last use of a key cannot be stored, the key counts all the same. */
export function createAuthenticate(options: {
  readonly apiKeys: Store['apiKeys'];
  readonly onTouchFailure: (error: unknown) => void;
  readonly now?: () => number;
}) {
  const { apiKeys, onTouchFailure, now = Date.now } = options;
  return async (headers: IncomingHttpHeaders) => {
    const { id, secretHash } = readKey(headers);
    const key = await findKey(apiKeys, id, secretHash, now());
    await apiKeys.touch(key.id, now()).catch(onTouchFailure);
    return { key, secretHash };
  };
}

/** What a secret of an API key was allowed: a scope on a server. */
export interface Authority {
  readonly keyId: string;
  readonly secretHash: string;
  readonly scope: Scope;
  readonly server: ServerName;
}

/** Creates what reads a key again, and throws the 401 or 403 of an authority that has ended. */
export function createReauthorize(apiKeys: Store['apiKeys']) {
  return async ({ keyId, secretHash, scope, server }: Authority): Promise<void> =>
    authorize(await findKey(apiKeys, keyId, secretHash, Date.now()), scope, server);
}

/** Throws 403 unless a key has the server and the scope; it does not reveal what other servers exist. */
export function authorize(key: ApiKeyRecord, scope: Scope, server: ServerName): void {
  if (!key.servers.includes(server)) {
    throw new Problem('forbidden', undefined, { reason: `${server} is not among the servers of API key ${key.id}` });
  }
  if (!allows(key.scopes, scope)) {
    const readOnly =
      scope.endsWith('-power:read_write') && allows(key.scopes, scope.replace('_write', '') as typeof scope);
    const message = readOnly ? 'This API key only has read scope' : undefined;
    const headers = challenge(`error="insufficient_scope", scope="${scope}"`);
    throw new Problem('insufficient_scope', message, { headers, reason: `API key ${key.id} lacks the scope ${scope}` });
  }
}

/** Finds a key by its id; throws 401 unless it is active and the secret is one of its own. */
export async function findKey(apiKeys: Store['apiKeys'], id: string, secretHash: string, now: number) {
  const key = await apiKeys.find(id, secretHash);
  if (!key || !isSecretOf(key, secretHash, now)) throw invalidKey('unknown');
  const end = endOf(key, now);
  if (!end) return key;
  const how = end.how === 'revoked' ? 'was revoked' : 'expired';
  throw invalidKey(end.how, `API key ${id} ${how} at ${new Date(end.at).toISOString()}`);
}

function readKey(headers: IncomingHttpHeaders) {
  const { authorization, 'x-api-key': other } = headers;
  // RFC 6750 3.1: a request without a key, or with another scheme, gets no error parameter.
  if (authorization === undefined || !/^Bearer(?: |$)/i.test(authorization)) {
    const missing = other === undefined ? 'missing' : 'otherHeader';
    const message = keyProblems[authorization === undefined ? missing : 'noScheme'];
    throw new Problem('unauthorized', message, { headers: challenge('realm="hosting"') });
  }
  const [, text = ''] = /^Bearer +([\x21-\x7e]+)$/i.exec(authorization) ?? [];
  // A mistyped or made-up key fails its checksum here, without a store query.
  const parsed = parseApiKey(text);
  if (!parsed) throw invalidKey('malformed');
  return parsed;
}

function invalidKey(mistake: keyof typeof keyProblems, reason?: string): Problem {
  return new Problem('unauthorized', keyProblems[mistake], { headers: challenge('error="invalid_token"'), reason });
}

const challenge = (parameters: string) => ({ 'WWW-Authenticate': `Bearer ${parameters}` });

/** The access of a key to a console: as requested, only reading, or why there is none. */
export type Access = 'ok' | 'read_only' | Problem;

/** A console in a mode, and the secret of an API key that opened it. */
export interface ConsoleClaim extends Omit<Authority, 'scope'> {
  readonly mode: 'read' | 'read_write';
}

/** How and when a key ended; undefined while it is active. `isActiveSql` of the store says the same in a statement. */
function endOf(key: ApiKeyRecord, now: number) {
  const { revokedAt, expiresAt } = key;
  if (revokedAt !== null) return { how: 'revoked', at: revokedAt } as const;
  return expiresAt === null || now < expiresAt ? undefined : ({ how: 'expired', at: expiresAt } as const);
}

/** Whether a key is neither revoked nor expired. */
export const isActive = (key: ApiKeyRecord, now: number): boolean => endOf(key, now) === undefined;

/** Whether a secret is the current one of a key, or the previous one before its end. */
function isSecretOf(key: ApiKeyRecord, secretHash: string, now: number): boolean {
  const given = Buffer.from(secretHash, 'hex');
  const current = timingSafeEqual(given, Buffer.from(key.secretHash, 'hex'));
  const previous = key.previousHash !== null && timingSafeEqual(given, Buffer.from(key.previousHash, 'hex'));
  return current || (previous && key.previousUntil !== null && now < key.previousUntil);
}

/** Checks the current access of a secret to a console. Rejects if it cannot be checked. */
export type CheckAccess = ReturnType<typeof createCheckAccess>;

/** Creates {@link CheckAccess}. */
export function createCheckAccess({ apiKeys, servers }: Pick<Store, 'apiKeys' | 'servers'>) {
  return async ({ server, keyId, secretHash, mode }: ConsoleClaim): Promise<Access> => {
    try {
      const key = await findKey(apiKeys, keyId, secretHash, Date.now());
      authorize(key, 'game-console:read', server);
      const record = await servers.find(server);
      if (typeof record?.suspendedAt === 'number') return new Problem('forbidden', 'This game server is suspended');
      return mode === 'read' || allows(key.scopes, 'game-console:read_write') ? 'ok' : 'read_only';
    } catch (error) {
      if (error instanceof Problem) return error;
      throw error;
    }
  };
}
