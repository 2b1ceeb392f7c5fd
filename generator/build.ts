import { join } from 'node:path';
import type { BuildOptions, BuildResult } from './build-options.ts';
import { articleCacheOf, fingerprint, readBuildRecord, writeBuildRecord } from './build-record.ts';
import { createDiagnostics } from './source/diagnostics.ts';
import { confirmCurrent, readCurrent, withLock } from './release/history.ts';
import type { Online } from './release/online.ts';
import type { PreviousRelease } from './release/previous-release.ts';
import { displayPath, loadFolder } from './source/load.ts';
import type { Sources } from './source/load.ts';
import { createRenderer } from './markdown/renderer.ts';

/**
 * Builds and publishes a release from content/ and catalog/. The result lists their problems; with errors nothing is
 * published. Throws if the release cannot be written; the existing releases stay unchanged.
 */
export async function build(options: BuildOptions): Promise<BuildResult> {
  const { out, compression, isTemporary, noCache, checkOnly = false, allowEmpty = false } = options;
  const diagnostics = createDiagnostics(options);
  const sources = {
    content: loadFolder(options.content, diagnostics),
    catalog: loadFolder(options.catalog, diagnostics),
  };
  const record = noCache || checkOnly ? undefined : readBuildRecord(out, options, sources);
  let reading: Promise<Online | undefined> | undefined;
  const readOnlineOnce = (): Promise<Online | undefined> =>
    (reading ??= import('./release/online.ts').then(({ readOnline }) => readOnline(out, options.against)));
  if (record?.unchanged && !diagnostics.failed()) {
    if (await isPublished(options, sources, record.previous, readOnlineOnce)) {
      const failure = await withLock(out, () => confirmCurrent(out));
      return failure ? withWarning(record.unchanged, out, failure) : record.unchanged;
    }
  }

  // Imported here: loading the libraries takes longer than a build without changes.
  const [
    { compile },
    { createReleaseStage },
    { compressors },
    { articleKey, mediaKey, openArticleCache },
    { createStaticFilesWriter },
  ] = await Promise.all([
    import('./compile.ts'),
    import('./release/stage.ts'),
    import('./release/compress.ts'),
    import('./articles/cache.ts'),
    import('./static-files.ts'),
  ]);
  const online = await readOnlineOnce();
  const renderer = createRenderer(options.threads);
  const cache = openArticleCache(noCache ? undefined : articleCacheOf(out), {
    fingerprint: fingerprint(),
    readOnly: checkOnly,
  });
  try {
    const { articles, hasVanished, ...result } = await compile({
      sources,
      online,
      diagnostics,
      now: options.now,
      urls: options.urls,
      render: renderer.render,
      cache,
      progress: options.progress,
      allowEmpty,
      previousFiles: record?.staticFiles,
      writeStaticFiles: createStaticFilesWriter(),
      ...(!checkOnly && {
        compressor: compressors[compression],
        openStage: () =>
          createReleaseStage({ out, compressor: compressors[compression], previous: record?.previous, isTemporary }),
      }),
    });
    if (!noCache && result.release) {
      cache.prune([
        ...articles.map(({ file, path }) => articleKey(file.sha256, path)),
        ...sources.content.files.map(({ sha256 }) => mediaKey(sha256)),
      ]);
      // The record does not hold what was online: the next build compares again.
      if (!hasVanished) await writeBuildRecord(out, options, sources, result);
    }
    return result;
  } finally {
    cache.close();
    await renderer.close();
  }
}

/** Adds that monitoring will take the release for an old one. */
function withWarning(result: BuildResult, out: string, { code }: NodeJS.ErrnoException): BuildResult {
  const message = `its time could not be set (${code}), so it looks as if no build had confirmed the release`;
  const hint = 'build as the user that owns the folder';
  const place = { file: displayPath(join(out, 'current')), line: 1, column: 1 };
  return { ...result, diagnostics: [...result.diagnostics, { severity: 'warning', ...place, message, hint }] };
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
    const [{ findEmptied, findVanished, readRelease }, { readRemoved }] = await Promise.all([
      import('./release/online.ts'),
      import('./source/yaml.ts'),
    ]);
    if (!allowEmpty && findEmptied(online.counts, previous.manifest.counts).length > 0) return false;
    const release = await readRelease(previous.directory);
    const removed = readRemoved(sources.content, createDiagnostics({}));
    if (!release || findVanished(online, release, removed).length > 0) return false;
  }
  if (isCurrent) return true;
  const { republish } = await import('./release/publish.ts');
  return republish(out, previous);
}
