import type { Authors, ContentItem } from '#contract/articles.ts';
import { mediaTypes } from '#contract/articles.ts';
import { toInfo } from '#contract/docs.ts';
import { staticFiles } from '#contract/endpoints.ts';
import { escapeXml, xml } from '../markdown/markup.ts';
import type { Markup } from '../markdown/markup.ts';
import { mapSrcset } from '../markdown/plugins/trusted.ts';
import type { Online } from '../release/online.ts';
import type { Diagnostics } from '../source/diagnostics.ts';
import { removedFile } from '../source/yaml.ts';
import type { Article, ReadHtml } from './article.ts';

/** Addresses without trailing slashes, the name of the service, and its source of domain prices. */
export type SiteUrls = Readonly<{ [Name in 'site' | 'service' | 'support' | 'name' | 'prices']?: string | undefined }>;

const isInBlog = (path: string): boolean => path.startsWith('/blog/');

/** Selects the newest 30 articles, if the addresses of website and service are set. */
export function selectFeed(blog: readonly Article[], authors: Authors, { site, service, name }: SiteUrls) {
  if (site === undefined || service === undefined) return undefined;
  const lastChanges = blog.map((article) => lastChangeOf(article)!);
  const entries = blog.slice(0, 30).map(({ folder, path, output, metadata }, at) => {
    const item = metadata.item as ContentItem;
    return {
      ...item,
      // IDs are permanent: a moved article keeps the ID of its first path in the blog.
      id: metadata.fields.aliases?.find(isInBlog) ?? path,
      updated: lastChanges[at]!,
      authorUrl: Object.hasOwn(authors, item.author) ? authors[item.author]!.url : undefined,
      categorySlug: folder.slug,
      tags: metadata.fields.tags ?? [],
      file: output,
      /** The hash of the file: it changes with the text. */
      text: metadata.encodings!.identity,
    };
  });
  return { site, service, name, updated: lastChanges.toSorted().at(-1), entries };
}

type Feed = NonNullable<ReturnType<typeof selectFeed>>;

/** The day of the last significant change of an article, or of its publication. */
const lastChangeOf = ({ updated, metadata: { due } }: Article): string | undefined => updated ?? due;

/** Renders an Atom feed (RFC 4287). The package `feed` (6.0.0) keeps control characters and declares titles as HTML. */
export function renderFeed(feed: Feed, readHtml: ReadHtml): string {
  const { site, service, name, updated, entries } = feed;
  const self = service + staticFiles.getBlogFeed.path;
  // An empty feed needs a day, too.
  return renderXml(xml`<feed xmlns="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/">
    <id>${self}</id>
    <title>${toInfo({ name }).title}</title>
    <updated>${toTime(updated ?? '1970-01-01')}</updated>
    <link rel="self" type="application/atom+xml" href="${self}"/>
    <link rel="alternate" type="text/html" href="${site}/blog"/>
    ${entries.map((entry) => renderEntry(entry, readHtml(entry.file), feed))}
  </feed>`);
}

function renderEntry(entry: Feed['entries'][number], html: string, feed: Feed): Markup {
  const { site, service } = feed;
  const { cover, authorUrl } = entry;
  const type = mediaTypes[cover.slice(cover.lastIndexOf('.') + 1)];
  const page = site + entry.path;
  return xml`<entry>
    <id>${site}${entry.id}</id>
    <title>${entry.title}</title>
    <link rel="alternate" type="text/html" href="${page}"/>
    <link rel="enclosure"${type && xml` type="${type}"`} href="${service}${cover}"/>
    <media:thumbnail url="${service}${cover}"/>
    <published>${toTime(entry.date)}</published>
    <updated>${toTime(entry.updated)}</updated>
    <author><name>${entry.author}</name>${authorUrl && xml`<uri>${authorUrl}</uri>`}</author>
    <category term="${entry.categorySlug}" label="${entry.category}"/>
    ${entry.tags.map((term) => xml`<category term="${term}"/>`)}
    <summary>${entry.description}</summary>
    <content type="html">${toAbsoluteUrls(html, page, feed)}</content>
  </entry>`;
}

/** Formats the beginning of a day (UTC) as RFC 3339. */
const toTime = (day: string): string => `${day}T00:00:00Z`;

/** Selects all articles for the sitemap; the protocol forbids an empty sitemap. */
export function selectSitemap(articles: readonly Article[], { site }: SiteUrls) {
  if (site === undefined || articles.length === 0) return undefined;
  return { site, pages: articles.map((article) => ({ path: article.path, lastmod: lastChangeOf(article) })) };
}

/** Renders all articles as a sitemap by the protocol 0.9 of sitemaps.org. */
export function renderSitemap({ site, pages }: NonNullable<ReturnType<typeof selectSitemap>>): string {
  const urls = pages.map(
    ({ path, lastmod }) => xml`<url><loc>${site}${path}</loc>${lastmod && xml`<lastmod>${lastmod}</lastmod>`}</url>`,
  );
  return renderXml(xml`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${urls}</urlset>`);
}

/** Warns of aliases that change the ID of an entry that is in the feed online. */
export function checkFeedIds(articles: readonly Article[], online: Online['articles'], to: Diagnostics): void {
  for (const { path, file, state, metadata } of articles) {
    const index = metadata.fields.aliases?.findIndex(isInBlog) ?? -1;
    const id = metadata.fields.aliases?.[index];
    if (id === undefined || state !== 'published' || !isInBlog(path) || !online.has(id) || !online.has(path)) continue;
    const message = `feed readers will show this article again: its ID becomes ${id}, the path of another article online`;
    const hint = `list that path in ${removedFile} instead, and redirect it on the website`;
    to.warning({ ...file, ...metadata.aliasPlaces[index] }, message, hint);
  }
}

/** Matches start tags of rehype-stringify: values in double quotes, `<` in text escaped. */
const tag = /<[a-z][^\s>]*(?:\s+[^\s"'=<>]+(?:="[^"]*")?)+\s*\/?>/gi;
const attribute = /(\s+[^\s"'=<>]+)="([^"]*)"/g;
const holdsUrl = /^\s+(?:href|src|poster|cite|longdesc)$/i;

/** Makes URLs absolute: media on the service, everything else on the website. */
function toAbsoluteUrls(html: string, page: string, { site, service }: Feed): string {
  const [pageUrl, siteUrl, serviceUrl] = [escapeXml(page), escapeXml(site), escapeXml(service)];
  const folder = pageUrl.slice(0, pageUrl.lastIndexOf('/') + 1);
  const toAbsolute = (url: string): string => {
    if (/^[a-z][a-z0-9+.-]*:/i.test(url)) return url;
    if (url.startsWith('//')) return `https:${url}`;
    if (url.startsWith('/media/')) return serviceUrl + url;
    if (url.startsWith('/')) return siteUrl + url;
    return (/^(?:[#?]|$)/.test(url) ? pageUrl : folder) + url;
  };
  return html.replace(tag, (start) =>
    start.replace(attribute, (whole, name: string, value: string) => {
      if (holdsUrl.test(name)) return `${name}="${toAbsolute(value)}"`;
      if (!/^\s+srcset$/i.test(name)) return whole;
      return `${name}="${mapSrcset(value, toAbsolute)}"`;
    }),
  );
}

function renderXml(root: Markup): string {
  return `<?xml version="1.0" encoding="utf-8"?>\n${root.markup}\n`;
}
