import type { Manifest } from '#contract/release.ts';
import type { StatusWidget } from '#contract/status.ts';
import type { Outline } from './articles/article.ts';
import { readCatalog } from './source/catalog.ts';
import type { Catalog } from './source/catalog.ts';
import type { CompiledCategory } from './articles/category.ts';
import { checkReferences, collectAliases } from './articles/checks.ts';
import type { CheckedReferences } from './articles/checks.ts';
import { blog } from './articles/collections/blog.ts';
import type { AnyCollection } from './articles/collections/collection.ts';
import { collections } from './articles/collections/index.ts';
import { knowledgeBase } from './articles/collections/knowledge-base.ts';
import { compileArticles } from './articles/compile.ts';
import type { ArticlesOptions, CompiledArticles } from './articles/compile.ts';
import { sortContent } from './articles/content.ts';
import type { Content } from './articles/content.ts';
import { writeGeneratorFiles } from './release/generator-files.ts';
import { mapInOrder } from './articles/in-order.ts';
import { readSource } from './source/load.ts';
import type { Sources } from './source/load.ts';
import { orderItems } from './articles/ordered-items.ts';
import type { OrderedItems } from './articles/ordered-items.ts';

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

/** The items of each kind of article. */
type Ordered = ReadonlyMap<AnyCollection, OrderedItems>;

interface Before {
  readonly content: Content;
  readonly articles: CompiledArticles;
  readonly references: CheckedReferences;
  readonly ordered: Ordered;
}

/** What came of it. */
export interface Compiled {
  /** The manifest; undefined where there were errors or the stage has none. */
  readonly release: Manifest | undefined;
  readonly counts: Manifest['counts'];
  readonly drafts: number;
  readonly scheduled: number;
  readonly nextChangeAt: string | null;
  readonly categories: readonly CompiledCategory[];
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
    const categories = [...compiled.categories.values()];
    const aliases = collectAliases(categories, diagnostics);
    const references = checkReferences({ categories, content, aliases }, diagnostics, before?.references);

    const ordered = new Map(
      collections.map((collection) => {
        const own = categories.filter(({ folder }) => folder.collection === collection);
        return [collection, orderItems(collection, own, before?.ordered.get(collection))];
      }),
    );
    const lists = [...ordered].flatMap(([collection, { items }]) => collection.toLists(items));
    await runAll([
      ...lists.map(
        ({ resource, params, items }) =>
          () =>
            stage.write(resource, params, items),
      ),
      ...[...content.media].map(
        ([path, file]) =>
          () =>
            stage.writeMedia(path.slice('/media/'.length), file.sha256, () => readSource(file, diagnostics)),
      ),
      () => stage.write('plans', {}, catalog.plans),
      () => stage.write('aliases', {}, aliases),
      () => stage.write('domains', {}, catalog.domains),
      () => stage.write('status', {}, catalog.status),
    ]);
    const widget = await writeGeneratorFiles(stage, known?.widget);

    const counts = count(ordered, content, catalog);
    const due = categories.flatMap((category) => category.due).toSorted();
    const nextChangeAt = due[0] ?? null;
    const release = diagnostics.failed() ? await stage.discard() : await stage.publish(counts, nextChangeAt);
    return {
      release: release ?? undefined,
      counts,
      drafts: categories.reduce((sum, { drafts }) => sum + drafts, 0),
      scheduled: due.length,
      nextChangeAt,
      categories,
      known: { widget, before: { content, articles: compiled, references, ordered } },
    };
  } catch (error) {
    await stage.discard();
    throw error;
  }
}

async function runAll(tasks: readonly (() => Promise<void>)[]): Promise<void> {
  for await (const _ of mapInOrder(tasks, concurrency, (task) => task()));
}

function count(ordered: Ordered, content: Content, catalog: Catalog): Manifest['counts'] {
  return {
    blogArticles: ordered.get(blog)!.items.length,
    knowledgeBaseArticles: ordered.get(knowledgeBase)!.items.length,
    services: Object.keys(catalog.plans.services).length,
    games: Object.keys(catalog.plans.games).length,
    tlds: Object.keys(catalog.domains.tlds).length,
    monitors: catalog.status.monitors.length,
    media: content.media.size,
  };
}
