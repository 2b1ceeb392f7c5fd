import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, transform } from 'esbuild';
import { z } from 'zod';
import type { Aliases, Authors, CategoryItem, ContentHashes, ContentItem } from '#contract/articles.ts';
import type { StaticFile } from '#contract/endpoint.ts';
import { renderOpenApi } from '#contract/openapi.ts';
import type { Examples } from '#contract/openapi.ts';
import { fileOf, fillTemplate, matchFile, sources, staticFiles, toJsonText } from '#contract/endpoints.ts';
import type { StaticFileName } from '#contract/endpoints.ts';
import { isCompressed } from '#contract/release.ts';
import type { StatusWidget } from '#contract/status.ts';
import { toInstant } from './common/local-time.ts';
import type { Article, ReadHtml } from './articles/article.ts';
import { renderFeed, renderSitemap, selectFeed, selectSitemap } from './articles/feed.ts';
import type { SiteUrls } from './articles/feed.ts';
import type { ArticlesOptions } from './articles/compiler.ts';
import { findRelated } from './articles/related.ts';
import { selectSearch } from './articles/search.ts';
import type { SearchRenderer } from './articles/search.ts';
import type { renderDocs } from './reference/docs.ts';
import type { Stage } from './release/publish.ts';
import type { Catalog } from './source/catalog.ts';
import { compareNames, compareText } from './source/diagnostics.ts';
import type { PictureSizes } from './source/media.ts';

/** The data that static files are made from. */
interface Project extends Catalog {
  /** The included articles of each kind, in the order of its list. */
  readonly blog: readonly Article[];
  readonly knowledgeBase: readonly Article[];
  readonly aliases: Aliases;
  readonly pictures: PictureSizes;
  /** The entries of `authors.yaml`. */
  readonly authors: Authors;
  readonly urls: SiteUrls;
  /** The day of the build. */
  readonly now: string;
  /** The path of a media file. */
  readonly media: string | undefined;
  /** The search index omits texts above this total length. */
  readonly maxSearchTextLength: number;
}

/** The functions that `render` may call. */
interface RenderTools {
  readonly readHtml: ReadHtml;
  readonly renderSearch: SearchRenderer;
}

/** Makes a kind of static file from plain data of the project. */
interface StaticFileRow {
  /** Selects the data, also from files of earlier rows; undefined leaves the file out of the release. */
  readonly select: (project: Project, stage: Stage) => unknown;
  /** Renders a text or, with a schema, a value; several files by path parameter. */
  readonly render: (data: unknown, tools: RenderTools) => unknown;
  /** Keeps the texts in the memo, for builds without a previous release: rendering is slow. */
  readonly isRemembered?: true;
}

function row<Data>(
  select: (project: Project, stage: Stage) => Data | undefined,
  render: (data: Data, tools: RenderTools) => unknown = (data) => data,
): StaticFileRow {
  return { select, render: (data, tools) => render(data as Data, tools) };
}

/** Makes a file from these settings alone. Each process renders the file once. */
function constant(names: readonly (keyof SiteUrls)[], render: (settings: SiteUrls) => unknown): StaticFileRow {
  const rendered: Record<string, unknown> = {};
  const renderOnce = (settings: SiteUrls): unknown => (rendered[JSON.stringify(settings)] ??= render(settings));
  const select = ({ urls }: Project): SiteUrls => Object.fromEntries(names.map((name) => [name, urls[name]]));
  return { ...row(select, renderOnce), isRemembered: true };
}

const itemsOf = (articles: readonly Article[]) => articles.map(({ metadata }) => metadata.item);

const byCategory = (articles: readonly Article[]) => [...Map.groupBy(articles, ({ folder }) => folder.slug)];

function toCategories(articles: readonly Article[]): CategoryItem[] {
  return byCategory(articles)
    .map(([slug, group]) => ({ slug, name: group[0]!.metadata.category, count: group.length }))
    .toSorted((a, b) => compareNames(a.name, b.name) || compareText(a.slug, b.slug));
}

/** Lists the neighbours and related articles of each article, in a file for each category. */
function neighboursOf(select: (project: Project) => readonly Article[]) {
  return row(
    (project) =>
      select(project).map(({ path, folder, updated = null, metadata: { fields } }) => {
        const { tags = [], cover } = fields;
        const { width = null, height = null } = project.pictures.get(cover ?? '') ?? {};
        const size = cover !== undefined && { cover_width: width, cover_height: height };
        return { path, category: folder.slug, tags, updated, size };
      }),
    (articles) => {
      const found = findRelated(articles);
      const all = articles.map((article, at) => ({ ...article, related: found[at]! }));
      const groups = [...Map.groupBy(all, ({ category }) => category)].map(([category, group]) => {
        const pathAt = (at: number): string | null => group[at]?.path ?? null;
        const entries = group.map(({ path, related, tags, updated, size }, at) => {
          return { path, previous: pathAt(at - 1), next: pathAt(at + 1), related, tags, updated, ...size };
        });
        return [category, entries] as const;
      });
      return Object.fromEntries(groups);
    },
  );
}

/** Checks whether a former path is in the folder of its kind, such as /blog/: the server answers only those. */
const isOfKind = ([from, to]: [string, string]): boolean => from.startsWith(to.slice(0, to.indexOf('/', 1) + 1));

const widgetOf = (select: (widget: Awaited<ReturnType<typeof compileWidget>>) => unknown) =>
  constant(['service'], async ({ service }) => select(await compileStatusWidget(service)));

/** Lazy: most builds take the pages from the memo. */
const importDocs = () => import('./reference/docs.ts');
/** Makes files of /docs from the OpenAPI document of an earlier row. */
function docsOf(select: (files: Awaited<ReturnType<typeof renderDocs>>) => unknown): StaticFileRow {
  const render = async (input: string): Promise<unknown> => select(await (await importDocs()).renderDocs(input));
  return { ...row((_, stage) => stage.readText(fileOf('getOpenApi')), render), isRemembered: true };
}

/** Every kind of static file but copies of single sources, which are articles and media, and the hashes of all files. */
const rows: Record<
  Exclude<StaticFileName, 'getBlogArticle' | 'getKnowledgeBaseArticle' | 'getMedia' | 'getContentHashes'>,
  StaticFileRow
> = {
  listBlogArticles: row(({ blog }) => itemsOf(blog)),
  listKnowledgeBaseArticles: row(({ knowledgeBase }) => itemsOf(knowledgeBase)),
  listKnowledgeBaseCategory: row(({ knowledgeBase }) =>
    Object.fromEntries(byCategory(knowledgeBase).map(([category, group]) => [category, itemsOf(group)])),
  ),
  listBlogCategories: row(({ blog }) => toCategories(blog)),
  listKnowledgeBaseCategories: row(({ knowledgeBase }) => toCategories(knowledgeBase)),
  getBlogIndex: neighboursOf(({ blog }) => blog),
  getKnowledgeBaseIndex: neighboursOf(({ knowledgeBase }) => knowledgeBase),
  listBlogAuthors: row(({ blog, authors }) =>
    [...Map.groupBy(blog, ({ metadata }) => (metadata.item as ContentItem).author)]
      .map(([name, { length: count }]) => {
        const { picture = null, url = null } = Object.hasOwn(authors, name) ? authors[name]! : {};
        return { name, picture, url, count };
      })
      .toSorted((a, b) => compareNames(a.name, b.name) || compareText(a.name, b.name)),
  ),
  listRedirects: row(({ aliases }) => aliases),
  getBlogFeed: row(
    ({ blog, authors, urls }) => selectFeed(blog, authors, urls),
    (feed, { readHtml }) => renderFeed(feed, readHtml),
  ),
  getSitemap: row(({ blog, knowledgeBase, urls }) => selectSitemap([...blog, ...knowledgeBase], urls), renderSitemap),
  getKnowledgeBaseSearch: {
    ...row(
      ({ knowledgeBase, maxSearchTextLength }) => selectSearch(knowledgeBase, maxSearchTextLength),
      (data, { renderSearch, readHtml }) => renderSearch(data, readHtml),
    ),
    isRemembered: true,
  },
  getPlans: row(({ plans }) => plans),
  aliases: row(({ aliases }) => Object.fromEntries(Object.entries(aliases).filter(isOfKind))),
  domains: row(({ domains }) => domains),
  status: row(({ status }) => status),
  listMaintenance: row(({ status, now }) =>
    status.maintenance
      .map(({ title, monitors: affected, timezone, ...local }) => {
        const [start, end] = [local.start, local.end].map((time) => new Date(toInstant(time, timezone)).toISOString());
        return { title, affected, start: start!, end: end! };
      })
      .filter(({ end }) => end > now)
      .toSorted((a, b) => compareText(a.start, b.start)),
  ),
  sourceSchema: constant([], () =>
    Object.fromEntries(
      Object.entries(sources).map(([source, schema]) => [source, z.toJSONSchema(schema, { io: 'input' })]),
    ),
  ),
  getArticleStyle: constant([], () => readFileSync(join(import.meta.dirname, 'markdown/article.css'), 'utf8')),
  getStatusWidget: widgetOf(({ script }) => script),
  getStatusWidgetVersion: widgetOf(({ version, script }) => ({ [version]: script })),
  statusWidgetIntegrity: widgetOf(({ embed }) => embed),
  getOpenApi: row(
    (project, stage) => ({ examples: selectExamples(project, stage), settings: project.urls }),
    ({ examples, settings }) => renderOpenApi(examples, settings),
  ),
  getDocs: docsOf(({ first }) => first),
  getDocsFile: docsOf(({ others }) => others),
  operatorDocs: constant(['name', 'support'], async (settings) => (await importDocs()).renderOperatorDocs(settings)),
};

/** Selects the examples of the OpenAPI document, which this release answers. */
function selectExamples({ blog, knowledgeBase, media, domains, urls }: Project, stage: Stage): Examples {
  const [post, guide] = [blog[0], knowledgeBase[0]].map((article) => {
    return article && { path: article.path, category: article.folder.slug, slug: article.path.split('/').at(-1)! };
  });
  const widget = JSON.parse(stage.readText(fileOf('statusWidgetIntegrity'))) as StatusWidget;
  // Live prices decide which TLDs are sold.
  const tlds = (urls.prices ?? 'catalog') === 'catalog' ? Object.entries(domains.tlds) : [];
  const sold = tlds.find(([, { active, prices }]) => active !== false && prices?.['EUR']?.['1'])?.[0];
  const parameters: Examples['parameters'] = {
    getBlogArticle: post,
    getBlogIndex: post,
    listKnowledgeBaseArticles: guide,
    getKnowledgeBaseArticle: guide,
    getKnowledgeBaseIndex: guide,
    getMedia: media === undefined ? undefined : { path: media.slice('/media/'.length) },
    getStatusWidgetVersion: { version: /\.(\w+)\.js$/.exec(widget.path)![1]! },
    searchDomain: sold === undefined ? undefined : { domain: `example${sold}` },
  };
  const bodies: Record<string, unknown> = {};
  for (const name of Object.keys(staticFiles) as StaticFileName[]) {
    // The example of this list asks for a category.
    const from = guide && name === 'listKnowledgeBaseArticles' ? 'listKnowledgeBaseCategory' : name;
    const { schema }: StaticFile = staticFiles[from];
    const file = fileOf(from, parameters[name]);
    // Media are not texts, and the search index has nothing to read.
    if (/^get(?:Media|KnowledgeBaseSearch)$/.test(name) || !stage.files.has(file)) continue;
    const text = stage.readText(file);
    bodies[name] = shorten(schema ? JSON.parse(text) : text, schema);
  }
  return { parameters, bodies };
}

/** Shortens lists and maps to two entries, and texts to 300 characters. */
function shorten(value: unknown, schema?: unknown): unknown {
  // Half a surrogate pair is not valid in JSON of every language.
  if (typeof value === 'string') return value.slice(0, 300).replace(/[\uD800-\uDBFF]$/, '');
  if (Array.isArray(value))
    return value.slice(0, 2).map((item) => shorten(item, schema instanceof z.ZodArray && schema.element));
  if (typeof value !== 'object' || value === null) return value;
  const isMap = schema instanceof z.ZodRecord;
  const inner = (key: string): unknown =>
    isMap ? schema.valueType : schema instanceof z.ZodObject && schema.shape[key];
  const entries = Object.entries(value).slice(0, isMap ? 2 : undefined);
  return Object.fromEntries(entries.map(([key, each]) => [key, shorten(each, inner(key))]));
}

/** Compiles the widget for a PUBLIC_URL into a classic script, once per process. */
export const compileStatusWidget = (service = '') => (compiledWidgets[service] ??= compileWidget(service));
const compiledWidgets: Record<string, ReturnType<typeof compileWidget>> = {};

async function compileWidget(service: string) {
  const folder = join(import.meta.dirname, 'widget');
  const css = await transform(readFileSync(join(folder, 'style.css'), 'utf8'), { loader: 'css', minify: true });
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: ['main.ts'],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: 'es2020',
    // ASCII works in pages of any encoding.
    charset: 'ascii',
    define: { STYLE: JSON.stringify(css.code.trim()), PUBLIC_URL: JSON.stringify(service) },
    // Ignore tsconfig.json files, which could change the bytes.
    tsconfigRaw: {},
    logLevel: 'silent',
  });
  const script = outputFiles[0]!.text;
  const version = hash('sha256', script).slice(0, 16);
  const path = fillTemplate(staticFiles.getStatusWidgetVersion.path, { version });
  const embed: StatusWidget = { path, integrity: `sha384-${hash('sha384', script, 'base64')}` };
  return { script, version, embed };
}

/** Writes all static files into a stage, or links those whose data is unchanged. */
export async function writeStaticFiles(
  project: Project,
  stage: Stage,
  { memo, progress, ...tools }: RenderTools & Pick<ArticlesOptions, 'memo' | 'progress'>,
): Promise<void> {
  for (const [name, { select, render, isRemembered }] of Object.entries(rows) as [StaticFileName, StaticFileRow][]) {
    progress?.(`writing ${name}`);
    const data = select(project, stage);
    if (data === undefined) continue;
    const [hashesOf, textsOf] = [`hashes of ${name}`, `texts of ${name}`];
    const input = hash('sha256', JSON.stringify(data));
    if (isRemembered) memo.keep(textsOf);
    const known = memo.read(hashesOf, input) as Readonly<Record<string, string>> | undefined;
    if (known && Object.entries(known).every(([file, sha256]) => stage.reuse(file, sha256))) continue;
    const make = async (): Promise<Texts> => toTexts(name, await render(data, tools));
    // oxlint-disable-next-line no-await-in-loop -- One by one: few texts are in memory at a time.
    const texts = await (isRemembered ? memo.get(textsOf, input, make) : make());
    const hashes: Record<string, string> = {};
    for (const [file, text] of Object.entries(texts)) hashes[file] = await stage.write(file, text);
    memo.write(hashesOf, input, hashes);
  }
  await stage.write(fileOf('getContentHashes'), toJsonText('getContentHashes', toContentHashes(stage.files)));
}

function toContentHashes(files: Stage['files']): ContentHashes {
  const hashes: ContentHashes = { articles: {}, files: {} };
  for (const [file, { sha256 }] of [...files].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const target = isCompressed(file) ? undefined : matchFile(file)?.target;
    const [, article] = /\/article\?path=(.*)/.exec(target ?? '') ?? [];
    if (article !== undefined) hashes.articles[article] = sha256.slice(0, 16);
    else if (target !== undefined) hashes.files[target] = sha256.slice(0, 16);
  }
  return hashes;
}

/** Texts by path in the release. */
type Texts = Readonly<Record<string, string>>;

function toTexts(name: StaticFileName, output: unknown): Texts {
  const { file }: StaticFile = staticFiles[name];
  const toText = (content: unknown): string => (typeof content === 'string' ? content : toJsonText(name, content));
  const [, param] = /\{(\w+)\*?\}/.exec(file) ?? [];
  if (param === undefined) return { [file]: toText(output) };
  return Object.fromEntries(
    Object.entries(output as object).map(([value, content]) => [fileOf(name, { [param]: value }), toText(content)]),
  );
}
