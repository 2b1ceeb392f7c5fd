import { fileOf } from '#contract/resources.ts';
import type { Diagnostics } from '../../source/diagnostics.ts';
import { placeOf } from '../../source/load.ts';
import type { SourceFolder } from '../../source/load.ts';
import type { Article } from '../article.ts';
import type { SideFile, SideFileInput } from './side-file.ts';
import { element, renderXml } from './xml.ts';

/** The limit of the protocol: a search engine rejects a longer sitemap as a whole. */
const maxUrls = 50_000;

/** All articles as a sitemap, if the address of the website is set. The protocol has no sitemap without a page. */
export const sitemap: SideFile = ({ blog, knowledgeBase, urls: { site } }) => {
  const articles = [...blog, ...knowledgeBase];
  if (site === undefined || articles.length === 0) return [];
  const pages = articles.map((article) => {
    const day = lastChangeOf(article);
    return element('url', [
      element('loc', site + article.path),
      ...(day === undefined ? [] : [element('lastmod', day)]),
    ]);
  });
  const root = element('urlset', pages, { xmlns: 'http://www.sitemaps.org/schemas/sitemap/0.9' });
  return [{ file: fileOf('sitemap', {}), text: renderXml(root) }];
};

/** Reports a sitemap that would be too long. */
export function checkSitemap(
  { blog, knowledgeBase, urls }: Pick<SideFileInput, 'blog' | 'knowledgeBase' | 'urls'>,
  content: SourceFolder,
  diagnostics: Diagnostics,
): void {
  const count = blog.length + knowledgeBase.length;
  if (urls.site === undefined || count <= maxUrls) return;
  const message = `${count} articles are too many for /v1/sitemap.xml: search engines read ${maxUrls}`;
  diagnostics.error(placeOf(content), message, 'unset SITE_URL, and let the website make its sitemaps');
}

function lastChangeOf({ metadata: { updated, due } }: Article): string | undefined {
  return updated ?? due;
}
