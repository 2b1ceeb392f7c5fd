import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keyEntries } from '#contract/keys.ts';
import { head } from '#contract/docs.ts';
import recordedExamples from '#contract/examples.json' with { type: 'json' };
import type { OpenApi } from '#contract/openapi.ts';
import { article, buildProject, createProject, siteUrls, validProject } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { ask } from '../server/ask.ts';
import { sharedApp } from '../server/shared.ts';
import { operationsOf } from './document.ts';
import { exampleRequest, serveSample } from './sample-app.ts';

/** The operations with recorded examples; a new operation starts as `null`. */
const recorded = Object.keys(recordedExamples);

/** Shortens a body for an example: two entries of a list or map, 300 characters of a text. */
function shorten(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, 300);
  if (Array.isArray(value)) return value.slice(0, 2).map(shorten);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]) => {
    const isMap = /^(?:services|games)$/.test(name);
    return [name, shorten(isMap ? Object.fromEntries(Object.entries(inner as object).slice(0, 2)) : inner)];
  });
  return Object.fromEntries(entries);
}

const byMethod = (one: { method: string }, other: { method: string }): number =>
  one.method === other.method ? 0 : one.method < other.method ? -1 : 1;

test('each example request returns the example response from the sample content', async () => {
  const app = await serveSample();
  const { document } = app;
  const examples: Record<string, unknown> = {};
  // Actions come last, because an action invalidates the known state.
  // Operations on keys would end the key.
  const operations = operationsOf(document).filter(({ operationId }) => !(operationId in keyEntries));
  for (const operation of operations.toSorted(byMethod)) {
    const { path, method, operationId, responses } = operation;
    const { target, ...request } = exampleRequest(path, operation, app.key);
    const answer = await ask(app, target, { method: method.toUpperCase(), ...request });
    expect({ operationId, status: answer.status }).toEqual({ operationId, status: 200 });
    const [content] = Object.values(responses['200']!.content!);
    const { example } = content!;
    const isJson = answer.headers['content-type'] === 'application/json';
    const body = (isJson ? JSON.parse(answer.text) : answer.text) as Record<string, unknown>;
    if (recorded.includes(operationId)) {
      examples[operationId] = example;
      expect({ operationId, example }).toEqual({ operationId, example: shorten(body) });
    } else if (operationId === 'getOpenApi') expect(example).toEqual({ ...body, ...sampleParts });
    else if (operationId === 'getMedia') expect(example).toMatch(/^<svg /);
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

/** Builds a project with changed settings, and reads its OpenAPI document. */
async function describeBuild(files: Files, options: Parameters<typeof buildProject>[1]) {
  const root = createProject(files);
  await buildProject(root, options);
  const document = JSON.parse(readFileSync(join(root, 'dist/current/public/v1/openapi.json'), 'utf8')) as OpenApi;
  const operation = (id: string) => operationsOf(document).find(({ operationId }) => operationId === id)!;
  return {
    shown: (id: string) => operation(id).parameters.flatMap(({ example }) => (example === undefined ? [] : [example])),
    body: (id: string) => Object.values(operation(id).responses['200']!.content!)[0]!.example,
  };
}

test('each example of a parameter is of the content of the release, and answers', async () => {
  const app = await sharedApp();
  const document = (await (await app.request('/v1/openapi.json')).json()) as OpenApi;
  const open = operationsOf(document).filter(({ security, method }) => method === 'get' && security.length === 0);
  const withExamples = open.filter(({ parameters }) => parameters.some(({ example }) => example !== undefined));
  expect(withExamples.map(({ operationId }) => operationId).toSorted()).toEqual([
    'getBlogArticle',
    'getBlogIndex',
    'getKnowledgeBaseArticle',
    'getKnowledgeBaseIndex',
    'getMedia',
    'getStatusWidgetVersion',
    'listKnowledgeBaseArticles',
    'searchDomain',
  ]);
  for (const operation of open) {
    const { target } = exampleRequest(operation.path, operation, app.key);
    const { status, text } = await ask(app, target);
    expect({ target, status }).toEqual({ target, status: 200 });
    expect(text.trim()).not.toBe('[]');
  }
});

test('live prices, or content without articles and media, leave out the examples of their parameters', async () => {
  const live = await describeBuild({}, { urls: { ...siteUrls, prices: 'whmcs' } });
  expect(live.shown('searchDomain')).toEqual([]);
  expect(live.body('searchDomain')).toMatchObject({ domain: 'example.com' });
  const sold = await describeBuild(
    { 'catalog/domains.yaml': 'tlds: { .nord: { prices: { EUR: { 1: { register: 1, renew: 2, transfer: 3 } } } } }\n' },
    { urls: { ...siteUrls, prices: 'catalog' } },
  );
  expect(sold.shown('searchDomain')).toEqual(['example.nord']);
  const empty = Object.fromEntries(
    Object.keys(validProject).flatMap((file) => (/^content\/.*(?:md|svg|png)$/.test(file) ? [[file, undefined]] : [])),
  );
  const without = await describeBuild(empty, { lenient: true });
  for (const id of ['getBlogArticle', 'getBlogIndex', 'getKnowledgeBaseArticle', 'getKnowledgeBaseIndex', 'getMedia']) {
    expect({ id, shown: without.shown(id) }).toEqual({ id, shown: [] });
    expect(without.body(id), id).toBeDefined();
  }
});

test('an example is the start of its file: two entries of lists and maps, 300 characters of texts', async () => {
  const text = `${'x'.repeat(299)}😀 more`;
  const { body } = await describeBuild(
    { 'content/blog/news/newest.md': article({ date: '2026-03-28', description: text }, `${text}\n`) },
    { urls: siteUrls },
  );
  expect(body('getBlogArticle')).toMatchObject({ description: 'x'.repeat(299), body: 'x'.repeat(299) });
  expect(body('listBlogArticles')).toHaveLength(2);
  expect(body('getArticleStyle')).toHaveLength(300);
});

const sampleParts = { servers: head.servers, paths: {}, components: { schemas: {}, headers: {}, securitySchemes: {} } };
