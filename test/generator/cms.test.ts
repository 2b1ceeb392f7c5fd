import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { sources } from '../../generator/contract/endpoints.ts';
import { createProject, writeFiles } from '../helpers/project.ts';
import { runIn } from './releases.ts';

const repository = resolve(import.meta.dirname, '../..');
const readJson = (file: string) => JSON.parse(readFileSync(join(repository, file), 'utf8')) as object;

interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly default?: unknown;
  readonly widget: string;
  readonly fields?: readonly Field[];
}
interface Form {
  readonly name: string;
  readonly label: string;
  readonly folder?: string;
  readonly file?: string;
  readonly fields: readonly Field[];
  readonly files?: readonly Form[];
}
interface Config {
  readonly backend: object;
  readonly publish_mode?: string;
  readonly collections: readonly Form[];
}

const cms = (root: string, out: string, ...args: readonly string[]) =>
  runIn(root, 'cms', '--out', join(root, out), ...args);

/** Writes the CMS of the valid project, and returns its configuration and its page. */
async function writeCms(...args: string[]) {
  const root = createProject({ 'content/authors.yaml': 'Marit: {}\n' });
  const result = await cms(root, 'cms', ...args);
  const read = (file: string): string => readFileSync(join(root, 'cms', file), 'utf8');
  const config = result.status === 0 ? (parse(read('config.yml')) as Config) : undefined;
  return { ...result, root, config: config!, page: config ? read('index.html') : '' };
}

const isValid = new Ajv({ strict: false, validateFormats: false }).compile(
  readJson('node_modules/@sveltia/cms/schema/sveltia-cms.json'),
);

test('each field of the schemas is in its form, required as in the schema, and without a default', async () => {
  const { config } = await writeCms();
  const forms = config.collections.flatMap((form) => form.files ?? form);
  type Schema = z.core.JSONSchema.JSONSchema;
  const check = (schema: Schema, fields: readonly Field[]): void => {
    const names = Object.keys(schema.properties!).filter((name) => name !== 'category');
    expect(fields.map(({ name }) => name).filter((name) => name !== 'body')).toEqual(names);
    for (const field of fields.filter(({ name }) => name !== 'body')) {
      expect(field).toMatchObject({ required: schema.required?.includes(field.name) ?? false });
      expect(field).not.toHaveProperty('default');
      const { items } = schema.properties![field.name] as { items?: Schema };
      if (items?.properties) check(items, field.fields!);
    }
  };
  const rows = [
    ['blog', /^content\/blog\//],
    ['knowledgebase', /^content\/knowledgebase\//],
    ['plans', /^catalog\/(?:services|games)$/],
    ['status', /^catalog\/status\.yaml$/],
  ] as const;
  for (const [source, place] of rows) {
    const own = forms.filter(({ folder, file }) => place.test(folder ?? file!));
    expect(own.length).toBeGreaterThan(0);
    for (const { fields } of own) check(z.toJSONSchema(sources[source], { io: 'input' }), fields);
  }
  // The others have free keys, or are a list or a folder.
  expect(Object.keys(sources)).toEqual([
    'blog',
    'knowledgebase',
    'category',
    'removed',
    'authors',
    'plans',
    'domains',
    'status',
  ]);
});

test('the forms have the names of the categories, the authors, and folders for pictures', async () => {
  const { config } = await writeCms();
  expect(config.collections.map(({ label }) => label)).toEqual([
    'News (blog)',
    'Dns (knowledge base)',
    'Virtual servers (knowledge base)',
    'Services',
    'Games',
    'Site',
  ]);
  expect(config.collections[0]!.fields).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: 'author', widget: 'select', options: ['Marit'] }),
      expect.objectContaining({ name: 'cover', widget: 'image', media_folder: '/content/media/covers' }),
      { name: 'body', label: 'Text', widget: 'markdown', modes: ['raw'] },
    ]),
  );
});

const own = 'https://git.example.com:3000';
test.each([
  ['', '', { name: 'github', repo: 'local/folder', branch: 'main', auth_methods: ['token'] }, undefined],
  ['github', 'a/b', { name: 'github', repo: 'a/b', branch: 'main', auth_methods: ['token'] }, 'https://api.github.com'],
  [
    'github --sign-in https://sign-in.example.com',
    'a/b',
    { name: 'github', repo: 'a/b', branch: 'main', base_url: 'https://sign-in.example.com' },
    'https://api.github.com',
  ],
  [
    'gitlab --sign-in 12ab',
    'a/b/c',
    { name: 'gitlab', repo: 'a/b/c', branch: 'main', app_id: '12ab', auth_type: 'pkce' },
    'https://gitlab.com',
  ],
  [
    'gitea --sign-in 12ab',
    `${own}/a/b`,
    { name: 'gitea', repo: 'a/b', branch: 'editors', base_url: own, api_root: `${own}/api/v1`, app_id: '12ab' },
    own,
  ],
])('the page of %j may connect only to its git host', async (backend, name, expected, host) => {
  const args = backend === '' ? [] : ['--backend', ...backend.split(' '), '--repository', name];
  const { config, page, root } = await writeCms(...args);
  expect(isValid(config), JSON.stringify(isValid.errors)).toBe(true);
  expect(config.backend).toEqual(expected);
  expect(config.publish_mode).toBe(/github|gitlab/.test(backend) ? 'editorial_workflow' : undefined);
  expect(page.match(/https?:[^;'" ]*/g) ?? []).toEqual(host === undefined ? [] : [host]);
  for (const [, file] of page.matchAll(/(?:href|src)="([\w.-]+)"/g))
    expect(existsSync(join(root, 'cms', file!)), file).toBe(true);
});

test('an untouched field that is optional is left out of the file', async () => {
  const { config } = await writeCms();
  const widgetOf = (form: Form, field: string) => form.fields.find(({ name }) => name === field)?.widget;
  const forms = config.collections.filter(({ fields }) => fields);
  expect(forms.map((form) => widgetOf(form, 'draft') ?? widgetOf(form, 'soldOut'))).toEqual(
    'select select select boolean boolean'.split(' '),
  );
});

test('the command replaces its own folder, but not one with other files', async () => {
  const { root } = await writeCms();
  writeFiles(root, { 'cms/.htaccess': 'Header set X-Frame-Options DENY\n' });
  const stderr = '--out: the folder has other files; name an empty folder or an earlier one of this command\n';
  expect(await cms(root, 'cms')).toMatchObject({ status: 0 });
  expect(readFileSync(join(root, 'cms/.htaccess'), 'utf8')).toContain('DENY');
  expect(await cms(root, 'content')).toMatchObject({ status: 1, stderr });
  expect(existsSync(join(root, 'content/config.yml'))).toBe(false);
  const taken = '--out: the folder cannot be created (EEXIST)\n';
  const file = 'catalog/status.yaml';
  expect(await cms(root, file)).toMatchObject({ status: 1, stderr: taken });
});

test('a repository without an owner is refused', async () => {
  const stderr = '--repository must be OWNER/NAME or its https address\n';
  expect(await writeCms('--backend', 'gitlab', '--repository', 'name')).toMatchObject({ status: 1, stderr });
});
