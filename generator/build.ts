import type { BuildOptions, BuildResult } from './build-options.ts';
import { readBuildRecord, renderCacheOf, writeBuildRecord } from './build-record.ts';
import { readCurrent } from './release/current.ts';
import { createDiagnostics } from './source/diagnostics.ts';
import type { FormerRelease } from './release/former-release.ts';
import { loadFolder } from './source/load.ts';
import { createRenderer } from './markdown/renderer.ts';

/**
 * Builds a release from content/ and catalog/. What is wrong in them is in the result; a release with errors is never
 * published. Throws where the disk does not take it, and then the releases stay as they were.
 */
export async function build(options: BuildOptions): Promise<BuildResult> {
  const { out, noCache } = options;
  const diagnostics = createDiagnostics(options.lenient);
  const sources = {
    content: loadFolder(options.content, diagnostics),
    catalog: loadFolder(options.catalog, diagnostics),
  };

  const record = out === undefined || noCache ? undefined : readBuildRecord(out, options, sources);
  if (record?.unchanged && !diagnostics.failed() && (await isPublished(out!, record.former))) return record.unchanged;

  // Loaded here, as reading the libraries takes longer than finding that there is nothing to do.
  const [{ compile }, { createReleaseStage }, { createDryStage }, { openRenderCache }] = await Promise.all([
    import('./compile.ts'),
    import('./release/release-stage.ts'),
    import('./release/stage.ts'),
    import('./markdown/cache.ts'),
  ]);
  const renderer = createRenderer(options.threads);
  const cache = openRenderCache(out === undefined || noCache ? undefined : renderCacheOf(out), renderer.render);
  try {
    const { known, categories, ...compiled } = await compile({
      sources,
      now: options.now,
      diagnostics,
      stage: out === undefined ? createDryStage() : await createReleaseStage(out, options.compression, record?.former),
      known: record?.known(),
      renders: cache,
      progress: options.progress,
    });
    const result = { ...compiled, diagnostics: diagnostics.list(), widget: known.widget };
    if (out !== undefined && !noCache && result.release) {
      const articles = categories.flatMap((category) => category.articles);
      cache.prune(articles.map(({ file, path }) => [file.sha256, path]));
      await writeBuildRecord(out, options, sources, result, articles);
    }
    return result;
  } finally {
    cache.close();
    await renderer.close();
  }
}

/** Whether a release that is whole is the current one, or could be made so again. */
async function isPublished(out: string, former: FormerRelease): Promise<boolean> {
  if ((await readCurrent(out)) === former.manifest.id) return true;
  const { publishAgain } = await import('./release/publish.ts');
  return publishAgain(out, former);
}
