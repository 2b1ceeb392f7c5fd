import type { Manifest } from '#contract/release.ts';
import { fileOf } from '#contract/endpoints.ts';
import type { StatusWidget } from '#contract/status.ts';
import type { Article } from './articles/article.ts';
import { checkMediaFiles, checkSite, checkUnusedMedia, checkVanished, collectAliases } from './articles/checks.ts';
import { createArticleCompiler } from './articles/compiler.ts';
import type { ArticlesOptions } from './articles/compiler.ts';
import { blog, groupContent, knowledgeBase } from './articles/content.ts';
import type { AnyCollection, ContentFiles } from './articles/content.ts';
import { checkFeedIds } from './articles/feed.ts';
import type { SiteUrls } from './articles/feed.ts';
import { createSearchRenderer, maxTextLength } from './articles/search.ts';
import type { SearchRenderer } from './articles/search.ts';
import type { Compression } from './release/compress.ts';
import type { Online } from './release/online.ts';
import type { Stage } from './release/publish.ts';
import { readCatalog } from './source/catalog.ts';
import { plural } from './source/diagnostics.ts';
import type { Diagnostic, Diagnostics, Strictness } from './source/diagnostics.ts';
import { displayIn, readSource } from './source/load.ts';
import type { SourceSet } from './source/load.ts';
import { readAuthors, readRemoved } from './source/yaml.ts';
import { writeStaticFiles } from './static-files.ts';

/** Options of a build. */
export interface BuildOptions extends Strictness, Pick<ArticlesOptions, 'now' | 'progress'> {
  readonly content: string;
  readonly catalog: string;
  /** The folder of releases. */
  readonly out: string;
  /** Does not flush the release to disk, as in a test. */
  readonly isTemporary?: boolean;
  /** The output folder or the service to compare with; default: the current release below `out`. */
  readonly against?: string | undefined;
  /** Checks everything and writes nothing. */
  readonly checkOnly?: boolean;
  /** The addresses and the name of the service, for the feed, the sitemap and /docs. */
  readonly urls?: SiteUrls | undefined;
  /** Allows a list to become empty although it is not empty online. */
  readonly allowEmpty?: boolean;
  /** Neither reads nor writes the memo of earlier builds. */
  readonly noCache: boolean;
  readonly compression: Compression;
  /** The number of render threads; default: chosen by the amount of text. */
  readonly threads?: number | undefined;
}

/** The result of a build. */
export interface BuildResult {
  readonly diagnostics: readonly Diagnostic[];
  /** The new release; undefined after errors and for a check. */
  readonly release?: Manifest | undefined;
  /** How a page embeds the status widget of the release. */
  readonly widget?: StatusWidget | undefined;
  readonly counts: Manifest['counts'];
  readonly drafts: number;
  readonly scheduled: number;
  readonly nextChangeAt: string | null;
  /** The sources, for excerpts; left out by {@link compile}. */
  readonly sources?: SourceSet;
}

/** Options of {@link compile}. */
interface CompileOptions extends Omit<ArticlesOptions, 'pictures'>, Pick<BuildOptions, 'urls' | 'allowEmpty'> {
  readonly sources: SourceSet;
  /** The release online: its lists must not become empty, and its paths must not vanish. */
  readonly online?: Online | undefined;
  /** Creates a stage after all checks; if left out, nothing is written. */
  readonly openStage?: (() => Promise<Stage>) | undefined;
  /** The search index omits texts above this total length; default: {@link maxTextLength}. */
  readonly maxSearchTextLength?: number;
  readonly renderSearch?: SearchRenderer;
}

/** Compiles and checks the sources, and publishes a release if there are no errors. */
export async function compile(options: CompileOptions) {
  const { sources, diagnostics, online, now, memo, progress, urls = {} } = options;
  const { renderSearch = createSearchRenderer(), maxSearchTextLength = maxTextLength } = options;
  const content = groupContent(sources.content, diagnostics);
  const catalog = readCatalog(sources.catalog, diagnostics);
  const pictures = await checkMediaFiles(content, memo, diagnostics);
  const compiler = createArticleCompiler({ ...options, pictures });
  const articles = await compiler.compile(content);
  const aliases = collectAliases(articles, diagnostics);
  const removed = readRemoved(sources.content, diagnostics);
  const authors = readAuthors(sources.content, diagnostics);
  const site = { now, articles, content, aliases, authors, removed };
  checkSite(site, diagnostics);

  const listOf = (collection: AnyCollection): Article[] =>
    articles
      .filter(({ folder, isIncluded }) => folder.collection === collection && isIncluded)
      .toSorted((a, b) => collection.compare(a.metadata.item, b.metadata.item));
  const [media] = content.media.keys();
  const lists = { blog: listOf(blog), knowledgeBase: listOf(knowledgeBase), media };
  const settings = { now, urls, maxSearchTextLength };
  const project = { ...catalog, ...lists, ...settings, aliases, pictures, authors: authors?.value ?? {} };
  const counts = {
    blogArticles: lists.blog.length,
    knowledgeBaseArticles: lists.knowledgeBase.length,
    services: Object.keys(catalog.plans.services).length,
    games: Object.keys(catalog.plans.games).length,
    tlds: Object.keys(catalog.domains.tlds).length,
    monitors: catalog.status.monitors.length,
    media: content.media.size,
  };
  const isEmptied = online && !options.allowEmpty && checkEmptied(online, sources, counts, diagnostics);
  let vanished: string[] = [];
  if (!isEmptied && hasEveryArticle(articles, content)) {
    checkUnusedMedia(site, diagnostics);
    if (online) {
      const published = articles.filter(({ state }) => state === 'published').map(({ path }) => path);
      const kept = new Set([...published, ...Object.keys(aliases), ...removed.keys()]);
      vanished = [...online.articles.keys(), ...Object.keys(online.aliases)].filter((path) => !kept.has(path));
      checkVanished(vanished, site, online, sources.content, diagnostics);
      if (urls.site !== undefined && urls.service !== undefined) checkFeedIds(articles, online.articles, diagnostics);
    }
  }

  const due = articles.filter(({ state }) => state === 'scheduled').map(({ metadata }) => metadata.due!);
  const changes = articles.flatMap(({ state, metadata: { fields } }) => {
    return state === 'published' && fields.updated !== undefined && fields.updated > now ? fields.updated : [];
  });
  const summary = {
    counts,
    drafts: articles.filter(({ state }) => state === 'draft').length,
    scheduled: due.length,
    nextChangeAt: [...due, ...changes].toSorted()[0] ?? null,
  };
  /** Writes and publishes a release, unless a source changed during the build. */
  const write = async (stage: Stage) => {
    for (const [path, source] of content.media) {
      const file = fileOf('getMedia', { path: path.slice('/media/'.length) });
      if (stage.reuse(file, source.sha256)) continue;
      const bytes = readSource(source, diagnostics);
      if (bytes) stage.writeUncompressed(file, { bytes, sha256: source.sha256 });
    }
    await compiler.write(articles, stage);
    if (diagnostics.failed()) return undefined;
    const readHtml = (file: string): string => (JSON.parse(stage.readText(file)) as { html: string }).html;
    await writeStaticFiles(project, stage, { memo, progress, renderSearch, readHtml });
    progress?.('publishing');
    const widget = JSON.parse(stage.readText(fileOf('statusWidgetIntegrity'))) as StatusWidget;
    return { release: await stage.publish(counts, summary.nextChangeAt), widget };
  };
  await using stage = diagnostics.failed() ? undefined : await options.openStage?.();
  const written = stage && (await write(stage));
  const result: BuildResult = { ...summary, ...written, diagnostics: diagnostics.list() };
  /** `hasVanished`: paths that are online are missing from this build. */
  return { result, articles, hasVanished: vanished.length > 0 };
}

/** Checks that all articles are readable; otherwise their paths and media are unknown. */
function hasEveryArticle(articles: readonly Article[], { categories, hasRefused }: ContentFiles): boolean {
  const written = categories.flatMap((category) => category.articles);
  return !hasRefused && written.length === articles.length && articles.every(({ state }) => state !== 'broken');
}

/** The public lists: count, noun, source folder, and the folder or file inside it. */
const publicLists = [
  ['blogArticles', 'blog article', 'content', 'blog'],
  ['knowledgeBaseArticles', 'knowledge base article', 'content', 'knowledgebase'],
  ['services', 'service', 'catalog', 'services'],
  ['games', 'game', 'catalog', 'games'],
  ['tlds', 'TLD', 'catalog', 'domains.yaml'],
  ['monitors', 'monitor', 'catalog', 'status.yaml'],
] as const;

/** Reports lists that would become empty, and returns true if there are any. */
function checkEmptied(
  online: Online,
  sources: SourceSet,
  counts: Manifest['counts'],
  diagnostics: Diagnostics,
): boolean {
  const hasPlans = counts.services + counts.games > 0;
  const emptied = publicLists.filter(([list, , root]) => {
    return counts[list] === 0 && (online.counts[list] ?? 0) > 0 && !sources[root].refused.includes('');
  });
  for (const [list, noun, root, path] of emptied) {
    const display = displayIn(sources[root], path);
    // A catalog without plans is a separate error, which --allow-empty does not allow.
    if (diagnostics.failed(display) || (!hasPlans && /^(?:services|games)$/.test(list))) continue;
    const number = online.counts[list]!;
    const message = `${plural(number, noun)} ${number === 1 ? 'is' : 'are'} online, but this build has none`;
    diagnostics.error({ display }, message, 'use --allow-empty to build anyway');
  }
  return emptied.length > 0;
}
