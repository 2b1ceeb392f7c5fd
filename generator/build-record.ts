import { hash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Article, Outline } from './articles/article.ts';
import type { BuildOptions, BuildResult } from './build-options.ts';
import { replaceFile } from './common/atomic-file.ts';
import type { Known } from './compile.ts';
import { fingerprint } from './fingerprint.ts';
import type { RenderCachePlace } from './markdown/cache.ts';
import { hashManifest, openFormerRelease } from './release/former-release.ts';
import type { FormerRelease } from './release/former-release.ts';
import type { SourceFolder, Sources } from './source/load.ts';

/** What the last build of a folder of releases read and made, so that the next need not do it again. */
export interface BuildRecord {
  readonly former: FormerRelease;
  /** What that build would say again: undefined where any source, option or day has changed what there is to say. */
  readonly unchanged: BuildResult | undefined;
  /** What it knew of articles and widget. */
  known(): Known;
}

/** The record as it is kept. */
interface Kept {
  /** The fingerprint of the generator, and the compression: where it differs, nothing of that build can be used. */
  readonly basis: string;
  /** A hash of all sources, and of the options. */
  readonly input: string;
  readonly now: string;
  readonly manifestHash: string;
  readonly articlesHash: string;
  /** The result without the manifest, which is in the release. */
  readonly result: Omit<BuildResult, 'release'> & { readonly release: string };
}

/** Where builds of `out` keep what they can use again: the record, and the render cache in a file of its own. */
const cacheOf = (out: string): string => join(out, '.cache');

/** Where the render cache is, and what its entries depend on. */
export function renderCacheOf(out: string): RenderCachePlace {
  return { file: join(cacheOf(out), 'renders.sqlite'), fingerprint: fingerprint() };
}

/** Reads the record of the last build into `out`; undefined where there is none that can be used. */
export function readBuildRecord(out: string, options: BuildOptions, sources: Sources): BuildRecord | undefined {
  const kept = parseKept(readText(join(cacheOf(out), 'build.json')));
  if (kept?.basis !== basisOf(options)) return undefined;
  const { nextChangeAt, release: id } = kept.result;
  const former = openFormerRelease(join(out, 'releases', id), kept.manifestHash);
  if (!former) return undefined;
  const sameDay = kept.now <= options.now && (nextChangeAt === null || options.now < nextChangeAt);
  const same = sameDay && kept.input === inputOf(options, sources) && former.isWhole();
  return {
    former,
    unchanged: same ? { ...kept.result, release: former.manifest } : undefined,
    known() {
      const text = readText(join(cacheOf(out), 'articles.json'));
      const isOfThisBuild = text !== undefined && hash('sha256', text) === kept.articlesHash;
      return {
        outlines: new Map(isOfThisBuild ? (JSON.parse(text) as [string, Outline][]) : []),
        widget: kept.result.widget,
      };
    },
  };
}

/** Keeps the record of a build that was published. */
export async function writeBuildRecord(
  out: string,
  options: BuildOptions,
  sources: Sources,
  { release, ...result }: BuildResult,
  articles: readonly Article[],
): Promise<void> {
  if (!release) return;
  const text = JSON.stringify(articles.map(({ file, outline }) => [file.path, outline]));
  const kept: Kept = {
    basis: basisOf(options),
    input: inputOf(options, sources),
    now: options.now,
    manifestHash: hashManifest(join(out, 'releases', release.id)),
    articlesHash: hash('sha256', text),
    result: { ...result, release: release.id },
  };
  try {
    mkdirSync(cacheOf(out), { recursive: true });
    await replaceFile(join(cacheOf(out), 'articles.json'), text);
    await replaceFile(join(cacheOf(out), 'build.json'), JSON.stringify(kept));
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

function parseKept(text: string | undefined): Kept | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Kept);
  } catch {
    return undefined;
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
