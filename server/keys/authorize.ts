import { hash, randomInt, timingSafeEqual } from 'node:crypto';
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

/** Generates a key, `hk_<id>_<secret><check>`, or a new secret for an id. Only the hash is stored. */
export function generateApiKey(id: string = randomText(idLength)) {
  const secret = randomText(secretLength);
  const checked = `hk_${id}_${secret}`;
  return { id, secret, text: checked + checkOf(checked), hash: hash('sha256', secret) };
}

/** Creates a key and its record. Show the text only once: it is not stored. */
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
export type Authenticate = ReturnType<typeof createAuthenticate>;

/** Creates {@link Authenticate}. A failure to store the last use does not fail the request. */
export function createAuthenticate(options: {
  readonly apiKeys: Store['apiKeys'];
  readonly onTouchFailure: (error: unknown) => void;
}) {
  const { apiKeys, onTouchFailure } = options;
  return async (headers: IncomingHttpHeaders) => {
    const { id, secretHash } = readBearerKey(headers);
    const key = await findActiveKey(apiKeys, id, secretHash, Date.now());
    await apiKeys.touch(key.id, Date.now()).catch(onTouchFailure);
    return { key, secretHash };
  };
}

/** A scope on a server that was granted to a secret of an API key. */
export interface Authority {
  readonly keyId: string;
  readonly secretHash: string;
  readonly scope: Scope;
  readonly server: ServerName;
}

/** Reads a key again. Throws 401 or 403 if its authority has ended. */
export async function reauthorize(apiKeys: Store['apiKeys'], authority: Authority): Promise<void> {
  const { keyId, secretHash, scope, server } = authority;
  authorize(await findActiveKey(apiKeys, keyId, secretHash, Date.now()), scope, server);
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
export async function findActiveKey(apiKeys: Store['apiKeys'], id: string, secretHash: string, now: number) {
  const key = await apiKeys.find(id, secretHash);
  if (!key || !isSecretOf(key, secretHash, now)) throw invalidKey('unknown');
  const end = endOf(key, now);
  if (!end) return key;
  const how = end.how === 'revoked' ? 'was revoked' : 'expired';
  throw invalidKey(end.how, `API key ${id} ${how} at ${new Date(end.at).toISOString()}`);
}

function readBearerKey(headers: IncomingHttpHeaders) {
  const { authorization, 'x-api-key': other } = headers;
  // RFC 6750 3.1: a request without a key, or with another scheme, gets no error parameter.
  if (authorization === undefined || !/^Bearer(?: |$)/i.test(authorization)) {
    const missing = other === undefined ? 'missing' : 'otherHeader';
    const message = keyProblems[authorization === undefined ? missing : 'noScheme'];
    throw new Problem('unauthorized', message, { headers: challenge('realm="hosting"') });
  }
  const [, text = ''] = /^Bearer +([\x21-\x7e]+)$/i.exec(authorization) ?? [];
  // The checksum catches mistyped and made-up keys without a store query.
  const parsed = parseApiKey(text);
  if (!parsed) throw invalidKey('malformed');
  return parsed;
}

function invalidKey(mistake: keyof typeof keyProblems, reason?: string): Problem {
  return new Problem('unauthorized', keyProblems[mistake], { headers: challenge('error="invalid_token"'), reason });
}

const challenge = (parameters: string) => ({ 'WWW-Authenticate': `Bearer ${parameters}` });

/** The access of a key to a console: as requested, read-only, or the Problem of a refusal. */
export type Access = 'ok' | 'read_only' | Problem;

/** The console that a token opens, its mode, and the secret of the API key behind the token. */
export interface ConsoleClaim extends Omit<Authority, 'scope'> {
  readonly mode: 'read' | 'read_write';
}

/** Tells how and when a key ended; undefined while active. TypeScript twin of `isActiveSql`. */
function endOf(key: ApiKeyRecord, now: number) {
  const { revokedAt, expiresAt } = key;
  if (revokedAt !== null) return { how: 'revoked', at: revokedAt } as const;
  return expiresAt === null || now < expiresAt ? undefined : ({ how: 'expired', at: expiresAt } as const);
}

/** Returns true unless a key is revoked or expired. */
export const isActive = (key: ApiKeyRecord, now: number): boolean => endOf(key, now) === undefined;

/** Returns true for the current secret of a key, and for the previous secret during its overlap. */
function isSecretOf(key: ApiKeyRecord, secretHash: string, now: number): boolean {
  const given = Buffer.from(secretHash, 'hex');
  const current = timingSafeEqual(given, Buffer.from(key.secretHash, 'hex'));
  const previous = key.previousHash !== null && timingSafeEqual(given, Buffer.from(key.previousHash, 'hex'));
  return current || (previous && key.previousUntil !== null && now < key.previousUntil);
}

/** Checks the current access of a secret to a console. Rejects if the store fails. */
export type CheckAccess = ReturnType<typeof createCheckAccess>;

/** Creates {@link CheckAccess}. */
export function createCheckAccess({ apiKeys, servers }: Pick<Store, 'apiKeys' | 'servers'>) {
  return async ({ server, keyId, secretHash, mode }: ConsoleClaim): Promise<Access> => {
    try {
      const key = await findActiveKey(apiKeys, keyId, secretHash, Date.now());
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
