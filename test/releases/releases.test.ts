import { renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { renderProblem } from '#contract/problem.ts';
import { makeCurrent } from '../../generator/release/history.ts';
import { pruneReleases, rollback } from '../../generator/release/releases.ts';
import { createTestApp } from '../helpers/app.ts';
import type { TestApp } from '../helpers/app.ts';
import { article, buildProject, siteUrls, writeFiles } from '../helpers/project.ts';
import { ask, askJson } from '../server/ask.ts';
import { damages } from './damage.ts';
import { copyProject, eventually } from '../server/shared.ts';
import { describeEndpoint, readManifest, requestOf, servedFiles, storedNames } from '../server/targets.ts';

/** Changes the title of an article, in its list too. */
function change(app: TestApp, title: string): void {
  writeFiles(app.root, {
    'content/blog/news/first.md': article({ title, date: '2026-01-02' }, `## Details\n\nThis is ${title}.\n`),
  });
}

async function titles(app: TestApp): Promise<string[]> {
  type Titled = { title: string };
  const { json: list } = await askJson<Titled[]>(app, '/v1/blog/list');
  const { json: first } = await askJson<Titled>(app, '/v1/blog/article?path=/blog/news/first');
  return [list[1]!.title, first.title];
}

async function expectServed(app: TestApp, title: string): Promise<void> {
  await expect.poll(() => titles(app), eventually).toEqual([title, title]);
}

/** Expects every file to be served in every encoding. */
async function expectAllServed(app: TestApp, files: ReturnType<typeof servedFiles>): Promise<void> {
  for (const { target } of files) {
    for (const encoding of ['identity', 'gzip', 'br']) {
      const { status } = await ask(app, target, { headers: { 'Accept-Encoding': encoding } });
      expect({ target, status }).toEqual({ target, status: 200 });
    }
  }
}

describe('a new release', () => {
  test('is served completely without a restart, and logged', async () => {
    const app = await createTestApp({ root: await copyProject() });
    expect(await titles(app)).toEqual(['First', 'First']);
    const { etag } = (await ask(app, '/v1/blog/list')).headers;
    change(app, 'Changed');
    const { release } = await buildProject(app.root, { urls: siteUrls });
    await expectServed(app, 'Changed');
    expect((await ask(app, '/v1/blog/list', { headers: { 'If-None-Match': etag } })).status).toBe(200);
    expect(app.log()).toContainEqual(
      expect.objectContaining({ level: 'info', release: release!.id, msg: 'new release' }),
    );
    await expectAllServed(app, servedFiles(app.root));
  });

  test('adds and removes articles, categories and former paths', async () => {
    const app = await createTestApp({ root: await copyProject() });
    const gone = '/v1/kb/article?path=/knowledgebase/dns/records';
    // With and without the fast path.
    const second = ['', '&x=1'].map((more) => `/v1/blog/article?path=/blog/news/second${more}`);
    const added = ['', '&x=1'].map((more) => `/v1/kb/article?path=/knowledgebase/vps/records${more}`);
    const statuses = () => Promise.all([gone, ...second, ...added].map(async (one) => (await ask(app, one)).status));
    expect(await statuses()).toEqual([200, 200, 200, 404, 404]);
    rmSync(join(app.root, 'content/knowledgebase/dns'), { recursive: true });
    rmSync(join(app.root, 'content/blog/news/second.md'));
    writeFiles(app.root, {
      'content/knowledgebase/vps/records.md':
        '---\ntitle: DNS records\ndescription: How.\naliases: [/knowledgebase/dns/records]\n---\n\nText.\n',
    });
    await buildProject(app.root, { urls: siteUrls });
    await expect
      .poll(async () => (await ask(app, gone)).headers['content-location'], eventually)
      .toBe('/v1/kb/article?path=/knowledgebase/vps/records');
    expect(await statuses()).toEqual([200, 404, 404, 200, 200]);
    for (const one of second)
      expect(await ask(app, one, { headers: { 'If-None-Match': '*' } })).toMatchObject({ status: 404 });
    expect((await ask(app, '/v1/kb/list?category=dns')).text).toBe('[]\n');
  });

  test('with the same bytes keeps the ETags', async () => {
    const app = await createTestApp({ root: await copyProject() });
    const { headers } = await ask(app, '/v1/plans');
    rmSync(join(app.root, 'dist/releases'), { recursive: true });
    const again = await buildProject(app.root, { urls: siteUrls });
    await expect.poll(() => app.log().filter(({ msg }) => msg === 'new release'), eventually).toHaveLength(1);
    expect(app.log().at(-1)).toMatchObject({ release: again.release!.id });
    const unchanged = await ask(app, '/v1/plans', { headers: { 'If-None-Match': headers.etag! } });
    expect(unchanged.status).toBe(304);
  });

  test('made current by a rollback is served', async () => {
    const app = await createTestApp({ root: await copyProject() });
    const first = readManifest(app.root).id;
    change(app, 'Changed');
    await buildProject(app.root, { urls: siteUrls });
    await expectServed(app, 'Changed');
    expect(await rollback(join(app.root, 'dist'))).toBe(first);
    await expectServed(app, 'First');
  });

  test('is not loaded after the server has stopped', async () => {
    const app = await createTestApp({ root: await copyProject() });
    await app.stop();
    change(app, 'Changed');
    await buildProject(app.root, { urls: siteUrls });
    expect(app.log().filter(({ msg }) => msg === 'new release')).toEqual([]);
  });
});

describe('a damaged release', () => {
  const some = [
    'public/v1/blog/article/news/first.json has one wrong byte',
    'public/v1/blog/article/news/second.json.gz has one wrong byte',
    'public/v1/plans.json has one wrong byte',
    'public/media/kb/map.svg has one wrong byte',
    'manifest.json has one wrong byte',
    'public/v1/plans.json is missing',
    'private/domains.json is {"unknown":{}}, as the manifest has it',
  ];

  test.each(some)('is not served and named in the log: %s', async (name) => {
    const app = await createTestApp({ root: await copyProject() });
    const dist = join(app.root, 'dist');
    change(app, 'Changed');
    // Built and damaged in another folder: the server must never see the intact release.
    const elsewhere = join(app.root, 'elsewhere');
    const { release } = await buildProject(app.root, { out: elsewhere });
    const { file, apply } = damages.find((damage) => damage.name === name)!;
    const folder = join(elsewhere, 'releases', release!.id);
    const damaged = apply(folder) ?? folder;
    renameSync(damaged, join(dist, 'releases', basename(damaged)));
    await makeCurrent(dist, basename(damaged));

    const refusals = () => app.log().filter(({ level }) => level === 'error');
    await expect.poll(refusals, eventually).toHaveLength(1);
    const { msg, err } = refusals()[0] as { msg: string; err: { message: string } };
    expect(msg).toBe('new release rejected; the previous one is still served');
    expect(err.message).toContain(join('releases', basename(damaged), file));
    expect(await titles(app)).toEqual(['First', 'First']);
    expect((await ask(app, '/ready')).status).toBe(200);

    // Another build of the same sources repairs the release.
    await buildProject(app.root, { urls: siteUrls });
    await expectServed(app, 'Changed');
    expect(refusals()).toHaveLength(1);
  });
});

describe('the current release', () => {
  test.each<[string, (dist: string) => void]>([
    ['its link is removed', (dist) => unlinkSync(join(dist, 'current'))],
    [
      'its link leads nowhere',
      (dist) => {
        unlinkSync(join(dist, 'current'));
        symlinkSync('releases/none', join(dist, 'current'));
      },
    ],
  ])('stays if %s, and the next build is served', async (_, remove) => {
    const app = await createTestApp({ root: await copyProject() });
    const files = servedFiles(app.root);
    remove(join(app.root, 'dist'));
    expect((await ask(app, '/ready')).status).toBe(200);
    await expectAllServed(app, files);
    change(app, 'Changed');
    await buildProject(app.root, { urls: siteUrls });
    await expectServed(app, 'Changed');
    expect(app.log().filter(({ level }) => level === 'error')).toEqual([]);
  });

  test.each<[string, (dist: string) => void]>([
    ['its folder is removed', (dist) => rmSync(join(dist, 'releases'), { recursive: true })],
    ['the whole folder is removed', (dist) => rmSync(dist, { recursive: true })],
  ])('is served from the cache if %s, other files are 500, and the next build is served', async (_, remove) => {
    const app = await createTestApp({ root: await copyProject() });
    const list = await ask(app, '/v1/blog/list');
    const others = storedNames.filter((name) => name !== 'listBlogArticles');
    const targets = others.map((name) => ({ name, target: requestOf(name, { root: app.root, key: '' }).target }));
    remove(join(app.root, 'dist'));
    expect((await ask(app, '/v1/blog/list')).text).toBe(list.text);
    for (const { name, target } of targets) {
      const { errorStyle, failure } = describeEndpoint(name);
      const { status, text, headers } = await ask(app, target);
      expect({ name, status, text }).toEqual({ name, status: 500, text: renderProblem(errorStyle, failure) });
      expect(headers['cache-control']).toBe('no-store');
    }
    const headers = { 'X-Request-Id': 'order-4711', Origin: 'https://www.example.com' };
    for (const target of ['/v1/plans', '/v1/plans?x=1']) {
      expect((await ask(app, target, { headers })).headers).toMatchObject({
        'x-request-id': 'order-4711',
        'x-content-type-options': 'nosniff',
        'access-control-allow-origin': '*',
      });
    }
    const failures = () => app.log().filter(({ id, msg }) => id === 'order-4711' && msg === 'request failed');
    await expect.poll(failures, eventually).toHaveLength(2);
    for (const failure of failures()) {
      const message = expect.stringContaining('plans.json: the file cannot be read');
      expect(failure).toMatchObject({ level: 'error', status: 500, err: { message, stack: expect.any(String) } });
    }
    change(app, 'Changed');
    await buildProject(app.root, { urls: siteUrls });
    await expectServed(app, 'Changed');
    expect((await ask(app, '/v1/plans')).status).toBe(200);
  });

  test('stays complete if releases are pruned before the next load', async () => {
    const app = await createTestApp({ root: await copyProject() });
    const files = servedFiles(app.root);
    change(app, 'Changed');
    const { release } = await buildProject(app.root, { urls: siteUrls });
    // A release that was current within the last hour is kept: a server may still serve it.
    expect(await pruneReleases(join(app.root, 'dist'), 1)).toEqual([]);
    await expectAllServed(app, files);
    await expectServed(app, 'Changed');
    expect(app.log()).toContainEqual(expect.objectContaining({ release: release!.id, msg: 'new release' }));
  });
});
