import type { ContentItem } from '#contract/blog.ts';
import { mediaTypes } from '#contract/content.ts';
import { staticFiles } from '#contract/static-files.ts';
import type { Diagnostics } from '../source/diagnostics.ts';
import { placeOf } from '../source/load.ts';
import type { SourceFolder } from '../source/load.ts';

/** The addresses and the name that a release mentions; undefined if they are not set. */
export interface SiteUrls {
  /** The website, without a slash at the end. */
  readonly site?: string | undefined;
  /** This service, without a slash at the end. */
  readonly service?: string | undefined;
  /** The page where customers get help. */
  readonly support?: string | undefined;
  /** The name of the service. */
  readonly name?: string | undefined;
}

/** The newest blog articles. */
interface Feed {
  readonly site: string;
  readonly service: string;
  readonly name?: string | undefined;
  /** The day of the last change of all articles, if there is any. */
  readonly updated?: string | undefined;
  readonly entries: readonly FeedEntry[];
}

interface FeedEntry extends ContentItem {
  /** The path that identifies it. */
  readonly id: string;
  readonly updated: string;
  readonly authorUrl?: string | undefined;
  readonly categorySlug: string;
  readonly tags: readonly string[];
  /** The hash of its text. */
  readonly text: string;
}

/**
 * Renders the newest blog articles as an Atom feed (RFC 4287). Written by hand, since the package `feed` (6.0.0) keeps control
 * characters, so that a document is not well formed, and says that a title is HTML.
 */
export async function renderFeed(
  { site, service, name, updated, entries }: Feed,
  readText: (sha256: string) => Promise<{ readonly html: string } | undefined>,
): Promise<string> {
  const rendered = await Promise.all(
    entries.map(async (entry) => {
      const text = await readText(entry.text);
      return text ? renderEntry(entry, text.html, { site, service }) : '';
    }),
  );
  const self = service + staticFiles.getBlogFeed.path;
  const root = element(
    'feed',
    [
      element('id', self),
      element('title', name ?? `Blog of ${new URL(site).host}`),
      // Without an entry, any day would be made up; an empty feed still needs one.
      element('updated', toTime(updated ?? '1970-01-01')),
      element('link', [], { rel: 'self', type: 'application/atom+xml', href: self }),
      element('link', [], { rel: 'alternate', type: 'text/html', href: `${site}/blog` }),
      ...rendered,
    ],
    { xmlns: 'http://www.w3.org/2005/Atom', 'xmlns:media': 'http://search.yahoo.com/mrss/' },
  );
  return renderXml(root);
}

function renderEntry(entry: FeedEntry, html: string, { site, service }: Pick<Feed, 'site' | 'service'>): string {
  const { title, description, date, author, authorUrl, category, categorySlug, cover } = entry;
  const type = mediaTypes[cover.slice(cover.lastIndexOf('.') + 1)];
  const page = site + entry.path;
  return element('entry', [
    element('id', site + entry.id),
    element('title', title),
    element('link', [], { rel: 'alternate', type: 'text/html', href: page }),
    element('link', [], { rel: 'enclosure', type, href: service + cover }),
    element('media:thumbnail', [], { url: service + cover }),
    element('published', toTime(date)),
    element('updated', toTime(entry.updated)),
    element('author', [element('name', author), ...(authorUrl === undefined ? [] : [element('uri', authorUrl)])]),
    element('category', [], { term: categorySlug, label: category }),
    ...entry.tags.map((term) => element('category', [], { term })),
    element('summary', description),
    element('content', toAbsoluteUrls(html, { page, site, service }), { type: 'html' }),
  ]);
}

/** The beginning of a day (UTC), as RFC 3339. */
function toTime(day: string): string {
  return `${day}T00:00:00Z`;
}

/** All articles, each with the day of its last change if there is one. */
interface Sitemap {
  readonly site: string;
  readonly pages: readonly { readonly path: string; readonly lastmod?: string | undefined }[];
}

/** Renders all articles as a sitemap by the protocol 0.9 of sitemaps.org. */
export function renderSitemap({ site, pages }: Sitemap): string {
  const urls = pages.map(({ path, lastmod }) =>
    element('url', [element('loc', site + path), ...(lastmod === undefined ? [] : [element('lastmod', lastmod)])]),
  );
  return renderXml(element('urlset', urls, { xmlns: 'http://www.sitemaps.org/schemas/sitemap/0.9' }));
}

/** The limit of the protocol: a search engine rejects a longer sitemap as a whole. */
const maxUrls = 50_000;

/** Reports a sitemap that would be too long. */
export function checkSitemap(count: number, { site }: SiteUrls, content: SourceFolder, diagnostics: Diagnostics): void {
  if (site === undefined || count <= maxUrls) return;
  const message = `${count} articles are too many for /v1/sitemap.xml: search engines read ${maxUrls}`;
  diagnostics.error(placeOf(content), message, 'unset SITE_URL, and let the website make its sitemaps');
}

/** The addresses that an article refers to without a host. */
interface Bases {
  /** The address of the page of the article. */
  readonly page: string;
  readonly site: string;
  readonly service: string;
}

/** A start tag as rehype-stringify writes it: values are in double quotes, and `<` in text is escaped. */
const tag = /<[a-z][^\s>]*(?:\s+[^\s"'=<>]+(?:="[^"]*")?)+\s*\/?>/gi;
const attribute = /(\s+[^\s"'=<>]+)="([^"]*)"/g;
const holdsUrl = /^\s+(?:href|src|poster|cite|longdesc)$/i;

/** Makes the URLs in the HTML of an article absolute: media are on the service, everything else is on the website. */
function toAbsoluteUrls(html: string, { page, site, service }: Bases): string {
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
      const list = value.replace(/([^\s,]\S*[^\s,])([^,]*)/g, (_, url: string, size: string) => toAbsolute(url) + size);
      return `${name}="${list}"`;
    }),
  );
}

/** Everything that XML 1.0 cannot hold, not even escaped: most control characters, and halves of characters. */
const impossible = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  // A parser would read it as a line feed.
  '\r': '&#13;',
};

/** Escapes text for XML, for content and for attributes in double quotes; removes what XML cannot hold. */
function escapeXml(text: string): string {
  return text.replace(impossible, '').replace(/[&<>"\r]/g, (character) => entities[character]!);
}

/** An XML document. */
function renderXml(root: string): string {
  return `<?xml version="1.0" encoding="utf-8"?>\n${root}\n`;
}

/** An XML element; its content is a text, elements in a list, or nothing. Attributes without a value are left out. */
function element(
  name: string,
  content: string | readonly string[] = [],
  attributes: Readonly<Record<string, string | undefined>> = {},
): string {
  const written = Object.entries(attributes)
    .map(([key, value]) => (value === undefined ? '' : ` ${key}="${escapeXml(value)}"`))
    .join('');
  const inner = typeof content === 'string' ? escapeXml(content) : content.join('');
  return inner === '' ? `<${name}${written}/>` : `<${name}${written}>${inner}</${name}>`;
}
