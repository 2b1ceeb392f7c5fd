import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseFragment } from 'parse5';
import type { DefaultTreeAdapterTypes } from 'parse5';
import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import type { KnowledgeBaseIndexItem as IndexItem } from '#contract/articles.ts';
import { matchFile } from '#contract/endpoints.ts';
import { describeInstalled } from '../helpers/installed.ts';
import { png } from '../helpers/media.ts';
import { article, buildProject, createProject, guide, siteUrls, writeFiles } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { readReleased } from './releases.ts';

type KnowledgeBaseIndexItem = z.infer<typeof IndexItem>;
type Options = Parameters<typeof buildProject>[1];

const pathOf = (root: string, file: string): string => join(root, 'dist/current/public/v1', file);

/** Builds a project with the given files; returns a function that reads a file of its release, below public/v1/. */
async function publish(files: Files, options: Options = {}): Promise<(file: string) => string> {
  const root = createProject(files);
  const { diagnostics } = await buildProject(root, { lenient: true, urls: siteUrls, ...options });
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  return (file) => readReleased(root, `public/v1/${file}`);
}

const xmllint = { name: 'xmllint', package: 'libxml2-utils', commands: ['xmllint'] };
const feedparser = {
  name: 'feedparser',
  package: 'python3-feedparser',
  commands: ['python3'],
  files: ['/usr/lib/python3/dist-packages/feedparser'],
};

// Debian's package works only with Debian's Python.
const python = '/usr/bin/python3';

const sitemapSchema = resolve(import.meta.dirname, '../fixtures/sitemap/0.9.xsd');

/** Returns xmllint's messages; empty if the document is well-formed and, for a sitemap, valid. */
function lintXml(xml: string, { isSitemap = false } = {}): string {
  const schema = isSitemap ? ['--schema', sitemapSchema] : [];
  const { status, stderr } = spawnSync('xmllint', ['--noout', '--nonet', ...schema, '-'], { input: xml });
  return status === 0 ? '' : stderr.toString();
}

/** A feed parsed by Python's feedparser; `bozo` is set if it is not well-formed. */
interface ParsedFeed {
  readonly bozo: boolean;
  readonly version: string;
  readonly feed: object;
  readonly links: object;
  readonly entries: readonly { readonly title: string; readonly tags: object; readonly content: { value: string }[] }[];
}

const program = `
import feedparser, json, sys
# By default, feedparser would sanitise the HTML and resolve URLs.
feed = feedparser.parse(sys.stdin.buffer.read(), sanitize_html=False, resolve_relative_uris=False)
links = {link['rel']: link['href'] for link in feed.feed.links}
result = {'bozo': bool(feed.bozo), 'version': feed.version, 'feed': feed.feed, 'links': links, 'entries': feed.entries}
print(json.dumps(result))
`;

/** Parses a feed with feedparser. */
function parseFeed(xml: string): ParsedFeed {
  return JSON.parse(execFileSync(python, ['-c', program], { input: xml }).toString()) as ParsedFeed;
}

const later = article({ date: '2027-01-01', author: 'Zoe' }, 'Text.\n');
const draft = article({ draft: 'true', author: 'Zoe' }, 'Text.\n');

test('the list of categories has those with published articles, sorted by name', async () => {
  const files = {
    'content/blog/news/later.md': later,
    'content/blog/empty/draft.md': draft,
    'content/blog/zoo/category.yaml': 'name: Animals\n',
    'content/blog/zoo/cat.md': article({}, 'Text.\n'),
  };
  const read = await publish(files);
  expect(JSON.parse(read('blog/categories.json'))).toEqual([
    { slug: 'zoo', name: 'Animals', count: 1 },
    { slug: 'news', name: 'News', count: 2 },
  ]);
  expect(JSON.parse(read('kb/categories.json'))).toEqual([
    { slug: 'dns', name: 'Dns', count: 1 },
    { slug: 'vps', name: 'Virtual servers', count: 1 },
  ]);
});

test('the list of authors has those of published articles, with their entries in authors.yaml', async () => {
  const files = {
    'content/blog/news/first.md': article({ author: 'constructor' }, '## Details\n'),
    'content/blog/news/later.md': later,
    'content/blog/news/third.md': article({ author: 'Ada' }, 'Text.\n'),
    'content/authors.yaml': 'Ada: { picture: /media/kb/map.svg, url: "https://a.example" }\nZoe: {}\n',
  };
  expect(JSON.parse((await publish(files))('blog/authors.json'))).toEqual([
    { name: 'Ada', picture: '/media/kb/map.svg', url: 'https://a.example', count: 1 },
    { name: 'constructor', picture: null, url: null, count: 1 },
    { name: 'Marit', picture: null, url: null, count: 1 },
  ]);
});

test('redirects are the sorted former paths of published articles; the server has those of its own kind', async () => {
  const files = {
    'content/blog/news/first.md': article(
      { aliases: '[/2025/11/caf%C3%A9/, /blog/old/b/, /blog/2019/Old_Name.html, /knowledgebase/x]' },
      '## Details\n',
    ),
    'content/blog/news/second.md': article({ aliases: '[/blog/old/a]' }, 'Text.\n'),
    'content/blog/news/draft.md': article({ draft: 'true', aliases: '[/blog/old/c]' }, 'Text.\n'),
    'content/knowledgebase/vps/ssh.md': guide('SSH', 'x\n').replace('---\n', '---\naliases: [/knowledgebase/a/b]\n'),
  };
  const read = await publish(files);
  const served = [
    ['/blog/2019/Old_Name.html', '/blog/news/first'],
    ['/blog/old/a', '/blog/news/second'],
    ['/blog/old/b', '/blog/news/first'],
    ['/knowledgebase/a/b', '/knowledgebase/vps/ssh'],
  ];
  expect(Object.entries(JSON.parse(read('../../private/aliases.json')) as object)).toEqual(served);
  expect(Object.entries(JSON.parse(read('redirects.json')) as object)).toEqual([
    ['/2025/11/caf\u00E9', '/blog/news/first'],
    ...served,
    ['/knowledgebase/x', '/blog/news/first'],
  ]);
});

test('content.json has the hash of each article and each other file, and changes with them', async () => {
  const root = createProject({ 'content/blog/news/draft.md': draft });
  const build = async () => {
    await buildProject(root);
    const file = readReleased(root, 'public/v1/content.json');
    return JSON.parse(file) as Record<'articles' | 'files', Record<string, string>>;
  };
  const before = await build();
  const { files } = JSON.parse(readReleased(root, 'manifest.json')) as { files: Record<string, { sha256: string }> };
  expect(Object.keys(before.articles)).toEqual([
    '/blog/news/first',
    '/blog/news/second',
    '/knowledgebase/dns/records',
    '/knowledgebase/vps/ssh',
  ]);
  expect(before.articles['/blog/news/first']).toBe(
    files['public/v1/blog/article/news/first.json']!.sha256.slice(0, 16),
  );
  const served = Object.keys(files).flatMap((file) =>
    /\.(?:gz|br)$/.test(file) ? [] : (matchFile(file)?.target ?? []),
  );
  const others = served.filter((target) => !target.includes('?path=') && target !== '/v1/content.json');
  expect(Object.keys(before.files).toSorted()).toEqual(others.toSorted());
  expect(before.files['/media/kb/map.svg']).toBe(files['public/media/kb/map.svg']!.sha256.slice(0, 16));

  writeFiles(root, { 'content/knowledgebase/vps/ssh.md': guide('Connect with SSH', 'Use `ssh -v`.\n') });
  const changed = Object.entries((await build()).articles).filter(([path, hash]) => before.articles[path] !== hash);
  expect(changed.map(([path]) => path)).toEqual(['/knowledgebase/vps/ssh']);
});

test('the index of a category has the order of the list', async () => {
  const files = {
    'content/media/covers/photo.png': png(1200, 630),
    'content/blog/news/first.md': article(
      { date: '2026-01-02', tags: '[vps]', updated: '2026-06-07', cover: '/media/covers/photo.png' },
      '## Details\n',
    ),
    'content/blog/news/later.md': later,
    'content/blog/news/third.md': article({ date: '2026-05-06' }, 'Text.\n'),
    'content/blog/team/new.md': article({ date: '2026-07-08', tags: '[linux, vps]' }, 'Text.\n'),
  };
  const [first, second, third] = ['/blog/news/first', '/blog/news/second', '/blog/news/third'];
  const vector = { cover_width: null, cover_height: null };
  expect(JSON.parse((await publish(files))('blog/index/news.json'))).toEqual([
    { path: third, previous: null, next: second, related: [second, first], tags: [], updated: null, ...vector },
    { path: second, previous: third, next: first, related: [third, first], tags: [], updated: null, ...vector },
    {
      path: first,
      previous: second,
      next: null,
      related: ['/blog/team/new', second, third],
      tags: ['vps'],
      updated: '2026-06-07',
      cover_width: 1200,
      cover_height: 630,
    },
  ]);
});

describe('related articles', () => {
  /** Builds guides with these tags, in list order, and reads the numbers of related guides. */
  const relatedOf = async (tags: readonly string[], categoryOf: (at: number) => string = () => 'a') => {
    const toName = (at: number): string => String(at).padStart(2, '0');
    const toGuide = (own: string, at: number): [string, string] => [
      `content/knowledgebase/${categoryOf(at)}/${toName(at)}.md`,
      guide(`Guide ${toName(at)}`, 'Text.\n').replace('---\n', `---\ntags: [${own}]\n`),
    ];
    const read = await publish(Object.fromEntries(tags.map(toGuide)));
    return (at: number): number[] => {
      const index = JSON.parse(read(`kb/index/${categoryOf(at)}.json`)) as KnowledgeBaseIndexItem[];
      const entry = index.find(({ path }) => path.endsWith(`/${toName(at)}`))!;
      return entry.related.map((path) => Number(path.split('/').at(-1)));
    };
  };

  test('with more common tags come first, then nearer articles', async () => {
    const related = await relatedOf(['x', 'x, y', 'y', 'x, y, z', '', 'x, y, z']);
    expect(related(3)).toEqual([5, 1, 2, 0, 4]);
  });

  test('without common tags are neighbours in the category', async () => {
    const tags = Array.from({ length: 24 }, () => '');
    const related = await relatedOf(tags, (at) => (at % 2 === 0 ? 'even' : 'odd'));
    expect(related(10)).toEqual([8, 12, 6, 14, 4]);
    expect(related(0)).toEqual([2, 4, 6, 8, 10]);
    expect(related(23)).toEqual([21, 19, 17, 15, 13]);
  });

  test('count a repeated tag once', async () => {
    expect((await relatedOf(['x', 'y, y, y', 'x, y']))(2).slice(0, 2)).toEqual([1, 0]);
  });

  test('are found by a rare common tag at any distance', async () => {
    const related = await relatedOf(
      Array.from({ length: 50 }, (_, at) => (at === 3 || at === 40 ? 'all, rare' : 'all')),
    );
    expect(related(40)).toEqual([3, 39, 41, 38, 42]);
  });
});

test('a build without addresses removes the feed and the sitemap', async () => {
  const root = createProject();
  await buildProject(root, { urls: siteUrls });
  expect(existsSync(pathOf(root, 'blog/feed.xml'))).toBe(true);
  await buildProject(root, { urls: { site: siteUrls.site } });
  const exist = () => ['blog/feed.xml', 'sitemap.xml'].map((file) => existsSync(pathOf(root, file)));
  expect(exist()).toEqual([false, true]);
  await buildProject(root, { urls: { service: siteUrls.service } });
  expect(exist()).toEqual([false, false]);
});

const { site } = siteUrls;

/** Reads the pages of a sitemap, with their lastmod. */
function pagesIn(xml: string): Record<string, string | undefined> {
  const pages = xml.matchAll(/<url><loc>(.*?)<\/loc>(?:<lastmod>(.*?)<\/lastmod>)?<\/url>/g);
  return Object.fromEntries([...pages].map(([, page, day]) => [page, day]));
}

test('the sitemap has all published articles, with the day of the last change if known', async () => {
  const read = await publish({
    'content/blog/news/first.md': article({ updated: '2026-04-05' }, '## Details\n'),
    'content/blog/news/draft.md': article({ draft: 'true' }, 'Text.\n'),
    'content/blog/news/later.md': article({ date: '2027-01-01' }, 'Text.\n'),
    'content/knowledgebase/vps/ssh.md':
      '---\ntitle: SSH\ndescription: How.\nupdated: 2026-02-03\n---\n\n![Map](/media/kb/map.svg)\n',
  });
  expect(pagesIn(read('sitemap.xml'))).toEqual({
    [`${site}/blog/news/second`]: '2026-03-04',
    [`${site}/blog/news/first`]: '2026-04-05',
    [`${site}/knowledgebase/dns/records`]: undefined,
    [`${site}/knowledgebase/vps/ssh`]: '2026-02-03',
  });
});

describeInstalled(xmllint, () => {
  test('finds the sitemap valid by the schema of sitemaps.org', async () => {
    const sitemap = (await publish({}, { urls: { site: 'https://www.example.com/a&b' } }))('sitemap.xml');
    expect(lintXml(sitemap, { isSitemap: true })).toBe('');
    const broken = sitemap.replace('<lastmod>2026', '<lastmod>yesterday 2026');
    expect(lintXml(broken, { isSitemap: true })).toContain('yesterday');
  });
});

test('without articles there is no sitemap', async () => {
  const root = createProject({
    'content/blog/news/first.md': undefined,
    'content/blog/news/second.md': undefined,
    'content/knowledgebase/vps/ssh.md': undefined,
    'content/knowledgebase/dns/records.md': undefined,
  });
  await buildProject(root, { urls: siteUrls });
  expect(existsSync(join(root, 'dist/current'))).toBe(true);
  expect(existsSync(pathOf(root, 'sitemap.xml'))).toBe(false);
});

/** Builds a project with the given files, and reads its feed. */
const feedOf = async (files: Files, options: Options = {}) => (await publish(files, options))('blog/feed.xml');

const firstFile = 'content/blog/news/first.md';

describeInstalled(feedparser, () => {
  test('reads a complete entry of the feed without warnings', async () => {
    const xml = await feedOf({
      'content/blog/news/category.yaml': 'name: News & more\n',
      'content/authors.yaml': 'Marit: { url: "https://www.example.com/team/marit?a=1&b=2" }\n',
      [firstFile]: article(
        {
          title: 'First',
          date: '2026-01-02',
          updated: '2026-05-06',
          tags: '[linux, vps]',
          aliases: '[/2025/zero, /blog/news/zero]',
        },
        '## Details\n\nMore.\n',
      ),
    });
    const { bozo, version, feed, links, entries } = parseFeed(xml);
    expect({ bozo, version, links }).toEqual({
      bozo: false,
      version: 'atom10',
      links: { self: 'https://api.example.com/v1/blog/feed.xml', alternate: 'https://www.example.com/blog' },
    });
    expect(feed).toMatchObject({
      id: 'https://api.example.com/v1/blog/feed.xml',
      title: 'Hosting API',
      updated: '2026-05-06T00:00:00Z',
    });
    expect(entries.map(({ title }) => title)).toEqual(['Second', 'First']);
    expect(entries[0]).toMatchObject({ updated: '2026-03-04T00:00:00Z', published: '2026-03-04T00:00:00Z' });
    const { tags, content, ...entry } = entries[1]!;
    expect(entry).toMatchObject({
      // The ID of its first path: feed readers show entries with new IDs again.
      id: 'https://www.example.com/blog/news/zero',
      link: 'https://www.example.com/blog/news/first',
      published: '2026-01-02T00:00:00Z',
      updated: '2026-05-06T00:00:00Z',
      author_detail: { name: 'Marit', href: 'https://www.example.com/team/marit?a=1&b=2' },
      summary: 'What it says.',
    });
    expect(tags).toEqual([
      { term: 'news', label: 'News & more', scheme: null },
      { term: 'linux', label: null, scheme: null },
      { term: 'vps', label: null, scheme: null },
    ]);
    const cover = 'https://api.example.com/media/covers/cover.svg';
    expect(xml).toContain(`<link rel="enclosure" type="image/svg+xml" href="${cover}"/>`);
    expect(entry).toMatchObject({ media_thumbnail: [{ url: cover }] });
    expect(content).toMatchObject([{ type: 'text/html', value: '<h2 id="details">Details</h2>\n<p>More.</p>' }]);
  });

  test.each([
    ['markup', '"<b>a</b> & &amp; ]]> <![CDATA[ <!-- -->"', '<b>a</b> & &amp; ]]> <![CDATA[ <!-- -->'],
    ['control characters', '"a\\u0007b\\u0000c\\u001Bd\\uFFFE\\uFFFFe"', 'abcde'],
    ['half a character', '"a\\uD800b"', 'ab'],
    ['an emoji and other scripts', 'Ünï 日本 🦀', 'Ünï 日本 🦀'],
  ])('finds a title and a summary with %s well formed', async (_, written, read) => {
    const xml = await feedOf({
      [firstFile]: article({ title: written, description: written }, '## Details\n\nText.\n'),
    });
    const { bozo, entries } = parseFeed(xml);
    expect(bozo).toBe(false);
    expect(entries[1]).toMatchObject({ title: read, summary: read });
  });

  test('reads the same text as in the file of the article', async () => {
    const body = '## Details\n\n`]]>` &amp;lt; `<b>` \u0007\n\n```html\n<a href="/media/x.svg" title=\'x\'>\n```\n';
    const { bozo, entries } = parseFeed(await feedOf({ [firstFile]: article({}, body) }));
    expect(bozo).toBe(false);
    const { value } = entries[1]!.content[0]!;
    expect(value).toContain('<code>]]></code> &#x26;lt; <code>&#x3C;b></code>');
    // Addresses in code are text.
    expect(textOf(value)).toContain('<a href="/media/x.svg" title=\'x\'>');
  });
});

describeInstalled(xmllint, () => {
  test('finds the feed well formed with any text', async () => {
    const hostile = '"<b> & ]]> \\u0007 \\uFFFE \\uD800"';
    const body = '## Details\n\n`]]>` &amp;lt; \u0007 <b title="\uFFFF">x</b>\n';
    const xml = await feedOf({ [firstFile]: article({ title: hostile, description: hostile, author: hostile }, body) });
    expect(lintXml(xml)).toBe('');
    expect(lintXml(xml.replace('</feed>', ''))).toContain('error');
  });
});

/** The text of HTML. */
function textOf(html: string): string {
  const read = (node: DefaultTreeAdapterTypes.Node): string =>
    'value' in node ? node.value : 'childNodes' in node ? node.childNodes.map(read).join('') : '';
  return read(parseFragment(html));
}

/** Lists the values of attributes that contain addresses. */
function addressesIn(html: string): string[] {
  const read = (node: DefaultTreeAdapterTypes.Node): string[] => [
    ...('attrs' in node ? node.attrs : [])
      .filter(({ name }) => /^(?:href|src|srcset|poster|cite|longdesc)$/.test(name))
      .map(({ value }) => value),
    ...('childNodes' in node ? node.childNodes.flatMap(read) : []),
  ];
  return read(parseFragment(html));
}

/** The HTML of the entry of the first article. */
function contentOf(xml: string): string {
  const [, , entry = ''] = xml.split('<entry>');
  const [, escaped = ''] = /<content type="html">(.*)<\/content>/s.exec(entry) ?? [];
  const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#13': '\r' };
  return escaped.replace(/&(#?\w+);/g, (_, name: string) => entities[name]!);
}

const ofSite = (path: string): string => `${siteUrls.site}${path}`;
const ofService = (path: string): string => `${siteUrls.service}${path}`;
const [map, cover] = ['/media/kb/map.svg', '/media/covers/cover.svg'];

test.each(
  Object.entries<string | string[]>({
    '![Map](/media/kb/map.svg)': ofService(map),
    '[map](/media/kb/map.svg)': ofService(map),
    '[second](second.md)': ofSite('/blog/news/second'),
    '[x](/knowledgebase/vps/ssh.md#a)': ofSite('/knowledgebase/vps/ssh#a'),
    '[x](#details)': ofSite('/blog/news/first#details'),
    '[x](/prices?a=1&b=2)': ofSite('/prices?a=1&b=2'),
    '[x](other.html)': ofSite('/blog/news/other.html'),
    '[x](//cdn.example.com/a)': 'https://cdn.example.com/a',
    '[x](https://a.example/media/x)': 'https://a.example/media/x',
    '[x](mailto:a@b.example)': 'mailto:a@b.example',
    [`<picture><source srcset="${map} 1x, ${cover} 2x"><img src="${map}" alt="Map"></picture>`]: [
      `${ofService(map)} 1x, ${ofService(cover)} 2x`,
      ofService(map),
    ],
    '<img alt=" src=" title="> src=x" src="/media/kb/map.svg">': ofService(map),
  }),
)('the feed has the absolute address of %s', async (body, expected) => {
  const xml = await feedOf({ [firstFile]: article({}, `## Details\n\n${body}\n`) });
  expect(addressesIn(contentOf(xml))).toEqual([expected].flat());
});

test('an alias that gives an entry of the feed another ID is a warning', async () => {
  const [old, newer] = ['content/blog/news/old.md', 'content/blog/news/newer.md'];
  const root = createProject({ [old]: article({}, 'Old.\n'), [newer]: article({}, 'New.\n') });
  const problems = async (options: Options = {}) =>
    (await buildProject(root, { urls: siteUrls, ...options })).diagnostics.map(
      ({ line, message }) => `${line} ${message}`,
    );
  expect(await problems()).toEqual([]);
  writeFiles(root, { [old]: undefined, [newer]: article({ aliases: '[/2025/x, /blog/news/old]' }, 'New.\n') });
  expect(await problems({ urls: {}, checkOnly: true })).toEqual([]);
  expect(await problems()).toEqual([
    '7 feed readers will show this article again: its ID becomes /blog/news/old, the path of another article online',
  ]);
  // Once online, the ID stays.
  expect(await problems({ noCache: true })).toEqual([]);
});

test('SITE_URL and PUBLIC_URL may have a path and an ampersand', async () => {
  const urls = { site: 'https://example.com/a&b', service: 'https://example.com/api&v' };
  const body = '## Details\n\n![Map](/media/kb/map.svg) [x](second.md)\n';
  const xml = await feedOf({ [firstFile]: article({}, body) }, { urls });
  const expected = ['https://example.com/api&v/media/kb/map.svg', 'https://example.com/a&b/blog/news/second'];
  expect(addressesIn(contentOf(xml))).toEqual(expected);
  expect(xml).toContain('<link rel="self" type="application/atom+xml" href="https://example.com/api&amp;v/v1/blog/');
});

test('the feed has the newest 30 articles, without drafts and scheduled articles', async () => {
  const days = Array.from({ length: 40 }, (_, index) => String(index + 1).padStart(2, '0'));
  const many = days.map((day): [string, string] => {
    const state = day === '39' ? { draft: 'true' } : day === '40' ? { date: '2027-01-01' } : {};
    const date = `2025-${day > '28' ? '02' : '01'}-${day > '28' ? String(Number(day) - 28).padStart(2, '0') : day}`;
    return [`content/blog/many/a-${day}.md`, article({ title: `A ${day}`, date, ...state }, 'Text.\n')];
  });
  const xml = await feedOf(Object.fromEntries(many));
  const titles = [...xml.matchAll(/<entry>.*?<title>(.*?)<\/title>/gs)].map(([, title]) => title);
  expect(titles).toHaveLength(30);
  expect([titles.slice(0, 3), titles.at(-1)]).toEqual([['Second', 'First', 'A 38'], 'A 11']);
});

test('planned maintenance is listed in UTC, by start, without windows that ended before the day of the build', async () => {
  const windows = [
    ['Second', '2026-11-20T00:30', '2026-11-20T02:00', 'America/New_York'],
    ['Ended', '2026-11-19T01:00', '2026-11-20T00:59', 'Europe/Berlin'],
    ['First', '2026-10-25T00:30', '2026-11-20T03:00', 'Europe/Berlin'],
  ];
  const rows = windows.map(([title, start, end, timezone]) => {
    return `  - { title: ${title}, monitors: [A, B], start: "${start}", end: "${end}", timezone: ${timezone} }\n`;
  });
  const monitors = 'monitors: [{ name: A, url: /health }, { name: B, url: /health }]\n';
  const read = await publish({ 'catalog/status.yaml': `${monitors}maintenance:\n${rows.join('')}` });
  const affected = ['A', 'B'];
  expect(JSON.parse(read('status/maintenance.json'))).toEqual([
    { title: 'First', affected, start: '2026-10-24T22:30:00.000Z', end: '2026-11-20T02:00:00.000Z' },
    { title: 'Second', affected, start: '2026-11-20T05:30:00.000Z', end: '2026-11-20T07:00:00.000Z' },
  ]);
});
