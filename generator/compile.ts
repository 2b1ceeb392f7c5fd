import type { Manifest } from '#contract/release.ts';
import { fileOf } from '#contract/static-files.ts';
import type { Article } from './articles/article.ts';
import { checkSite, checkUnusedMedia, collectAliases } from './articles/checks.ts';
import { blog } from './articles/collections/blog.ts';
import type { AnyCollection } from './articles/collections/collection.ts';
import { collections } from './articles/collections/index.ts';
import { knowledgeBase } from './articles/collections/knowledge-base.ts';
import { compileArticles, readArticleText, writeArticles } from './articles/compile-all.ts';
import type { ArticlesOptions } from './articles/compile-all.ts';
import { groupContent } from './articles/content.ts';
import type { Content } from './articles/content.ts';
import { checkSitemap } from './articles/feed.ts';
import { checkMediaFiles } from './articles/media.ts';
import { checkRemoved, checkVanished } from './articles/vanished.ts';
import type { BuildOptions, BuildResult } from './build-options.ts';
import { findEmptied } from './release/online.ts';
import type { Online } from './release/online.ts';
import type { Stage } from './release/stage.ts';
import { readCatalog } from './source/catalog.ts';
import type { Diagnostics } from './source/diagnostics.ts';
import { displayIn, placeOf, readSource } from './source/load.ts';
import type { Sources } from './source/load.ts';
import type { PictureSizes } from './source/media.ts';
import { readAuthors, readRemoved } from './source/yaml.ts';
import type { Project, StaticFilesRecord, StaticFilesWriter } from './static-files.ts';

/** Options of {@link compile}. */
export interface CompileOptions extends Omit<ArticlesOptions, 'pictures'>, Pick<BuildOptions, 'urls' | 'allowEmpty'> {
  readonly sources: Sources;
  /** What is online: its lists must not become empty, and its paths must not vanish. */
  readonly online?: Online | undefined;
  /** Starts the release after all checks; if left out, nothing is written. */
  readonly openStage?: (() => Promise<Stage>) | undefined;
  readonly writeStaticFiles: StaticFilesWriter;
  /** The static files of the previous release, if this version of the generator made it. */
  readonly previousFiles: StaticFilesRecord | undefined;
}

/** The result of a build, with its articles. */
export interface Compiled extends BuildResult {
  readonly articles: readonly Article[];
  /** Whether paths that are online are missing. */
  readonly hasVanished: boolean;
}

/** Compiles and checks the sources, and publishes a release if there are no errors. */
export async function compile(options: CompileOptions): Promise<Compiled> {
  const { sources, diagnostics, online, openStage } = options;
  const content = groupContent(sources.content.files, diagnostics);
  const catalog = readCatalog(sources.catalog, diagnostics);
  const pictures = checkMediaFiles(content, options.cache, diagnostics);
  const articles = await compileArticles(content, { ...options, pictures });
  const aliases = collectAliases(articles, diagnostics);
  const removed = readRemoved(sources.content, diagnostics);
  const authors = readAuthors(sources.content, diagnostics);
  const whole = { articles, content, aliases, pictures, authors };
  checkSite(whole, diagnostics);

  const included = new Map(collections.map((collection) => [collection, toListed(collection, articles)]));
  const counts = {
    blogArticles: included.get(blog)!.length,
    knowledgeBaseArticles: included.get(knowledgeBase)!.length,
    services: Object.keys(catalog.plans.services).length,
    games: Object.keys(catalog.plans.games).length,
    tlds: Object.keys(catalog.domains.tlds).length,
    monitors: catalog.status.monitors.length,
    media: content.media.size,
  };
  const project = {
    ...catalog,
    blog: included.get(blog)!,
    knowledgeBase: included.get(knowledgeBase)!,
    aliases,
    authors: authors?.value ?? {},
    urls: options.urls ?? {},
  };
  checkSitemap(counts.blogArticles + counts.knowledgeBaseArticles, project.urls, sources.content, diagnostics);
  const paths = { articles, aliases, removed };
  checkRemoved(paths, diagnostics);
  const isEmptied = online && !options.allowEmpty && checkEmptied(online, sources, counts, diagnostics);
  const isComplete = !isEmptied && hasEveryArticle(articles, sources);
  if (isComplete) checkUnusedMedia(whole, diagnostics);
  const hasVanished = isComplete && online !== undefined && checkVanished(paths, online, sources.content, diagnostics);
  const due = articles.filter(({ state }) => state === 'scheduled').map(({ metadata }) => metadata.due!);
  const summary = {
    counts,
    drafts: articles.filter(({ state }) => state === 'draft').length,
    scheduled: due.length,
    nextChangeAt: due.toSorted()[0] ?? null,
  };
  const parts = { project, media: content.media, articles, pictures, ...summary };
  const written =
    openStage && !diagnostics.failed() ? await writeRelease(await openStage(), parts, options) : undefined;
  return { articles, hasVanished, ...summary, ...written, diagnostics: diagnostics.list() };
}

/** Whether every article is in its place and could be read: else its path and the media that it uses are unknown. */
function hasEveryArticle(articles: readonly Article[], { content: { files } }: Sources): boolean {
  const written = files.filter(({ path }) => /\.md$/i.test(path) && path !== 'README.md');
  return written.length === articles.length && articles.every(({ state }) => state !== 'broken');
}

/** Reports lists online that would become empty, unless their sources have problems; returns whether there is one. */
function checkEmptied(online: Online, sources: Sources, counts: Manifest['counts'], diagnostics: Diagnostics): boolean {
  const hasPlans = counts.services + counts.games > 0;
  const emptied = findEmptied(online.counts, counts);
  for (const { count, root, path, nouns } of emptied) {
    const display = displayIn(sources[root], path);
    // A catalog without plans is an error of its own, which --allow-empty does not change.
    if (diagnostics.failed(display) || (!hasPlans && /^(?:services|games)$/.test(count))) continue;
    const number = online.counts[count];
    const were = number === 1 ? `1 ${nouns[0]} is` : `${number} ${nouns[1]} are`;
    const message = `${were} online, and this build has none`;
    diagnostics.error(placeOf({ display }), message, '--allow-empty builds it anyway');
  }
  return emptied.length > 0;
}

/** The included articles of a collection, in its order. */
function toListed(collection: AnyCollection, articles: readonly Article[]): Article[] {
  return articles
    .filter(({ folder, isIncluded }) => folder.collection === collection && isIncluded)
    .toSorted((a, b) => collection.compare(a.metadata.item, b.metadata.item));
}

/** What a release is made from. */
interface Parts extends Pick<Content, 'media'>, Pick<Manifest, 'counts' | 'nextChangeAt'> {
  readonly project: Project;
  readonly articles: readonly Article[];
  readonly pictures: PictureSizes;
}

/** Writes and publishes a release, or discards it if a source changed during the build. */
async function writeRelease(
  stage: Stage,
  { project, media, articles, pictures, counts, nextChangeAt }: Parts,
  options: CompileOptions,
): Promise<Pick<BuildResult, 'release' | 'staticFiles'> | undefined> {
  const { diagnostics, writeStaticFiles, previousFiles } = options;
  try {
    for (const [path, source] of media) {
      const file = fileOf('getMedia', { path: path.slice('/media/'.length) });
      if (stage.reuse(file, source.sha256)) continue;
      const bytes = readSource(source, diagnostics);
      if (bytes) stage.writeMedia(file, bytes);
    }
    await writeArticles(articles, stage, { ...options, pictures });
    const byHash = new Map(articles.map((article) => [article.metadata.encodings?.identity, article]));
    const readText = (sha256: string) => readArticleText(byHash.get(sha256)!, { ...options, pictures });
    const staticFiles = await writeStaticFiles(project, stage, readText, previousFiles);
    if (!diagnostics.failed()) return { release: await stage.publish(counts, nextChangeAt), staticFiles };
  } catch (error) {
    await stage.discard();
    throw error;
  }
  await stage.discard();
  return undefined;
}
