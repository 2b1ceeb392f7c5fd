import type { BuildOptions, BuildResult } from './build-options.ts';
import { articleCacheOf, readBuildRecord, writeBuildRecord } from './build-record.ts';
import { createDiagnostics } from './source/diagnostics.ts';
import { fingerprint } from './fingerprint.ts';
import { readCurrent } from './release/current.ts';
import { findEmptied, readOnlineCounts } from './release/emptied.ts';
import type { PreviousRelease } from './release/previous-release.ts';
import { loadFolder } from './source/load.ts';
import { createRenderer } from './markdown/renderer.ts';

/**
 * Builds and publishes a release from content/ and catalog/. The result lists their problems; with errors nothing is
 * published. Throws if the release cannot be written; the existing releases stay unchanged.
 */
export async function build(options: BuildOptions): Promise<BuildResult> {
  const { out, compression, noCache, checkOnly = false, allowEmpty = false } = options;
  const diagnostics = createDiagnostics(options);
  const sources = {
    content: loadFolder(options.content, diagnostics),
    catalog: loadFolder(options.catalog, diagnostics),
  };
  const record = noCache || checkOnly ? undefined : readBuildRecord(out, options, sources);
  if (record?.unchanged && !diagnostics.failed() && (await isPublished(options, record.previous))) {
    return record.unchanged;
  }

  // Imported here: loading the libraries takes longer than a build without changes.
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
      online: allowEmpty ? undefined : await readOnlineCounts(out),
      widget: record?.widget,
      ...(!checkOnly && {
        compressor: compressors[compression],
        openStage: () => createReleaseStage({ out, compressor: compressors[compression], previous: record?.previous }),
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

/** Whether an intact release is the current one, or was made current again. */
async function isPublished({ out, allowEmpty }: BuildOptions, previous: PreviousRelease): Promise<boolean> {
  if ((await readCurrent(out)) === previous.manifest.id) return true;
  if (!allowEmpty && findEmptied(await readOnlineCounts(out), previous.manifest.counts).length > 0) return false;
  const { republish } = await import('./release/publish.ts');
  return republish(out, previous);
}
