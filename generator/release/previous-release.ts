import { hash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Manifest } from '#contract/release.ts';

/** The release of an earlier build, from which files may be taken over. */
export interface FormerRelease {
  readonly directory: string;
  readonly manifest: Manifest;
  /** A file and its compressed forms, as the manifest has them; undefined where one is missing or was touched. */
  formsOf(file: string): [string, Manifest['files'][string]][] | undefined;
  /** Whether no file is missing or was touched. */
  readonly isWhole: () => boolean;
}

/** What proves that a manifest is the one that a build wrote. */
export function hashManifest(directory: string): string {
  return hash('sha256', readFileSync(join(directory, 'manifest.json')));
}

/**
 * Opens a release whose manifest has that hash; undefined where it is gone or another. Its files are not read again:
 * one whose size is as it was, and that was not written after its manifest, is as it was.
 */
export function openFormerRelease(directory: string, manifestHash: string): FormerRelease | undefined {
  try {
    const text = readFileSync(join(directory, 'manifest.json'));
    if (hash('sha256', text) !== manifestHash) return undefined;
    return toFormerRelease(directory, JSON.parse(text.toString('utf8')) as Manifest);
  } catch {
    return undefined;
  }
}

/** The release in a folder, which has just been published with that manifest. Throws where it is gone. */
export function toFormerRelease(directory: string, manifest: Manifest): FormerRelease {
  const writtenMs = statSync(join(directory, 'manifest.json')).mtimeMs;
  const isUntouched = (file: string): boolean => {
    const stat = statSync(`${directory}/${file}`, { throwIfNoEntry: false });
    return stat?.isFile() === true && stat.size === manifest.files[file]!.bytes && stat.mtimeMs <= writtenMs;
  };
  return {
    directory,
    manifest,
    formsOf(file) {
      const forms = [file, `${file}.gz`, `${file}.br`].filter((form) => Object.hasOwn(manifest.files, form));
      if (forms[0] !== file || !forms.every(isUntouched)) return undefined;
      return forms.map((form) => [form, manifest.files[form]!]);
    },
    isWhole: () => Object.keys(manifest.files).every(isUntouched),
  };
}
