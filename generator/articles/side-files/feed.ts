import type { ContentItem } from '#contract/blog.ts';
import { fileOf, resources } from '#contract/resources.ts';
import type { Article } from '../article.ts';
import { toAbsoluteUrls } from './absolute-urls.ts';
import type { SideFile, SideFileInput } from './side-file.ts';
import { element, renderXml } from './xml.ts';

const maxEntries = 30;

/**
 * The newest blog articles as an Atom feed (RFC 4287), if the addresses of the website and of the service are set. Written by
 * hand, since the package `feed` (6.0.0) keeps control characters, so that a document is not well formed, and says that a
 * title is HTML.
 */
export const feed: SideFile = async ({ blog, authors, urls, readText }) => {
  const { site, service } = urls;
  if (site === undefined || service === undefined) return [];
  const entries = await Promise.all(
    blog.slice(0, maxEntries).map(async (article) => {
      const text = await readText(article);
      return text ? renderEntry(article, text.html, { site, service, authors }) : '';
    }),
  );
  const self = service + resources.blogFeed.target;
  // Without an entry, any day would be made up; an empty feed still needs one.
  const updated = blog.map(updatedOf).reduce((latest, day) => (day > latest ? day : latest), '1970-01-01');
  const root = element(
    'feed',
    [
      element('id', self),
      element('title', `Blog of ${new URL(site).host}`),
      element('updated', toTime(updated)),
      element('link', [], { rel: 'self', type: 'application/atom+xml', href: self }),
      element('link', [], { rel: 'alternate', type: 'text/html', href: `${site}/blog` }),
      ...entries,
    ],
    { xmlns: 'http://www.w3.org/2005/Atom' },
  );
  return [{ file: fileOf('blogFeed', {}), text: renderXml(root) }];
};

interface EntryOptions extends Pick<SideFileInput, 'authors'> {
  readonly site: string;
  readonly service: string;
}

function renderEntry(article: Article, html: string, { site, service, authors }: EntryOptions): string {
  const { folder, path, metadata } = article;
  const { title, description, date, author, category } = metadata.item as ContentItem;
  const page = site + path;
  const url = Object.hasOwn(authors, author) ? authors[author]?.url : undefined;
  return element('entry', [
    // An id never changes: a moved article keeps the one of its first path.
    element('id', site + (metadata.aliases[0]?.text ?? path)),
    element('title', title),
    element('link', [], { rel: 'alternate', type: 'text/html', href: page }),
    element('published', toTime(date)),
    element('updated', toTime(updatedOf(article))),
    element('author', [element('name', author), ...(url === undefined ? [] : [element('uri', url)])]),
    element('category', [], { term: folder.slug, label: category }),
    ...metadata.tags.map((term) => element('category', [], { term })),
    element('summary', description),
    element('content', toAbsoluteUrls(html, { page, site, service }), { type: 'html' }),
  ]);
}

function updatedOf({ metadata }: Article): string {
  return metadata.updated ?? (metadata.item as ContentItem).date;
}

/** The beginning of a day (UTC), as RFC 3339. */
function toTime(day: string): string {
  return `${day}T00:00:00Z`;
}
