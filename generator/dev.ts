import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { openArticleCache } from './articles/cache.ts';
import type { BuildResult } from './build-options.ts';
import { articleCacheOf } from './build-record.ts';
import { compile } from './compile.ts';
import { fingerprint } from './fingerprint.ts';
import { createRenderer } from './markdown/renderer.ts';
import { compressors } from './release/compress.ts';
import { toFormerRelease } from './release/previous-release.ts';
import type { FormerRelease } from './release/previous-release.ts';
import { removeRelease } from './release/publish.ts';
import { createReleaseStage } from './release/release-stage.ts';
import { createDiagnostics } from './source/diagnostics.ts';
import { loadFolder, reloadFiles } from './source/load.ts';
import type { Sources } from './source/load.ts';
import { watchFolders } from './source/watch.ts';
import type { Changes } from './source/watch.ts';

/** What to watch, and where to. */
export interface DevOptions {
  readonly content: string;
  readonly catalog: string;
  /** Where previews are kept, in a folder of their own. */
  readonly out: string;
  /** Takes dead references for warnings. */
  readonly lenient: boolean;
  /** Called with what came of each build, and how many milliseconds it took. */
  readonly report: (result: BuildResult, ms: number) => void;
  /** Called where a build could not be made at all, as where the disk does not take it; the next change tries again. */
  readonly fail: (error: unknown) => void;
}

/** The folder of previews below `out`: its `current` can be served like that of any release. */
export function previewFolderOf(out: string): string {
  return join(out, '.dev');
}

/** How many previews are kept: a server may still be reading one when the next is there. */
const keep = 5;

/**
 * Builds a preview of content/ and catalog/, and another with each change: a release without compressed forms, in which
 * all that is as it was is linked. Where there are errors, the last one stays the current one. Resolves when the first
 * build is done, with the function that ends it.
 */
export async function watchAndBuild(options: DevOptions): Promise<() => Promise<void>> {
  const { content, catalog, out, lenient, report, fail } = options;
  const folder = previewFolderOf(out);
  rmSync(folder, { recursive: true, force: true });
  const renderer = createRenderer();
  const cache = openArticleCache(articleCacheOf(out), { fingerprint: fingerprint() });
  const compressor = compressors.fast;
  let sources: Sources | undefined;
  let kept: FormerRelease[] = [];
  let widget: BuildResult['widget'];

  const build = async ({ files, structure }: Changes): Promise<void> => {
    const started = performance.now();
    const diagnostics = createDiagnostics(lenient);
    const found =
      structure || !sources
        ? { content: loadFolder(content, diagnostics), catalog: loadFolder(catalog, diagnostics) }
        : {
            content: reloadFiles(sources.content, files, diagnostics),
            catalog: reloadFiles(sources.catalog, files, diagnostics),
          };
    // What was wrong with a folder is only found again where it is listed again.
    sources = diagnostics.failed() ? undefined : found;
    const { articles: _, ...result } = await compile({
      sources: found,
      now: new Date().toISOString().slice(0, 10),
      diagnostics,
      render: renderer.render,
      cache,
      compressor,
      widget,
      openStage: () => createReleaseStage({ out: folder, compressor, former: kept.at(-1), isPreview: true }),
    });
    report(result, performance.now() - started);
    if (!result.release) return;
    widget = result.widget;
    const preview = toFormerRelease(join(folder, 'releases', result.release.id), result.release);
    kept = [...kept.filter(({ directory }) => directory !== preview.directory), preview];
    if (kept.length > keep) await removeRelease(kept.shift()!.directory);
  };

  const watcher = await watchFolders([content, catalog], (changes) => build(changes).catch(fail));
  return async () => {
    await watcher.close();
    cache.close();
    await renderer.close();
  };
}
