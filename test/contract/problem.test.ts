import { describe, expect, test } from 'vitest';
import { errorMediaTypes, ErrorResponse, problems, renderProblem } from '#contract/problem.ts';
import type { ProblemCode } from '#contract/problem.ts';

/** All codes with their statuses. The specification does not name the codes of text bodies; those are our own. */
const statuses: Readonly<Record<ProblemCode, number>> = {
  validation_error: 400,
  confirmation_required: 400,
  path_required: 400,
  invalid_feedback: 400,
  invalid_domain: 400,
  unauthorized: 401,
  forbidden: 403,
  insufficient_scope: 403,
  provider_permission_denied: 403,
  not_found: 404,
  article_not_found: 404,
  media_not_found: 404,
  tld_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  in_progress: 409,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  idempotency_mismatch: 422,
  misdirected_request: 421,
  upgrade_required: 426,
  headers_too_long: 431,
  rate_limited: 429,
  internal_error: 500,
  content_unavailable: 500,
  pricing_unavailable: 500,
  server_unavailable: 500,
  feedback_not_built: 500,
  provider_error: 502,
  feedback_not_delivered: 502,
};
const codes = Object.keys(problems) as ProblemCode[];

test('every code has the status of the specification', () => {
  expect(Object.fromEntries(Object.entries(problems).map(([code, { status }]) => [code, status]))).toEqual(statuses);
});

/** Text bodies that are part of the contract. */
test.each<[ProblemCode, string]>([
  ['method_not_allowed', 'method not allowed\n'],
  ['rate_limited', 'rate limit exceeded\n'],
  ['path_required', 'path is required\n'],
  ['article_not_found', 'article not found\n'],
  ['content_unavailable', 'content could not be loaded\n'],
])('%s has the agreed text body', (code, text) => {
  expect(renderProblem('text', code)).toBe(text);
});

test('an unknown route has the agreed JSON body', () => {
  expect(renderProblem('json', 'not_found')).toBe(
    '{"success":false,"error":"not_found","message":"Endpoint not found"}\n',
  );
});

describe.each(codes)('%s', (code) => {
  const { message } = problems[code];

  test('is one line of lower-case text', () => {
    const text = renderProblem('text', code);
    expect(text).toBe(`${message[0]!.toLowerCase()}${message.slice(1)}\n`);
    expect(text).toMatch(/^[a-z][\x20-\x7e]{5,80}[^.\s]\n$/);
  });

  test('is an ErrorResponse in JSON', () => {
    const text = renderProblem('json', code);
    expect(text.endsWith('}\n')).toBe(true);
    expect(ErrorResponse.parse(JSON.parse(text))).toEqual({ success: false, error: code, message });
  });
});

test('a given message replaces the default in both styles', () => {
  expect(renderProblem('text', 'forbidden', 'You do not have access to this VPS')).toBe(
    'you do not have access to this VPS\n',
  );
  expect(JSON.parse(renderProblem('json', 'forbidden', 'You do not have access to this "VPS"'))).toEqual({
    success: false,
    error: 'forbidden',
    message: 'You do not have access to this "VPS"',
  });
});

test('each style has its content type', () => {
  expect(errorMediaTypes).toEqual({ json: 'application/json', text: 'text/plain; charset=utf-8' });
});
