import { describe, expect, test } from 'vitest';
import type { StaticFile } from '#contract/endpoint.ts';
import { endpoints, fillTemplate, matchFile, staticFiles, targetOf } from '#contract/endpoints.ts';
import type { StaticFileName } from '#contract/endpoints.ts';

test.each([
  '',
  'manifest.json',
  'public/v1/plans.json.gz',
  'public/v1/plansXjson',
  'public/v1/plans.json\n',
  'x/public/v1/plans.json',
  'private/v1/plans.json',
  'public/domains.json',
  'public/v1/blog/article/a.json',
  'public/v1/blog/article/a/.json/x',
  'public/v1/kb/list/a/b.json',
  'public/v1/service-status..js',
  'public/v1/service-status.a/b.js',
  'public/v1/service-status.js.br',
  'public/media/',
  'media/a.svg',
  'private/other.json',
  '__proto__',
])('%j is not a file of a release', (file) => {
  expect(matchFile(file)).toBeUndefined();
});

function namesIn(template: string): (string | undefined)[] {
  return [...template.matchAll(/\{(\w+\*?)\}/g)].map(([, name]) => name);
}

describe.each(Object.keys(staticFiles) as StaticFileName[])('%s', (name) => {
  const { file, schema, mediaType }: StaticFile = staticFiles[name];
  const target = targetOf(name);
  const params = { category: 'the-category', slug: 'the-slug', path: 'some/path.svg', source: 'plans', version: '0a' };

  test('matches the file of its own template', () => {
    expect(matchFile(fillTemplate(file, params))).toEqual({ name, target: target && fillTemplate(target, params) });
  });

  test('uses only names of the file in its target', () => {
    expect(namesIn(file)).toEqual(expect.arrayContaining(namesIn(target ?? '')));
  });

  test('has a schema if JSON, else a media type', () => {
    const isJson = file.endsWith('.json');
    expect([schema !== undefined, mediaType !== undefined]).toEqual([isJson, !isJson]);
  });
});

test('every endpoint of stored files has a file, and every target has an endpoint', () => {
  const targets = (Object.keys(staticFiles) as StaticFileName[]).flatMap((name) => targetOf(name)?.split('?')[0] ?? []);
  const paths = Object.values(endpoints).flatMap(({ path, stored }) => (stored === 'file' ? [path] : []));
  expect([...new Set(targets)].toSorted()).toEqual(paths.toSorted());
});
