import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Manifest } from '#contract/release.ts';
import { openMemo } from './articles/memo.ts';
import type { Memo } from './articles/memo.ts';
import type { BuildOptions, BuildResult } from './compile.ts';
import { createRenderer } from './markdown/renderer.ts';
import { confirmCurrent, openEarlierRelease, readCurrent, withLock } from './release/history.ts';
import type { EarlierRelease } from './release/history.ts';
import { createDiagnostics } from './source/diagnostics.ts';
import { displayPath, loadFolder } from './source/load.ts';
import type { SourceFolder, SourceSet } from './source/load.ts';

/** Builds and publishes a release. Without one, the result lists the errors, and existing releases stay unchanged. */
export async function build(options: BuildOptions): Promise<BuildResult> {
  const { out, against, compression, isTemporary, noCache, checkOnly = false } = options;
  const diagnostics = createDiagnostics(options);
  const sources = {
    content: loadFolder(options.content, diagnostics),
    catalog: loadFolder(options.catalog, diagnostics),
  };
  const memo = openMemo(noCache ? undefined : out, checkOnly);
  const renderer = createRenderer(options.threads);
  try {
    const inputs = hashInputs(options, sources);
    const previous = checkOnly ? undefined : openLastRelease(memo, options);
    const unchanged = previous && recallBuild(memo, inputs, previous, options.now);
    // With --against, all checks run again: the service may have changed.
    const isCurrent = against === undefined && unchanged && (await readCurrent(out)) === unchanged.release?.id;
    if (isCurrent && !diagnostics.failed()) return await confirmBuild(out, unchanged);

    // Lazy: loading the libraries takes longer than a build without changes.
    const [{ compile }, { createReleaseStage }, { compressors }, { readOnline }] = await Promise.all([
      import('./compile.ts'),
      import('./release/publish.ts'),
      import('./release/compress.ts'),
      import('./release/online.ts'),
    ]);
    const compressor = compressors[compression];
    const { result, hasVanished } = await compile({
      ...options,
      sources,
      online: await readOnline(out, against),
      diagnostics,
      render: renderer.render,
      memo,
      ...(!checkOnly && {
        compressor,
        openStage: () => createReleaseStage({ out, compressor, previous, isTemporary }),
      }),
    });
    const { release, ...others } = result;
    if (release) {
      const manifestHash = hash('sha256', readFileSync(manifestOf(out, release.id)));
      memo.write('last release', compression, { id: release.id, manifestHash } satisfies LastRelease);
      // After paths have vanished, the next build compares again with the release online.
      const last: LastBuild = { now: options.now, release: release.id, result: others };
      if (!hasVanished) memo.write('last build', inputs, last);
      memo.prune();
    }
    return result;
  } finally {
    memo.close();
    await renderer.close();
  }
}

/** The release of the last build, in the memo. */
interface LastRelease {
  readonly id: string;
  readonly manifestHash: string;
}

/** The last build without its manifest, in the memo. */
interface LastBuild {
  readonly now: string;
  readonly release: string;
  readonly result: Omit<BuildResult, 'release'>;
}

const listOf = ({ display, files }: SourceFolder) => [display, files.map(({ path, sha256 }) => [path, sha256])];

/** Hashes the sources and the options that the result depends on, except the day. */
function hashInputs({ compression, lenient, strict, urls = {} }: BuildOptions, { content, catalog }: SourceSet): string {
  const settings = [compression, lenient, strict, urls.site, urls.service, urls.support, urls.name];
  return hash('sha256', JSON.stringify([settings, listOf(content), listOf(catalog)]));
}

const manifestOf = (out: string, id: string): string => join(out, 'releases', id, 'manifest.json');

/** Opens the release of the last build with this compression, if its manifest is unchanged. */
function openLastRelease(memo: Memo, { out, compression }: BuildOptions): EarlierRelease | undefined {
  const last = memo.read('last release', compression) as LastRelease | undefined;
  try {
    const text = last && readFileSync(manifestOf(out, last.id), 'utf8');
    if (text === undefined || hash('sha256', text) !== last?.manifestHash) return undefined;
    return openEarlierRelease(join(out, 'releases', last.id), JSON.parse(text) as Manifest);
  } catch {
    // The release was removed.
    return undefined;
  }
}

/** Recalls the last build, if its inputs were the same and its release is intact. */
function recallBuild(memo: Memo, inputs: string, release: EarlierRelease, now: string): BuildResult | undefined {
  const last = memo.read('last build', inputs) as LastBuild | undefined;
  if (!last || last.release !== release.manifest.id || now < last.now) return undefined;
  const { nextChangeAt } = last.result;
  const isDue = nextChangeAt !== null && now >= nextChangeAt;
  if (isDue || !Object.keys(release.manifest.files).every(release.isIntact)) return undefined;
  return { ...last.result, release: release.manifest };
}

/** Confirms that the current release is up to date, or adds a warning. */
async function confirmBuild(out: string, unchanged: BuildResult): Promise<BuildResult> {
  const failure = await withLock(out, () => confirmCurrent(out));
  if (!failure) return unchanged;
  // Monitoring uses this timestamp.
  const fault = `cannot update the timestamp of \`current\` (${failure.code})`;
  const message = `${fault}; monitoring will report the release as stale`;
  const place = { file: displayPath(join(out, 'current')), line: 1, column: 1 };
  const warning = { severity: 'warning', ...place, message, hint: 'build as the user that owns the folder' } as const;
  return { ...unchanged, diagnostics: [...unchanged.diagnostics, warning] };
}
