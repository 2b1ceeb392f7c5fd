import { timingSafeEqual } from 'node:crypto';
import { allows } from '#contract/api-keys.ts';
import type { ServerName } from '#contract/api-keys.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { Problem } from '../problem.ts';
import type { ApiKeyRecord, Store } from '../store/types.ts';
import { isActive } from './access.ts';
import { parseApiKey } from './key.ts';

/** Options of authentication. */
export interface AuthenticateOptions {
  readonly apiKeys: Store['apiKeys'];
  /** Called if the last use of a key cannot be stored. The key is still accepted. */
  readonly onTouchFailure: (error: unknown) => void;
  readonly now?: () => number;
}

/** Finds the API key of an Authorization header. Throws 401 unless the key is valid and active. */
export type Authenticate = (authorization: string | undefined) => Promise<ApiKeyRecord>;

/** Creates {@link Authenticate}. */
export function createAuthenticate({ apiKeys, onTouchFailure, now = Date.now }: AuthenticateOptions): Authenticate {
  return async (authorization) => {
    const given = readKey(authorization);
    const key = await apiKeys.find(given.id);
    if (!key || !isActive(key, now()) || !matchesSecret(key, given.secretHash, now())) {
      throw new Problem('unauthorized', undefined, challenge('error="invalid_token"'));
    }
    await apiKeys.touch(key.id, now()).catch(onTouchFailure);
    return key;
  };
}

/**
 * Checks that a key may use an endpoint on a server: the server is in its list (403 forbidden), and it has the scope
 * (403 insufficient_scope). The response does not reveal whether other servers exist.
 */
export function authorize(key: ApiKeyRecord, { kind, scope }: NonNullable<Endpoint['access']>, id: string): ServerName {
  const server: ServerName = `${kind}:${id}`;
  if (!key.servers.includes(server)) {
    const message =
      kind === 'vps' ? 'You do not have access to this VPS' : 'You do not have access to this game server';
    throw new Problem('forbidden', message, challenge('error="insufficient_scope"'));
  }
  if (!allows(key.scopes, scope)) {
    const readOnly =
      scope.endsWith('-power:read_write') && allows(key.scopes, scope.replace('_write', '') as typeof scope);
    const message = readOnly ? 'This API key only has read scope' : undefined;
    throw new Problem('insufficient_scope', message, challenge(`error="insufficient_scope", scope="${scope}"`));
  }
  return server;
}

function readKey(header: string | undefined): NonNullable<ReturnType<typeof parseApiKey>> {
  // RFC 6750 3.1: a request without a key, or with another scheme, gets no error parameter.
  if (header === undefined || !/^Bearer(?: |$)/i.test(header)) {
    throw new Problem('unauthorized', undefined, challenge('realm="hosting"'));
  }
  const [, text] = /^Bearer +([\x21-\x7e]+)$/i.exec(header) ?? [];
  // A mistyped or made-up key fails its checksum here, without a store query.
  const parsed = text === undefined ? undefined : parseApiKey(text);
  if (!parsed) throw new Problem('unauthorized', undefined, challenge('error="invalid_token"'));
  return parsed;
}

function matchesSecret(key: ApiKeyRecord, secretHash: string, now: number): boolean {
  const given = Buffer.from(secretHash, 'hex');
  const current = timingSafeEqual(given, Buffer.from(key.secretHash, 'hex'));
  const previous = key.previousHash !== null && timingSafeEqual(given, Buffer.from(key.previousHash, 'hex'));
  return current || (previous && key.previousUntil !== null && now < key.previousUntil);
}

function challenge(parameters: string): { headers: Record<string, string> } {
  return { headers: { 'WWW-Authenticate': `Bearer ${parameters}` } };
}
