import { statfs } from 'node:fs/promises';
import { Counter, Gauge, Histogram, collectDefaultMetrics } from '@prometheus-io/client';
import type { Registry } from '@prometheus-io/client';
import type { EventChannel } from '../events.ts';
import type { Relay } from '../hosting/console/relay.ts';
import { answeredRequests } from '../http/request.ts';
import { changedKeys } from '../operators/changes.ts';
import type { Releases } from '../releases/service.ts';
import { endedQueries } from '../store/index.ts';
import { wentBack } from '../store/instance.ts';
import { limitRefusals } from '../token-bucket.ts';
import { endedCalls, openedUpstreams } from '../upstream/client.ts';

/** Creates metrics of a registry; `collect` runs before each scrape. */
function createMetrics(registry: Registry) {
  type Collect = () => void | Promise<void>;
  const common = { registers: [registry] };
  return {
    counter: <Label extends string>(name: string, help: string, labelNames: readonly Label[], collect?: Collect) =>
      new Counter<Label>({ ...common, name, help, labelNames, ...(collect && { collect }) }),
    gauge: <Label extends string>(name: string, help: string, labelNames: readonly Label[], collect?: Collect) =>
      new Gauge<Label>({ ...common, name, help, labelNames, ...(collect && { collect }) }),
    histogram: <Label extends string>(name: string, help: string, labelNames: readonly Label[], buckets: number[]) =>
      new Histogram<Label>({ ...common, name, help, labelNames, buckets }),
  };
}

/** The methods of routes; clients may send any other text. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']);
const otherMethod = 'other';

/** The label of requests without a route, whose paths may be any text. */
const unmatched = 'unmatched';

/** Statuses without a route: refused by Node.js, unknown path, over the limit, or disconnected. */
const unmatchedStatuses = [400, 404, 408, 429, 431, 499];

/** Counts events, with labels from this program only. */
export function countEvents(registry: Registry, opened: AsyncDisposableStack): void {
  const { counter, gauge, histogram } = createMetrics(registry);
  const on = <Message>(event: EventChannel<Message>, listener: (message: Message) => void): void => {
    event.subscribe(listener);
    opened.defer(() => event.unsubscribe(listener));
  };

  const requests = counter(
    'hosting_api_http_requests_total',
    'Requests by route, method and status; 499 if the client disconnected, 101 for each console stream.',
    ['route', 'method', 'status'],
  );
  const requestDurations = histogram(
    'hosting_api_http_request_duration_seconds',
    'Time from a request to the end of its response by route, without console streams and their refusals.',
    ['route'],
    // An article takes less than a millisecond; an action may take as long as UPSTREAM_TIMEOUT_SECONDS.
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  );
  // Create the series now: requests of strangers must not add any.
  for (const method of [...methods, otherMethod]) {
    for (const status of unmatchedStatuses) requests.inc({ route: unmatched, method, status }, 0);
  }
  requestDurations.zero({ route: unmatched });
  on(answeredRequests, ({ route = unmatched, method = '', status, ms }) => {
    requests.inc({ route, method: methods.has(method) ? method : otherMethod, status });
    if (ms !== undefined) requestDurations.observe({ route }, ms / 1000);
  });

  const calls = counter(
    'hosting_api_upstream_calls_total',
    'Upstream calls by service and outcome: providers by their name in PROVIDERS_FILE, registries by protocol.',
    ['upstream', 'outcome'],
  );
  const callDurations = histogram(
    'hosting_api_upstream_call_duration_seconds',
    'Time of upstream calls, to the last byte of the response.',
    ['upstream'],
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30],
  );
  const refused = gauge(
    'hosting_api_upstream_credentials_refused',
    'Credentials that a service has refused, and not accepted since.',
    ['upstream'],
  );
  const refusals = new Map<symbol, 'all' | 'actions'>();
  on(openedUpstreams, (upstream) => refused.inc({ upstream }, 0));
  on(endedCalls, ({ upstream, credential, outcome, ms, http }) => {
    calls.inc({ upstream, outcome });
    callDurations.observe({ upstream }, ms / 1000);
    const before = refusals.get(credential);
    // Other outcomes prove nothing: an overloaded service refuses everyone, and reads accept a read-only token.
    if (outcome === 'credential_refused') {
      refusals.set(credential, http?.method === 'POST' && http.status === 403 ? 'actions' : 'all');
      if (before === undefined) refused.inc({ upstream });
    } else if (outcome === 'ok' && (before === 'all' || http?.method === 'POST') && refusals.delete(credential)) {
      refused.dec({ upstream });
    }
  });

  const labels = ['operation', 'table'] as const;
  const queryDurations = histogram(
    'hosting_api_store_call_duration_seconds',
    'Time of store calls by operation and table, including failed calls; a health check reads migrations every second.',
    labels,
    // Most calls take under 1 ms with SQLite, and a few ms with PostgreSQL; they time out after 10 s.
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  );
  const errors = counter('hosting_api_store_errors_total', 'Failed store calls by operation and table.', labels);
  on(endedQueries, ({ sql, ms, error }) => {
    const statement = toStatement(sql);
    queryDurations.observe(statement, ms / 1000);
    errors.inc(statement, error === undefined ? 0 : 1);
  });

  const back = counter('hosting_api_store_went_back_total', 'Times that the store lost records that it had taken.', []);
  on(wentBack, () => back.inc());

  const changes = counter('hosting_api_key_changes_total', 'Changes of API keys by kind of author.', ['actor']);
  changes.inc({ actor: 'operator' }, 0);
  on(changedKeys, ({ actor }) => changes.inc({ actor: /^(?:operator|API key)/.exec(actor)?.[0] ?? 'command line' }));

  const limited = counter(
    'hosting_api_limit_refusals_total',
    'Requests refused by a rate limit, by its name in RateLimit headers; `panel` and `registry` pace our own calls.',
    ['limit'],
  );
  on(limitRefusals, ({ limit, count }) => limited.inc({ limit }, count));
}

/** Reads the operation and the table of a statement. */
function toStatement(sql: string) {
  const [, operation = 'other'] = /\b(select|insert|update|delete)\b/i.exec(sql) ?? [];
  const [, table = 'other'] = /\bhosting_(\w+)/.exec(sql) ?? [];
  return { operation: operation.toLowerCase(), table };
}

/** Handles and requests add series as sockets come and go; the utilization is sampled continuously. */
const leftOut = /^nodejs_(?:active_|eventloop_utilization_)/;

const longestTimeoutMs = 2_147_483_647;

/** Adds the default metrics of Node.js, and the version. */
export function measureProcess(registry: Registry, version: string): void {
  collectDefaultMetrics({ register: registry, eventLoopUtilizationTimeout: longestTimeoutMs });
  for (const { name } of registry.getMetricsAsArray()) if (leftOut.test(name)) registry.removeSingleMetric(name);
  const collections = registry.getSingleMetric<'kind'>('nodejs_gc_duration_seconds') as Histogram<'kind'>;
  for (const kind of ['major', 'minor', 'incremental', 'weakcb']) collections.zero({ kind });
  const help = 'The version of the service and of Node.js; always 1.';
  const build = createMetrics(registry).gauge('hosting_api_build_info', help, ['version', 'node_version']);
  build.set({ version, node_version: process.version }, 1);
}

/** The parts of the server that gauges read at each scrape. */
export interface MeasuredParts {
  readonly releases: Releases;
  readonly relay: Pick<Relay, 'stats'>;
  readonly storeAnswers: () => boolean;
  readonly droppedLines: () => number;
  /** Folders by setting, to measure their disks. */
  readonly folders: Readonly<Record<string, string>>;
}

/** Adds gauges that read the parts of the server at each scrape. */
export function measureState(registry: Registry, parts: MeasuredParts): void {
  const { releases, relay, storeAnswers, droppedLines, folders } = parts;
  const { counter, gauge } = createMetrics(registry);
  const number = (name: string, help: string, read: () => number | Promise<number>): void => {
    const metric: Gauge = gauge(name, help, [], async () => metric.set(await read()));
  };
  const streams = 'Open console streams, including streams without a valid token yet.';
  number('hosting_api_console_streams', streams, () => relay.stats().connections);
  number('hosting_api_console_viewers', 'Console streams that show a console.', () => relay.stats().viewers);
  number('hosting_api_console_upstreams', 'Consoles that are open at a provider.', () => relay.stats().upstreams);
  number('hosting_api_store_answers', '1 if the store answered its last check, else 0.', () => Number(storeAnswers()));
  const confirmed = 'Time of the last build that made or confirmed the current release.';
  number('hosting_api_release_timestamp_seconds', confirmed, async () => (await releases.confirmedAt()) / 1000);
  // Reset: only the current release has a series.
  const info = gauge('hosting_api_release_info', 'The current release; always 1.', ['release'], () => {
    info.reset();
    info.set({ release: releases.current().id }, 1);
  });
  const scheduled = 'Time at which a build publishes the next scheduled article, if there is one.';
  const next = gauge('hosting_api_release_next_change_timestamp_seconds', scheduled, ['release'], () => {
    next.reset();
    const { id, nextChangeAt } = releases.current();
    if (nextChangeAt !== null) next.set({ release: id }, Date.parse(nextChangeAt) / 1000);
  });
  const left = 'Free share of the disk of a folder, by its setting: 0 to 1.';
  const free = gauge('hosting_api_disk_free_ratio', left, ['folder'], async () => {
    free.reset();
    for (const [folder, path] of Object.entries(folders)) {
      // With PostgreSQL, DATA_DIR may not exist.
      const disk = await statfs(path).catch(() => undefined);
      if (disk && disk.blocks > 0) free.set({ folder }, disk.bavail / disk.blocks);
    }
  });
  const lost = 'Log lines dropped because the reader of the log was too slow.';
  const dropped = counter('hosting_api_log_lines_dropped_total', lost, [], () => {
    dropped.reset();
    dropped.inc(droppedLines());
  });
}
