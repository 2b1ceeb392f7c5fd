import { hash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, realpathSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { Manifest } from '#contract/release.ts';
import { compileStatusWidget } from '../../generator/static-files.ts';
import {
  article,
  buildProject,
  createProject,
  guide,
  runGenerator,
  sharedFolder,
  siteUrls,
  temporaryFolder,
  validProject,
} from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { buildAndRead, currentOf, readTree } from './releases.ts';

/** The release of the valid project, built once for tests that only read it. */
let sound: Awaited<ReturnType<typeof buildAndRead>>;
beforeAll(async () => {
  sound = await buildAndRead(createProject({}, sharedFolder()));
});

function decode(tree: Readonly<Record<string, string>>, path: string): Buffer {
  return Buffer.from(tree[path]!, 'latin1');
}

describe('the release of the valid project', () => {
  test('has the files and contents of the snapshot', async () => {
    const { tree } = sound;
    const paths = Object.keys(tree).filter(
      (path) => !/\.(?:gz|br)$|^manifest\.json$|^(?:public\/docs|operators)\//.test(path),
    );
    const texts: Record<string, unknown> = {};
    for (const path of paths) {
      const text = decode(tree, path).toString();
      texts[path] = path.endsWith('.json') ? JSON.parse(text) : text;
    }
    // The OpenAPI document has its own snapshot; the status widget and /docs are tested in a browser.
    // The hashes are those of all files.
    delete texts['public/v1/content.json'];
    const { script, version, embed } = await compileStatusWidget();
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

  test('has JSON on one line, and compressed forms of JSON and scripts', async () => {
    const { tree } = sound;
    const files = Object.keys(tree).filter((path) => /\.js(?:on)?$/.test(path) && path !== 'manifest.json');
    expect(files.length).toBeGreaterThan(17);
    for (const file of files) {
      const text = decode(tree, file).toString();
      if (file.endsWith('.json')) expect(text, file).toBe(`${JSON.stringify(JSON.parse(text))}\n`);
      expect(gunzipSync(decode(tree, `${file}.gz`)).toString(), `${file}.gz`).toBe(text);
      expect(brotliDecompressSync(decode(tree, `${file}.br`)).toString(), `${file}.br`).toBe(text);
    }
  });

  test('is the only and the current release', async () => {
    const root = createProject();
    const { release } = await buildProject(root);
    expect(readdirSync(join(root, 'dist')).toSorted()).toEqual(['.cache', '.lock', 'current', 'history', 'releases']);
    expect(readdirSync(join(root, 'dist/releases'))).toEqual([release!.id]);
    expect(currentOf(root)).toBe(realpathSync(join(root, 'dist/releases', release!.id)));
  });
});

describe('the manifest of a release', () => {
  test('has the size and SHA-256 of every file except itself', async () => {
    const { tree, manifest } = sound;
    expect(Manifest.parse(JSON.parse(decode(tree, 'manifest.json').toString()))).toEqual(manifest);
    const paths = Object.keys(tree).filter((path) => path !== 'manifest.json');
    expect(Object.keys(manifest.files)).toEqual(paths);
    for (const path of paths) {
      const bytes = decode(tree, path);
      expect(manifest.files[path], path).toEqual({ bytes: bytes.length, sha256: hash('sha256', bytes) });
    }
  });

  test('has the id, the version of the contract and the counts', async () => {
    const { manifest } = sound;
    expect(manifest).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
      contractVersion: '2.0.0',
      counts: { blogArticles: 2, knowledgeBaseArticles: 2, services: 1, games: 1, tlds: 1, monitors: 1, media: 2 },
      nextChangeAt: null,
    });
  });
});

test('the JSON Schemas for editors refuse unknown fields at every depth, and describe known fields', () => {
  interface JsonSchema {
    readonly description?: string;
    readonly properties?: Readonly<Record<string, JsonSchema>>;
    readonly additionalProperties?: unknown;
  }
  const { tree } = sound;
  let objects = 0;
  for (const path of Object.keys(tree).filter((file) => /^public\/schemas\/.*\.json$/.test(file))) {
    const { properties = {} } = JSON.parse(decode(tree, path).toString(), (_, value: JsonSchema | null) => {
      if (value?.properties) expect(value.additionalProperties, Object.keys(value.properties).join()).toBe(false);
      objects += Number(value?.properties !== undefined);
      return value;
    }) as JsonSchema;
    for (const [field, { description }] of Object.entries(properties)) {
      if (!['tlds', 'monitors', 'maintenance', 'plans'].includes(field)) expect(description, field).toMatch(/\.$/);
    }
  }
  expect(objects).toBeGreaterThan(10);
});

test('a failed build leaves no release', async () => {
  const root = createProject({ 'content/blog/news/first.md': 'x' });
  const { release } = await buildProject(root);
  expect(release).toBeUndefined();
  expect(existsSync(join(root, 'dist/current'))).toBe(false);
  expect(existsSync(join(root, 'dist/releases'))).toBe(false);
});

describe('the same sources give the same release to the byte', () => {
  test('in another folder, with files in another order and of another time', async () => {
    const root = temporaryFolder();
    const source = createProject();
    for (const path of Object.keys(readTree(source)).toReversed()) {
      cpSync(join(source, path), join(root, 'a folder with spaces', path));
      utimesSync(join(root, 'a folder with spaces', path), 1, 1);
    }
    expect(await buildAndRead(join(root, 'a folder with spaces'))).toEqual(sound);
  });

  let withUrls: ReturnType<typeof buildAndRead> | undefined;
  test.each([
    { TZ: 'Pacific/Kiritimati', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' },
    { TZ: 'Pacific/Pago_Pago', LANG: 'C', LC_ALL: 'C' },
    { TZ: 'UTC', LANG: 'sv_SE.UTF-8', LC_ALL: 'sv_SE.UTF-8', UV_THREADPOOL_SIZE: '1' },
  ])('in the zone $TZ and the language $LANG', async (env) => {
    const root = createProject();
    const { manifest, tree } = await (withUrls ??= buildAndRead(createProject(), { urls: siteUrls }));
    const urls = { SITE_URL: siteUrls.site, PUBLIC_URL: siteUrls.service };
    const { status, stderr } = await runGenerator(['build', '--now', '2026-11-20'], {
      cwd: root,
      env: { ...env, ...urls },
    });
    expect(stderr).toMatch(
      new RegExp(`^release ${manifest.id} in dist: 4 articles, 0 warnings, \\d+ kB, \\d+\\.\\d s\\n`),
    );
    expect(status).toBe(0);
    expect(readTree(currentOf(root))).toEqual(tree);
  });

  test('with drafts and without them', async () => {
    const [blog, kb] = ['content/blog/news/draft.md', 'content/knowledgebase/vps/draft.md'];
    const root = createProject({
      [blog]: article({ draft: 'true', aliases: '[/blog/old]' }, 'Text.\n'),
      [kb]: guide('Draft', 'Text.\n').replace('---\n', '---\ndraft: true\n'),
    });
    expect(await buildAndRead(root)).toEqual(sound);
  });

  test('with two render threads', async () => {
    const pages = Array.from({ length: 40 }, (_, index): [string, string] => [
      `content/knowledgebase/dns/page-${index}.md`,
      guide(`Page ${index}`, `## One\n\n${'Text with `code` and [a link](records.md). '.repeat(index * 5)}\n`),
    ]);
    const files = Object.fromEntries(pages);
    const inOne = await buildAndRead(createProject(files), { noCache: true });
    expect(await buildAndRead(createProject(files), { noCache: true, threads: 2 })).toEqual(inOne);
  });
});

/** The valid project and an article with syntax where line ends matter. */
const sources: Files = {
  ...validProject,
  'content/blog/news/lines.md': article(
    { description: '>-\n  Two lines\n  of text' },
    'One  \ntwo\\\nthree\n\n```sh\n\nls\n\nls -l\n```\n\n| a |\n|---|\n| b |\n\n<pre>\nx\n</pre>\n',
  ),
};

let plain: ReturnType<typeof buildAndRead> | undefined;
const readPlain = () => (plain ??= buildAndRead(createProject(sources)));

function everyText(change: (text: string) => string): Files {
  return Object.fromEntries(
    Object.entries(sources).map(([path, content]) => [
      path,
      /\.(?:md|yaml)$/.test(path) ? change(String(content)) : content,
    ]),
  );
}

test.each([
  ['begin with a byte order mark', (text: string) => `\uFEFF${text}`],
  ['have Windows line ends', (text: string) => text.replaceAll('\n', '\r\n')],
  ['have old Mac line ends', (text: string) => text.replaceAll('\n', '\r')],
  ['have a byte order mark and Windows line ends', (text: string) => `\uFEFF${text.replaceAll('\n', '\r\n')}`],
  [
    'have mixed line ends',
    (text: string) => text.split('\n').reduce((all, line, index) => `${all}${index % 2 ? '\r\n' : '\n'}${line}`),
  ],
])('a release has the same bytes if the texts %s', async (_, change) => {
  expect(await buildAndRead(createProject(everyText(change)))).toEqual(await readPlain());
});

test('a release has the same bytes with ignored files next to the texts', async () => {
  const root = createProject({
    ...sources,
    'content/README.md': 'How this folder works.\n',
    'catalog/README.md': 'How this folder works.\n',
    'content/.DS_Store': '\0',
    'content/blog/news/.DS_Store': '\0',
    'content/blog/news/.draft.md.swp': 'x',
    'content/media/.DS_Store': '\0',
    'content/media/.thumbnails/a.png': 'x',
    'catalog/.DS_Store': '\0',
    'catalog/games/.gitkeep': '',
  });
  expect(await buildAndRead(root)).toEqual(await readPlain());
});

test.each([
  ['domains.yaml, and no TLD is sold', 'domains', { tlds: 0 }, '{"tlds":{}}\n'],
  ['status.yaml, and there are no monitors', 'status', { monitors: 0 }, '{"monitors":[],"maintenance":[]}\n'],
])('a build succeeds without %s', async (_, name, none, text) => {
  const { tree, manifest } = await buildAndRead(createProject({ [`catalog/${name}.yaml`]: undefined }));
  expect(manifest.counts).toMatchObject(none);
  expect(decode(tree, `private/${name}.json`).toString()).toBe(text);
});

test('a build with an empty content folder succeeds with empty lists', async () => {
  const root = createProject();
  rmSync(join(root, 'content'), { recursive: true });
  mkdirSync(join(root, 'content'));
  const { tree } = await buildAndRead(root);
  for (const kind of ['blog', 'kb']) expect(decode(tree, `public/v1/${kind}/list.json`).toString()).toBe('[]\n');
});

test('the widget is one classic ASCII script of at most 3.3 kB gzipped that declares no globals', async () => {
  const { script, embed } = await compileStatusWidget();
  expect(embed.integrity).toBe(`sha384-${hash('sha384', script, 'base64')}`);
  expect(embed.path).toBe(`/v1/service-status.${hash('sha256', script).slice(0, 16)}.js`);
  expect(script).toMatch(/^[\t\n -~]+$/);
  expect(gzipSync(script, { level: 6 }).length).toBeLessThanOrEqual(3300);
  const context = createContext({});
  // Without a page, the script fails immediately, but its declarations exist already.
  expect(() => runInContext(script, context) as unknown).toThrow('document is not defined');
  expect(Object.getOwnPropertyNames(context)).toEqual([]);
});

test('the widget has the same bytes in another folder', async () => {
  const folder = join(temporaryFolder(), 'élan');
  for (const name of ['generator', 'package.json']) {
    cpSync(join(import.meta.dirname, '../..', name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(import.meta.dirname, '../..', 'node_modules'), join(folder, 'node_modules'));
  const copy = (await import(join(folder, 'generator/static-files.ts'))) as {
    compileStatusWidget: typeof compileStatusWidget;
  };
  const { embed } = await compileStatusWidget();
  expect((await copy.compileStatusWidget()).embed).toEqual(embed);
});
