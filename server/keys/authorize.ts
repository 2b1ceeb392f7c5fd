import { timingSafeEqual } from 'node:crypto';
import { allows } from '#contract/api-keys.ts';
import type { ServerName } from '#contract/api-keys.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import type { Exchange } from '../http/exchange.ts';
import { Problem } from '../problem.ts';
import { isActive } from './access.ts';
import type { Caller } from './access.ts';
import { parseApiKey } from './key.ts';
import type { ApiKeyRecord, Store } from '../store/types.ts';
import type { RateLimit } from '../token-bucket.ts';

type ParsedKey = NonNullable<ReturnType<typeof parseApiKey>>;

/** What decides over a request for a customer's server. */
export interface AuthorizeOptions {
  readonly apiKeys: Store['apiKeys'];
  /** Is told where the last use of a key could not be noted; that is no reason to refuse it. */
  readonly onTouchFailure: (error: unknown) => void;
  /** The limit on actions, by API key. */
  readonly limit: RateLimit;
  readonly now?: () => number;
}

/** Lets a request for a server through, as its caller. Throws, or rejects with, 401, 429 or 403, in that order. */
export type Authorize = (exchange: Exchange, endpoint: Endpoint, id: string) => Promise<Caller>;

/**
 * Creates the one place that decides who may do what: the key (401), its limit on actions (429), the server in the
 * key's list (403 forbidden), the scope (403 insufficient_scope). A key learns nothing of servers that are not its own.
 */
export function createAuthorize({ apiKeys, limit, onTouchFailure, now = Date.now }: AuthorizeOptions): Authorize {
  const admit = async (exchange: Exchange, endpoint: Endpoint, id: string, given: ParsedKey): Promise<Caller> => {
    const { kind, scope } = endpoint.access!;
    const key = await authenticate(apiKeys, given, now());
    await apiKeys.touch(key.id, now()).catch(onTouchFailure);
    if (endpoint.method === 'POST') {
      const { allowed, headers, retryAfter } = limit(key.id);
      exchange.headers.push(...headers);
      if (!allowed) throw new Problem('rate_limited', undefined, { headers: { 'Retry-After': String(retryAfter) } });
    }
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
    return { key, server, id, requestId: exchange.id, ip: exchange.client.address };
  };
  // What holds no key is refused before there is a promise.
  return (exchange, endpoint, id) => admit(exchange, endpoint, id, readKey(exchange.request.headers.authorization));
}

function readKey(header: string | undefined): ParsedKey {
  // RFC 6750 3.1: who came without a key, or by another scheme, is told of no error.
  if (header === undefined || !/^Bearer(?: |$)/i.test(header)) {
    throw new Problem('unauthorized', undefined, challenge('realm="hosting"'));
  }
  const [, text] = /^Bearer +([\x21-\x7e]+)$/i.exec(header) ?? [];
  // A mistyped or made-up key fails its checksum here, and costs no look-up.
  const parsed = text === undefined ? undefined : parseApiKey(text);
  if (!parsed) throw new Problem('unauthorized', undefined, challenge('error="invalid_token"'));
  return parsed;
}

async function authenticate(apiKeys: Store['apiKeys'], given: ParsedKey, now: number): Promise<ApiKeyRecord> {
  const key = await apiKeys.find(given.id);
  if (!key || !isActive(key, now) || !holdsSecret(key, given.secretHash, now)) {
    throw new Problem('unauthorized', undefined, challenge('error="invalid_token"'));
  }
  return key;
}

function holdsSecret(key: ApiKeyRecord, secretHash: string, now: number): boolean {
  const given = Buffer.from(secretHash, 'hex');
  const current = timingSafeEqual(given, Buffer.from(key.secretHash, 'hex'));
  const previous = key.previousHash !== null && timingSafeEqual(given, Buffer.from(key.previousHash, 'hex'));
  return current || (previous && key.previousUntil !== null && now < key.previousUntil);
}

function challenge(parameters: string): { headers: Record<string, string> } {
  return { headers: { 'WWW-Authenticate': `Bearer ${parameters}` } };
}
