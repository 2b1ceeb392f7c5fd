import { z } from 'zod';
import { ContentArticle, ContentList, BlogFrontMatter } from '#contract/blog.ts';
import { Aliases, Category, Removed } from '#contract/content.ts';
import { DomainCatalog } from '#contract/domains.ts';
import { KnowledgeBaseArticle, KnowledgeBaseFrontMatter, KnowledgeBaseList } from '#contract/knowledge-base.ts';
import { OpenApiDocument } from '#contract/openapi-document.ts';
import { PlanCatalogResponse, PlanFile } from '#contract/plans.ts';
import {
  AuthorList,
  Authors,
  BlogCategories,
  BlogIndex,
  KnowledgeBaseCategories,
  KnowledgeBaseIndex,
} from '#contract/site.ts';
import { KnowledgeBaseSearch } from '#contract/search.ts';
import { StatusCatalog, StatusWidget } from '#contract/status.ts';

/** A kind of file in a release. */
export interface Resource {
  /** Its path in the release; `{name}` matches one segment, `{name*}` several. */
  readonly file: string;
  /** The request target that serves it, with the same names; files without one are private or static. */
  readonly target?: string;
  /** The schema of a JSON file. */
  readonly schema?: z.ZodType;
  /** The media type, if all such files have the same and it is not JSON. */
  readonly mediaType?: string;
  /** Whether a release may lack it. */
  readonly optional?: boolean;
}

const JsonSchema = z.record(z.string(), z.unknown());

/** All kinds of files in a release. */
export const resources = {
  blogList: { file: 'public/v1/blog/list.json', target: '/v1/blog/list', schema: ContentList },
  blogArticle: {
    file: 'public/v1/blog/article/{category}/{slug}.json',
    target: '/v1/blog/article?path=/blog/{category}/{slug}',
    schema: ContentArticle,
  },
  knowledgeBaseList: { file: 'public/v1/kb/list.json', target: '/v1/kb/list', schema: KnowledgeBaseList },
  knowledgeBaseCategory: {
    file: 'public/v1/kb/list/{category}.json',
    target: '/v1/kb/list?category={category}',
    schema: KnowledgeBaseList,
  },
  knowledgeBaseArticle: {
    file: 'public/v1/kb/article/{category}/{slug}.json',
    target: '/v1/kb/article?path=/knowledgebase/{category}/{slug}',
    schema: KnowledgeBaseArticle,
  },
  redirects: { file: 'public/v1/redirects.json', target: '/v1/redirects.json', schema: Aliases },
  blogFeed: {
    file: 'public/v1/blog/feed.xml',
    target: '/v1/blog/feed.xml',
    mediaType: 'application/atom+xml; charset=utf-8',
    optional: true,
  },
  sitemap: {
    file: 'public/v1/sitemap.xml',
    target: '/v1/sitemap.xml',
    mediaType: 'application/xml; charset=utf-8',
    optional: true,
  },
  blogCategories: { file: 'public/v1/blog/categories.json', target: '/v1/blog/categories', schema: BlogCategories },
  knowledgeBaseCategories: {
    file: 'public/v1/kb/categories.json',
    target: '/v1/kb/categories',
    schema: KnowledgeBaseCategories,
  },
  blogIndex: {
    file: 'public/v1/blog/index/{category}.json',
    target: '/v1/blog/index?category={category}',
    schema: BlogIndex,
  },
  knowledgeBaseIndex: {
    file: 'public/v1/kb/index/{category}.json',
    target: '/v1/kb/index?category={category}',
    schema: KnowledgeBaseIndex,
  },
  blogAuthors: { file: 'public/v1/blog/authors.json', target: '/v1/blog/authors', schema: AuthorList },
  knowledgeBaseSearch: {
    file: 'public/v1/kb/search.json',
    target: '/v1/kb/search.json',
    schema: KnowledgeBaseSearch,
  },
  plans: { file: 'public/v1/plans.json', target: '/v1/plans', schema: PlanCatalogResponse },
  openapi: { file: 'public/v1/openapi.json', target: '/v1/openapi.json', schema: OpenApiDocument },
  statusWidget: {
    file: 'public/v1/service-status.js',
    target: '/v1/service-status.js',
    mediaType: 'application/javascript',
  },
  statusWidgetVersion: {
    file: 'public/v1/service-status.{version}.js',
    target: '/v1/service-status.{version}.js',
    mediaType: 'application/javascript',
  },
  statusWidgetIntegrity: { file: 'public/v1/service-status.json', schema: StatusWidget },
  articleStyle: { file: 'public/v1/article.css', target: '/v1/article.css', mediaType: 'text/css; charset=utf-8' },
  docs: { file: 'public/docs/index.html', target: '/docs', mediaType: 'text/html; charset=utf-8' },
  docsFile: { file: 'public/docs/{path*}', target: '/docs/{path*}' },
  media: { file: 'public/media/{path*}', target: '/media/{path*}' },
  aliases: { file: 'private/aliases.json', schema: Aliases },
  domains: { file: 'private/domains.json', schema: DomainCatalog },
  status: { file: 'private/status.json', schema: StatusCatalog },
  sourceSchema: { file: 'public/schemas/{source}.json', schema: JsonSchema },
} as const satisfies Record<string, Resource>;

/** The name of a kind of file. */
export type ResourceName = keyof typeof resources;

/** The schemas of the source files in content/ and catalog/; releases contain them as JSON Schemas for editors. */
export const sources = {
  blog: BlogFrontMatter,
  knowledgebase: KnowledgeBaseFrontMatter,
  category: Category,
  removed: Removed,
  authors: Authors,
  plans: PlanFile,
  domains: DomainCatalog,
  status: StatusCatalog,
} as const satisfies Record<string, z.ZodType>;

/** The path of a file in a release. */
export function fileOf(name: ResourceName, params: Readonly<Record<string, string>>): string {
  return fillTemplate(resources[name].file, params);
}

/** Renders a JSON file of a release. Throws if the value does not match its schema. */
export function toJsonText(name: ResourceName, value: unknown): string {
  const { schema }: Resource = resources[name];
  return `${JSON.stringify(schema?.parse(value))}\n`;
}

/** Fills in the names of a template of {@link resources}. */
export function fillTemplate(template: string, params: Readonly<Record<string, string>>): string {
  let parts = split.get(template);
  if (!parts) split.set(template, (parts = template.split(/\{(\w+)\*?\}/)));
  return parts.reduce((filled, part, index) => filled + (index % 2 === 0 ? part : (params[part] ?? '')), '');
}

/** Cached templates, split into texts and names: a build fills one template for each article. */
const split = new Map<string, readonly string[]>();

/** Finds the kind of a file in a release and the request target that serves it, if any. */
export function matchResource(file: string): { name: ResourceName; target: string | undefined } | undefined {
  for (const { name, pattern, target } of patterns) {
    const match = pattern.exec(file);
    if (match) return { name, target: target && fillTemplate(target, match.groups ?? {}) };
  }
  return undefined;
}

const patterns = Object.entries<Resource>(resources).map(([name, { file, target }]) => ({
  name: name as ResourceName,
  target,
  pattern: new RegExp(
    `^${file
      .replaceAll('.', '\\.')
      .replace(/\{(\w+)\*\}/g, '(?<$1>.+)')
      .replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`,
  ),
}));
