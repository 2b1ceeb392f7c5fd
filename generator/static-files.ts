import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, transform } from 'esbuild';
import { z } from 'zod';
import type { Aliases, Authors, CategoryItem, ContentItem } from '#contract/articles.ts';
import type { StaticFile } from '#contract/endpoint.ts';
import { renderOpenApi } from '#contract/openapi.ts';
import { fileOf, fillTemplate, sources, staticFiles, toJsonText } from '#contract/endpoints.ts';
import type { StaticFileName } from '#contract/endpoints.ts';
import type { StatusWidget } from '#contract/status.ts';
import type { Article, ReadText } from './articles/article.ts';
import { renderFeed, renderSitemap, selectFeed, selectSitemap } from './articles/feed.ts';
import type { SiteUrls } from './articles/feed.ts';
import { findRelated } from './articles/related.ts';
import { createSearchIndex, maxTextLength, selectSearch } from './articles/search.ts';
import type { Stage } from './release/publish.ts';
import type { Catalog } from './source/catalog.ts';
import { compareText } from './source/diagnostics.ts';

/** What the static files of a release are made from. */
export interface Project extends Catalog {
  /** The included articles of each kind, in the order of its list. */
  readonly blog: readonly Article[];
  readonly knowledgeBase: readonly Article[];
  readonly aliases: Aliases;
  /** The entries of `authors.yaml`. */
  readonly authors: Authors;
  readonly urls: SiteUrls;
}

/**
 * How a static file is made. `render` gets what `select` returned, as JSON, and nothing else. So the file is the same as in the
 * last release if the hash of that and the generator are the same.
 */
interface Row<Result> {
  /** The data of the file; without any, the release has no such file. */
  readonly select: (project: Project) => unknown;
  readonly render: (data: unknown, readText: ReadText) => Result | Promise<Result>;
  /** Whether a process makes the file once for the same data: it is as good as constant, and large. */
  readonly isKept?: true;
}

/** A text or, if the file has a schema, its value. */
type Content<Name extends StaticFileName> =
  | Uint8Array
  | ((typeof staticFiles)[Name] extends { schema: z.ZodType } ? object : string);

/** The content of a file, or of several by the name that their path has. */
type Output<Name extends StaticFileName> = (typeof staticFiles)[Name]['file'] extends `${string}{${string}`
  ? Readonly<Record<string, Content<Name>>>
  : Content<Name>;

/** Files of articles and media are not here: each is made from one file of content/. */
type Rows = {
  readonly [Name in Exclude<StaticFileName, 'getBlogArticle' | 'getKnowledgeBaseArticle' | 'getMedia'>]: Row<
    Output<Name>
  >;
};

function row<Data, Result>(
  select: (project: Project) => Data | undefined,
  render: (data: Data, readText: ReadText) => Result | Promise<Result>,
): Row<Result> {
  return { select, render: (data, readText) => render(data as Data, readText) };
}

/** A file that holds what is selected. */
const plain = <Data>(select: (project: Project) => Data): Row<Data> => row(select, (data) => data);

/** A file that depends on the generator and these settings alone. */
const own = <Result>(
  names: readonly (keyof SiteUrls)[],
  render: (settings: SiteUrls) => Result | Promise<Result>,
): Row<Result> => ({
  ...row(({ urls }) => Object.fromEntries(names.map((name) => [name, urls[name]])) as SiteUrls, render),
  isKept: true,
});

const itemsOf = (articles: readonly Article[]) => articles.map(({ metadata }) => metadata.item);

const byCategory = (articles: readonly Article[]) => [...Map.groupBy(articles, ({ folder }) => folder.slug)];

function toCategories(articles: readonly Article[]): CategoryItem[] {
  return byCategory(articles)
    .map(([slug, group]) => ({ slug, name: group[0]!.metadata.category, count: group.length }))
    .toSorted((a, b) => compareText(a.name, b.name) || compareText(a.slug, b.slug));
}

/** What surrounds each article, in a file for each category. */
function indexOf(select: (project: Project) => readonly Article[]) {
  return row(
    (project) =>
      select(project).map(({ path, folder, metadata: { fields } }) => {
        const { tags = [], updated = null } = fields;
        return { path, category: folder.slug, tags, updated };
      }),
    (articles) => {
      const found = findRelated(articles);
      const all = articles.map((article, at) => ({ ...article, related: found[at]! }));
      const groups = Array.from(
        Map.groupBy(all, ({ category }) => category),
        ([category, group]) => {
          const pathAt = (at: number): string | null => group[at]?.path ?? null;
          const toEntry = ({ path, related, tags, updated }: (typeof all)[number], at: number) => {
            return { path, previous: pathAt(at - 1), next: pathAt(at + 1), related, tags, updated };
          };
          return [category, group.map(toEntry)] as const;
        },
      );
      return Object.fromEntries(groups);
    },
  );
}

const docsSettings = ['service', 'name', 'support'] as const;
/** Imported late, since most builds reuse the pages of the last release. */
const importDocs = () => import('./reference/docs.ts');

function createRows(maxLength: number): Rows {
  return {
    listBlogArticles: plain(({ blog }) => itemsOf(blog)),
    listKnowledgeBaseArticles: plain(({ knowledgeBase }) => itemsOf(knowledgeBase)),
    listKnowledgeBaseCategory: plain(({ knowledgeBase }) =>
      Object.fromEntries(byCategory(knowledgeBase).map(([category, group]) => [category, itemsOf(group)])),
    ),
    listBlogCategories: plain(({ blog }) => toCategories(blog)),
    listKnowledgeBaseCategories: plain(({ knowledgeBase }) => toCategories(knowledgeBase)),
    getBlogIndex: indexOf(({ blog }) => blog),
    getKnowledgeBaseIndex: indexOf(({ knowledgeBase }) => knowledgeBase),
    listBlogAuthors: plain(({ blog, authors }) =>
      Array.from(
        Map.groupBy(blog, ({ metadata }) => (metadata.item as ContentItem).author),
        ([name, { length: count }]) => {
          const { picture = null, url = null } = Object.hasOwn(authors, name) ? authors[name]! : {};
          return { name, picture, url, count };
        },
      ).toSorted((a, b) => compareText(a.name, b.name)),
    ),
    listRedirects: plain(({ aliases }) => aliases),
    getBlogFeed: row(({ blog, authors, urls }) => selectFeed(blog, authors, urls), renderFeed),
    getSitemap: row(({ blog, knowledgeBase, urls }) => selectSitemap([...blog, ...knowledgeBase], urls), renderSitemap),
    getKnowledgeBaseSearch: row(({ knowledgeBase }) => selectSearch(knowledgeBase, maxLength), createSearchIndex()),
    getPlans: plain(({ plans }) => plans),
    aliases: plain(({ aliases }) => aliases),
    domains: plain(({ domains }) => domains),
    status: plain(({ status }) => status),
    sourceSchema: own([], () =>
      Object.fromEntries(
        Object.entries(sources).map(([source, schema]) => [source, z.toJSONSchema(schema, { io: 'input' })]),
      ),
    ),
    getArticleStyle: own([], readArticleStyle),
    getStatusWidget: own([], async () => (await compileStatusWidget()).script),
    getStatusWidgetVersion: own([], async () => {
      const { version, script } = await compileStatusWidget();
      return { [version]: script };
    }),
    statusWidgetIntegrity: own([], async () => (await compileStatusWidget()).embed),
    getOpenApi: own(['name', 'support'], async (settings) => {
      const { version, script } = await compileStatusWidget();
      const texts = { 'application/javascript': script, 'text/css': readArticleStyle() };
      return renderOpenApi({ widgetVersion: version, texts }, settings);
    }),
    getDocs: own(docsSettings, async (settings) => (await importDocs()).renderPage('/docs', settings)),
    getDocsFile: own(docsSettings, async (settings) => (await importDocs()).renderDocsFiles(settings)),
  };
}

/** Compiles the widget into one classic script with a version, which identifies it in its URL, once per process. */
export const compileStatusWidget = () => (compiledWidget ??= compileWidget());
let compiledWidget: ReturnType<typeof compileWidget> | undefined;

async function compileWidget() {
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
    // ASCII is independent of the page's encoding.
    charset: 'ascii',
    define: { STYLE: JSON.stringify(css.code.trim()) },
    // Ignores tsconfig.json files, which could change the bytes.
    tsconfigRaw: {},
    logLevel: 'silent',
  });
  const script = outputFiles[0]!.text;
  const version = hash('sha256', script).slice(0, 16);
  const path = fillTemplate(staticFiles.getStatusWidgetVersion.path, { version });
  const embed: StatusWidget = { path, integrity: `sha384-${hash('sha384', script, 'base64')}` };
  return { script, version, embed };
}

function readArticleStyle(): string {
  return readFileSync(join(import.meta.dirname, 'markdown/article.css'), 'utf8');
}

/** The hash of what each static file of a release is made from, and its files. */
export type StaticFilesRecord = Readonly<
  Partial<Record<StaticFileName, { readonly input: string; readonly files: readonly string[] }>>
>;

/** Writes the static files of a release, or reuses those of the previous one. Returns their record, for the next release. */
export type StaticFilesWriter = ReturnType<typeof createStaticFilesWriter>;

type Files = readonly (readonly [file: string, bytes: Uint8Array])[];
/** Files by name and input. They stay the same buffers, which are compressed once. */
const kept = new Map<string, Promise<Files>>();

/**
 * Creates a writer. The search index has the texts of articles if they have at most `maxLength` characters together. The writer keeps
 * the index, so that `dev` adds to it only what a save changed.
 */
export function createStaticFilesWriter(maxLength = maxTextLength) {
  const rows = Object.entries<Row<unknown>>(createRows(maxLength)) as [StaticFileName, Row<unknown>][];
  /** `previous` is the record of the previous release, if this version of the generator made it. */
  return async (
    project: Project,
    stage: Stage,
    readText: ReadText,
    previous: StaticFilesRecord | undefined,
  ): Promise<StaticFilesRecord> => {
    const record: Record<string, NonNullable<StaticFilesRecord[StaticFileName]>> = {};
    for (const [name, { select, render, isKept }] of rows) {
      const json = JSON.stringify(select(project)) as string | undefined;
      const input = hash('sha256', json ?? '');
      const before = previous?.[name];
      const reused = new Set(before?.input === input ? before.files.filter((file) => stage.reuse(file)) : []);
      if (before?.input === input && reused.size === before.files.length) {
        record[name] = before;
        continue;
      }
      const key = `${name} ${input}`;
      const create = async (): Promise<Files> =>
        json === undefined ? [] : toFiles(name, await render(JSON.parse(json) as unknown, readText));
      const creating = kept.get(key) ?? create();
      if (isKept) kept.set(key, creating);
      // oxlint-disable-next-line no-await-in-loop -- One file after the other, so that few are in memory.
      const files = await creating;
      // oxlint-disable-next-line no-await-in-loop
      for (const [file, bytes] of files) if (!reused.has(file)) await stage.write(file, bytes);
      record[name] = { input, files: files.map(([file]) => file) };
    }
    return record;
  };
}

function toFiles(name: StaticFileName, output: unknown): Files {
  const { file, schema }: StaticFile = staticFiles[name];
  const toBytes = (content: unknown): Uint8Array =>
    content instanceof Uint8Array ? content : Buffer.from(schema ? toJsonText(name, content) : (content as string));
  const [, param] = /\{(\w+)\*?\}/.exec(file) ?? [];
  if (param === undefined) return [[file, toBytes(output)]];
  return Object.entries(output as object).map(([value, content]) => [
    fileOf(name, { [param]: value }),
    toBytes(content),
  ]);
}
