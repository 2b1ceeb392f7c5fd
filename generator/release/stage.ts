import type { Manifest } from '#contract/release.ts';
import type { Encodings } from './compress.ts';

/** A release that is being written; readers cannot see it before it is published. Files are named by path in the release. */
export interface Stage {
  /**
   * Reuses a file of the previous release and its compressed encodings. Returns false if the file is missing, modified or
   * has another hash.
   */
  reuse(file: string, sha256?: string): boolean;
  /** Writes a file and its compressed encodings, or reuses an equal one. */
  write(file: string, bytes: Uint8Array): Promise<void>;
  /** Writes a file that is already compressed. */
  writeEncodings(file: string, encodings: Encodings): void;
  /** Writes a file without compressing it. */
  writeMedia(file: string, bytes: Uint8Array): void;
  /** Makes the release the current one, atomically. */
  publish(counts: Manifest['counts'], nextChangeAt: string | null): Promise<Manifest>;
  /** Removes the stage. */
  discard(): Promise<void>;
}
