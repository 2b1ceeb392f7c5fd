import { hash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Manifest } from '#contract/release.ts';
import { openMemo } from './articles/memo.ts';
import type { BuildOptions, BuildResult } from './compile.ts';
import { createRenderer } from './markdown/renderer.ts';
import { confirmCurrent, readCurrent, withLock } from './release/history.ts';
import type { EarlierRelease } from './release/history.ts';
import { createDiagnostics } from './source/diagnostics.ts';
import type { Diagnostics } from './source/diagnostics.ts';
import { loadFolder } from './source/load.ts';
import type { SourceFolder, SourceSet } from './source/load.ts';

/** Builds and publishes a release. Without one, the result lists the errors, and existing releases stay unchanged. */
export async function build(options: BuildOptions): Promise<BuildResult> {
  const { out, against, compression, isTemporary, noCache, checkOnly = false } = options;
  const diagnostics = createDiagnostics(options);
  const sources = {
    content: loadFolder(options.content, diagnostics),
    catalog: loadFolder(options.catalog, diagnostics),
  };
  using memo = openMemo(noCache ? undefined : out, checkOnly);
  await using renderer = createRenderer(options.threads);
  const inputs = hashInputs(options, sources, diagnostics);
  const last = checkOnly ? undefined : (memo.read('last build', compression) as LastBuild | undefined);
  const previous = last && openLastRelease(out, last);
  // With --against, all checks run again: the service may have changed.
  const isSame = against === undefined && last?.inputs === inputs && (await readCurrent(out)) === last.id;
  const unchanged = previous && isSame && recallResult(last, previous, options.now);
  if (unchanged) {
    await withLock(out, () => confirmCurrent(out));
    return { ...unchanged, sources };
  }

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
    const built: LastBuild = { id: release.id, manifestHash, now: options.now, result: others };
    // After paths have vanished, the next build compares again with the release online.
    memo.write('last build', compression, hasVanished ? built : { ...built, inputs });
    memo.prune();
  }
  return { ...result, sources };
}

/** The last build of a compression, in the memo. */
interface LastBuild {
  readonly id: string;
  readonly manifestHash: string;
  readonly inputs?: string;
  readonly now: string;
  readonly result: Omit<BuildResult, 'release'>;
}

const listOf = ({ display, files }: SourceFolder) => [display, files.map(({ path, sha256 }) => [path, sha256])];

/** Hashes the sources, the problems of listing them, and the options that the result depends on, except the day. */
function hashInputs({ lenient, strict, urls }: BuildOptions, { content, catalog }: SourceSet, { list }: Diagnostics) {
  return hash('sha256', JSON.stringify([lenient, strict, urls, listOf(content), listOf(catalog), list()]));
}

const manifestOf = (out: string, id: string): string => join(out, 'releases', id, 'manifest.json');

/** Opens the release of the last build, if its manifest is unchanged. `isIntact` does not read the contents again. */
function openLastRelease(out: string, { id, manifestHash }: LastBuild): EarlierRelease | undefined {
  const directory = join(out, 'releases', id);
  try {
    const text = readFileSync(manifestOf(out, id), 'utf8');
    if (hash('sha256', text) !== manifestHash) return undefined;
    const manifest = JSON.parse(text) as Manifest;
    const writtenMs = statSync(manifestOf(out, id)).mtimeMs;
    const isIntact = (file: string): boolean => {
      const stat = statSync(`${directory}/${file}`, { throwIfNoEntry: false });
      return stat?.isFile() === true && stat.size === manifest.files[file]!.bytes && stat.mtimeMs <= writtenMs;
    };
    return { directory, manifest, isIntact };
  } catch {
    // The release was removed.
    return undefined;
  }
}

/** Recalls the last result, unless an article became due or a file of its release is damaged. */
function recallResult(last: LastBuild, { manifest, isIntact }: EarlierRelease, now: string): BuildResult | undefined {
  const { nextChangeAt } = last.result;
  const isSameSchedule = last.now <= now && (nextChangeAt === null || now < nextChangeAt);
  const isSame = isSameSchedule && Object.keys(manifest.files).every(isIntact);
  return isSame ? { ...last.result, release: manifest } : undefined;
}
