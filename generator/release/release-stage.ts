import { hash } from 'node:crypto';
import { copyFileSync, linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { contractVersion } from '#contract/release.ts';
import type { Manifest } from '#contract/release.ts';
import { renderManifest, toReleaseId } from '../common/manifest.ts';
import type { Compressor, Forms } from './compress.ts';
import { stageName } from './current.ts';
import type { FormerRelease } from './previous-release.ts';
import { makeCurrent } from './history.ts';
import { inTurn } from './lock.ts';
import { flush, moveIntoPlace, removeAbandoned } from './publish.ts';
import type { Stage } from './stage.ts';

/** What a release is made with. */
export interface ReleaseStageOptions {
  /** The folder of all releases. */
  readonly out: string;
  readonly compressor: Compressor;
  /** Files that are as they were in this release are linked, and not written again. */
  readonly former: FormerRelease | undefined;
  /** A release to look at while one writes: it has no compressed forms, and need not outlive a loss of power. */
  readonly isPreview?: boolean;
}

/** Begins a release, and removes what builds that were killed have left behind. */
export async function createReleaseStage(options: ReleaseStageOptions): Promise<Stage> {
  const { out, compressor, former, isPreview = false } = options;
  const releases = join(out, 'releases');
  await mkdir(releases, { recursive: true });
  await removeAbandoned(releases);
  const root = join(releases, stageName());
  const files = createFiles(root);

  const takeOver = (file: string, sha256?: string): boolean => {
    if (sha256 !== undefined && former?.manifest.files[file]?.sha256 !== sha256) return false;
    const forms = former?.formsOf(file) ?? [];
    return files.link(former?.directory ?? '', forms) && forms.length > 0;
  };
  const writeForms = (file: string, { identity, gz, br }: Forms): void => {
    files.put(file, identity);
    if (isPreview) return;
    files.put(`${file}.gz`, gz);
    files.put(`${file}.br`, br);
  };

  return {
    takeOver,
    async write(file, bytes) {
      if (takeOver(file, hash('sha256', bytes))) return;
      if (isPreview) files.put(file, bytes);
      else writeForms(file, await compressor.compress(bytes));
    },
    writeForms,
    writeMedia: (file, bytes) => files.put(file, bytes),
    async publish(counts, nextChangeAt) {
      const body = { contractVersion, compression: compressor.name, counts, nextChangeAt, files: files.list() };
      const manifest: Manifest = { id: toReleaseId(body), ...body };
      await inTurn(out, async () => {
        await moveIntoPlace(root, join(releases, manifest.id), async () => {
          files.put('manifest.json', Buffer.from(renderManifest(manifest)));
          if (!isPreview) await flush(root, [...Object.keys(manifest.files), 'manifest.json']);
        });
        await makeCurrent(out, manifest.id);
      });
      return manifest;
    },
    discard: () => rm(root, { recursive: true, force: true }),
  };
}

/** The files of a folder in the making, and what the manifest says of them. */
function createFiles(root: string) {
  const files = new Map<string, Manifest['files'][string]>();
  const folders = new Set<string>();
  const pathOf = (file: string): string => {
    const path = join(root, file);
    const folder = dirname(path);
    if (!folders.has(folder)) mkdirSync(folder, { recursive: true });
    folders.add(folder);
    return path;
  };
  return {
    /** Ordered by path. */
    list: () => Object.fromEntries([...files.keys()].toSorted().map((file) => [file, files.get(file)!])),
    put(file: string, bytes: Uint8Array): void {
      writeFileSync(pathOf(file), bytes, { flag: 'wx' });
      files.set(file, { bytes: bytes.length, sha256: hash('sha256', bytes) });
    },
    /** Links files of another folder; false, and none of them, where one cannot be: that release is being removed. */
    link(from: string, forms: readonly [string, Manifest['files'][string]][]): boolean {
      try {
        for (const [file] of forms) linkOrCopy(join(from, file), pathOf(file));
      } catch {
        for (const [file] of forms) rmSync(pathOf(file), { force: true });
        return false;
      }
      for (const [file, entry] of forms) files.set(file, entry);
      return true;
    },
  };
}

/** Some file systems know no hard links, and all have a limit for one file. */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}
