import { join } from 'node:path';
import { z } from 'zod';
import { renderOpenApi } from '#contract/openapi.ts';
import type { Manifest } from '#contract/release.ts';
import { sources } from '#contract/resources.ts';
import type { StatusWidget } from '#contract/status.ts';
import { compileCategory } from './articles.ts';
import type { Article } from './articles.ts';
import { createRenderCache } from './cache.ts';
import { loadCatalog } from './catalog.ts';
import type { Catalog } from './catalog.ts';
import { checkReferences, collectAliases } from './checks.ts';
import { collections } from './collections/index.ts';
import { loadContent } from './content.ts';
import type { Content } from './content.ts';
import { createDiagnostics } from './diagnostics.ts';
import type { Diagnostic } from './diagnostics.ts';
import { renderMarkdown } from './markdown.ts';
import { createDryStage, createStage } from './release.ts';
import type { Compression } from './release.ts';
import { compileStatusWidget } from './status-widget.ts';

/** What to build, and how. */
export interface BuildOptions {
  readonly content: string;
  readonly catalog: string;
  /** Where releases are kept; without it everything is checked and nothing written. */
  readonly out?: string;
  /** The day of the build, YYYY-MM-DD: articles dated later are scheduled. */
  readonly now: string;
  /** Takes dead references for warnings. */
  readonly lenient: boolean;
  /** Renders every article anew. */
  readonly noCache: boolean;
  readonly compression: Compression;
  /** Is told how many of how many articles are compiled. */
  readonly progress?: (done: number, total: number) => void;
}

/** What came of a build. */
export interface BuildResult {
  readonly diagnostics: readonly Diagnostic[];
  /** The new release; undefined where there were errors or nothing was to be written. */
  readonly release: Manifest | undefined;
  readonly counts: Manifest['counts'];
  readonly drafts: number;
  readonly scheduled: number;
  readonly nextChangeAt: string | null;
  /** How a page embeds the status widget of this build. */
  readonly widget: StatusWidget;
}

/** Compressing and writing go on beside rendering; more at once than this would only fill memory. */
const maxPendingWrites = 16;

/**
 * Builds a release from content/ and catalog/. What is wrong in them is in the result; a release with errors is never
 * published. Throws where the disk does not take it, and then the releases stay as they were.
 */
export async function build(options: BuildOptions): Promise<BuildResult> {
  const { out, now, progress } = options;
  const diagnostics = createDiagnostics(options.lenient);

  const content = loadContent(options.content, diagnostics);
  const catalog = loadCatalog(options.catalog, diagnostics);

  const cache =
    out === undefined || options.noCache ? undefined : createRenderCache(join(out, '.cache'), renderMarkdown);
  const stage = out === undefined ? createDryStage() : await createStage(out, options.compression);
  const writes = createWriteQueue();
  try {
    const articles: Article[] = [];
    const total = content.categories.reduce((sum, category) => sum + category.articles.length, 0);
    for (const category of content.categories) {
      for (const { article, params, text } of compileCategory(category, {
        now,
        diagnostics,
        render: cache?.render ?? renderMarkdown,
      })) {
        articles.push(article);
        progress?.(articles.length, total);
        if (article.state !== 'published') continue;
        await writes.add(stage.write(article.collection.articleResource, params, { ...article.item, ...text }));
      }
    }

    const aliases = collectAliases(articles, diagnostics);
    checkReferences(articles, content, aliases, diagnostics);

    const published = articles.filter(({ state }) => state === 'published');
    for (const collection of collections) {
      const items = published.filter((article) => article.collection === collection).map(({ item }) => item);
      for (const { resource, params, items: listed } of collection.toLists(items)) {
        await writes.add(stage.write(resource, params, listed));
      }
    }
    for (const [path, { absolute }] of content.media) {
      await writes.add(stage.copyMedia(path.slice('/media/'.length), absolute));
    }
    await writes.add(stage.write('plans', {}, catalog.plans));
    await writes.add(stage.write('openapi', {}, renderOpenApi()));
    await writes.add(stage.write('aliases', {}, aliases));
    await writes.add(stage.write('domains', {}, catalog.domains));
    await writes.add(stage.write('status', {}, catalog.status));
    for (const [source, schema] of Object.entries(sources)) {
      await writes.add(stage.write('sourceSchema', { source }, z.toJSONSchema(schema)));
    }
    const widget = await compileStatusWidget();
    await writes.add(stage.writeScript('statusWidget', {}, widget.script));
    await writes.add(stage.writeScript('statusWidgetVersion', { version: widget.version }, widget.script));
    await writes.add(stage.write('statusWidgetIntegrity', {}, widget.embed));
    await writes.finish();

    const counts = count(published, content, catalog);
    const scheduled = articles.filter(({ state }) => state === 'scheduled');
    const nextChangeAt = scheduled.map(({ due }) => due!).toSorted()[0] ?? null;
    let release: Manifest | undefined;
    if (diagnostics.failed() || out === undefined) {
      await stage.discard();
    } else {
      release = await stage.publish(counts, nextChangeAt);
      cache?.prune();
    }
    const drafts = articles.length - published.length - scheduled.length;
    return {
      diagnostics: diagnostics.list(),
      release,
      counts,
      drafts,
      scheduled: scheduled.length,
      nextChangeAt,
      widget: widget.embed,
    };
  } catch (error) {
    await writes.idle();
    await stage.discard();
    throw error;
  }
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

/** Lets a bounded number of writes run beside the compilation; the first that fails ends the build. */
function createWriteQueue(): {
  add(write: Promise<void>): Promise<void>;
  finish(): Promise<void>;
  /** Waits until nothing is written any more, whatever became of it. */
  idle(): Promise<unknown>;
} {
  const pending = new Set<Promise<void>>();
  let failure: { error: unknown } | undefined;
  const settle = async (limit: number): Promise<void> => {
    while (pending.size > limit) await Promise.race(pending);
    if (failure) throw failure.error;
  };
  return {
    add(write) {
      const tracked = write
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(() => pending.delete(tracked));
      pending.add(tracked);
      return settle(maxPendingWrites);
    },
    finish: () => settle(0),
    idle: () => Promise.all(pending),
  };
}
