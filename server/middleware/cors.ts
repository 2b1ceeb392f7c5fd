/** Who may read the answers from a browser. */
export interface CorsOptions {
  /** `*`, or origins. */
  readonly origins: readonly string[];
  /** Whether any port of this machine is an allowed origin as well. */
  readonly allowLocal: boolean;
}

const exposed = 'Content-Location, ETag, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id';
const local = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/** Creates the CORS headers of answers: names and values in turn, for the Origin of a request. */
export function createCors({ origins, allowLocal }: CorsOptions): (origin: string | undefined) => readonly string[] {
  const anyone = ['Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', exposed];
  const nobody = ['Vary', 'Origin'];
  if (origins.includes('*')) return () => anyone;
  return (origin) => {
    if (origin === undefined || !(origins.includes(origin) || (allowLocal && local.test(origin)))) return nobody;
    return ['Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', exposed, ...nobody];
  };
}

/** The headers of the answer to a preflight, beside those that every answer has. */
export function preflightHeaders(methods: readonly string[]): Record<string, string> {
  return {
    'Access-Control-Allow-Methods': methods.join(', '),
    'Access-Control-Allow-Headers': 'Accept, Content-Type, If-None-Match, X-Request-Id',
    'Access-Control-Max-Age': '86400',
  };
}
