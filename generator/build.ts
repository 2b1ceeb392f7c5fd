import { join } from 'node:path';
import { articleCacheOf, fingerprint, openBuildRecord } from './build-record.ts';
import type { BuildOptions, BuildResult } from './compile.ts';
import { createRenderer } from './markdown/renderer.ts';
import { confirmCurrent, readCurrent, withLock } from './release/history.ts';
import { createDiagnostics } from './source/diagnostics.ts';
import { displayPath, loadFolder } from './source/load.ts';

/**
 * Builds and publishes a release from content/ and catalog/. The result lists their problems; with errors nothing is
 * published. Throws if the release cannot be written; the existing releases stay unchanged.
 */
export async function build(options: BuildOptions): Promise<BuildResult> {
  const { out, against, compression, isTemporary, noCache, checkOnly = false } = options;
  const diagnostics = createDiagnostics(options);
  const sources = {
    content: loadFolder(options.content, diagnostics),
    catalog: loadFolder(options.catalog, diagnostics),
  };
  const record = noCache || checkOnly ? undefined : openBuildRecord(options, sources);
  const { previous, unchanged } = record ?? {};
  // With --against, all checks run again: what is online may have changed.
  const isCurrent = unchanged && against === undefined && (await readCurrent(out)) === unchanged.release?.id;
  if (isCurrent && !diagnostics.failed()) {
    const failure = await withLock(out, () => confirmCurrent(out));
    if (!failure) return unchanged;
    // Monitoring will take the release for an old one.
    const message = `its time could not be set (${failure.code}), so it looks as if no build had confirmed the release`;
    const place = { file: displayPath(join(out, 'current')), line: 1, column: 1 };
    const warning = { severity: 'warning', ...place, message, hint: 'build as the user that owns the folder' } as const;
    return { ...unchanged, diagnostics: [...unchanged.diagnostics, warning] };
  }

  // Imported here: loading the libraries takes longer than a build without changes.
  const [{ compile }, { createReleaseStage }, { compressors }, { readOnline }, caches, { createStaticFilesWriter }] =
    await Promise.all([
      import('./compile.ts'),
      import('./release/publish.ts'),
      import('./release/compress.ts'),
      import('./release/online.ts'),
      import('./articles/cache.ts'),
      import('./static-files.ts'),
    ]);
  const renderer = createRenderer(options.threads);
  const cache = caches.openArticleCache(noCache ? undefined : articleCacheOf(out), {
    fingerprint: fingerprint(),
    readOnly: checkOnly,
  });
  const compressor = compressors[compression];
  try {
    const { articles, hasVanished, ...result } = await compile({
      ...options,
      sources,
      online: await readOnline(out, against),
      diagnostics,
      render: renderer.render,
      cache,
      previousFiles: record?.staticFiles,
      writeStaticFiles: createStaticFilesWriter(),
      ...(!checkOnly && {
        compressor,
        openStage: () => createReleaseStage({ out, compressor, previous, isTemporary }),
      }),
    });
    if (record && result.release) {
      const { articleKey, mediaKey } = caches;
      cache.prune([...articles.map(({ file }) => articleKey(file)), ...sources.content.files.map(mediaKey)]);
      // The record does not hold what was online: the next build compares again.
      if (!hasVanished) await record.write(result);
    }
    return result;
  } finally {
    cache.close();
    await renderer.close();
  }
}
