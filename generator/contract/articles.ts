import { z } from 'zod';
import { endpointDefaults, json } from '#contract/endpoint.ts';
import type { Endpoint, FileEndpoint, StaticFile } from '#contract/endpoint.ts';
import { HttpsUrl, IsoDate, Line, MediaPath, Slug, named, object, success, text } from '#contract/primitives.ts';
import { searchFiles } from '#contract/search.ts';

/** Describes a kind of articles; their paths start with `root`, and those of their endpoints with `/v1/` and `folder`. */
const kindOf = (root: string, folder: string, tag: 'Blog' | 'Knowledge base', id: string, order: string) => {
  const path = z.string().regex(new RegExp(`^/${root}/[a-z0-9-]+/[a-z0-9-]+$`));
  return { root, folder, tag, id, name: tag.toLowerCase(), order, path };
};
const kinds = {
  blog: kindOf('blog', 'blog', 'Blog', 'Blog', 'newest first'),
  knowledgeBase: kindOf('knowledgebase', 'kb', 'Knowledge base', 'KnowledgeBase', 'sorted by title'),
};
type Kind = ReturnType<typeof kindOf>;

const cover = MediaPath.describe('Path of the cover image, starting with /media/.');
const tagList = z.array(Slug);

/** Returns a path of the website in the form that former paths have: decoded, NFC, without a slash at the end. */
export function toSitePath(path: string): string {
  const plain = path.replace(/\/$/, '');
  try {
    return /%2f/i.test(plain) ? plain : decodeURIComponent(plain).normalize('NFC');
  } catch {
    return plain;
  }
}

/** The faults of a path in the form of {@link toSitePath}. */
const pathFaults: readonly (readonly [RegExp, string])[] = [
  [/^(?!\/)/, 'must start with / and a segment'],
  [/[?#]/, 'must have no query and no fragment'],
  [/\/(?:\/|$)/, 'must have no empty segment: write one slash instead of //'],
  [/\/\.{1,2}(?:\/|$)/, 'must have no segment . or ..'],
  [/%/, 'must have no %2F and no invalid percent-encoding'],
  [/[^/\p{L}\p{M}\p{Nd}\-._~]/u, 'must have only letters, digits, hyphens, dots, underscores and tildes'],
];

/** A former path in a source file, written plainly or percent-encoded. */
const FormerPath = z.string().transform((written, context) => {
  const path = toSitePath(written);
  const [, fault] = pathFaults.find(([pattern]) => pattern.test(path)) ?? [];
  if (fault !== undefined) context.addIssue(fault);
  return path;
});

function frontMatterOf<Own extends z.ZodRawShape>(own: Own) {
  return z.strictObject({
    title: Line.describe('Title of the article.'),
    description: Line.describe('One or two sentences for lists and search engines.'),
    ...own,
    category: Line.optional().describe('Display name of the category; the same in all articles of the category.'),
    draft: z.boolean().optional().describe('true keeps the article out of every release.'),
    updated: IsoDate.optional().describe('Day of the last significant change, YYYY-MM-DD.'),
    tags: tagList.optional().describe('Tags, written in lower-case letters, digits and hyphens.'),
    aliases: z
      .array(FormerPath)
      .optional()
      .describe('Former paths of this article, such as /blog/old/name or /2025/11/name.'),
  });
}

/** The front matter of `content/blog/<category>/<slug>.md`. */
export const BlogFrontMatter = frontMatterOf({
  date: IsoDate.describe('Day of publication, YYYY-MM-DD. The article is not published before that day (UTC).'),
  author: Line.describe('Name of the author.'),
  cover,
});
export type BlogFrontMatter = z.infer<typeof BlogFrontMatter>;

/** The front matter of `content/knowledgebase/<category>/<slug>.md`. */
export const KnowledgeBaseFrontMatter = frontMatterOf({});
export type KnowledgeBaseFrontMatter = z.infer<typeof KnowledgeBaseFrontMatter>;

/** The schemas of sources in content/: front matter, `category.yaml`, `removed.yaml` and `authors.yaml`. */
export const articleSources = {
  blog: BlogFrontMatter,
  knowledgebase: KnowledgeBaseFrontMatter,
  category: z.strictObject({ name: Line.describe('Display name of the category.') }),
  removed: z
    .array(FormerPath.describe('Path of a removed article, or a former path.'))
    .describe('Paths of articles that were removed for good.'),
  authors: z
    .record(
      Line,
      z.strictObject({
        picture: MediaPath.optional().describe('Path of a picture, starting with /media/.'),
        url: HttpsUrl.optional().describe('A page about the author, starting with https://.'),
      }),
    )
    .describe('The authors of blog articles, by name.'),
};
export type Authors = z.infer<typeof articleSources.authors>;

const listedOf = ({ path, folder }: Kind) => ({
  title: text('Title of the article.'),
  description: text('One or two sentences for lists and search engines.'),
  path: path.describe(`Path of the article, for links and for /v1/${folder}/article.`),
  category: text('Display name of the category.'),
});
export const ContentItem = object('ContentItem', 'A blog article in the list.', {
  ...listedOf(kinds.blog),
  date: IsoDate.describe('Day of publication, YYYY-MM-DD.'),
  author: text('Name of the author.'),
  readTime: text('Time to read the article, in whole minutes.', /^[1-9][0-9]* min read$/),
  cover,
});
export type ContentItem = z.infer<typeof ContentItem>;

export const KnowledgeBaseSummary = object(
  'KnowledgeBaseSummary',
  'A knowledge base article in the list.',
  listedOf(kinds.knowledgeBase),
);
export type KnowledgeBaseSummary = z.infer<typeof KnowledgeBaseSummary>;

const content = {
  body: text('The article in Markdown, without its front matter.'),
  html: text('The article as sanitised HTML, with an id for each heading.'),
};
const withContent = <Shape extends z.ZodRawShape>(id: string, { shape }: z.ZodObject<Shape>, { name }: Kind) =>
  object(id, `A ${name} article, with Markdown in body and rendered HTML in html.`, { ...shape, ...content });

export const ContentArticle = withContent('ContentArticle', ContentItem, kinds.blog);
export type ContentArticle = z.infer<typeof ContentArticle>;

export const KnowledgeBaseArticle = withContent('KnowledgeBaseArticle', KnowledgeBaseSummary, kinds.knowledgeBase);
export type KnowledgeBaseArticle = z.infer<typeof KnowledgeBaseArticle>;

const KnowledgeBaseList = named(
  'KnowledgeBaseList',
  'Knowledge base articles, sorted by title.',
  z.array(KnowledgeBaseSummary),
);

export const CategoryItem = object('CategoryItem', 'A category with articles.', {
  slug: Slug.describe('The segment in the paths of the articles, and the value of the parameter category.'),
  name: text('Display name of the category.'),
  count: z.int().min(1).describe('Number of articles in the category.'),
});
export type CategoryItem = z.infer<typeof CategoryItem>;

const indexItemOf = <Own extends z.ZodRawShape>({ id, name, path }: Kind, own: Own) =>
  object(`${id}IndexItem`, `The neighbours, related articles and tags of a ${name} article.`, {
    path: path.describe('Path of the article.'),
    previous: path.nullable().describe('Path of the previous article of the category; null for the first article.'),
    next: path.nullable().describe('Path of the next article of the category; null for the last article.'),
    related: z
      .array(path)
      .max(5)
      .describe('Paths of up to five related articles: most common tags first, then neighbours in the category.'),
    tags: tagList.describe('Tags of the article.'),
    updated: IsoDate.nullable().describe('Day of the last significant change, YYYY-MM-DD; null if there is none.'),
    ...own,
  });

const pixels = (edge: string) => z.int().min(1).nullable().describe(`${edge} of the cover in pixels; null if unknown.`);
export const BlogIndexItem = indexItemOf(kinds.blog, { cover_width: pixels('Width'), cover_height: pixels('Height') });

export const KnowledgeBaseIndexItem = indexItemOf(kinds.knowledgeBase, {});

export const AuthorItem = object('AuthorItem', 'An author of blog articles.', {
  name: text('Name of the author, as in the articles.'),
  picture: MediaPath.nullable().describe('Path of a picture, starting with /media/; null if there is none.'),
  url: HttpsUrl.nullable().describe('A page about the author; null if there is none.'),
  count: z.int().min(1).describe('Number of articles.'),
});

export const Aliases = named(
  'Redirects',
  'The current path of an article by each of its former paths.',
  z.record(z.string(), z.string()),
);
export type Aliases = z.infer<typeof Aliases>;

const Hashes = z.record(z.string(), z.string().regex(/^[0-9a-f]{16}$/));
export const ContentHashes = object(
  'ContentHashes',
  'The first 16 hexadecimal digits of the SHA-256 hash of each file of the content.',
  {
    articles: Hashes.describe('The hash of each published article, by path.'),
    files: Hashes.describe('The hash of each other file, by the path and query of its request.'),
  },
  {
    articles: { '/blog/engineering/moving-nameservers': '9f86d081884c7d65' },
    files: { '/v1/plans': '60303ae22b998861', '/media/covers/rotterdam.webp': 'fd61a03af4f77d87' },
  },
);
export type ContentHashes = z.infer<typeof ContentHashes>;

export const KBFeedbackRequest = object(
  'KBFeedbackRequest',
  'A vote on a knowledge base article.',
  {
    helpful: z.boolean().describe('Whether the article was helpful.'),
    title: z.string().optional().describe('Title of the article.'),
    slug: z.string().optional().describe('Path of the article, starting with /knowledgebase/.'),
  },
  { helpful: true, title: 'Connect with SSH', slug: '/knowledgebase/vps/ssh' },
);

export const SuccessResponse = object('SuccessResponse', 'The request succeeded.', { success }, { success: true });

/** The media types that may be served below /media/, by file extension. */
export const mediaTypes: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  gif: 'image/gif',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  m4a: 'audio/mp4',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  ogg: 'audio/ogg',
  opus: 'audio/ogg',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  wav: 'audio/wav',
  webm: 'video/webm',
  webp: 'image/webp',
};

/** Creates the query parameter for the slug of a category. */
const categoryOf = ({ root }: Kind) => z.string().describe(`The slug of a category: the path segment after /${root}/.`);

const articleOf = ({ folder, root, tag, name }: Kind) =>
  ({
    file: `public/v1/${folder}/article/{category}/{slug}.json`,
    path: `/v1/${folder}/article`,
    target: `/v1/${folder}/article?path=/${root}/{category}/{slug}`,
    tag,
    summary: `Retrieve a ${name} article, by current or former path`,
    hasFormerPaths: true,
    description: `Returns a ${name} article as Markdown and as HTML. Former paths work, too: the field path and the header Content-Location have the current path.`,
    query: z.object({ path: z.string().describe(`Full path of the article, starting with /${root}/.`) }),
    missing: { code: 'path_required' },
    reply: 'The article.',
    problems: ['path_required', 'validation_error'],
    messages: { validation_error: 'Query parameter path is given more than once' },
    absent: 'article_not_found',
  }) as const satisfies FileEndpoint;

const categoriesOf = ({ folder, tag, id, name }: Kind) => {
  const description = `The categories of the ${name}, sorted by name.`;
  return {
    file: `public/v1/${folder}/categories.json`,
    path: `/v1/${folder}/categories`,
    tag,
    summary: `List the categories of the ${name}, sorted by name`,
    description: `Lists the categories of the ${name}, sorted by name. Categories without articles are left out.`,
    schema: named(`${id}Categories`, description, z.array(CategoryItem)),
    reply: 'The categories.',
  } as const satisfies FileEndpoint;
};

const indexOf = (kind: Kind, item: z.ZodType) => {
  const { folder, tag, id, name, order } = kind;
  const description = `The neighbours, related articles and tags of each article of a ${name} category, ${order}.`;
  return {
    file: `public/v1/${folder}/index/{category}.json`,
    path: `/v1/${folder}/index`,
    target: `/v1/${folder}/index?category={category}`,
    tag,
    summary: 'List the connections of articles: neighbours, related articles, tags and last changes of a category',
    description: `Lists the neighbours, related articles, tags and last changes of the articles of a ${name} category. The order is that of the list. Articles themselves have no tags and no day of the last change.`,
    query: z.object({ category: categoryOf(kind) }),
    schema: named(`${id}Index`, description, z.array(item)),
    reply: 'The index; empty if the category does not exist.',
    problems: ['validation_error'],
    messages: { validation_error: 'Query parameter category is required' },
    absent: 'empty_list',
  } as const satisfies FileEndpoint;
};

/** The static files of articles, and the operation for feedback from readers. */
export const articleEntries = {
  getArticleStyle: {
    file: 'public/v1/article.css',
    path: '/v1/article.css',
    tag: 'Blog',
    summary: 'Load the style sheet for the html of articles, light and dark',
    description:
      'Returns the style sheet for the html of blog and knowledge base articles. Put the html into an element of class markdown-body.',
    mediaType: 'text/css; charset=utf-8',
    reply: 'The style sheet.',
    failure: 'internal_error',
  },
  listBlogArticles: {
    file: 'public/v1/blog/list.json',
    path: '/v1/blog/list',
    tag: 'Blog',
    summary: 'List all blog articles, newest first',
    description:
      'Lists all blog articles, newest first. Articles of the same day are sorted by path. Get the text of an article from /v1/blog/article.',
    schema: named('ContentList', 'All blog articles, newest first.', z.array(ContentItem)),
    reply: 'The list.',
  },
  getBlogArticle: { ...articleOf(kinds.blog), schema: ContentArticle },
  listKnowledgeBaseArticles: {
    file: 'public/v1/kb/list.json',
    path: '/v1/kb/list',
    tag: 'Knowledge base',
    summary: 'List knowledge base articles, sorted by title',
    description:
      'Lists all knowledge base articles, or those of a category, sorted by title. Get the text of an article from /v1/kb/article.',
    query: z.object({ category: categoryOf(kinds.knowledgeBase).optional() }),
    schema: KnowledgeBaseList,
    reply: 'The list; empty if the category does not exist.',
    problems: ['validation_error'],
    messages: { validation_error: 'Query parameter category is given more than once' },
    absent: 'empty_list',
  },
  listKnowledgeBaseCategory: {
    file: 'public/v1/kb/list/{category}.json',
    target: '/v1/kb/list?category={category}',
    schema: KnowledgeBaseList,
  },
  getKnowledgeBaseArticle: { ...articleOf(kinds.knowledgeBase), schema: KnowledgeBaseArticle },
  ...searchFiles,
  getMedia: {
    file: 'public/media/{path*}',
    path: '/media/{path*}',
    tag: 'Media',
    summary: 'Load an image or other media file of an article',
    description: 'Returns an image or another media file. Articles refer to these files by path.',
    mediaType: mediaTypes,
    reply: 'The file.',
    partReply: 'The requested range of the file.',
    example: '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 9"><rect width="16" height="9"/></svg>\n',
    problems: ['range_not_satisfiable'],
    absent: 'media_not_found',
    failure: 'internal_error',
  },
  getBlogFeed: {
    file: 'public/v1/blog/feed.xml',
    path: '/v1/blog/feed.xml',
    tag: 'Blog',
    summary: 'Load the Atom feed of the blog: the newest 30 articles with their texts',
    description:
      'Returns the newest 30 blog articles with their texts, as an Atom feed. All addresses are absolute: pages on the website, media on this service. The feed exists only if the operator has set the addresses of both.',
    mediaType: 'application/atom+xml; charset=utf-8',
    reply: 'An Atom 1.0 feed.',
    absent: 'not_found',
    messages: { not_found: 'There is no feed' },
  },
  getSitemap: {
    file: 'public/v1/sitemap.xml',
    path: '/v1/sitemap.xml',
    tag: 'Website',
    summary: 'Load the sitemap of all articles, for search engines',
    description:
      'Returns a sitemap of all blog and knowledge base articles, for search engines. lastmod is the day of the last significant change, else the day of publication, if any. The sitemap exists only if the operator has set the address of the website.',
    mediaType: 'application/xml; charset=utf-8',
    reply: 'A sitemap, as defined by sitemaps.org (version 0.9).',
    absent: 'not_found',
    messages: { not_found: 'There is no sitemap' },
  },
  listBlogCategories: categoriesOf(kinds.blog),
  listKnowledgeBaseCategories: categoriesOf(kinds.knowledgeBase),
  getBlogIndex: indexOf(kinds.blog, BlogIndexItem),
  getKnowledgeBaseIndex: indexOf(kinds.knowledgeBase, KnowledgeBaseIndexItem),
  listBlogAuthors: {
    file: 'public/v1/blog/authors.json',
    path: '/v1/blog/authors',
    tag: 'Blog',
    summary: 'List the authors of blog articles, sorted by name',
    description:
      'Lists the authors of blog articles, each with a picture and a page, if any. Authors without articles are left out.',
    schema: named('AuthorList', 'The authors of blog articles, sorted by name.', z.array(AuthorItem)),
    reply: 'The authors.',
  },
  listRedirects: {
    file: 'public/v1/redirects.json',
    path: '/v1/redirects.json',
    tag: 'Website',
    summary: 'List all former paths of articles, each with the current path',
    description:
      'Lists all former paths, each with the current path. Former paths may be any paths of the website; they are decoded and have no slash at the end.',
    schema: Aliases,
    reply: 'The current path by each former path.',
  },
  getContentHashes: {
    file: 'public/v1/content.json',
    path: '/v1/content.json',
    tag: 'Website',
    summary: 'List the hashes of all articles and other files, to find changes',
    description:
      'Returns the hash of each article and of each other file. A website compares the hashes with those of its last build, and reads only the changed articles.',
    schema: ContentHashes,
    reply: 'The hashes.',
  },
  aliases: { file: 'private/aliases.json', schema: Aliases },
  sendFeedback: {
    ...endpointDefaults,
    method: 'POST',
    path: '/v1/kb/feedback',
    tag: 'Knowledge base',
    summary: 'Report whether a knowledge base article was helpful',
    description:
      'Reports whether a knowledge base article was helpful. Each client may send one report every 30 seconds, unless the operator sets another limit.',
    body: { schema: KBFeedbackRequest, required: true, invalid: 'invalid_feedback', strict: true },
    missing: { code: 'invalid_feedback' },
    limit: 'feedback',
    replies: {
      200: json('The feedback was counted and sent to the team.', SuccessResponse),
      202: json('The feedback was counted; sending it to the team is disabled.', SuccessResponse),
    },
    problems: [
      'invalid_feedback',
      'unsupported_media_type',
      'feedback_not_counted',
      'feedback_not_built',
      'feedback_not_delivered',
    ],
  },
} as const satisfies Record<string, FileEndpoint | StaticFile | Endpoint>;
