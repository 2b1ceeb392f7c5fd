import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Article } from './articles/article.ts';
import { openArticleCache } from './articles/cache.ts';
import type { BuildOptions, BuildResult } from './compile.ts';
import { articleCacheOf, fingerprint } from './build-record.ts';
import { compile } from './compile.ts';
import { createRenderer } from './markdown/renderer.ts';
import { compressors } from './release/compress.ts';
import { createReleaseStage, removeRelease } from './release/publish.ts';
import type { PreviousRelease } from './release/publish.ts';
import { createDiagnostics } from './source/diagnostics.ts';
import type { Diagnostics, Strictness } from './source/diagnostics.ts';
import { loadFolder, reloadFiles } from './source/load.ts';
import type { SourceSet } from './source/load.ts';
import { createStaticFilesWriter } from './static-files.ts';
import { watchFolders } from './source/watch.ts';
import type { Changes } from './source/watch.ts';

/** Options of {@link watchAndBuild}. */
export interface DevOptions extends Strictness, Pick<BuildOptions, 'content' | 'catalog' | 'out' | 'urls'> {
  /** The day of the builds, YYYY-MM-DD; default: today (UTC). */
  readonly now?: string | undefined;
  /** Whether previews contain drafts and scheduled articles. */
  readonly withUnpublished: boolean;
  /** Whether a server shows the previews: it needs one, even an empty one while the first build has errors. */
  readonly isServed?: boolean;
  /** Called after each build. */
  readonly report: (preview: PreviewBuild) => void;
  /** Called if a build throws, for example on a full disk; the next change starts another build. */
  readonly fail: (error: unknown) => void;
}

/** A build of a preview. */
export interface PreviewBuild {
  readonly result: BuildResult;
  /** All articles, also those that a failed build did not publish; of one that it could not read, what it was before. */
  readonly articles: readonly Article[];
  /** The changes that it builds; none for the first build. */
  readonly files: Changes['files'];
  readonly ms: number;
}

/** The folder of previews below `out`; the server can serve it like any folder of releases. */
export function previewFolderOf(out: string): string {
  return join(out, '.dev');
}

const nothing: SourceSet = { content: { display: '', files: [] }, catalog: { display: '', files: [] } };
const anyway: Diagnostics = { ...createDiagnostics({}), failed: () => false };

/** A server may still read a preview when the next one is current. */
const maxPreviews = 5;

/**
 * The length of texts up to which the search index of a preview has them: those of about 80 articles. It is written again
 * after each save, and with the texts of 800 articles that takes half a second.
 */
const maxTextLength = 300_000;

/**
 * Builds a preview of content/ and catalog/ now and after each change: a release without compressed files that links
 * unchanged files. After errors the last good preview stays current. Resolves after the first build, with a function that
 * stops watching.
 */
export async function watchAndBuild(options: DevOptions): Promise<() => Promise<void>> {
  const { content, catalog, out, report, fail } = options;
  const folder = previewFolderOf(out);
  rmSync(folder, { recursive: true, force: true });
  let renderer = createRenderer();
  const cache = openArticleCache(articleCacheOf(out), { fingerprint: fingerprint() });
  const compressor = compressors.fast;
  let sources: SourceSet | undefined;
  let previews: PreviousRelease[] = [];
  let previousFiles: BuildResult['staticFiles'];
  let shown: readonly Article[] = [];
  const writeStaticFiles = createStaticFilesWriter(maxTextLength);

  const make = (from: SourceSet, diagnostics: Diagnostics) =>
    compile({
      ...options,
      sources: from,
      now: options.now ?? new Date().toISOString().slice(0, 10),
      diagnostics,
      render: renderer.render,
      cache,
      compressor,
      writeStaticFiles,
      previousFiles,
      openStage: () => createReleaseStage({ out: folder, compressor, previous: previews.at(-1), isPreview: true }),
    });

  const build = async ({ files, structure }: Changes): Promise<void> => {
    const started = performance.now();
    const diagnostics = createDiagnostics(options);
    const loaded =
      structure || !sources
        ? { content: loadFolder(content, diagnostics), catalog: loadFolder(catalog, diagnostics) }
        : {
            content: reloadFiles(sources.content, files, diagnostics),
            catalog: reloadFiles(sources.catalog, files, diagnostics),
          };
    // After errors the next build lists the folders again; otherwise their problems would not be reported again.
    sources = diagnostics.failed() ? undefined : loaded;
    const { articles, ...result } = await make(loaded, diagnostics);
    const isMissing = options.isServed && !result.release && previews.length === 0;
    const { release } = isMissing ? await make(nothing, anyway) : result;
    // An editor may be in the middle of a save: an open page must not say that its article is gone.
    const built = new Set(articles.map(({ path }) => path));
    shown = [...articles, ...shown.filter(({ path, file }) => !built.has(path) && existsSync(file.absolute))];
    report({ result, articles: shown, files, ms: performance.now() - started });
    if (!release) return;
    previousFiles = result.staticFiles;
    // Its files are not checked: a missing one cannot be linked.
    const preview = { directory: join(folder, 'releases', release.id), manifest: release, isUnchanged: () => true };
    previews = [...previews.filter(({ directory }) => directory !== preview.directory), preview];
    if (previews.length > maxPreviews) await removeRelease(previews.shift()!.directory);
  };

  const watcher = await watchFolders([content, catalog], (changes) => build(changes).catch(fail));
  // The first build may have started threads; a save has one article to render.
  const first = renderer;
  renderer = createRenderer(1);
  await first.close();
  return async () => {
    await watcher.close();
    cache.close();
    await renderer.close();
  };
}
