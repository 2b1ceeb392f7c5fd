import { describe, expect, test } from 'vitest';
import { ErrorResponse, problems, renderProblem } from '#contract/problem.ts';
import type { ProblemCode } from '#contract/problem.ts';
import { document, operationsOf } from './document.ts';

const codes = Object.keys(problems) as ProblemCode[];

test('errors outside of operations have the expected statuses', () => {
  const contents = operationsOf(document).flatMap(({ responses }) =>
    Object.values(responses).flatMap(({ content = {} }) => Object.values(content)),
  );
  const described = new Set(contents.flatMap(({ examples = {} }) => Object.keys(examples)));
  const others = codes.filter((code) => !described.has(code));
  expect(Object.fromEntries(others.map((code) => [code, problems[code].status]))).toEqual({
    request_timeout: 408,
    misdirected_request: 421,
    upgrade_required: 426,
    headers_too_long: 431,
  });
});

describe.each(codes)('%s', (code) => {
  const { message } = problems[code];

  test('is one line that starts in lower case', () => {
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
