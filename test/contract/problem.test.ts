import { describe, expect, test } from 'vitest';
import { ErrorResponse, problems, renderProblem } from '#contract/problem.ts';
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
