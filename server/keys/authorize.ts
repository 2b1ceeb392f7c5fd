import { hash, randomInt, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { crc32 } from 'node:zlib';
import { allows, apiKeyPattern } from '#contract/api-keys.ts';
import type { Scope, ServerName } from '#contract/api-keys.ts';
import { keyAccess, toTokens } from '#contract/endpoint.ts';
import type { KeyAccess } from '#contract/endpoint.ts';
import { keyProblems } from '#contract/problem.ts';
import type { Caller } from '../http/handle.ts';
import { Problem } from '../problem.ts';
import type {
  ApiKeyRecord,
  OperatorToken,
  SecretRecord,
  SecretRecords,
  Store,
  StreamTokenRecord,
  UsableKey,
} from '../store/types.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const idLength = 12;
const secretLength = 43;
const checkLength = 6;

/** The beginning of an API key, and of an operator token. */
export type KeyPrefix = 'hk' | 'ho';

/** Generates a key, `hk_<id>_<secret><check>`, or a new secret for an id. Only the hash is stored. */
export function generateApiKey(id: string = randomText(idLength), prefix: KeyPrefix = 'hk') {
  const secret = randomText(secretLength);
  const checked = `${prefix}_${id}_${secret}`;
  return { id, secret, text: checked + checkOf(checked), hash: hash('sha256', secret) };
}

/** Creates a key or an operator token, and its record. Show the text only once: it is not stored. */
export function createSecret<Fields extends object>(prefix: KeyPrefix, fields: Fields) {
  const { id, hash: secretHash, text } = generateApiKey(undefined, prefix);
  const past = { previousHash: null, previousUntil: null, revokedAt: null, lastUsedAt: null };
  return { record: { id, secretHash, ...fields, createdAt: Date.now(), ...past }, text };
}

/** Parses the text of a key; undefined if the format or the checksum is wrong. */
export function parseApiKey(text: string, prefix: KeyPrefix = 'hk'): { id: string; secretHash: string } | undefined {
  const [, kind, id, secret, check] = apiKeyPattern.exec(text) ?? [];
  if (kind !== prefix || id === undefined || secret === undefined) return undefined;
  return check === checkOf(text.slice(0, -checkLength)) ? { id, secretHash: hash('sha256', secret) } : undefined;
}

/** Computes the CRC32 of a text in base 62. */
function checkOf(text: string): string {
  let rest = crc32(text);
  let digits = '';
  while (digits.length < checkLength) {
    digits = alphabet.charAt(rest % alphabet.length) + digits;
    rest = Math.floor(rest / alphabet.length);
  }
  return digits;
}

/** Generates a random base 62 text. */
function randomText(length: number): string {
  return Array.from({ length }, () => alphabet.charAt(randomInt(alphabet.length))).join('');
}

/** Finds the API key of a request. Throws 401 unless the key is valid and active. */
export type Authenticate = ReturnType<typeof createAuthenticate<UsableKey>>;

/**
 * Returns a function that finds the key of a request, or its operator token. A failure to store the last use does not
 * fail the request.
 */
export function createAuthenticate<Key extends UsableKey | OperatorToken>(
  prefix: KeyPrefix,
  keys: Pick<SecretRecords<Key>, 'find'> & { touch(id: string, at: number, key: Key): Promise<void> },
  onTouchFailure: (error: unknown) => void,
) {
  return async (headers: IncomingHttpHeaders) => {
    const { id, secretHash } = readBearerKey(headers, prefix);
    const key = await findActiveKey(keys, id, secretHash, prefix);
    await keys.touch(key.id, Date.now(), key).catch(onTouchFailure);
    return { key, secretHash };
  };
}

/** Throws 403 unless a key has the kind of access that an endpoint of no server needs. */
export function assertAccess(key: UsableKey, secretHash: string, access: KeyAccess): void {
  if (access === 'any_key' || (key.secretHash === secretHash && (key.managesKeys || access === 'current_key'))) return;
  throw new Problem('forbidden', undefined, { reason: `API key ${key.id} is not ${keyAccess[access]}` });
}

/** A scope on a server that was granted to a secret of an API key. */
export type Authority = Pick<Caller, 'keyId' | 'secretHash' | 'scope' | 'server'>;

/** Reads a key again. Throws 401 or 403 if its authority has ended. */
export async function reauthorize(keyring: Store['keyring'], authority: Authority): Promise<void> {
  const { keyId, secretHash, scope, server } = authority;
  authorize(await findActiveKey(keyring, keyId, secretHash), scope, server);
}

/** Throws 403 unless a key has the server and the scope. Other servers look like unknown servers. */
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

/** Finds a key. Throws 401 unless the key is active and has this secret. */
export async function findActiveKey<Key extends SecretRecord>(
  keys: Pick<SecretRecords<Key>, 'find'>,
  id: string,
  secretHash: string,
  prefix: KeyPrefix = 'hk',
): Promise<Key> {
  const now = Date.now();
  const key = await keys.find(id, secretHash);
  if (!key || !isSecretOf(key, secretHash, now)) throw invalidKey(prefix, 'unknown');
  const end = endOf(key, now);
  if (!end) return key;
  const how = end.how === 'revoked' ? 'was revoked' : 'expired';
  throw invalidKey(prefix, end.how, nameKind(`API key ${id} ${how} at ${new Date(end.at).toISOString()}`, prefix));
}

/** Speaks of operator tokens instead of API keys, where the prefix says so. */
export const nameKind = (text: string, prefix: KeyPrefix): string => (prefix === 'hk' ? text : toTokens(text));

function readBearerKey(headers: IncomingHttpHeaders, prefix: KeyPrefix) {
  const { authorization, 'x-api-key': other } = headers;
  // RFC 6750 3.1: a request without a key, or with another scheme, gets no error parameter.
  if (authorization === undefined || !/^Bearer(?: |$)/i.test(authorization)) {
    const missing = other === undefined ? 'missing' : 'otherHeader';
    const message = nameKind(keyProblems[authorization === undefined ? missing : 'noScheme'], prefix);
    throw new Problem('unauthorized', message, { headers: challenge('realm="hosting"') });
  }
  const [, text = ''] = /^Bearer +([\x21-\x7e]+)$/i.exec(authorization) ?? [];
  // The checksum catches mistyped and made-up keys without a store query.
  const parsed = parseApiKey(text, prefix);
  if (!parsed) throw invalidKey(prefix, 'malformed');
  return parsed;
}

function invalidKey(prefix: KeyPrefix, mistake: keyof typeof keyProblems, reason?: string): Problem {
  const headers = challenge('error="invalid_token"');
  return new Problem('unauthorized', nameKind(keyProblems[mistake], prefix), { headers, reason });
}

const challenge = (parameters: string) => ({ 'WWW-Authenticate': `Bearer ${parameters}` });

/** The access of a key to a console: as requested, read-only, or the Problem of a refusal. */
export type Access = 'ok' | 'read_only' | Problem;

/** The console that a token opens, its mode, and the secret of the API key behind the token. */
export type ConsoleClaim = Pick<StreamTokenRecord, 'server' | 'keyId' | 'secretHash' | 'mode'>;

/** Tells how and when a key ended; undefined while active. TypeScript twin of `isActiveSql`. */
function endOf(key: SecretRecord, now: number) {
  const { revokedAt, expiresAt } = key;
  if (revokedAt !== null) return { how: 'revoked', at: revokedAt } as const;
  return expiresAt === null || now < expiresAt ? undefined : ({ how: 'expired', at: expiresAt } as const);
}

/** Returns true unless a key is revoked or expired. */
export const isActive = (key: SecretRecord, now: number): boolean => endOf(key, now) === undefined;

/** Returns true for the current secret of a key, and for the previous secret during its overlap. */
function isSecretOf(key: SecretRecord, secretHash: string, now: number): boolean {
  const given = Buffer.from(secretHash, 'hex');
  const current = timingSafeEqual(given, Buffer.from(key.secretHash, 'hex'));
  const previous = key.previousHash !== null && timingSafeEqual(given, Buffer.from(key.previousHash, 'hex'));
  return current || (previous && key.previousUntil !== null && now < key.previousUntil);
}

/** Checks the current access of a secret to a console. Rejects if the store fails. */
export type CheckAccess = ReturnType<typeof createCheckAccess>;

/** Creates {@link CheckAccess}. */
export function createCheckAccess({ keyring, servers }: Pick<Store, 'keyring' | 'servers'>) {
  return async ({ server, keyId, secretHash, mode }: ConsoleClaim): Promise<Access> => {
    try {
      const key = await findActiveKey(keyring, keyId, secretHash);
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
