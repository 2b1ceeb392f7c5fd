import type { IncomingMessage } from 'node:http';
import { BlockList } from 'node:net';
import { allows } from '#contract/api-keys.ts';
import { keyAccess } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import { createApp } from './app.ts';
import { streamRoute } from './hosting/console/upgrade.ts';
import { findRecord } from './hosting/servers.ts';
import type { Caller, Route } from './http/handle.ts';
import { createRequests } from './http/request.ts';
import { findActiveKey } from './keys/authorize.ts';
import { Problem } from './problem.ts';
import type { SecretRecord, Store } from './store/types.ts';

/** Never empty: real limits depend on other requests. */
const unlimited = { consume: () => ({ allowed: true, left: 1, waitMs: 0, retryAfter: 1, headers: {} }) };

/** Runs a request through the app, with handlers that only look up the server's record. */
export async function explain(
  store: Pick<Store, 'keyring' | 'servers'>,
  { id, secretHash }: SecretRecord,
  { method, path }: { readonly method: string; readonly path: string },
) {
  let thrown: unknown;
  let allowed = '';
  const toRoute = (endpoint: Endpoint): Route => ({
    endpoint,
    async answer({ caller }) {
      const { access, replies } = endpoint;
      allowed =
        typeof access === 'string' ? `${keyAccess[access]} may send this request` : 'this endpoint needs no API key';
      if (typeof access === 'object') {
        const { server, scopes, keyId } = caller as Caller;
        await findRecord(store.servers, server);
        const granting = scopes.find((scope) => allows([scope], access.scope));
        allowed = `API key ${keyId} grants ${granting} on ${server}`;
      }
      return { status: Number(Object.keys(replies)[0]), body: {} };
    },
  });
  const limits = { client: unlimited, content: unlimited };
  const requests = createRequests({ trustedProxies: new BlockList(), limits });
  const sent = { method, url: path, httpVersion: '1.1', headers: { host: 'localhost' }, socket: {} };
  const context = requests.begin(sent as IncomingMessage);
  const app = createApp({
    routes: [...Object.values<Endpoint>(endpoints).map(toRoute), streamRoute],
    requests,
    limits: { actions: unlimited, reads: unlimited, domains: unlimited, feedback: unlimited },
    async authenticate() {
      const key = await findActiveKey(store.keyring, id, secretHash);
      // No client: a network cannot be checked.
      return { key: { ...key, networks: [] }, secretHash };
    },
    onThrown: (error) => (thrown = error),
    maxBodyBytes: {},
  });
  const { status } = await app.request(context.target, { method }, { request: context });
  if (thrown === undefined) {
    return status < 400
      ? { status, code: 'allowed', reason: allowed }
      : { status, code: 'validation_error', reason: 'the server cannot parse this request' };
  }
  // Any other error is our own failure, such as an unreachable store.
  if (!(thrown instanceof Problem)) throw thrown as Error;
  const { code, cause, message, headers } = thrown;
  const methods = headers['Allow'] === undefined ? '' : `: this path allows ${headers['Allow']}`;
  return { status, code, reason: thrown.reason ?? (cause instanceof Error ? cause.message : message + methods) };
}
