import { promisify } from 'node:util';
import { brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from 'node:zlib';
import type { BrotliOptions } from 'node:zlib';
import pLimit from 'p-limit';
import type { Manifest } from '#contract/release.ts';

/** How hard files are compressed: `fast` costs less than rendering does, `best` is for a CDN's last percent. */
export type Compression = Manifest['compression'];

/** The bytes of a file of a release: as they are, and compressed. */
export interface Forms {
  readonly identity: Uint8Array;
  readonly gz: Uint8Array;
  readonly br: Uint8Array;
}

/** A way to compress files; the same bytes always give the same forms. */
export interface Compressor {
  readonly name: Compression;
  readonly compress: (identity: Uint8Array) => Forms | Promise<Forms>;
}

/** At `best`, this is most of a build, and worth the threads of libuv; more at a time would only take memory. */
const turn = pLimit(4);
const inThreads = { gzip: promisify(gzip), brotli: promisify(brotliCompress) };

const fast: Compressor = {
  name: 'fast',
  // To hand a short file to another thread and take it back costs more than to compress it.
  compress: (identity) => ({
    identity,
    gz: gzipSync(identity, { level: 6 }),
    br: brotliCompressSync(identity, toBrotliOptions(identity, 5)),
  }),
};

const best: Compressor = {
  name: 'best',
  compress: (identity) =>
    turn(async () => ({
      identity,
      gz: await inThreads.gzip(identity, { level: 9 }),
      br: await inThreads.brotli(identity, toBrotliOptions(identity, 11)),
    })),
};

/** The ways to compress, by their names. */
export const compressors: Record<Compression, Compressor> = { fast, best };

function toBrotliOptions(bytes: Uint8Array, quality: number): BrotliOptions {
  return {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: quality,
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  };
}
