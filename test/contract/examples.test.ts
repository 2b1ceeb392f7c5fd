import { expect, test } from 'vitest';
import recordedExamples from '#contract/examples.json' with { type: 'json' };
import { ask } from '../server/ask.ts';
import { operationsOf } from './document.ts';
import { exampleRequest, serveSample } from './sample-app.ts';

/** The operations with recorded examples; a new operation starts as `null`. */
const recorded = Object.keys(recordedExamples);

/** Shortens a body for an example: two entries of a list or catalog map, one entry of a feed or sitemap. */
function shorten(value: unknown): unknown {
  if (typeof value === 'string' && value.startsWith('<?xml')) return shortenXml(value);
  if (Array.isArray(value)) return value.slice(0, 2).map(shorten);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]) => {
    const isMap = name === 'services' || name === 'games';
    return [name, shorten(isMap ? Object.fromEntries(Object.entries(inner as object).slice(0, 2)) : inner)];
  });
  return Object.fromEntries(entries);
}

/** Keeps the first entry, with the start of the text. */
function shortenXml(xml: string): string {
  const entries = [...xml.matchAll(/<(entry|url)>.*?<\/\1>/gs)];
  const last = entries.at(-1)!;
  const first = entries[0]![0].replace(/(<content[^>]*>[^\n]*).*(?=<\/content>)/s, '$1');
  return xml.slice(0, entries[0]!.index) + first + xml.slice(last.index + last[0].length);
}

const byMethod = (one: { method: string }, other: { method: string }): number =>
  one.method === other.method ? 0 : one.method < other.method ? -1 : 1;

test('each example request returns the example response from the sample content', async () => {
  const app = await serveSample();
  const { document } = app;
  const examples: Record<string, unknown> = {};
  // Actions come last, because an action invalidates the known state.
  for (const operation of operationsOf(document).toSorted(byMethod)) {
    const { path, method, operationId, responses } = operation;
    const { target, ...request } = exampleRequest(path, operation, app.key);
    const answer = await ask(app, target, { method: method.toUpperCase(), ...request });
    expect({ operationId, status: answer.status }).toEqual({ operationId, status: 200 });
    const [content] = Object.values(responses['200']!.content!);
    const { example } = content!;
    const isJson = answer.headers['content-type'] === 'application/json';
    const body = (isJson ? JSON.parse(answer.text) : answer.text) as Record<string, unknown>;
    if (recorded.includes(operationId)) examples[operationId] = shorten(body);
    else if (operationId === 'getOpenApi') expect(example).toEqual({ ...body, ...withoutOperations });
    else if (operationId === 'getContentHashes') expect(Object.keys(example as object)).toEqual(Object.keys(body));
    else if (operationId === 'getKnowledgeBaseSearch') {
      expect({ ...(example as object), index: body['index'] }).toEqual(body);
    } else if (operationId === 'openGameConsole') {
      expect(example).toEqual({ ...body, websocket: { ...(body['websocket'] as object), token: expect.any(String) } });
    } else if (operationId === 'getKey') {
      // The key of the tests has all scopes and no limits.
      const { scopes, limits, ...own } = example as Record<string, unknown>;
      expect({ ...body, scopes, limits }).toEqual({ ...own, scopes, limits });
    } else if (operationId.endsWith('State')) {
      expect(example).toEqual({ ...body, checked_at: expect.any(String) });
    } else expect({ operationId, body: shorten(example) }).toEqual({ operationId, body: shorten(body) });
  }
  // `vitest -u` writes the file; the next run uses the new examples.
  const text = `${JSON.stringify(examples, null, 2)}\n`;
  await expect(text).toMatchFileSnapshot('../../generator/contract/examples.json');
});

const withoutOperations = { paths: {}, components: { schemas: {}, headers: {}, securitySchemes: {} } };
