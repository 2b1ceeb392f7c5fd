import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkSitemap } from '../../generator/articles/side-files/sitemap.ts';
import { createDiagnostics } from '../../generator/source/diagnostics.ts';
import { article, buildProject, createProject, siteUrls } from '../helpers/project.ts';
import { describeXmllint, lintXml } from '../helpers/xml.ts';

const { site } = siteUrls;
const read = (root: string): string => readFileSync(join(root, 'dist/current/public/v1/sitemap.xml'), 'utf8');

/** The pages of a sitemap, each with its lastmod. */
function pagesIn(xml: string): Record<string, string | undefined> {
  const pages = xml.matchAll(/<url><loc>(.*?)<\/loc>(?:<lastmod>(.*?)<\/lastmod>)?<\/url>/g);
  return Object.fromEntries([...pages].map(([, page, day]) => [page, day]));
}

test('the sitemap has all published articles, with the day of the last change where there is one', async () => {
  const root = createProject({
    'content/blog/news/first.md': article({ updated: '2026-04-05' }, '## Details\n'),
    'content/blog/news/draft.md': article({ draft: 'true' }, 'Text.\n'),
    'content/blog/news/later.md': article({ date: '2027-01-01' }, 'Text.\n'),
    'content/knowledgebase/vps/ssh.md':
      '---\ntitle: SSH\ndescription: How.\nupdated: 2026-02-03\n---\n\n![Map](/media/kb/map.svg)\n',
  });
  await buildProject(root, { urls: siteUrls });
  expect(pagesIn(read(root))).toEqual({
    [`${site}/blog/news/second`]: '2026-03-04',
    [`${site}/blog/news/first`]: '2026-04-05',
    [`${site}/knowledgebase/dns/records`]: undefined,
    [`${site}/knowledgebase/vps/ssh`]: '2026-02-03',
  });
});

describeXmllint(() => {
  test('finds the sitemap valid by the schema of sitemaps.org', async () => {
    const root = createProject();
    await buildProject(root, { urls: { site: 'https://www.example.com/a&b' } });
    expect(lintXml(read(root), { isSitemap: true })).toBe('');
    const broken = read(root).replace('<lastmod>2026', '<lastmod>yesterday 2026');
    expect(lintXml(broken, { isSitemap: true })).toContain('yesterday');
  });
});

test('without an article there is no sitemap, which the protocol forbids', async () => {
  const root = createProject({
    'content/blog/news/first.md': undefined,
    'content/blog/news/second.md': undefined,
    'content/knowledgebase/vps/ssh.md': undefined,
    'content/knowledgebase/dns/records.md': undefined,
  });
  await buildProject(root, { urls: siteUrls });
  expect(existsSync(join(root, 'dist/current'))).toBe(true);
  expect(existsSync(join(root, 'dist/current/public/v1/sitemap.xml'))).toBe(false);
});

test('more pages than search engines read are an error, unless there is no sitemap', () => {
  const problemsOf = (count: number, url: string | undefined) => {
    const diagnostics = createDiagnostics({});
    const articles = { blog: Array(count - 1), knowledgeBase: Array(1), urls: { site: url } };
    checkSitemap(articles, { display: 'content', files: [] }, diagnostics);
    return diagnostics.list();
  };
  expect(problemsOf(50_000, site)).toEqual([]);
  expect(problemsOf(50_001, undefined)).toEqual([]);
  expect(problemsOf(50_001, site)).toEqual([
    {
      severity: 'error',
      file: 'content',
      line: 1,
      column: 1,
      message: '50001 articles are too many for /v1/sitemap.xml: search engines read 50000',
      hint: 'unset SITE_URL, and let the website make its sitemaps',
    },
  ]);
});
