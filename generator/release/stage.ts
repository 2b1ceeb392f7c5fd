import type { Manifest } from '#contract/release.ts';
import type { Forms } from './compress.ts';

/** A release in the making; files are named by their paths in it. Nothing of it can be seen before it is published. */
export interface Stage {
  /**
   * Takes a file over from the release before, compressed forms too; false where that has none, or not of this hash, or
   * it is not whole.
   */
  takeOver(file: string, sha256?: string): boolean;
  /** Writes a file and its compressed forms, or takes it over where it is the same. */
  write(file: string, bytes: Uint8Array): Promise<void>;
  /** Writes a file that was compressed before. */
  writeForms(file: string, forms: Forms): void;
  /** Writes a file that is not to be compressed. */
  writeMedia(file: string, bytes: Uint8Array): void;
  /** Makes the release the current one, in one step. */
  publish(counts: Manifest['counts'], nextChangeAt: string | null): Promise<Manifest>;
  /** Removes what was written. */
  discard(): Promise<void>;
}
