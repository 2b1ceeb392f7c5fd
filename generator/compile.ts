import type { Manifest } from '#contract/release.ts';
import type { StatusWidget } from '#contract/status.ts';
import type { Article, Outline } from './articles.ts';
import { readCatalog } from './catalog.ts';
import type { Catalog } from './catalog.ts';
import { checkReferences, collectAliases } from './checks.ts';
import type { CheckedReferences } from './checks.ts';
import { collections } from './collections/index.ts';
import { compileArticles } from './compile-articles.ts';
import type { ArticlesOptions, CompiledArticles } from './compile-articles.ts';
import { sortContent } from './content.ts';
import type { Content } from './content.ts';
import { writeGeneratorFiles } from './generator-files.ts';
import { mapInOrder } from './in-order.ts';
import { readSource } from './load.ts';
import type { Sources } from './load.ts';

/** What is compiled, and with what. */
export interface CompileOptions extends ArticlesOptions {
  readonly sources: Sources;
  /** What this generator made of the sources before. */
  readonly known: Known | undefined;
}

/** What the generator knows of the build before, as long as it is itself the same. */
export interface Known {
  readonly widget: StatusWidget;
  /** What another process knew of the articles, by path below content/. */
  readonly outlines?: ReadonlyMap<string, Outline>;
  /** What this process has made of content/. */
  readonly before?: Before;
}

interface Before {
  readonly content: Content;
  readonly articles: CompiledArticles;
  readonly references: CheckedReferences;
}

/** What came of it. */
export interface Compiled {
  /** The manifest; undefined where there were errors or the stage has none. */
  readonly release: Manifest | undefined;
  readonly counts: Manifest['counts'];
  readonly drafts: number;
  readonly scheduled: number;
  readonly nextChangeAt: string | null;
  readonly articles: readonly Article[];
  readonly known: Known;
}

/** Files that are written at a time. */
const concurrency = 48;

/**
 * Compiles the sources and publishes the stage, or discards it where there were errors. Only what is not known from the
 * build before is rendered and written.
 */
export async function compile(options: CompileOptions): Promise<Compiled> {
  const { sources, diagnostics, stage, known } = options;
  const before = known?.before;
  try {
    const content = sortContent(sources.content.files, diagnostics, before?.content);
    const catalog = readCatalog(sources.catalog, diagnostics);

    const compiled = await compileArticles(content, { before: before?.articles, outlines: known?.outlines }, options);
    const articles = compiled.all;
    const aliases = collectAliases(articles, diagnostics);
    const references = checkReferences({ articles, content, aliases }, diagnostics, before?.references);

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
    return {
      release: release ?? undefined,
      counts,
      drafts,
      scheduled: scheduled.length,
      nextChangeAt,
      articles,
      known: { widget, before: { content, articles: compiled, references } },
    };
  } catch (error) {
    await stage.discard();
    throw error;
  }
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
