import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findRelated } from '../../generator/articles/side-files/related.ts';
import { article, buildProject, createProject, guide, siteUrls, writeFiles } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';

const pathOf = (root: string, file: string): string => join(root, 'dist/current/public/v1', file);

/** Builds a project with the given files, and reads a JSON file of its release. */
async function buildAndRead(file: string, files: Files): Promise<unknown> {
  const root = createProject(files);
  await buildProject(root, { lenient: true });
  return JSON.parse(readFileSync(pathOf(root, file), 'utf8'));
}

const later = article({ date: '2027-01-01', author: 'Zoe' }, 'Text.\n');
const draft = article({ draft: 'true', author: 'Zoe' }, 'Text.\n');

test('categories are those with published articles, sorted by name', async () => {
  const files = {
    'content/blog/news/later.md': later,
    'content/blog/empty/draft.md': draft,
    'content/blog/zoo/category.yaml': 'name: Animals\n',
    'content/blog/zoo/cat.md': article({}, 'Text.\n'),
  };
  expect(await buildAndRead('blog/categories.json', files)).toEqual([
    { slug: 'zoo', name: 'Animals', count: 1 },
    { slug: 'news', name: 'News', count: 2 },
  ]);
  expect(await buildAndRead('kb/categories.json', files)).toEqual([
    { slug: 'dns', name: 'Dns', count: 1 },
    { slug: 'vps', name: 'Virtual servers', count: 1 },
  ]);
});

test('authors are those of published articles, with what authors.yaml says of them', async () => {
  const files = {
    'content/blog/news/first.md': article({ author: 'constructor' }, '## Details\n'),
    'content/blog/news/later.md': later,
    'content/blog/news/third.md': article({ author: 'Ada' }, 'Text.\n'),
    'content/authors.yaml': 'Ada: { picture: /media/kb/map.svg, url: "https://a.example" }\nZoe: {}\n',
  };
  expect(await buildAndRead('blog/authors.json', files)).toEqual([
    { name: 'Ada', picture: '/media/kb/map.svg', url: 'https://a.example', count: 1 },
    { name: 'Marit', picture: null, url: null, count: 1 },
    { name: 'constructor', picture: null, url: null, count: 1 },
  ]);
});

test('redirects are the former paths of published articles', async () => {
  const files = {
    'content/blog/news/first.md': article({ aliases: '[/blog/old/b, /blog/old/a.html]' }, '## Details\n'),
    'content/blog/news/draft.md': article({ draft: 'true', aliases: '[/blog/old/c]' }, 'Text.\n'),
    'content/knowledgebase/vps/ssh.md': guide('SSH', 'x\n').replace('---\n', '---\naliases: [/knowledgebase/a/b]\n'),
  };
  expect(await buildAndRead('redirects.json', files)).toEqual({
    '/blog/old/a.html': '/blog/news/first',
    '/blog/old/b': '/blog/news/first',
    '/knowledgebase/a/b': '/knowledgebase/vps/ssh',
  });
});

test('the index of a category has its articles in the order of the list', async () => {
  const files = {
    'content/blog/news/first.md': article({ date: '2026-01-02', tags: '[vps]', updated: '2026-06-07' }, '## Details\n'),
    'content/blog/news/later.md': later,
    'content/blog/news/third.md': article({ date: '2026-05-06' }, 'Text.\n'),
    'content/blog/team/new.md': article({ date: '2026-07-08', tags: '[linux, vps]' }, 'Text.\n'),
  };
  const [first, second, third] = ['/blog/news/first', '/blog/news/second', '/blog/news/third'];
  expect(await buildAndRead('blog/index/news.json', files)).toEqual([
    { path: third, previous: null, next: second, related: [second, first], tags: [], updated: null },
    { path: second, previous: third, next: first, related: [third, first], tags: [], updated: null },
    {
      path: first,
      previous: second,
      next: null,
      related: ['/blog/team/new', second, third],
      tags: ['vps'],
      updated: '2026-06-07',
    },
  ]);
});

describe('related articles', () => {
  const list = (count: number, tagsOf: (at: number) => string[], categoryOf: (at: number) => string = () => 'a') =>
    Array.from({ length: count }, (_, at) => ({ path: `/${at}`, category: categoryOf(at), tags: tagsOf(at) }));

  test('with more common tags come first, then the nearest in the list', () => {
    const tags = [['x'], ['x', 'y'], ['y'], ['x', 'y', 'z'], [], ['x', 'y', 'z']];
    expect(findRelated(list(tags.length, (at) => tags[at]!))[3]).toEqual(['/5', '/1', '/2', '/0', '/4']);
  });

  test('without common tags are the neighbours of its category', () => {
    const related = findRelated(
      list(
        30,
        () => [],
        (at) => (at % 2 === 0 ? 'even' : 'odd'),
      ),
    );
    expect(related[10]).toEqual(['/8', '/12', '/6', '/14', '/4']);
    expect(related[0]).toEqual(['/2', '/4', '/6', '/8', '/10']);
    expect(related[29]).toEqual(['/27', '/25', '/23', '/21', '/19']);
  });

  test('with a tag that is given twice count once', () => {
    const tags = [['x'], ['y', 'y', 'y'], ['x', 'y']];
    expect(findRelated(list(3, (at) => tags[at]!))[2]).toEqual(['/1', '/0']);
  });

  test('are found by a rare common tag from afar, beside a tag that all have', () => {
    const related = findRelated(list(1000, (at) => (at === 3 || at === 900 ? ['all', 'rare'] : ['all'])));
    expect(related[900]).toEqual(['/3', '/899', '/901', '/898', '/902']);
  });

  test('are found in linear time, also if all articles have the same tags', () => {
    const cpuMsOf = (count: number): number => {
      const articles = list(count, () => ['a', 'b', 'c']);
      const before = process.cpuUsage();
      const related = findRelated(articles);
      const { user, system } = process.cpuUsage(before);
      expect(related.every((paths) => paths.length === 5)).toBe(true);
      return (user + system) / 1000;
    };
    cpuMsOf(1000);
    // Ten times the articles; a quadratic search takes 100 times as long.
    expect(cpuMsOf(20_000) / cpuMsOf(2000)).toBeLessThan(40);
  });
});

describe('a build after a change', () => {
  const files: Files = {
    'content/blog/team/new.md': article({ date: '2026-07-08', tags: '[linux]' }, 'Text.\n'),
    'content/knowledgebase/vps/ssh.md': guide('Connect with SSH', 'Use `ssh`.\n\n![Map](/media/kb/map.svg)\n'),
  };
  const siteFiles = [
    'blog/feed.xml',
    'sitemap.xml',
    'blog/categories.json',
    'kb/categories.json',
    'blog/index/news.json',
    'blog/index/team.json',
    'kb/index/vps.json',
    'kb/index/dns.json',
    'blog/authors.json',
    'redirects.json',
  ];
  const statesOf = (root: string): Record<string, number> =>
    Object.fromEntries(
      siteFiles.flatMap((file) =>
        ['', '.gz', '.br'].map((end) => [file + end, statSync(pathOf(root, file + end)).ino]),
      ),
    );

  test.each<[string, Files, Parameters<typeof buildProject>[1], string[]]>([
    [
      'of the text of a guide',
      { 'content/knowledgebase/vps/ssh.md': guide('Connect with SSH', 'Other.\n\n![Map](/media/kb/map.svg)\n') },
      {},
      [],
    ],
    [
      'of the text of a blog article',
      { 'content/blog/team/new.md': article({ date: '2026-07-08', tags: '[linux]' }, 'Other.\n') },
      {},
      ['blog/feed.xml'],
    ],
    [
      'of the tags of a blog article',
      { 'content/blog/team/new.md': article({ date: '2026-07-08', tags: '[vps]' }, 'Text.\n') },
      {},
      ['blog/feed.xml', 'blog/index/team.json'],
    ],
    [
      'of authors.yaml',
      { 'content/authors.yaml': 'Marit: { url: "https://a.example" }\n' },
      {},
      ['blog/feed.xml', 'blog/authors.json'],
    ],
    ['of SITE_URL', {}, { urls: { ...siteUrls, site: 'https://other.example.com' } }, ['blog/feed.xml', 'sitemap.xml']],
    ['of PUBLIC_URL', {}, { urls: { ...siteUrls, service: 'https://other.example.com' } }, ['blog/feed.xml']],
  ])('%s writes only the files that depend on it, and links the others', async (_, changed, options, expected) => {
    const root = createProject(files);
    await buildProject(root, { noCache: false, urls: siteUrls });
    const before = statesOf(root);
    writeFiles(root, changed);
    const { diagnostics } = await buildProject(root, { noCache: false, urls: siteUrls, ...options });
    expect(diagnostics).toEqual([]);
    const after = statesOf(root);
    const written = Object.keys(after).filter((file) => after[file] !== before[file]);
    expect(written).toEqual(expected.flatMap((file) => ['', '.gz', '.br'].map((end) => file + end)));
  });

  test('without the addresses removes the feed and the sitemap', async () => {
    const root = createProject();
    await buildProject(root, { noCache: false, urls: siteUrls });
    expect(existsSync(pathOf(root, 'blog/feed.xml'))).toBe(true);
    await buildProject(root, { noCache: false, urls: { site: siteUrls.site } });
    expect([existsSync(pathOf(root, 'blog/feed.xml')), existsSync(pathOf(root, 'sitemap.xml'))]).toEqual([false, true]);
    await buildProject(root, { noCache: false, urls: { service: siteUrls.service } });
    expect([existsSync(pathOf(root, 'blog/feed.xml')), existsSync(pathOf(root, 'sitemap.xml'))]).toEqual([
      false,
      false,
    ]);
  });
});
