import { promisify } from 'node:util';
import { brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from 'node:zlib';
import type { BrotliOptions } from 'node:zlib';
import pLimit from 'p-limit';
import type { Manifest } from '#contract/release.ts';

/** The compression level: `fast` takes less time than rendering, `best` makes the smallest files. */
export type Compression = Manifest['compression'];

/** The bytes of a file in each encoding: identity, gzip and Brotli. */
export type Encodings = Readonly<Record<'identity' | 'gz' | 'br', Uint8Array>>;

type Compress = (identity: Uint8Array) => Encodings | Promise<Encodings>;

/** Compresses files deterministically. */
export type Compressor = ReturnType<typeof once>;

/** libuv has four threads; more files at a time would only use more memory. */
const limit = pLimit(4);

/** All compressors, by name. */
export const compressors: Record<Compression, Compressor> = {
  fast: once('fast', (identity) => ({
    identity,
    // For a short file, another thread costs more than the compression.
    gz: gzipSync(identity, { level: 6 }),
    br: brotliCompressSync(identity, toBrotliOptions(identity, 5)),
  })),
  best: once('best', (identity) =>
    limit(async () => ({
      identity,
      gz: await promisify(gzip)(identity, { level: 9 }),
      br: await promisify(brotliCompress)(identity, toBrotliOptions(identity, 11)),
    })),
  ),
};

/** Compresses a buffer once in a process: the reference of /docs is a third of the work of a small build. */
function once(name: Compression, compress: Compress) {
  const known = new WeakMap<Uint8Array, ReturnType<Compress>>();
  return {
    name,
    compress(identity: Uint8Array): ReturnType<Compress> {
      const encodings = known.get(identity) ?? compress(identity);
      known.set(identity, encodings);
      return encodings;
    },
  };
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
