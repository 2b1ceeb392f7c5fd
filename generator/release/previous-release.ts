import { hash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Manifest } from '#contract/release.ts';

/** The release of an earlier build, whose files a new release can reuse. */
export interface PreviousRelease {
  readonly directory: string;
  readonly manifest: Manifest;
  /** Whether a file of the manifest is there and was not modified. */
  readonly isUnchanged: (file: string) => boolean;
}

/** Hashes the manifest of a release, to detect changes. */
export function hashManifest(directory: string): string {
  return hash('sha256', readFileSync(join(directory, 'manifest.json')));
}

/**
 * Opens a release if its manifest has the given hash; otherwise returns undefined. Its files are not read: a file of the
 * right size that is not newer than the manifest counts as unchanged.
 */
export function openPreviousRelease(directory: string, manifestHash: string): PreviousRelease | undefined {
  try {
    const path = join(directory, 'manifest.json');
    const text = readFileSync(path);
    if (hash('sha256', text) !== manifestHash) return undefined;
    const manifest = JSON.parse(text.toString('utf8')) as Manifest;
    const writtenMs = statSync(path).mtimeMs;
    const isUnchanged = (file: string): boolean => {
      const stat = statSync(`${directory}/${file}`, { throwIfNoEntry: false });
      return stat?.isFile() === true && stat.size === manifest.files[file]!.bytes && stat.mtimeMs <= writtenMs;
    };
    return { directory, manifest, isUnchanged };
  } catch {
    return undefined;
  }
}

/** Whether no file of a release is missing or modified. */
export function isIntact({ manifest, isUnchanged }: PreviousRelease): boolean {
  return Object.keys(manifest.files).every(isUnchanged);
}
