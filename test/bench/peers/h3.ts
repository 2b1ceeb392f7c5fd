// h3 used as in its documentation, under listhen: middleware by app.use, thrown errors, the hooks onError and
// onResponse. Each request gets the same treatment as in the product: request id, CORS, rate limit, access log.
import { randomUUID } from 'node:crypto';
import { H3, HTTPError, HTTPResponse, getRequestIP, handleCors, toNodeHandler } from 'h3';
import type { CorsOptions } from 'h3';
import { listen } from 'listhen';
import { pino } from 'pino';
import { cases, info, port, version } from './answers.ts';
import type { Answer } from './answers.ts';

/** Burst and requests per second. At 1, every request of a client after the first is refused. */
const burst = Number(process.argv[4]);
const log = pino({
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (label) => ({ level: label }) },
});
const get = ({ headers }: Answer, wanted: string): string | undefined =>
  Object.entries(headers).find(([name]) => name.toLowerCase() === wanted)?.[1];
/** Paths whose responses carry rate limit headers. */
const withRateLimit = new Set(
  cases.filter(({ answer }) => get(answer, 'ratelimit')).map(({ target }) => target.split('?')[0]),
);
const byMiddleware = /^(?:x-request-id|x-content-type-options|access-control-.*|ratelimit.*|content-length)$/i;
const ownHeaders = (answer: Answer): Record<string, string> =>
  Object.fromEntries(Object.entries(answer.headers).filter(([name]) => !byMiddleware.test(name)));
const infoHeaders = ownHeaders(info);
const errors = new Map(
  cases.map(({ answer }) => [answer.status, { text: answer.body.toString(), headers: ownHeaders(answer) }]),
);
const refuse = (status: number): HTTPError => new HTTPError({ status, headers: errors.get(status)!.headers });

const exposeHeaders = get(info, 'access-control-expose-headers')?.split(', ') ?? [];
const cors: CorsOptions = { origin: '*', exposeHeaders };

const buckets = new Map<string, { left: number; at: number }>();
/** Takes a token from a client's bucket; returns the rest, below 0 if the bucket was empty. */
function consumeToken(client: string): number {
  const now = performance.now();
  const bucket = buckets.get(client) ?? { left: burst, at: now };
  if (burst > 1) bucket.left = Math.min(burst, bucket.left + ((now - bucket.at) / 1000) * burst);
  bucket.at = now;
  bucket.left = Math.max(-1, bucket.left - 1);
  buckets.set(client, bucket);
  return Math.floor(bucket.left);
}

const app = new H3({
  onError: ({ status, headers }) =>
    new HTTPResponse(errors.get(status)?.text ?? '', { status, headers: headers ?? {} }),
  onResponse({ status }, event) {
    const line = {
      id: event.context['id'],
      ip: getRequestIP(event),
      method: event.req.method,
      url: event.url.pathname + event.url.search,
      status,
      ms: Math.round((performance.now() - (event.context['began'] as number)) * 100) / 100,
      agent: event.req.headers.get('user-agent') ?? undefined,
    };
    log.info(line, 'request');
  },
});
app.use((event) => {
  const id = event.req.headers.get('x-request-id') ?? randomUUID();
  event.context['began'] = performance.now();
  event.context['id'] = id;
  event.res.headers.set('x-request-id', id);
  event.res.headers.set('x-content-type-options', 'nosniff');
});
app.use((event) => {
  // Routes with a key have no CORS.
  if (event.url.pathname.startsWith('/v1/hosting/')) {
    event.res.headers.set('vary', 'origin');
    return undefined;
  }
  const preflight = handleCors(event, cors);
  return preflight === false ? undefined : preflight;
});
app.use('/v1/**', (event) => {
  const left = consumeToken(getRequestIP(event) ?? '');
  if (withRateLimit.has(event.url.pathname)) {
    event.res.headers.set('ratelimit-policy', `"ip";q=${burst};w=1`);
    event.res.headers.set('ratelimit', `"ip";r=${Math.max(0, left)};t=1`);
  }
  if (left < 0) throw refuse(429);
});
app.get('/v1/info', (event) => {
  for (const [name, value] of Object.entries(infoHeaders)) event.res.headers.set(name, value);
  return `${JSON.stringify({ version })}\n`;
});
app.get('/v1/kb/article', () => {
  throw refuse(404);
});
app.get('/v1/kb/list', () => []);
app.all('/v1/plans', (event) => {
  if (event.req.method !== 'GET') throw refuse(405);
  return {};
});
app.get('/v1/hosting/game/logs/:id/latest', (event) => {
  if (!event.req.headers.get('authorization')) throw refuse(401);
  return {};
});
await listen(toNodeHandler(app), { port, hostname: '127.0.0.1', isProd: true, showURL: false, autoClose: false });
