/** The allowed origins. */
export interface CorsOptions {
  /** `*`, or origins. */
  readonly origins: readonly string[];
  /** Whether loopback origins are allowed on any port. */
  readonly allowLocal: boolean;
}

/** Returns the CORS headers of a response, as alternating names and values, for the Origin of a request. */
export type Cors = (origin: string | undefined, isKeyed: boolean) => readonly string[];

const exposed =
  'Accept-Ranges, Content-Location, Content-Range, ETag, Idempotent-Replayed, Idempotent-Request-Id, RateLimit, ' +
  'RateLimit-Policy, Retry-After, WWW-Authenticate, X-Domain-Unicode, X-Request-Id';
const local = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/** Creates {@link Cors}. Endpoints with an API key allow listed origins only: `*` does not include them. */
export function createCors({ origins, allowLocal }: CorsOptions): Cors {
  const forAnyone = ['Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', exposed];
  const varies = ['Vary', 'Origin'];
  const open = origins.includes('*');
  const listed = new Set(origins.filter((origin) => origin !== '*'));
  return (origin, isKeyed) => {
    if (open && !isKeyed) return forAnyone;
    if (origin === undefined || !(listed.has(origin) || (allowLocal && local.test(origin)))) return varies;
    return ['Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', exposed, ...varies];
  };
}

const requestHeaders = 'Accept, Content-Type, If-None-Match, If-Range, Range, Traceparent, Tracestate, X-Request-Id';

/** The headers of a preflight response, in addition to those of every response. */
export function preflightHeaders(methods: readonly string[], isKeyed: boolean): Record<string, string> {
  return {
    'Access-Control-Allow-Methods': methods.join(', '),
    'Access-Control-Allow-Headers': isKeyed ? `${requestHeaders}, Authorization, Idempotency-Key` : requestHeaders,
    'Access-Control-Max-Age': '86400',
  };
}

/** Whether a browser asks if it may send a request of another origin. */
export function isPreflight({ method, headers }: Request): boolean {
  return method === 'OPTIONS' && headers.has('Origin') && headers.has('Access-Control-Request-Method');
}
