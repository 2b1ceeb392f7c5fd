import type { IncomingMessage } from 'node:http';
import { BlockList } from 'node:net';
import { allows } from '#contract/api-keys.ts';
import type { ServerName } from '#contract/api-keys.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import { createApp } from './app.ts';
import { streamRoute } from './hosting/routes.ts';
import { findRecord } from './hosting/service.ts';
import type { Route } from './http/handle.ts';
import { createRequests } from './http/request.ts';
import { findKey } from './keys/authorize.ts';
import { Problem } from './problem.ts';
import type { ApiKeyRecord, Store } from './store/types.ts';

/** What the server would answer to a request with a key, and why. */
export interface Decision {
  readonly status: number;
  /** `allowed`, or the code of the error. */
  readonly code: string;
  readonly reason: string;
}

/** A bucket that is never empty: the limits depend on other requests. */
const unlimited = { consume: () => ({ allowed: true, left: 1, waitMs: 0, retryAfter: 1, headers: [] }) };

/**
 * Decides about a request by the app itself: its routing and its checks of the key, the server and the scope. Only the
 * handlers are others: they look at the record of the server, and do nothing. Nothing is sent, nor logged.
 */
export async function explain(
  store: Pick<Store, 'apiKeys' | 'servers'>,
  { id, secretHash }: ApiKeyRecord,
  { method, path }: { readonly method: string; readonly path: string },
): Promise<Decision> {
  let thrown: unknown;
  let allowed = '';
  const toRoute = (endpoint: Endpoint): Route => ({
    endpoint,
    async answer({ caller }) {
      allowed = 'this endpoint needs no API key';
      if (caller) allowed = 'any valid API key may do this';
      const { access } = endpoint;
      if (typeof access === 'object') {
        const { server, scopes, keyId } = caller as typeof caller & { readonly server: ServerName };
        await findRecord(store.servers, server);
        const granting = scopes.find((scope) => allows([scope], access.scope));
        allowed = `API key ${keyId} has ${server} and the scope ${granting}`;
      }
      return { status: Number(Object.keys(endpoint.replies)[0]), body: {} };
    },
  });
  const requests = createRequests({ trustedProxies: new BlockList(), limit: unlimited });
  const sent = { method, url: path, httpVersion: '1.1', headers: { host: 'localhost' }, socket: {} };
  const context = requests.begin(sent as IncomingMessage);
  const app = createApp({
    routes: [...Object.values<Endpoint>(endpoints).map(toRoute), streamRoute],
    requests,
    limits: { actions: unlimited, reads: unlimited, domains: unlimited, feedback: unlimited },
    authenticate: async () => ({ key: await findKey(store.apiKeys, id, secretHash, Date.now()), secretHash }),
    onThrown: (error) => (thrown = error),
    maxBodyBytes: {},
  });
  const { status } = await app.request(context.request.url!, { method }, { request: context });
  if (thrown === undefined) {
    return status < 400
      ? { status, code: 'allowed', reason: allowed }
      : { status, code: 'validation_error', reason: 'the server cannot read this request' };
  }
  if (!(thrown instanceof Problem)) throw toError(thrown);
  return { status, code: thrown.code, reason: reasonOf(thrown) };
}

/** What is no problem is a failure of ours, for instance of the store. */
function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

function reasonOf({ reason, cause, message, headers }: Problem): string {
  if (reason !== undefined) return reason;
  if (cause instanceof Error) return cause.message;
  return headers['Allow'] === undefined ? message : `${message}: this path has ${headers['Allow']}`;
}
