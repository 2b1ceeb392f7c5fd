import type { Manifest } from '#contract/release.ts';
import type { StatusWidget } from '#contract/status.ts';
import { addressOf, openCategory, parseArticle, renderBody, toArticle, toOutline } from './articles.ts';
import type { Article, OpenedArticle, OpenedCategory, Outline } from './articles.ts';
import type { RenderCache } from './cache.ts';
import { readCatalog } from './catalog.ts';
import type { Catalog } from './catalog.ts';
import { checkReferences, collectAliases } from './checks.ts';
import type { CheckedReferences } from './checks.ts';
import { collections } from './collections/index.ts';
import { sortContent } from './content.ts';
import type { Content } from './content.ts';
import type { Diagnostics } from './diagnostics.ts';
import { writeGeneratorFiles } from './generator-files.ts';
import { mapInOrder } from './in-order.ts';
import { readSource } from './load.ts';
import type { Sources } from './load.ts';
import type { Rendered } from './markdown.ts';
import type { Stage } from './stage.ts';

/** What is compiled, and with what. */
export interface CompileOptions {
  readonly sources: Sources;
  /** The day of the build, YYYY-MM-DD: articles dated later are scheduled. */
  readonly now: string;
  readonly diagnostics: Diagnostics;
  readonly stage: Stage;
  /** What this generator made of the sources before. */
  readonly known: Known | undefined;
  readonly renders: Pick<RenderCache, 'render'>;
  /** Is told how many of how many articles are compiled. */
  readonly progress?: ((done: number, total: number) => void) | undefined;
}

/** What the generator knows of the build before, as long as it is itself the same. */
export interface Known {
  /** By path below content/. */
  readonly outlines: ReadonlyMap<string, Outline>;
  /** Where this process has checked them. */
  readonly references?: CheckedReferences;
  readonly widget: StatusWidget;
}

/** What came of it. */
export interface Compiled {
  /** The manifest; undefined where there were errors or the stage has none. */
  readonly release: Manifest | undefined;
  readonly counts: Manifest['counts'];
  readonly drafts: number;
  readonly scheduled: number;
  readonly nextChangeAt: string | null;
  readonly known: Known;
}

/** Articles and files that are worked on at a time: enough to keep several threads busy, few enough to be small. */
const concurrency = 48;

/**
 * Compiles the sources and publishes the stage, or discards it where there were errors. Only what is not known from the
 * build before is rendered and written.
 */
export async function compile(options: CompileOptions): Promise<Compiled> {
  const { sources, diagnostics, stage, known } = options;
  try {
    const content = sortContent(sources.content.files, diagnostics);
    const catalog = readCatalog(sources.catalog, diagnostics);

    const articles = await compileArticles(content, options);
    const aliases = collectAliases(articles, diagnostics);
    const references = checkReferences({ articles, content, aliases }, diagnostics, known?.references);

    const published = articles.filter(({ state }) => state === 'published');
    const lists = collections.flatMap((collection) => {
      const own = published.filter((article) => article.collection === collection);
      return collection.toLists(own.map(({ outline }) => outline.item));
    });
    await runAll([
      ...lists.map(
        ({ resource, params, items }) =>
          () =>
            stage.write(resource, params, items),
      ),
      ...[...content.media].map(
        ([path, file]) =>
          () =>
            stage.writeMedia(path.slice('/media/'.length), file, () => readSource(file, diagnostics)),
      ),
      () => stage.write('plans', {}, catalog.plans),
      () => stage.write('aliases', {}, aliases),
      () => stage.write('domains', {}, catalog.domains),
      () => stage.write('status', {}, catalog.status),
    ]);
    const widget = await writeGeneratorFiles(stage, known?.widget);

    const counts = count(published, content, catalog);
    const scheduled = articles.filter(({ state }) => state === 'scheduled');
    const nextChangeAt = scheduled.map(({ outline }) => outline.due!).toSorted()[0] ?? null;
    const drafts = articles.filter(({ state }) => state === 'draft').length;
    const release = diagnostics.failed() ? await stage.discard() : await stage.publish(counts, nextChangeAt);
    const outlines = new Map(articles.map(({ file, outline }) => [file.path, outline]));
    return {
      release: release ?? undefined,
      counts,
      drafts,
      scheduled: scheduled.length,
      nextChangeAt,
      known: { outlines, references, widget },
    };
  } catch (error) {
    await stage.discard();
    throw error;
  }
}

async function compileArticles(content: Content, options: CompileOptions): Promise<Article[]> {
  const { diagnostics, known, progress } = options;
  const total = content.categories.reduce((sum, { articles }) => sum + articles.length, 0);
  /** In the order of the files; one that cannot be compiled leaves its place empty. */
  const articles: (Article | undefined)[] = [];
  let done = 0;
  function* openUnknown(): Generator<[place: number, OpenedCategory, OpenedArticle]> {
    for (const folder of content.categories) {
      const category = openCategory(
        folder,
        ({ path, sha256 }) => {
          const outline = known?.outlines.get(path);
          return outline?.source === sha256 ? outline : undefined;
        },
        diagnostics,
      );
      for (const opened of category.articles) {
        const article = takeOver(category, opened, options);
        const place = articles.push(article) - 1;
        if (article) done += 1;
        else yield [place, category, opened];
      }
    }
  }
  const compiled = mapInOrder(openUnknown(), concurrency, async ([place, category, opened]) => {
    articles[place] = await compileArticle(category, opened, options);
  });
  for await (const _ of compiled) progress?.((done += 1), total);
  return articles.filter((article) => article !== undefined);
}

/** Takes an article over from the build before, where nothing that it depends on has changed. */
function takeOver(
  { folder, name }: OpenedCategory,
  { file, known }: OpenedArticle,
  { now, stage }: CompileOptions,
): Article | undefined {
  if (known?.category !== name) return undefined;
  const article = toArticle(folder, file, known, now);
  const isThere = article.state !== 'published' || stage.reuse(folder.collection.articleResource, article.params);
  return isThere ? article : undefined;
}

async function compileArticle(
  category: OpenedCategory,
  { file, parsed: opened }: OpenedArticle,
  { now, stage, renders, diagnostics }: CompileOptions,
): Promise<Article | undefined> {
  const { folder } = category;
  const { collection } = folder;
  const parsed = opened ?? parseArticle(file, collection, diagnostics);
  const { path } = addressOf(folder, file);
  const render = (markdown: string): Promise<Rendered> => renders.render(file.sha256, path, markdown);
  const rendered = parsed && (await renderBody(file, parsed, render, diagnostics));
  if (!rendered) return undefined;
  const outline = toOutline(category, file, parsed, rendered);
  const article = toArticle(folder, file, outline, now);
  if (!parsed.frontMatter) return { ...article, state: 'broken' };
  if (article.state === 'published') {
    const text = { body: parsed.body, html: rendered.html };
    await stage.write(collection.articleResource, article.params, { ...outline.item, ...text });
  }
  return article;
}

async function runAll(tasks: readonly (() => Promise<void>)[]): Promise<void> {
  for await (const _ of mapInOrder(tasks, concurrency, (task) => task()));
}

function count(published: readonly Article[], content: Content, catalog: Catalog): Manifest['counts'] {
  const of = (folder: string) => published.filter(({ collection }) => collection.folder === folder).length;
  return {
    blogArticles: of('blog'),
    knowledgeBaseArticles: of('knowledgebase'),
    services: Object.keys(catalog.plans.services).length,
    games: Object.keys(catalog.plans.games).length,
    tlds: Object.keys(catalog.domains.tlds).length,
    monitors: catalog.status.monitors.length,
    media: content.media.size,
  };
}
