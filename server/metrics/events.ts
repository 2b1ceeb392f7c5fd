import { Counter, Gauge, Histogram } from '@prometheus-io/client';
import type { Registry } from '@prometheus-io/client';
import { answeredRequests } from '../http/request.ts';
import { endedQueries } from '../store/index.ts';
import { limitRefusals } from '../token-bucket.ts';
import { endedCalls, openedUpstreams } from '../upstream/calls.ts';

/** Counts what happens in this process. Returns the function that stops it. */
export function countEvents(registry: Registry): () => void {
  const counts = [countRequests, countCalls, countQueries, countRefusals].map((count) => count(registry));
  return () => {
    for (const stop of counts) stop();
  };
}

/** The methods that some route has. A client may make up others. */
const methods = new Set(['GET', 'HEAD', 'POST', 'OPTIONS']);
const otherMethod = 'other';

/** The label of all requests that have no route: their paths are made up by clients. */
const unmatched = 'unmatched';

/** What such requests are answered with: refused by Node.js, without a route, over the limit, or disconnected. */
const unmatchedStatuses = [400, 404, 408, 429, 431, 499];

/** Counts requests. All label values are of this program: routes, methods and statuses. */
function countRequests(registry: Registry): () => void {
  const registers = [registry];
  const requests = new Counter({
    name: 'hosting_api_http_requests_total',
    help: 'Requests by route, method and status; 499 if the client disconnected, 101 for each console stream.',
    labelNames: ['route', 'method', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'hosting_api_http_request_duration_seconds',
    help: 'Time from the request to the end of its response by route; console streams and their refusals are not in it.',
    labelNames: ['route'],
    // An article takes less than a millisecond; an action may take as long as UPSTREAM_TIMEOUT_SECONDS.
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  // They exist from the start, so that no request of a stranger adds a series.
  for (const method of [...methods, otherMethod]) {
    for (const status of unmatchedStatuses) requests.inc({ route: unmatched, method, status }, 0);
  }
  durations.zero({ route: unmatched });
  return answeredRequests.subscribe(({ route = unmatched, method = '', status, ms }) => {
    requests.inc({ route, method: methods.has(method) ? method : otherMethod, status });
    if (ms !== undefined) durations.observe({ route }, ms / 1000);
  });
}

/** Counts the calls of upstreams, and the credentials that they refuse. */
function countCalls(registry: Registry): () => void {
  const registers = [registry];
  const calls = new Counter({
    name: 'hosting_api_upstream_calls_total',
    help: 'Calls of other services by their name and outcome: providers by their name in PROVIDERS_FILE, registries by protocol.',
    labelNames: ['upstream', 'outcome'],
    registers,
  });
  const durations = new Histogram({
    name: 'hosting_api_upstream_call_duration_seconds',
    help: 'Time of calls of other services, to the last byte of the answer.',
    labelNames: ['upstream'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30],
    registers,
  });
  const refused = new Gauge({
    name: 'hosting_api_upstream_credentials_refused',
    help: 'Credentials of a service that it refused, and has not accepted since.',
    labelNames: ['upstream'],
    registers,
  });
  /** The credentials that are refused now, and for which calls. */
  const refusals = new Map<symbol, 'all' | 'actions'>();
  const stopOpened = openedUpstreams.subscribe((upstream) => refused.inc({ upstream }, 0));
  const stopEnded = endedCalls.subscribe(({ upstream, credential, outcome, ms, http }) => {
    calls.inc({ upstream, outcome });
    durations.observe({ upstream }, ms / 1000);
    const before = refusals.get(credential);
    // Other outcomes prove nothing: an overloaded service refuses everyone. A read-only token is accepted for reads alone.
    if (outcome === 'credential_refused') {
      refusals.set(credential, http?.method === 'POST' && http.status === 403 ? 'actions' : 'all');
      if (before === undefined) refused.inc({ upstream });
    } else if (outcome === 'ok' && (before === 'all' || http?.method === 'POST') && refusals.delete(credential)) {
      refused.dec({ upstream });
    }
  });
  return () => {
    stopOpened();
    stopEnded();
  };
}

/** Counts the calls of the store, by what a statement does to which table. */
function countQueries(registry: Registry): () => void {
  const labels = { labelNames: ['operation', 'table'] as const, registers: [registry] };
  const durations = new Histogram({
    name: 'hosting_api_store_call_duration_seconds',
    help: 'Time of calls of the store by operation and table, also of those that failed; one reads migrations once a second.',
    ...labels,
    // Most calls take less than a millisecond with SQLite, and a few with PostgreSQL; they are given up after 10 s.
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  const errors = new Counter({
    name: 'hosting_api_store_errors_total',
    help: 'Calls of the store that failed, by operation and table.',
    ...labels,
  });
  const statements = new Map<string, ReturnType<typeof toStatement>>();
  return endedQueries.subscribe(({ sql, ms, error }) => {
    let statement = statements.get(sql);
    if (!statement) statements.set(sql, (statement = toStatement(sql)));
    durations.observe(statement, ms / 1000);
    errors.inc(statement, error === undefined ? 0 : 1);
  });
}

function toStatement(sql: string) {
  const [, operation = 'other'] = /\b(select|insert|update|delete)\b/i.exec(sql) ?? [];
  const [, table = 'other'] = /\bhosting_(\w+)/.exec(sql) ?? [];
  return { operation: operation.toLowerCase(), table };
}

/** Counts the refusals of token buckets by their names, which RateLimit headers show too. */
function countRefusals(registry: Registry): () => void {
  const refusals = new Counter({
    name: 'hosting_api_limit_refusals_total',
    help: 'Requests that a rate limit refused, by its name in the RateLimit header; panel and registry pace our own calls.',
    labelNames: ['limit'],
    registers: [registry],
  });
  return limitRefusals.subscribe(({ limit, count }) => refusals.inc({ limit }, count));
}
