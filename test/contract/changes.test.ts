import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { OpenApi } from '#contract/openapi.ts';
import { findChanges, renderFacts, toFacts } from './changes.ts';
import type { Facts } from './changes.ts';
import { document } from './document.ts';

const file = '__snapshots__/contract.json';
const facts = toFacts(document);

test('a change of the contract fails until it is reviewed, and a breaking change until the major version is raised', async () => {
  const reviewed = JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as Facts;
  const changes = findChanges(reviewed, facts);
  const majorOf = ({ version }: Facts): number => Number.parseInt(String(version?.['version']), 10);
  const breaks = changes.some((change) => change.endsWith(': breaking')) && majorOf(facts) === majorOf(reviewed);
  // Fails before the snapshot: `vitest -u` must not accept a breaking change.
  if (breaks) expect(changes, 'undo the breaking change, or raise the major version in contract/docs.ts').toEqual([]);
  expect.soft(changes, 'accept these changes with: npx vitest run test/contract -u').toEqual([]);
  await expect(renderFacts(facts)).toMatchFileSnapshot(file);
});

type Value = Record<string, any>; // eslint-disable-line typescript/no-explicit-any -- each case changes another part

type Edit = (document: Value) => void;

/** Finds the changes after an edit of a copy of the document. */
function changesAfter(edit: Edit): string[] {
  const edited = structuredClone(document) as Value;
  edit(edited);
  return findChanges(facts, toFacts(edited as OpenApi));
}

const list = '/v1/blog/list';
const article = '/v1/kb/article';
const reset = '/v1/hosting/cloud/vps-custom/{id}/reset';
const shape = (d: Value, name: string): Value => d['components'].schemas[name];
const field = (d: Value, name: string, of: string): Value => shape(d, of)['properties'][name];
const endpoint = (d: Value, path: string): Value => d['paths'][path].get;
const parameter = (d: Value, path: string): Value => endpoint(d, path)['parameters'][0];

test.each<[change: string, Edit]>([
  ['removed GET /v1/article.css: breaking', (d) => delete d['paths']['/v1/article.css']],
  ['added GET /v1/new: compatible', (d) => (d['paths']['/v1/new'] = structuredClone(d['paths'][article]))],
  [
    `GET ${list}: operationId changed from "listBlogArticles" to "list": breaking`,
    (d) => (endpoint(d, list)['operationId'] = 'list'),
  ],
  [`GET ${list}: tags lost "Blog", gained "Media": compatible`, (d) => (endpoint(d, list)['tags'] = ['Media'])],
  [
    `GET ${list}: needsKey changed from nothing to true: breaking`,
    (d) => (endpoint(d, list)['security'] = [{ apiKey: [] }]),
  ],
  [`POST ${reset}: needsKey changed from true to nothing: compatible`, (d) => (d['paths'][reset].post.security = [])],
  [`removed GET ${article} 404: breaking`, (d) => delete endpoint(d, article)['responses']['404']],
  [`added GET ${list} 404: compatible`, (d) => (endpoint(d, list)['responses']['404'] = { headers: {} })],
  [`GET ${list} 200: headers lost "ETag": breaking`, (d) => delete endpoint(d, list)['responses']['200'].headers.ETag],
  [
    `GET ${list} 200: headers gained "Allow": compatible`,
    (d) => (endpoint(d, list)['responses']['200'].headers.Allow = { $ref: '#/components/headers/Allow' }),
  ],
  [
    `GET ${list} 304: application/json changed from nothing to "string": compatible`,
    (d) => (endpoint(d, list)['responses']['304'].content = { 'application/json': { schema: { type: 'string' } } }),
  ],
  [
    `GET ${article} 404: errors gained "not_found": compatible`,
    (d) =>
      (endpoint(d, article)['responses']['404'].content['text/plain'].examples.not_found = {
        value: 'endpoint not found',
      }),
  ],
  [
    'header ETag: required changed from nothing to true: compatible',
    (d) => (d['components'].headers.ETag.required = true),
  ],
  [
    'error path_required: messages lost "Path is required", gained "No path": compatible',
    (d) => {
      for (const { get } of Object.values<Value>(d['paths'])) {
        const examples = get?.responses['400']?.content['text/plain']?.examples;
        if (examples?.path_required) examples.path_required.value = 'no path\n';
      }
    },
  ],
  [`removed GET ${article} query path: breaking`, (d) => (endpoint(d, article)['parameters'] = [])],
  [
    `added GET ${list} query page: breaking`,
    (d) => endpoint(d, list)['parameters'].push({ name: 'page', in: 'query', required: true, schema: {} }),
  ],
  [
    `added GET ${list} query page: compatible`,
    (d) => endpoint(d, list)['parameters'].push({ name: 'page', in: 'query', required: false, schema: {} }),
  ],
  [
    'GET /v1/kb/list query category: required changed from false to true: breaking',
    (d) => (parameter(d, '/v1/kb/list')['required'] = true),
  ],
  [
    `GET ${article} query path: maxLength changed from nothing to 3: breaking`,
    (d) => (parameter(d, article)['schema'].maxLength = 3),
  ],
  [
    'removed field title from KBFeedbackRequest: breaking',
    (d) => delete shape(d, 'KBFeedbackRequest')['properties'].title,
  ],
  [
    'added field example to KBFeedbackRequest: compatible',
    (d) => (shape(d, 'KBFeedbackRequest')['properties'].example = { type: 'string' }),
  ],
  [
    'request KBFeedbackRequest.slug: required changed from false to true: breaking',
    (d) => shape(d, 'KBFeedbackRequest')['required'].push('slug'),
  ],
  [
    'request KBFeedbackRequest.helpful: enum changed from nothing to [true]: breaking',
    (d) => (field(d, 'helpful', 'KBFeedbackRequest')['enum'] = [true]),
  ],
  ['removed field version from InfoResponse: breaking', (d) => delete shape(d, 'InfoResponse')['properties'].version],
  [
    'added field commit to InfoResponse: breaking',
    (d) => (shape(d, 'InfoResponse')['properties'].commit = { type: 'string' }),
  ],
  [
    'response InfoResponse.version: required changed from true to false: breaking',
    (d) => (shape(d, 'InfoResponse')['required'] = []),
  ],
  [
    'response InfoResponse.version: type lost "string", gained "number": breaking',
    (d) => (field(d, 'version', 'InfoResponse')['type'] = 'number'),
  ],
  [
    'response InfoResponse.version: type gained "null": breaking',
    (d) => (shape(d, 'InfoResponse')['properties'].version = { anyOf: [{ type: 'string' }, { type: 'null' }] }),
  ],
  [
    'response InfoResponse.version: pattern changed from nothing to "^\\\\d": compatible',
    (d) => (field(d, 'version', 'InfoResponse')['pattern'] = '^\\d'),
  ],
  [
    'response InfoResponse: isClosed changed from true to nothing: breaking',
    (d) => delete shape(d, 'InfoResponse')['additionalProperties'],
  ],
  [
    'response PlatformStatus: enum gained "sleeping": breaking',
    (d) => shape(d, 'PlatformStatus')['enum'].push('sleeping'),
  ],
  ['response PlatformStatus: enum lost "up": compatible', (d) => shape(d, 'PlatformStatus')['enum'].shift()],
  [
    'response CategoryItem.count: minimum changed from 1 to 0: breaking',
    (d) => (field(d, 'count', 'CategoryItem')['minimum'] = 0),
  ],
  [
    'response DomainPricing.register: type lost "number", gained "integer": compatible',
    (d) => (field(d, 'register', 'DomainPricing')['type'] = 'integer'),
  ],
  [
    'response BlogIndexItem.related: maxItems changed from 5 to 4: compatible',
    (d) => (field(d, 'related', 'BlogIndexItem')['maxItems'] = 4),
  ],
])('the change is described: %s', (change, edit) => {
  expect(changesAfter(edit)).toEqual([change]);
});

test('a changed description does not change the contract', () => {
  expect(changesAfter((d) => (shape(d, 'InfoResponse')['description'] = 'Another text.'))).toEqual([]);
});
