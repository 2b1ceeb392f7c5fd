import { Counter, Histogram } from '@prometheus-io/client';
import type { Registry } from '@prometheus-io/client';
import type { OnAnswered } from '../http/request.ts';

/** The methods that some route has. A client may make up others. */
const methods = new Set(['GET', 'HEAD', 'POST', 'OPTIONS']);
const otherMethod = 'other';

/** The label of all requests that have no route: their paths are made up by clients. */
const unmatched = 'unmatched';

/** What such requests are answered with: refused by Node.js, without a route, over the limit, or disconnected. */
const unmatchedStatuses = [400, 404, 408, 429, 431, 499];

/** An article takes less than a millisecond; an action may take as long as UPSTREAM_TIMEOUT_SECONDS. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Counts requests. All label values are of this program: routes, methods and statuses. */
export function countRequests(registry: Registry): OnAnswered {
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
    buckets,
    registers,
  });
  // They exist from the start, so that no request of a stranger adds a series.
  for (const method of [...methods, otherMethod]) {
    for (const status of unmatchedStatuses) requests.inc({ route: unmatched, method, status }, 0);
  }
  durations.zero({ route: unmatched });
  return ({ route = unmatched, method = '', status, ms }) => {
    requests.inc({ route, method: methods.has(method) ? method : otherMethod, status });
    if (ms !== undefined) durations.observe({ route }, ms / 1000);
  };
}
