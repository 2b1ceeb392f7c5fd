import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { renderOpenApi } from '#contract/openapi.ts';
import { Manifest } from '#contract/release.ts';
import { verifyRelease } from '../../generator/release.ts';
import { buildProject, createProject, soundProject } from '../helpers/project.ts';
import { flipBit } from './damage.ts';
import { readTree } from './tree.ts';

function currentOf(root: string): string {
  return realpathSync(join(root, 'dist/current'));
}

/** The files of a release that people read: text by path, the JSON as the value that it is. */
function readTexts(release: string): Record<string, unknown> {
  const tree = Object.entries(readTree(release)).filter(([path]) => !/\.(?:gz|br)$|^manifest\.json$/.test(path));
  return Object.fromEntries(
    tree.map(([path, base64]) => {
      const text = Buffer.from(base64, 'base64').toString();
      return [path, path.endsWith('.json') ? (JSON.parse(text) as unknown) : text];
    }),
  );
}

describe('the release of the sound project', () => {
  test('has exactly these files, with exactly this in them', async () => {
    const root = createProject();
    await buildProject(root);
    const texts = readTexts(currentOf(root));
    expect(texts['v1/openapi.json']).toEqual(renderOpenApi());
    // The description of the API is reviewed as a snapshot of its own.
    delete texts['v1/openapi.json'];
    await expect(`${JSON.stringify(texts, null, 2)}\n`).toMatchFileSnapshot('__snapshots__/sound-release.json');
  });

  test('has each JSON file on one line that ends, beside its compressed forms', async () => {
    const root = createProject();
    await buildProject(root);
    const release = currentOf(root);
    const files = Object.keys(readTree(release)).filter((path) => path.endsWith('.json') && path !== 'manifest.json');
    expect(files.length).toBeGreaterThan(15);
    for (const file of files) {
      const bytes = readFileSync(join(release, file));
      expect(bytes.toString(), file).toBe(`${JSON.stringify(JSON.parse(bytes.toString()))}\n`);
      expect(gunzipSync(readFileSync(join(release, `${file}.gz`))).equals(bytes), `${file}.gz`).toBe(true);
      expect(brotliDecompressSync(readFileSync(join(release, `${file}.br`))).equals(bytes), `${file}.br`).toBe(true);
    }
  });

  test('has its media as they are, and not compressed', async () => {
    const root = createProject();
    await buildProject(root);
    const media = Object.entries(readTree(join(currentOf(root), 'media')));
    expect(media.map(([path]) => path)).toEqual(['covers/cover.svg', 'kb/map.svg']);
    for (const [path, base64] of media) {
      expect(Buffer.from(base64, 'base64').toString()).toBe(soundProject[`content/media/${path}`]);
    }
  });

  test('is what current leads to, by a path that stays right when dist is moved', async () => {
    const root = createProject();
    const { release } = await buildProject(root);
    expect(readdirSync(join(root, 'dist')).toSorted()).toEqual(['current', 'releases']);
    expect(readdirSync(join(root, 'dist/releases'))).toEqual([release!.id]);
    expect(currentOf(root)).toBe(realpathSync(join(root, 'dist/releases', release!.id)));
  });
});

describe('the manifest of a release', () => {
  test('gives the size and SHA-256 of every file but itself', async () => {
    const root = createProject();
    const { release } = await buildProject(root);
    const tree = readTree(currentOf(root));
    const manifest = Manifest.parse(JSON.parse(Buffer.from(tree['manifest.json']!, 'base64').toString()));
    expect(manifest).toEqual(release);
    delete tree['manifest.json'];
    const files = Object.entries(tree).map(([path, base64]) => {
      const bytes = Buffer.from(base64, 'base64');
      return [path, { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }] as const;
    });
    expect(manifest.files).toEqual(Object.fromEntries(files));
    expect(Object.keys(manifest.files)).toEqual(Object.keys(tree).toSorted());
  });

  test('says what there is, and of which contract', async () => {
    const { release } = await buildProject(createProject());
    expect(release).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
      contractVersion: '1.0.0',
      counts: { blogArticles: 2, knowledgeBaseArticles: 2, services: 1, games: 1, tlds: 1, monitors: 1, media: 2 },
      nextChangeAt: null,
    });
  });

  test.each(['v1/plans.json', 'v1/plans.json.gz', 'v1/blog/list.json.br', 'media/kb/map.svg', 'catalog/domains.json'])(
    'tells when one bit of %s is another',
    async (file) => {
      const root = createProject();
      await buildProject(root);
      await expect(verifyRelease(currentOf(root))).resolves.toBeDefined();
      flipBit(join(currentOf(root), file));
      await expect(verifyRelease(currentOf(root))).rejects.toThrow(`${file} has been changed`);
    },
  );
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
    const root = createProject();
    await buildProject(root);
    const folder = join(currentOf(root), 'schemas');
    const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
    return Object.fromEntries(
      names.map((name) => [name, JSON.parse(readFileSync(join(folder, name), 'utf8')) as JsonSchema]),
    );
  }

  function objectsIn(schema: JsonSchema): JsonSchema[] {
    const { properties = {}, additionalProperties: others, items, anyOf = [] } = schema;
    const inner = [...Object.values(properties), ...anyOf, items, typeof others === 'object' ? others : undefined];
    const all = inner.flatMap((part) => (part ? objectsIn(part) : []));
    return schema.properties ? [schema, ...all] : all;
  }

  test('are of draft 2020-12, one for each kind of source file', async () => {
    const schemas = await readSchemas();
    expect(Object.keys(schemas).toSorted()).toEqual([
      'blog.json',
      'category.json',
      'domains.json',
      'knowledgebase.json',
      'plans.json',
      'status.json',
    ]);
    for (const [name, { $schema, type }] of Object.entries(schemas)) {
      expect({ name, $schema, type }).toEqual({
        name,
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
      });
    }
  });

  test('refuse unknown fields at every depth, and describe the known ones', async () => {
    const objects = Object.values(await readSchemas()).flatMap(objectsIn);
    expect(objects.length).toBeGreaterThan(10);
    for (const { properties, additionalProperties } of objects) {
      expect(additionalProperties, Object.keys(properties!).join()).toBe(false);
    }
    for (const schema of Object.values(await readSchemas())) {
      for (const [field, { description }] of Object.entries(schema.properties!)) {
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
  ])('know the fields of the sample and ask for no other: %s', async (name, sample) => {
    const { properties, required } = (await readSchemas())[name]!;
    const fields = [...String(soundProject[sample]).matchAll(/^(\w+):/gm)].map(([, field]) => field!);
    expect(Object.keys(properties!)).toEqual(expect.arrayContaining(fields));
    expect(fields).toEqual(expect.arrayContaining(required!));
  });
});

test('a build that fails leaves no release', async () => {
  const root = createProject({ 'content/blog/news/first.md': 'x' });
  const { release } = await buildProject(root);
  expect(release).toBeUndefined();
  expect(existsSync(join(root, 'dist/current'))).toBe(false);
  expect(readdirSync(join(root, 'dist/releases'))).toEqual([]);
});
