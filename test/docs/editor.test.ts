import { globSync, readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { sources } from '../../generator/contract/endpoints.ts';
import { formatDiagnostic } from '../../generator/source/diagnostics.ts';

const root = resolve(import.meta.dirname, '../..');
const readJson = (file: string): unknown => JSON.parse(readFileSync(join(root, file), 'utf8'));
const settings = readJson('.vscode/settings.json') as { 'yaml.schemas': Record<string, string | string[]> };
const schemas = Object.entries(settings['yaml.schemas']).map(([schema, globs]) => ({ schema, globs: [globs].flat() }));

test.each(schemas)("$schema is the contract's schema", async ({ schema }) => {
  const [, source] = /^\.\/\.vscode\/schemas\/(\w+)\.json$/.exec(schema)!;
  const text = JSON.stringify(z.toJSONSchema(sources[source as keyof typeof sources], { io: 'input' }), undefined, 2);
  await expect(`${text}\n`).toMatchFileSnapshot(`../../.vscode/schemas/${source}.json`);
});

test('no schema is left over from an earlier contract', () => {
  const used = schemas.map(({ schema }) => schema.slice('./.vscode/schemas/'.length));
  expect(readdirSync(join(root, '.vscode/schemas')).toSorted()).toEqual(used.toSorted());
});

test('each YAML file of the samples matches its single schema', () => {
  const files = globSync('{content,catalog}/**/*.yaml', { cwd: root });
  expect(files.length).toBeGreaterThan(8);
  for (const file of files) {
    const own = schemas.filter(({ globs }) => globSync(globs, { cwd: root }).includes(file));
    expect(own, file).toHaveLength(1);
    const schema = z.fromJSONSchema(readJson(own[0]!.schema) as Parameters<typeof z.fromJSONSchema>[0]);
    expect(schema.safeParse(parse(readFileSync(join(root, file), 'utf8'))).error, file).toBeUndefined();
  }
});

test('the task "check" finds the position and the message of each problem', () => {
  const { tasks } = readJson('.vscode/tasks.json') as {
    tasks: { label: string; problemMatcher: { pattern: { regexp: string } } }[];
  };
  const pattern = new RegExp(tasks.find(({ label }) => label === 'check')!.problemMatcher.pattern.regexp);
  const place = { file: 'content/blog/news/a.md', line: 3, column: 14 };
  const warning = formatDiagnostic({ severity: 'warning', ...place, message: 'unused', hint: 'remove it' }, 'github');
  expect(pattern.exec(warning)!.slice(1)).toEqual(['warning', place.file, '3', '14', 'unused (remove it)']);
  const error = formatDiagnostic({ severity: 'error', ...place, message: 'it says: no' }, 'github');
  expect(pattern.exec(error)!.slice(1)).toEqual(['error', place.file, '3', '14', 'it says: no']);
});
