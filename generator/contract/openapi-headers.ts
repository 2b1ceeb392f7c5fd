import { isLimited, takesIdempotencyKey } from '#contract/endpoint.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { problems } from '#contract/problem.ts';
import type { ProblemCode } from '#contract/problem.ts';
import type { OpenApiDocument } from '#contract/openapi-document.ts';

type Header = OpenApiDocument['components']['headers'][string];
type Refs = Record<string, { $ref: string }>;

const text = { type: 'string' };
const seconds = { type: 'integer', minimum: 1 };

/** The headers of responses, by the name of their component. */
export const headers = {
  'X-Request-Id': header('The ID of this request in our logs.', text),
  ETag: header('The version of this response, for If-None-Match.', text),
  'Cache-Control': header('How long the response may be cached.', text),
  'Content-Location': optional('The present address of the article, if the request has a former path.', text),
  'RateLimit-Policy': header('The rate limit, as in IETF draft-ietf-httpapi-ratelimit-headers.', text),
  RateLimit: header('The remaining quota, as in the same draft.', text),
  'Retry-After': header('Seconds to wait before the next request.', seconds),
  'Store-Retry-After': optional('Seconds to wait before the next request, if our store does not answer.', seconds),
  'WWW-Authenticate': optional('The required authentication and scope, as in RFC 6750.', text),
  'Idempotent-Replayed': optional('true if this is the stored response of an earlier request.', text),
  'Idempotent-Request-Id': optional('The X-Request-Id of the first request with this Idempotency-Key.', text),
  'X-Domain-Unicode': optional(
    'An internationalised name as people write it (U-labels), percent-encoded UTF-8; `domain` has its A-labels.',
    text,
  ),
  'Accept-Ranges': header('bytes: a part can be requested with Range.', text),
  'Content-Range': header('The part, and the size of the file: bytes 0-99/1000, or bytes */1000 with 416.', text),
  Allow: header('The methods that the endpoint supports.', text),
} as const satisfies Record<string, Header>;

type HeaderName = keyof typeof headers;

function header(description: string, schema: Header['schema']): Header {
  return { description, required: true, schema };
}

function optional(description: string, schema: Header['schema']): Header {
  return { description, required: false, schema };
}

/** The headers of a successful response. */
export function headersOfReply(endpoint: Endpoint, status: string): Refs {
  const names: HeaderName[] = ['X-Request-Id', 'Cache-Control'];
  if (endpoint.stored && status.startsWith('2')) names.push('ETag');
  if (206 in endpoint.replies) names.push('Accept-Ranges');
  if (status === '206') names.push('Content-Range');
  if (endpoint.stored && status === '503') names.push('Retry-After');
  if (endpoint.hasFormerPaths) names.push('Content-Location');
  if (takesIdempotencyKey(endpoint)) names.push('Idempotent-Replayed', 'Idempotent-Request-Id');
  if (endpoint.hasUnicodeName) names.push('X-Domain-Unicode');
  // Caches share the other responses between clients.
  if (isLimited(endpoint.path) && !(endpoint.stored && status === '200')) names.push('RateLimit-Policy', 'RateLimit');
  return refs(names);
}

/** The headers of a 304. */
export function headersOfNotModified(endpoint: Endpoint): Refs {
  return refs([
    'ETag',
    'X-Request-Id',
    'Cache-Control',
    ...(endpoint.hasFormerPaths ? ['Content-Location' as const] : []),
  ]);
}

/** The headers of the errors of one status. */
export function headersOfProblems(endpoint: Endpoint, codes: readonly ProblemCode[]): Refs {
  const names: HeaderName[] = ['X-Request-Id', 'Cache-Control'];
  if (codes.includes('method_not_allowed')) names.push('Allow');
  if (codes.includes('unauthorized') || codes.includes('forbidden')) names.push('WWW-Authenticate');
  if (codes.includes('range_not_satisfiable')) names.push('Content-Range');
  if (codes.includes('in_progress')) names.push('Retry-After', 'Idempotent-Request-Id');
  if (takesIdempotencyKey(endpoint) && codes.includes('provider_error')) {
    names.push('Idempotent-Replayed', 'Idempotent-Request-Id');
  }
  if (codes.includes('rate_limited')) names.push('Retry-After', 'RateLimit-Policy', 'RateLimit');
  const mayBeStoreFailure = endpoint.access !== undefined && codes.some((code) => problems[code].status === 500);
  return { ...refs(names), ...(mayBeStoreFailure && { 'Retry-After': refTo('Store-Retry-After') }) };
}

function refs(names: readonly HeaderName[]): Refs {
  return Object.fromEntries(names.map((name) => [name, refTo(name)]));
}

function refTo(name: HeaderName): { $ref: string } {
  return { $ref: `#/components/headers/${name}` };
}
