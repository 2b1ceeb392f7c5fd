import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from 'node:zlib';
import type { BrotliOptions } from 'node:zlib';
import pLimit from 'p-limit';
import type { Manifest } from '#contract/release.ts';

/** The compression level: `fast` takes less time than rendering; `best` makes the smallest files. */
export type Compression = Manifest['compression'];

/** Bytes with their SHA-256. */
export interface HashedBytes {
  readonly bytes: Uint8Array;
  readonly sha256: string;
}

/** A file in each encoding: identity, gzip and Brotli. */
export type Encodings = Readonly<Record<'identity' | 'gz' | 'br', HashedBytes>>;

/** libuv has four threads; more files at a time would only take more memory. */
const limit = pLimit(4);

/** All compressors, by name. The same bytes always give the same encodings. */
export const compressors = {
  fast: {
    name: 'fast',
    compress: (identity: HashedBytes): Encodings => ({
      identity,
      // Synchronous: for a short file, a thread costs more than the compression.
      gz: toHashed(gzipSync(identity.bytes, { level: 6 })),
      br: toHashed(brotliCompressSync(identity.bytes, toBrotliOptions(identity.bytes, 5))),
    }),
  },
  best: {
    name: 'best',
    compress: (identity: HashedBytes): Promise<Encodings> =>
      limit(async () => ({
        identity,
        gz: toHashed(await promisify(gzip)(identity.bytes, { level: 9 })),
        br: toHashed(await promisify(brotliCompress)(identity.bytes, toBrotliOptions(identity.bytes, 11))),
      })),
  },
} as const satisfies Record<Compression, unknown>;
export type Compressor = (typeof compressors)[Compression];

/** Hashes bytes. */
export function toHashed(bytes: Uint8Array): HashedBytes {
  return { bytes, sha256: hash('sha256', bytes) };
}

function toBrotliOptions(bytes: Uint8Array, quality: number): BrotliOptions {
  return {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: quality,
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  };
}
