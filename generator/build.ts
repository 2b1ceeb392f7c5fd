import type { BuildOptions, BuildResult } from './build-options.ts';
import { articleCacheOf, readBuildRecord, writeBuildRecord } from './build-record.ts';
import { createDiagnostics } from './source/diagnostics.ts';
import { fingerprint } from './fingerprint.ts';
import { readCurrent } from './release/current.ts';
import type { FormerRelease } from './release/previous-release.ts';
import { loadFolder } from './source/load.ts';
import { createRenderer } from './markdown/renderer.ts';

/**
 * Builds a release from content/ and catalog/. What is wrong in them is in the result; a release with errors is never
 * published. Throws where the disk does not take it, and then the releases stay as they were.
 */
export async function build(options: BuildOptions): Promise<BuildResult> {
  const { out, compression, noCache, checkOnly = false } = options;
  const diagnostics = createDiagnostics(options.lenient);
  const sources = {
    content: loadFolder(options.content, diagnostics),
    catalog: loadFolder(options.catalog, diagnostics),
  };
  const record = noCache || checkOnly ? undefined : readBuildRecord(out, options, sources);
  if (record?.unchanged && !diagnostics.failed() && (await isPublished(out, record.former))) return record.unchanged;

  // Loaded here, as reading the libraries takes longer than finding that there is nothing to do.
  const [{ compile }, { createReleaseStage }, { compressors }, { openArticleCache }] = await Promise.all([
    import('./compile.ts'),
    import('./release/release-stage.ts'),
    import('./release/compress.ts'),
    import('./articles/cache.ts'),
  ]);
  const renderer = createRenderer(options.threads);
  const cache = openArticleCache(noCache ? undefined : articleCacheOf(out), {
    fingerprint: fingerprint(),
    readOnly: checkOnly,
  });
  try {
    const { articles, ...result } = await compile({
      sources,
      diagnostics,
      now: options.now,
      render: renderer.render,
      cache,
      progress: options.progress,
      widget: record?.widget,
      ...(!checkOnly && {
        compressor: compressors[compression],
        openStage: () => createReleaseStage({ out, compressor: compressors[compression], former: record?.former }),
      }),
    });
    if (!noCache && result.release) {
      cache.prune(articles.map(({ file, path }) => ({ source: file.sha256, path })));
      await writeBuildRecord(out, options, sources, result);
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
