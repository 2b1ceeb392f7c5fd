import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { OpenApi } from '#contract/openapi.ts';
import { findBreakingChanges } from './breaking-changes.ts';

const file = new URL('__snapshots__/openapi.json', import.meta.url);
const text = readFileSync(file, 'utf8');
const published = JSON.parse(text) as OpenApi;

type Value = Record<string, any>; // eslint-disable-line typescript/no-explicit-any -- each case changes another part

type Edit = (document: Value) => void;

/** The changes that are found after `edit` changed a copy of the document. */
function changesAfter(edit: Edit): string[] {
  const document = JSON.parse(text) as Value;
  edit(document);
  return findBreakingChanges(published, document as OpenApi);
}

const list = '/v1/blog/list';
const article = '/v1/kb/article';
const power = '/v1/hosting/cloud/vps-custom/{id}/reset';
const feedback = '/v1/kb/feedback';
const schema = (document: Value, name: string): Value => document['components'].schemas[name];

/** Each change by what is found of it. */
const breaking: Readonly<Record<string, Edit>> = {
  [`GET ${list}: removed`]: (d) => delete d['paths'][list],
  [`POST ${power}: removed`]: (d) => delete d['paths'][power].post,
  [`GET ${article}: 404 removed`]: (d) => delete d['paths'][article].get.responses['404'],
  [`GET ${list}: requires a key`]: (d) => (d['paths'][list].get.security = [{ apiKey: [] }]),
  [`GET ${list}: 200 ETag removed`]: (d) => delete d['paths'][list].get.responses['200'].headers.ETag,
  [`GET ${list}: 200 application/json removed`]: (d) => (d['paths'][list].get.responses['200'].content = {}),
  [`GET ${article}: query path removed`]: (d) => (d['paths'][article].get.parameters = []),
  'GET /v1/kb/list: query category is required': (d) =>
    d['paths']['/v1/kb/list'].get.parameters.forEach((one: Value) => (one['required'] = true)),
  [`GET ${list}: query page is required`]: (d) =>
    d['paths'][list].get.parameters.push({ name: 'page', in: 'query', required: true, schema: {} }),
  [`GET ${article}: query path: maxLength differs`]: (d) =>
    (d['paths'][article].get.parameters[0].schema = { type: 'string', minLength: 1, maxLength: 3 }),
  'GET /v1/info: 200.version: removed': (d) => delete schema(d, 'InfoResponse')['properties'].version,
  'GET /v1/info: 200.version: required on one side only': (d) => (schema(d, 'InfoResponse')['required'] = []),
  'GET /v1/info: 200.version: type differs ("number", "string")': (d) =>
    (schema(d, 'InfoResponse')['properties'].version = { type: 'number' }),
  'GET /v1/info: 200.version: type differs (["string","null"], "string")': (d) =>
    (schema(d, 'InfoResponse')['properties'].version.type = ['string', 'null']),
  'GET /v1/info: 200.commit: exists on one side only': (d) =>
    (schema(d, 'InfoResponse')['properties'].commit = { type: 'string' }),
  'GET /v1/info: 200: open on one side only': (d) => delete schema(d, 'InfoResponse')['additionalProperties'],
  [`POST ${feedback}: body.title: exists on one side only`]: (d) =>
    delete schema(d, 'KBFeedbackRequest')['properties'].title,
  [`POST ${feedback}: body.slug: required on one side only`]: (d) =>
    schema(d, 'KBFeedbackRequest')['required'].push('slug'),
  [`POST ${feedback}: body.helpful: enum differs`]: (d) =>
    (schema(d, 'KBFeedbackRequest')['properties'].helpful = { type: 'boolean', enum: [true] }),
};

test.each(Object.entries(breaking))('breaks clients: %s', (expected, edit) => {
  expect(changesAfter(edit).join('\n')).toContain(expected);
});

test('an additional response value breaks clients, and a removed value does not', () => {
  const enumOf = (document: Value): unknown[] => {
    const { status } = schema(document, 'StatusResponse')['properties'];
    return status.enum ?? schema(document, status.$ref.split('/').at(-1)).enum;
  };
  expect(changesAfter((document) => enumOf(document).push('sleeping'))).toEqual([
    expect.stringContaining('GET /v1/status: 200.status: enum differs'),
  ]);
  expect(changesAfter((document) => enumOf(document).pop())).toEqual([]);
});

const harmless: Readonly<Record<string, Edit>> = {
  'nothing changes': () => {},
  'a path is added': (d) => (d['paths']['/v1/new'] = d['paths'][list]),
  'a status is added': (d) => (d['paths'][list].get.responses['404'] = { description: 'Not found.' }),
  'a header is added': (d) => (d['paths'][list].get.responses['200'].headers['X-New'] = {}),
  'an optional parameter is added': (d) =>
    d['paths'][list].get.parameters.push({ name: 'page', in: 'query', required: false, schema: {} }),
  'an optional request field is added': (d) => (schema(d, 'KBFeedbackRequest')['properties'].page = { type: 'string' }),
  'a description changes': (d) => (schema(d, 'InfoResponse')['description'] = 'Another text.'),
  'a key is no longer required': (d) => (d['paths'][power].post.security = []),
};

test.each(Object.entries(harmless))('%s: breaks no client', (_, edit) => {
  expect(changesAfter(edit)).toEqual([]);
});
