import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { duplexPair } from 'node:stream';
import { toNodeHandler } from 'h3';
import { allows } from '#contract/api-keys.ts';
import type { ServerName } from '#contract/api-keys.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import { createApp } from './app.ts';
import { streamRoute } from './hosting/console/upgrade.ts';
import { findRecord } from './hosting/service.ts';
import { createCors } from './http/cors.ts';
import type { Route } from './http/handle.ts';
import { readTarget } from './http/target.ts';
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
 * handlers are others: they look at the record of the server, and do nothing. The request stays within this process.
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
  const app = createApp({
    routes: [...Object.values<Endpoint>(endpoints).map(toRoute), streamRoute],
    identify: () => ({ id: '', client: { address: '', key: '' }, startedAt: 0 }),
    logRequest: () => undefined,
    cors: createCors({ origins: [], allowLocal: false }),
    limits: { client: unlimited, actions: unlimited, reads: unlimited, domains: unlimited, feedback: unlimited },
    authenticate: async () => ({ key: await findKey(store.apiKeys, id, secretHash, Date.now()), secretHash }),
    onThrown: (error) => (thrown = error),
    maxBodyBytes: {},
  });
  const status = await answerOf(toNodeHandler(app), method, path);
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

/** Passes a request to a handler without a network, and returns the status of the answer. */
async function answerOf(handler: ReturnType<typeof toNodeHandler>, method: string, path: string): Promise<number> {
  const [client, socket] = duplexPair();
  const server = createServer((incoming, response) => {
    incoming.url = readTarget(incoming);
    void handler(incoming, response);
  });
  server.emit('connection', socket);
  const sent = request({ method, path, createConnection: () => client, headers: { Host: 'localhost' } });
  sent.end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.resume();
  client.destroy();
  return answer.statusCode!;
}
