import { existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { previewFolderOf, watchAndBuild } from '../../generator/dev.ts';
import { openPreview } from '../../generator/preview/server.ts';
import { mediaSamples } from '../helpers/media.ts';
import { article, buildProject, createProject, guide, validProject, writeFiles } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { watchProject } from '../helpers/dev.ts';
import { ask } from '../server/ask.ts';

/** Builds a project as `dev` does, and opens the preview. */
async function preview(files: Files, environment = {}) {
  const root = createProject(files);
  const server = await openPreview(environment);
  onTestFinished(() => server.close());
  const out = join(root, 'dist');
  const stop = await watchAndBuild({
    content: join(root, 'content'),
    catalog: join(root, 'catalog'),
    out,
    withUnpublished: true,
    report: ({ result: { release, diagnostics }, articles, sources }) => {
      const directory = release && join(previewFolderOf(out), 'releases', release.id);
      server.show({ articles, sources, diagnostics, directory });
    },
    fail: (error) => {
      throw error;
    },
  });
  onTestFinished(stop);
  return {
    root,
    origin: server.origin,
    get: (path: string) => ask({ port: Number(new URL(server.origin).port) }, path),
  };
}

test('texts of articles and queries are escaped in the pages', async () => {
  const { get } = await preview({
    'content/blog/news/first.md': article({ title: `'"<b>&'' title"'` }, '## Details\n\nText.\n'),
  });
  // Any web page can send such a request; `dev` must survive.
  const list = await get('/preview?q=%3Cscript%3E%22&category=%3Cb%3E&show=__proto__');
  expect(list.status).toBe(200);
  expect(list.text).toContain('value="&lt;script&gt;&quot;"');
  expect(list.text).not.toContain('<script>"');
  const page = await get('/preview/blog/news/first');
  expect(page.text).toContain('<h1>&quot;&lt;b&gt;&amp;&#39; title&quot;</h1>');
  expect(page.headers['content-security-policy']).toContain("default-src 'none'");
});

test('an article with errors shows them with the source line, and binary files are not shown', async () => {
  const { get } = await preview({
    'content/blog/news/first.md': article({ date: 'soon' }, '## Details\n'),
    'content/media/kb/unused.png': mediaSamples['png'],
  });
  const { text } = await get('/preview/blog/news/first');
  expect(text).toMatch(/first\.md:4:7<\/code><\/a> &quot;date&quot; /);
  expect(text).toContain('date: soon');
  expect(text).toContain('The text appears when the problems are solved.');
  const list = await get('/preview');
  expect(list.text).toContain('class="mark error"');
  expect(list.text).not.toContain('PNG binary');
});

test('a problem shows the line of the project, not of a file with this name in the working directory', async () => {
  const own = 'content/blog/company-news/rotterdam-location.md';
  expect(existsSync(own)).toBe(true);
  const { get } = await preview({
    [own]: article({ date: 'soon' }, 'Text.\n'),
    'catalog/status.yaml': 'monitor: []\n',
  });
  const { text } = await get('/preview');
  const places = [...text.matchAll(/class="place">([^<]+)<.*?<\/span>([^<]*)\n/gs)].map(([, place, line]) => [
    place,
    line,
  ]);
  expect(places).toEqual([
    [expect.stringMatching(/catalog\/status\.yaml:1:1$/), 'monitor: []'],
    [expect.stringMatching(/rotterdam-location\.md:4:7$/), 'date: soon'],
  ]);
});

test.each([
  ['VS Code', 'vscode://file', {}],
  ['VS Code', 'vscode://file', { EDITOR: 'vim' }],
  ['Cursor', 'cursor://file', { VISUAL: '/usr/bin/cursor --wait', EDITOR: 'codium' }],
  ['VSCodium', 'vscodium://file', { EDITOR: 'codium' }],
  ['VS Code', 'vscode://vscode-remote/wsl+Debian', { WSL_DISTRO_NAME: 'Debian' }],
])('pages link to files and problems in %s as %s', async (name, base, environment) => {
  const { get, root } = await preview(
    { 'content/blog/news/first.md': article({ date: 'soon' }, 'Text.\n') },
    environment,
  );
  const { text } = await get('/preview/blog/news/first');
  const file = `${base}${root}/content/blog/news/first.md`;
  expect(text).toContain(`<a href="${file}:1:1">Open in ${name}</a>`);
  expect(text.split(`<a href="${file}:4:7"><code class="place">`)).toHaveLength(3);
});

test('the list shows the covers that exist', async () => {
  const { get } = await preview({
    'content/blog/news/second.md': article({ cover: '/media/covers/none.svg' }, 'Text.\n'),
  });
  // The first build fails.
  expect((await get('/preview')).text).not.toContain('<img');
  const { get: getLater } = await preview({});
  const { text } = await getLater('/preview');
  expect(text.match(/<img [^>]+>/g)).toEqual(
    Array(2).fill(
      expect.stringMatching(
        /^<img src="\/preview\/media\/covers\/cover\.svg\?[\d.]+" alt="" width="120" height="63" loading="lazy" \/>$/,
      ),
    ),
  );
});

test('an article keeps its page while its file is half written, but not after removal', async () => {
  const { get, root } = await preview({});
  const page = async () => {
    const { status, text } = await get('/preview/blog/news/first');
    return `${status} ${text}`;
  };
  // Some editors truncate a file before they write the new text.
  for (const [text, problem] of [
    ['', 'there is no front matter'],
    ['---\ntitle: A', 'the front matter is not closed'],
  ] as const) {
    writeFiles(root, { 'content/blog/news/first.md': text });
    await expect.poll(page).toContain(problem);
    expect(await page()).toMatch(/^200 [^]*<h1>First<\/h1>/);
  }
  rmSync(join(root, 'content/blog/news/first.md'));
  await expect.poll(page).toMatch(/^404/);
});

test('a picture in the preview gets a new URL after each change', async () => {
  const { get, root } = await preview({
    'content/blog/news/first.md': article({}, '## Details\n\n![x](/media/kb/map.svg)\n'),
  });
  const addresses = async () =>
    [...(await get('/preview/blog/news/first')).text.matchAll(/src="(\/preview\/media\/[^"]+)"/g)].map(
      ([, src]) => src!,
    );
  const [cover, map] = await addresses();
  expect([cover, map].map((src) => src?.split('?')[0])).toEqual([
    '/preview/media/covers/cover.svg',
    '/preview/media/kb/map.svg',
  ]);
  const { headers } = await get(map!);
  expect([headers['content-type'], headers['content-security-policy']]).toEqual([
    'image/svg+xml; charset=utf-8',
    "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  ]);
  const larger = '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="60"/>\n';
  writeFiles(root, { 'content/media/kb/map.svg': larger });
  await expect.poll(addresses).toEqual([cover, expect.not.stringMatching(map!.replace('?', '\\?'))]);
  // The first build after the change may have seen the file without its text.
  await expect.poll(async () => (await get((await addresses())[1]!)).text).toBe(larger);
  expect((await get('/preview/media/kb/none.svg')).status).toBe(404);
});

test('the list shows 200 articles, and other paths are 404', async () => {
  const many = Array.from({ length: 210 }, (_, index) => [
    `content/knowledgebase/dns/page-${index}.md`,
    guide(`Page ${index}`, 'Text.\n'),
  ]);
  const { get } = await preview({
    ...Object.fromEntries(many),
    'content/blog/news/later.md': article({ date: '2100-01-01', title: 'Later' }, '> [!INFO]\n> Text.\n'),
  } as Files);
  const { text } = await get('/preview');
  expect(text.match(/<li>/g)).toHaveLength(200);
  expect(text).toContain('215 articles');
  for (const [query, count] of [
    ['q=page+209', 1],
    ['category=blog/news&show=drafts', 0],
    ['show=scheduled', 1],
    ['show=with+warnings', 1],
    ['show=with+problems', 0],
  ])
    expect((await get(`/preview?${query}`)).text).toContain(`${count} of 215 articles`);
  expect(await get('/preview/blog/news/none')).toMatchObject({ status: 404 });
});

test('the assets of the pages are served, and new event streams start with the current build', async () => {
  const { get, origin } = await preview({});
  expect((await get('/preview/preview.css')).headers['content-type']).toBe('text/css; charset=utf-8');
  expect((await get('/preview/preview.js')).text).toContain('EventSource');
  const { text } = await get('/preview');
  const number = /data-build="(\d+)"/.exec(text)![1]!;
  const stop = new AbortController();
  const events = await fetch(`${origin}/preview/events`, { signal: stop.signal });
  const { value } = await events.body!.getReader().read();
  expect(new TextDecoder().decode(value)).toBe(`retry: 500\nevent: build\ndata: ${number}\n\n`);
  stop.abort();
});

test.each([
  ['a link to the folder', 'content-link', 'content'],
  ['a link to a folder above', 'link', '.'],
])('dev sees saves behind %s, by either path', async (_, link, target) => {
  const root = createProject();
  symlinkSync(join(root, target), join(root, link));
  const content = target === '.' ? join(root, link, 'content') : join(root, link);
  const seen: string[][] = [];
  const stop = await watchAndBuild({
    content,
    catalog: join(root, 'catalog'),
    out: join(root, 'dist'),
    withUnpublished: true,
    report: ({ files }) => seen.push([...files.keys()]),
    fail: (error) => {
      throw error;
    },
  });
  onTestFinished(stop);
  for (const folder of [content, join(root, 'content')]) {
    const before = seen.length;
    writeFileSync(join(folder, 'blog/news/first.md'), article({}, `## Details\n\n${folder}\n`));
    await expect.poll(() => seen.slice(before)).toContainEqual([join(content, 'blog/news/first.md')]);
  }
});

test('an address with a slash at the end is found, and links between articles stay in the preview', async () => {
  const { get } = await preview({});
  expect((await get('/preview/')).text).toContain('<h1>Articles</h1>');
  expect((await get('/preview/blog/news/second/')).text).toContain(
    '<a href="/preview/blog/news/first#details">first</a>',
  );
});

const [first, second] = ['content/blog/news/first.md', 'content/blog/news/second.md'];
const [records, map] = ['content/knowledgebase/dns/records.md', 'content/media/kb/map.svg'];

/** Changes that add or remove dead references in other articles. */
const changes: [string, Files, found: number][] = [
  ['a text', { [second]: article({}, 'See [first](first.md#details), once more.\n') }, 1],
  ['a removed heading', { [first]: article({}, 'No heading.\n') }, 2],
  ['an added heading', { [first]: article({}, '## Details\n\nOne heading.\n') }, 1],
  ['a removed article', { [first]: undefined }, 2],
  ['an added article', { [first]: article({}, '## Details\n\nBack.\n') }, 1],
  ['a draft', { [first]: article({ draft: 'true' }, '## Details\n') }, 2],
  ['a scheduled article', { [first]: article({ date: '2100-01-01' }, '## Details\n') }, 2],
  ['another day of a scheduled article', { [first]: article({ date: '2100-02-02' }, '## Details\n') }, 2],
  ['a missing path as an alias', { [first]: article({ aliases: '[/blog/news/gone]' }, '## Details\n') }, 0],
  ['another alias', { [first]: article({ aliases: '[/blog/news/other]' }, '## Details\n') }, 1],
  ['a removed image', { [map]: undefined }, 2],
  ['an added image', { [map]: validProject[map] }, 1],
  ['an article at a missing path', { 'content/blog/news/gone.md': article({}, 'Text.\n') }, 0],
  ['the same article broken', { 'content/blog/news/gone.md': article({ date: 'soon' }, 'Text.\n') }, 1],
  ['the same article removed', { 'content/blog/news/gone.md': undefined }, 1],
  ['a link to a missing folder', { [second]: article({}, '[All](/knowledgebase/extra)\n') }, 2],
  ['that folder, without articles', { 'content/knowledgebase/extra/category.yaml': 'name: Extra\n' }, 1],
  ['a backup of an editor', { [`${second}.bak`]: 'Text.\n' }, 2],
  ['a text beside the backup', { [second]: article({}, 'Another text.\n') }, 2],
  ['the backup removed', { [`${second}.bak`]: undefined }, 1],
];

test('after each change, dev reports the same problems as a first build', async () => {
  const root = createProject({
    [records]: guide('DNS records', '[Gone](/blog/news/gone) and [SSH](../vps/ssh.md).\n'),
  });
  const { results, failures } = await watchProject(root, { lenient: true });
  for (const [change, files, found] of changes) {
    writeFiles(root, files);
    const now = new Date().toISOString().slice(0, 10);
    const fresh = await buildProject(root, {
      out: join(root, 'fresh'),
      checkOnly: true,
      now,
      lenient: true,
      noCache: true,
    });
    expect(fresh.diagnostics, change).toHaveLength(found);
    await expect.poll(() => results.at(-1)!.diagnostics, { message: change }).toEqual(fresh.diagnostics);
  }
  expect(failures).toEqual([]);
});
