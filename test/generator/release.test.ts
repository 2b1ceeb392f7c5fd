import { createHash } from 'node:crypto';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { renderOpenApi } from '#contract/openapi.ts';
import { Manifest } from '#contract/release.ts';
import { verifyRelease } from '../../generator/release/publish.ts';
import { compileStatusWidget } from '../../generator/release/status-widget.ts';
import { buildProject, createProject, validProject } from '../helpers/project.ts';
import { flipBit } from './damage.ts';
import { readTree } from './tree.ts';

function currentOf(root: string): string {
  return realpathSync(join(root, 'dist/current'));
}

let sound: Promise<{ tree: Readonly<Record<string, string>>; manifest: Manifest }> | undefined;

/** The release of the valid project, each file in base64. It is built once, since these tests only read it. */
function readSound() {
  return (sound ??= (async () => {
    const root = createProject();
    const { release } = await buildProject(root);
    return { tree: readTree(currentOf(root)), manifest: release! };
  })());
}

function decode(tree: Readonly<Record<string, string>>, path: string): Buffer {
  return Buffer.from(tree[path]!, 'base64');
}

describe('the release of the valid project', () => {
  test('has the files and contents of the snapshot', async () => {
    const { tree } = await readSound();
    const paths = Object.keys(tree).filter((path) => !/\.(?:gz|br)$|^manifest\.json$|^public\/docs\//.test(path));
    const texts: Record<string, unknown> = {};
    for (const path of paths) {
      const text = decode(tree, path).toString();
      texts[path] = path.endsWith('.json') ? JSON.parse(text) : text;
    }
    // The OpenAPI document has its own snapshot; the status widget and /docs are tested in a browser.
    const { script, version, embed } = await compileStatusWidget();
    const written = { 'application/javascript': script, 'text/css': String(texts['public/v1/article.css']) };
    expect(texts['public/v1/openapi.json']).toEqual(renderOpenApi({ widgetVersion: version, texts: written }));
    delete texts['public/v1/openapi.json'];
    for (const path of [
      'public/v1/service-status.js',
      `public/v1/service-status.${version}.js`,
      'public/v1/service-status.json',
    ]) {
      expect(texts[path], path).toEqual(path.endsWith('.js') ? script : embed);
      delete texts[path];
    }
    await expect(`${JSON.stringify(texts, null, 2)}\n`).toMatchFileSnapshot('__snapshots__/valid-release.json');
  });

  test('has each JSON file on one line, and JSON and scripts with their compressed forms', async () => {
    const { tree } = await readSound();
    const files = Object.keys(tree).filter((path) => /\.js(?:on)?$/.test(path) && path !== 'manifest.json');
    expect(files.length).toBeGreaterThan(17);
    for (const file of files) {
      const text = decode(tree, file).toString();
      if (file.endsWith('.json')) expect(text, file).toBe(`${JSON.stringify(JSON.parse(text))}\n`);
      expect(gunzipSync(decode(tree, `${file}.gz`)).toString(), `${file}.gz`).toBe(text);
      expect(brotliDecompressSync(decode(tree, `${file}.br`)).toString(), `${file}.br`).toBe(text);
    }
  });

  test('has its media unchanged and not compressed', async () => {
    const { tree } = await readSound();
    const media = Object.keys(tree).filter((path) => path.startsWith('public/media/'));
    expect(media).toEqual(['public/media/covers/cover.svg', 'public/media/kb/map.svg']);
    for (const path of media)
      expect(decode(tree, path).toString()).toBe(validProject[path.replace('public/', 'content/')]);
  });

  test('is the only release, and the target of current', async () => {
    const root = createProject();
    const { release } = await buildProject(root);
    expect(readdirSync(join(root, 'dist')).toSorted()).toEqual(['.lock', 'current', 'history', 'releases']);
    expect(readdirSync(join(root, 'dist/releases'))).toEqual([release!.id]);
    expect(currentOf(root)).toBe(realpathSync(join(root, 'dist/releases', release!.id)));
  });
});

describe('the manifest of a release', () => {
  test('has the size and SHA-256 of every file except itself', async () => {
    const { tree, manifest } = await readSound();
    expect(Manifest.parse(JSON.parse(decode(tree, 'manifest.json').toString()))).toEqual(manifest);
    const paths = Object.keys(tree).filter((path) => path !== 'manifest.json');
    expect(Object.keys(manifest.files)).toEqual(paths);
    for (const path of paths) {
      const bytes = decode(tree, path);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      expect(manifest.files[path], path).toEqual({ bytes: bytes.length, sha256 });
    }
  });

  test('has the id, the version of the contract and the counts', async () => {
    const { manifest } = await readSound();
    expect(manifest).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
      contractVersion: '2.0.0',
      counts: { blogArticles: 2, knowledgeBaseArticles: 2, services: 1, games: 1, tlds: 1, monitors: 1, media: 2 },
      nextChangeAt: null,
    });
  });

  test.each([
    'public/v1/plans.json',
    'public/v1/plans.json.gz',
    'public/v1/blog/list.json.br',
    'public/media/kb/map.svg',
    'private/domains.json',
  ])('detects a flipped bit in %s', async (file) => {
    const root = createProject();
    await buildProject(root);
    await expect(verifyRelease(currentOf(root))).resolves.toBeDefined();
    flipBit(join(currentOf(root), file));
    await expect(verifyRelease(currentOf(root))).rejects.toThrow(`${file} has been changed`);
  });
});

describe('the JSON Schemas for editors', () => {
  interface JsonSchema {
    $schema?: string;
    type?: string;
    description?: string;
    properties?: Record<string, JsonSchema>;
    required?: string[];
    additionalProperties?: boolean | JsonSchema;
    items?: JsonSchema;
    anyOf?: JsonSchema[];
  }

  async function readSchemas(): Promise<Record<string, JsonSchema>> {
    const { tree } = await readSound();
    const paths = Object.keys(tree).filter((path) => /^public\/schemas\/.*\.json$/.test(path));
    return Object.fromEntries(
      paths.map((path) => [
        path.slice('public/schemas/'.length),
        JSON.parse(decode(tree, path).toString()) as JsonSchema,
      ]),
    );
  }

  function objectsIn(schema: JsonSchema): JsonSchema[] {
    const { properties = {}, additionalProperties: others, items, anyOf = [] } = schema;
    const inner = [...Object.values(properties), ...anyOf, items, typeof others === 'object' ? others : undefined];
    const all = inner.flatMap((part) => (part ? objectsIn(part) : []));
    return schema.properties ? [schema, ...all] : all;
  }

  test('follow draft 2020-12, one for each kind of source file', async () => {
    const schemas = await readSchemas();
    expect(Object.keys(schemas).toSorted()).toEqual([
      'authors.json',
      'blog.json',
      'category.json',
      'domains.json',
      'knowledgebase.json',
      'plans.json',
      'removed.json',
      'status.json',
    ]);
    for (const [name, { $schema, type }] of Object.entries(schemas)) {
      expect({ name, $schema, type }).toEqual({
        name,
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: name === 'removed.json' ? 'array' : 'object',
      });
    }
  });

  test('refuse unknown fields at every depth, and describe all others', async () => {
    const objects = Object.values(await readSchemas()).flatMap(objectsIn);
    expect(objects.length).toBeGreaterThan(10);
    for (const { properties, additionalProperties } of objects) {
      expect(additionalProperties, Object.keys(properties!).join()).toBe(false);
    }
    for (const schema of Object.values(await readSchemas())) {
      for (const [field, { description }] of Object.entries(schema.properties ?? {})) {
        if (!['tlds', 'monitors', 'maintenance', 'plans'].includes(field)) expect(description, field).toMatch(/\.$/);
      }
    }
  });

  test.each([
    ['blog.json', 'content/blog/news/first.md'],
    ['knowledgebase.json', 'content/knowledgebase/vps/ssh.md'],
    ['category.json', 'content/knowledgebase/vps/category.yaml'],
    ['plans.json', 'catalog/services/web.yaml'],
    ['domains.json', 'catalog/domains.yaml'],
    ['status.json', 'catalog/status.yaml'],
  ])('have the fields of the sample, and require no others: %s', async (name, sample) => {
    const { properties, required } = (await readSchemas())[name]!;
    const fields = [...String(validProject[sample]).matchAll(/^(\w+):/gm)].map(([, field]) => field!);
    expect(Object.keys(properties!)).toEqual(expect.arrayContaining(fields));
    expect(fields).toEqual(expect.arrayContaining(required!));
  });
});

test('a failed build leaves no release', async () => {
  const root = createProject({ 'content/blog/news/first.md': 'x' });
  const { release } = await buildProject(root);
  expect(release).toBeUndefined();
  expect(existsSync(join(root, 'dist/current'))).toBe(false);
  expect(existsSync(join(root, 'dist/releases'))).toBe(false);
});
