import { hash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BuildOptions, BuildResult } from './build-options.ts';
import { replaceFile } from './common/atomic-file.ts';
import { fingerprint } from './fingerprint.ts';
import { hashManifest, openFormerRelease } from './release/previous-release.ts';
import type { FormerRelease } from './release/previous-release.ts';
import type { SourceFolder, Sources } from './source/load.ts';

/** What the last build of a folder of releases read and made, so that the next need not do it again. */
export interface BuildRecord {
  readonly former: FormerRelease;
  /** What that build would say again: undefined where any source, option or day has changed what there is to say. */
  readonly unchanged: BuildResult | undefined;
  /** The status widget that it compiled. */
  readonly widget: BuildResult['widget'];
}

/** The record as it is kept, behind a line with its hash. */
interface Kept {
  /** The fingerprint of the generator, and the compression: where it differs, nothing of that build can be used. */
  readonly basis: string;
  /** A hash of all sources, and of the options. */
  readonly input: string;
  readonly now: string;
  readonly manifestHash: string;
  /** The result without the manifest, which is in the release. */
  readonly result: Omit<BuildResult, 'release'> & { readonly release: string };
}

/** Where builds of `out` keep what they can use again: the record, and the articles in a file of its own. */
const cacheFolderOf = (out: string): string => join(out, '.cache');
/** The file of the articles. */
export const articleCacheOf = (out: string): string => join(cacheFolderOf(out), 'renders.sqlite');
const recordOf = (out: string): string => join(cacheFolderOf(out), 'build.record');

/** Reads the record of the last build into `out`; undefined where there is none that can be used. */
export function readBuildRecord(out: string, options: BuildOptions, sources: Sources): BuildRecord | undefined {
  const kept = readKept(recordOf(out));
  if (kept?.basis !== basisOf(options)) return undefined;
  const { nextChangeAt, release: id } = kept.result;
  const former = openFormerRelease(join(out, 'releases', id), kept.manifestHash);
  if (!former) return undefined;
  const sameDay = kept.now <= options.now && (nextChangeAt === null || options.now < nextChangeAt);
  const same = sameDay && kept.input === inputOf(options, sources) && former.isWhole();
  return {
    former,
    unchanged: same ? { ...kept.result, release: former.manifest } : undefined,
    widget: kept.result.widget,
  };
}

/** Keeps the record of a build that was published. */
export async function writeBuildRecord(
  out: string,
  options: BuildOptions,
  sources: Sources,
  { release, ...result }: BuildResult,
): Promise<void> {
  if (!release) return;
  const kept: Kept = {
    basis: basisOf(options),
    input: inputOf(options, sources),
    now: options.now,
    manifestHash: hashManifest(join(out, 'releases', release.id)),
    result: { ...result, release: release.id },
  };
  try {
    mkdirSync(cacheFolderOf(out), { recursive: true });
    const json = JSON.stringify(kept);
    await replaceFile(recordOf(out), `${hash('sha256', json)}\n${json}`);
  } catch {
    // A record that cannot be kept costs the next build time, and nothing else.
  }
}

function basisOf({ compression }: BuildOptions): string {
  return `${fingerprint()} ${compression}`;
}

function inputOf({ lenient }: BuildOptions, { content, catalog }: Sources): string {
  return hash('sha256', JSON.stringify([lenient, listOf(content), listOf(catalog)]));
}

function listOf({ display, files }: SourceFolder) {
  return [display, files.map(({ path, sha256 }) => [path, sha256])];
}

function readKept(file: string): Kept | undefined {
  try {
    const [proof, json = ''] = readFileSync(file, 'utf8').split('\n');
    return proof === hash('sha256', json) ? (JSON.parse(json) as Kept) : undefined;
  } catch {
    return undefined;
  }
}
