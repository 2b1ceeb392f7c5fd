import type { EndpointName } from '#contract/endpoints.ts';
import { keyProblems } from '#contract/problem.ts';
import type { openDomains } from './domains/service.ts';
import type { Feedback } from './feedback/service.ts';
import { hostingRoutes } from './hosting/routes.ts';
import type { HostingRoutesOptions } from './hosting/routes.ts';
import { handle } from './http/handle.ts';
import type { Route } from './http/handle.ts';
import { toStoredJson } from './http/stored.ts';
import type { StoredFile } from './http/stored.ts';
import { toIso } from './operators/changes.ts';
import { keyRoutes } from './operators/routes.ts';
import type { openLimits } from './limits.ts';
import { createMcpRoute } from './mcp.ts';
import { Problem } from './problem.ts';
import { contentRoutes } from './releases/serve.ts';
import type { Releases } from './releases/service.ts';
import type { Status } from './status/service.ts';
import type { Store } from './store/types.ts';

/** Dependencies of the routes. */
export interface Features extends HostingRoutesOptions {
  readonly version: string;
  readonly releases: Releases;
  readonly store: Store;
  readonly keyLimits: ReturnType<typeof openLimits>['keyLimits'];
  readonly domains: ReturnType<typeof openDomains>;
  readonly feedback: Feedback;
  readonly status: Status;
}

/** Creates the route of every endpoint; a missing one is a type error. */
export function createRoutes(features: Features): Record<EndpointName, Route> {
  const { version, lifecycle, status, domains, feedback, store, keyLimits } = features;
  const toStatusFile = createStoredJson(statusCacheControl);
  const toTldsFile = createStoredJson();
  return {
    getHealth: handle('getHealth', () => ({ status: 200, body: { status: 'healthy', version } })),
    getReady: handle('getReady', () => {
      const state = lifecycle.state();
      return { status: state === 'ready' ? 200 : 503, body: { status: state } };
    }),
    getInfo: handle('getInfo', () => ({ status: 200, body: { version } })),
    getStatus: handle('getStatus', async () => {
      const state = await status.read();
      if (!state) return { status: 503, body: { status: 'error' }, headers: { 'Retry-After': '10' } };
      return toStatusFile(state);
    }),
    listDomainTlds: handle('listDomainTlds', async () => {
      await domains.ready();
      const tlds = domains.list();
      return toTldsFile(tlds, { success: true, tlds });
    }),
    searchDomain: handle('searchDomain', async ({ query }) => {
      await domains.ready();
      const { body, unicode } = await domains.search(query.domain);
      const isIdn = unicode !== body.domain;
      return { status: 200, body, headers: isIdn ? { 'X-Domain-Unicode': encodeURIComponent(unicode) } : {} };
    }),
    sendFeedback: handle('sendFeedback', async ({ body, trace }) => {
      const outcome = await feedback.record(body, trace);
      return { status: outcome === 'delivered' ? 200 : 202, body: { success: true } };
    }),
    getKey: handle('getKey', async ({ caller }) => {
      const key = await store.keyring.find(caller.keyId);
      // Removed since the authentication of the request.
      if (!key) throw new Problem('unauthorized', keyProblems.unknown);
      const { id, label, scopes, servers, createdAt, expiresAt } = key;
      const times = { created_at: toIso(createdAt), expires_at: toIso(expiresAt) };
      return { status: 200, body: { id, label, scopes, servers, ...times, limits: keyLimits } };
    }),
    callMcp: createMcpRoute(version),
    ...contentRoutes(features.releases),
    ...hostingRoutes(features),
    ...keyRoutes(store, lifecycle),
  };
}

/** Short, without stale-if-error: a CDN must not serve "up" for minutes while the status is unknown. */
const statusCacheControl = 'public, max-age=5, stale-while-revalidate=30';

/** Returns a function that renders a value as a stored file, again only after a change. */
function createStoredJson(cacheControl?: string) {
  let cached: { value: unknown; file: StoredFile } | undefined;
  return (value: unknown, json = value): StoredFile => {
    if (!cached || cached.value !== value) cached = { value, file: toStoredJson(json, cacheControl) };
    return cached.file;
  };
}
