import { cpSync, existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Article } from './articles/article.ts';
import { openMemo } from './articles/memo.ts';
import { CommandError } from './common/command-line.ts';
import { createFolder } from './common/files.ts';
import { createSearchRenderer } from './articles/search.ts';
import { compile } from './compile.ts';
import type { BuildOptions, BuildResult } from './compile.ts';
import { createRenderer } from './markdown/renderer.ts';
import { renderFolder } from './preview/pages.ts';
import { compressors } from './release/compress.ts';
import type { EarlierRelease } from './release/history.ts';
import { readOnline } from './release/online.ts';
import { createReleaseStage, removeRelease } from './release/publish.ts';
import { createDiagnostics } from './source/diagnostics.ts';
import type { Diagnostics, Strictness } from './source/diagnostics.ts';
import { displayPath, loadFolder } from './source/load.ts';
import type { SourceFolder, SourceSet } from './source/load.ts';
import { watchFolders } from './source/watch.ts';
import type { Changes } from './source/watch.ts';

/** Options of {@link watchAndBuild}. */
interface DevOptions extends Strictness, Pick<BuildOptions, 'content' | 'catalog' | 'out' | 'urls'> {
  /** The day of the builds, YYYY-MM-DD; default: today (UTC). */
  readonly now?: string | undefined;
  /** Previews contain drafts and scheduled articles. */
  readonly withUnpublished: boolean;
  /** A server shows the previews, and needs one even after a first build with errors. */
  readonly isServed?: boolean;
  /** Called after each build. */
  readonly report: (preview: PreviewBuild) => void;
  /** Called if a build throws, for example because the disk is full, and if a folder cannot be watched. */
  readonly fail: (error: unknown) => void;
}

/** A build of a preview. */
export interface PreviewBuild {
  readonly result: BuildResult;
  /** All articles; a broken file keeps its last readable article. */
  readonly articles: readonly Article[];
  readonly sources: SourceSet;
  /** The changed files; empty for the first build. */
  readonly files: Changes['files'];
  readonly ms: number;
}

/** The folder of previews below `out`, for the server. */
export function previewFolderOf(out: string): string {
  return join(out, '.dev');
}

const noFiles = { display: '', files: [], refused: [] };
const noSources: SourceSet = { content: noFiles, catalog: noFiles };
const ignoreErrors: Diagnostics = { ...createDiagnostics({}), failed: () => false };

/** A server may still read a few replaced previews. */
const maxPreviews = 5;

/**
 * The search index omits texts above this total length, about 80 articles: with the texts of 800, a save takes half a
 * second longer.
 */
const maxSearchTextLength = 300_000;

/**
 * Builds a preview now and after each change. Errors leave the last preview current. Resolves after the first build,
 * with a function that stops watching.
 */
export async function watchAndBuild(options: DevOptions): Promise<() => Promise<void>> {
  const { content, catalog, out, report, fail } = options;
  const folder = previewFolderOf(out);
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CommandError(`${displayPath(folder)} cannot be removed (${code}): remove it as its owner, or use --out`);
  }
  const { render } = createRenderer(1);
  const memo = openMemo(out);
  const compressor = compressors.fast;
  const renderSearch = createSearchRenderer();
  let sources = noSources;
  let previews: EarlierRelease[] = [];
  let shown: readonly Article[] = [];

  const make = (from: SourceSet, diagnostics: Diagnostics) =>
    compile({
      ...options,
      sources: from,
      now: options.now ?? new Date().toISOString().slice(0, 10),
      diagnostics,
      render,
      memo,
      compressor,
      renderSearch,
      maxSearchTextLength,
      openStage: () => createReleaseStage({ out: folder, compressor, previous: previews.at(-1), isPreview: true }),
    });

  const build = async ({ files, structure }: Changes): Promise<void> => {
    const started = performance.now();
    const diagnostics = createDiagnostics(options);
    const load = (root: string, { files: before }: SourceFolder) =>
      loadFolder(root, diagnostics, structure ? [] : before.filter(({ absolute }) => !files.has(absolute)));
    const loaded = (sources = { content: load(content, sources.content), catalog: load(catalog, sources.catalog) });
    const { result, articles } = await make(loaded, diagnostics);
    const isMissing = options.isServed && !result.release && previews.length === 0;
    const { release } = isMissing ? (await make(noSources, ignoreErrors)).result : result;
    // Keep articles that briefly disappear during a save, so an open preview does not 404.
    const built = new Set(articles.map(({ path }) => path));
    shown = [...articles, ...shown.filter(({ path, file }) => !built.has(path) && existsSync(file.absolute))];
    report({ result, articles: shown, sources: loaded, files, ms: performance.now() - started });
    if (!release) return;
    // No check needed: linking a missing file fails anyway.
    const preview = { directory: join(folder, 'releases', release.id), manifest: release, isIntact: () => true };
    previews = [...previews.filter(({ directory }) => directory !== preview.directory), preview];
    if (previews.length > maxPreviews) await removeRelease(previews.shift()!.directory);
  };

  const stopWatching = await watchFolders([content, catalog], (changes) => build(changes).catch(fail), fail);
  return async () => {
    await stopWatching();
    memo[Symbol.dispose]();
  };
}

/** Marks the folder of a preview, which the next preview may replace. */
const marker = '.hosting-api-preview';

/** Writes all readable articles, drafts included, as a folder of pages. Refuses a folder with other files. */
export async function writePreview(folder: string, options: BuildOptions): Promise<void> {
  const { content, catalog, out, against = out } = options;
  createFolder(folder);
  const names = readdirSync(folder);
  const holdsOthers = [content, catalog, out].some((other) => !relative(folder, other).startsWith('..'));
  if (holdsOthers || (names.length > 0 && !names.includes(marker))) {
    throw new CommandError('--preview: the folder has other files; name an empty folder or an earlier preview');
  }
  const online = await readOnline(out, options.against);
  writeFileSync(join(folder, marker), '');
  for (const name of names.filter((other) => other !== marker)) rmSync(join(folder, name), { recursive: true });
  const diagnostics = createDiagnostics(options);
  const sources = { content: loadFolder(content, diagnostics), catalog: loadFolder(catalog, diagnostics) };
  using memo = openMemo(options.noCache ? undefined : out);
  await using renderer = createRenderer(options.threads);
  const compressor = compressors[options.compression];
  const stages = join(folder, '.release');
  const { result, articles } = await compile({
    ...options,
    sources,
    online,
    // Errors leave out only their own articles.
    diagnostics: { ...diagnostics, failed: (path) => path !== undefined && diagnostics.failed(path) },
    withUnpublished: true,
    render: renderer.render,
    memo,
    compressor,
    openStage: () => createReleaseStage({ out: stages, compressor, previous: undefined, isPreview: true }),
  });
  const directory = join(stages, 'releases', result.release!.id);
  const current = /^https?:/i.test(against) ? undefined : join(against, 'current');
  const state = { build: 0, articles, diagnostics: result.diagnostics, sources, directory };
  for (const [name, page] of renderFolder(state, online?.articles, current)) {
    createFolder(dirname(join(folder, name)));
    writeFileSync(join(folder, name), page);
  }
  cpSync(join(import.meta.dirname, 'preview/browser/preview.css'), join(folder, 'preview.css'));
  renameSync(join(directory, 'public/v1/article.css'), join(folder, 'article.css'));
  if (result.counts.media > 0) renameSync(join(directory, 'public/media'), join(folder, 'media'));
  rmSync(stages, { recursive: true });
}
