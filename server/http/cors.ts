/** Who may read the answers from a browser. */
export interface CorsOptions {
  /** `*`, or origins. */
  readonly origins: readonly string[];
  /** Whether any port of this machine is an allowed origin as well. */
  readonly allowLocal: boolean;
}

const exposed =
  'Content-Location, ETag, Idempotent-Replayed, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id';
const local = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/**
 * Creates the CORS headers of answers: names and values in turn, for the Origin of a request. An endpoint that needs
 * an API key is open to listed origins only: `*` does not mean it.
 */
export function createCors({
  origins,
  allowLocal,
}: CorsOptions): (origin: string | undefined, keyed: boolean) => readonly string[] {
  const anyone = ['Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', exposed];
  const nobody = ['Vary', 'Origin'];
  const open = origins.includes('*');
  const listed = new Set(origins.filter((origin) => origin !== '*'));
  return (origin, keyed) => {
    if (open && !keyed) return anyone;
    if (origin === undefined || !(listed.has(origin) || (allowLocal && local.test(origin)))) return nobody;
    return ['Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', exposed, ...nobody];
  };
}

const requestHeaders = 'Accept, Content-Type, If-None-Match, X-Request-Id';

/** The headers of the answer to a preflight, beside those that every answer has. */
export function preflightHeaders(methods: readonly string[], keyed: boolean): Record<string, string> {
  return {
    'Access-Control-Allow-Methods': methods.join(', '),
    'Access-Control-Allow-Headers': keyed ? `${requestHeaders}, Authorization, Idempotency-Key` : requestHeaders,
    'Access-Control-Max-Age': '86400',
  };
}
