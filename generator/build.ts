import { join } from 'node:path';
import { articleCacheOf, fingerprint, openBuildRecord } from './build-record.ts';
import type { BuildOptions, BuildResult } from './compile.ts';
import { createRenderer } from './markdown/renderer.ts';
import { confirmCurrent, readCurrent, withLock } from './release/history.ts';
import type { Online } from './release/online.ts';
import type { PreviousRelease } from './release/previous-release.ts';
import { createDiagnostics } from './source/diagnostics.ts';
import { displayPath, loadFolder } from './source/load.ts';
import type { Sources } from './source/load.ts';

/**
 * Builds and publishes a release from content/ and catalog/. The result lists their problems; with errors nothing is
 * published. Throws if the release cannot be written; the existing releases stay unchanged.
 */
export async function build(options: BuildOptions): Promise<BuildResult> {
  const { out, compression, isTemporary, noCache, checkOnly = false } = options;
  const diagnostics = createDiagnostics(options);
  const sources = {
    content: loadFolder(options.content, diagnostics),
    catalog: loadFolder(options.catalog, diagnostics),
  };
  const record = noCache || checkOnly ? undefined : openBuildRecord(options, sources);
  const { previous, unchanged } = record ?? {};
  let reading: Promise<Online | undefined> | undefined;
  const readOnlineOnce = (): Promise<Online | undefined> =>
    (reading ??= import('./release/online.ts').then(({ readOnline }) => readOnline(out, options.against)));
  if (unchanged && !diagnostics.failed() && (await isPublished(options, sources, previous!, readOnlineOnce))) {
    const failure = await withLock(out, () => confirmCurrent(out));
    if (!failure) return unchanged;
    // Monitoring will take the release for an old one.
    const message = `its time could not be set (${failure.code}), so it looks as if no build had confirmed the release`;
    const place = { file: displayPath(join(out, 'current')), line: 1, column: 1 };
    const warning = { severity: 'warning', ...place, message, hint: 'build as the user that owns the folder' } as const;
    return { ...unchanged, diagnostics: [...unchanged.diagnostics, warning] };
  }

  // Imported here: loading the libraries takes longer than a build without changes.
  const [{ compile }, { createReleaseStage }, { compressors }, caches, { createStaticFilesWriter }] = await Promise.all(
    [
      import('./compile.ts'),
      import('./release/publish.ts'),
      import('./release/compress.ts'),
      import('./articles/cache.ts'),
      import('./static-files.ts'),
    ],
  );
  const online = await readOnlineOnce();
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
      online,
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

/**
 * Whether an intact release is the current one, or was made current again. It is not if it lacks a path or a list that is
 * online: then all checks run again.
 */
async function isPublished(
  { out, against, allowEmpty = false }: BuildOptions,
  sources: Sources,
  previous: PreviousRelease,
  readOnline: () => Promise<Online | undefined>,
): Promise<boolean> {
  const isCurrent = (await readCurrent(out)) === previous.manifest.id;
  // Compared with itself, a release has lost nothing.
  if (isCurrent && against === undefined) return true;
  const online = await readOnline();
  if (online) {
    const { findEmptied, findVanished, readRelease } = await import('./release/online.ts');
    const { readRemoved } = await import('./source/yaml.ts');
    if (!allowEmpty && findEmptied(online.counts, previous.manifest.counts).length > 0) return false;
    const release = await readRelease(previous.directory);
    const removed = readRemoved(sources.content, createDiagnostics({}));
    if (!release || findVanished(online, release, removed).length > 0) return false;
  }
  if (isCurrent) return true;
  const { republish } = await import('./release/publish.ts');
  return republish(out, previous);
}
