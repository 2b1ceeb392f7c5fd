import { join } from 'node:path';
import type { BuildResult } from './build-options.ts';
import { renderCacheOf } from './build-record.ts';
import { openRenderCache } from './markdown/cache.ts';
import { compile } from './compile.ts';
import type { Known } from './compile.ts';
import { createDiagnostics } from './source/diagnostics.ts';
import { createLiveRelease } from './release/live-stage.ts';
import { loadFolder, reloadFiles } from './source/load.ts';
import type { Sources } from './source/load.ts';
import { createRenderer } from './markdown/renderer.ts';
import { watchFolders } from './source/watch.ts';
import type { Changes } from './source/watch.ts';

/** What to watch, and where to. */
export interface DevOptions {
  readonly content: string;
  readonly catalog: string;
  /** Where the live release is made, in a folder of its own. */
  readonly out: string;
  /** Takes dead references for warnings. */
  readonly lenient: boolean;
  /** Is told what came of each build, and how many milliseconds it took. */
  readonly report: (result: BuildResult, ms: number) => void;
  /** Is told why a build could not be made at all, as where the disk does not take it; the next change tries again. */
  readonly fail: (error: unknown) => void;
}

/** The folder of the live release below `out`: its `current` can be served like that of any release. */
export function liveFolderOf(out: string): string {
  return join(out, '.dev');
}

/**
 * Keeps a live release up to date with content/ and catalog/: what changes is compiled, checked with all the rest, and
 * written; where there are errors, the live release stays as it was. Resolves when the first build is done, with the
 * function that ends it.
 */
export async function watchAndBuild({
  content,
  catalog,
  out,
  lenient,
  report,
  fail,
}: DevOptions): Promise<() => Promise<void>> {
  const live = createLiveRelease(liveFolderOf(out));
  const renderer = createRenderer();
  const renders = openRenderCache(renderCacheOf(out), renderer.render);
  let sources: Sources | undefined;
  let known: Known | undefined;

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
    // Without what was listed, the folders are listed anew: else what was wrong there would be forgotten.
    sources = undefined;
    const listed = !diagnostics.failed();
    const now = new Date().toISOString().slice(0, 10);
    const {
      known: next,
      categories: _,
      ...result
    } = await compile({ sources: found, now, diagnostics, stage: live.begin(), known, renders });
    if (listed) sources = found;
    if (result.release) known = next;
    report({ ...result, diagnostics: diagnostics.list(), widget: next.widget }, performance.now() - started);
  };

  const watcher = await watchFolders([content, catalog], (changes) => build(changes).catch(fail));
  return async () => {
    await watcher.close();
    renders.close();
    await renderer.close();
  };
}
