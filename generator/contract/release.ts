import { z } from 'zod';

/** The version of the paths and shapes of a release; a server refuses a release of another major version. */
export const contractVersion = '2.0.0';

/** `manifest.json` of a release: what it holds, and how every byte of it is proved. */
export const Manifest = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{16}$/),
  contractVersion: z.string(),
  /** How hard the `.gz` and `.br` forms are compressed. */
  compression: z.enum(['fast', 'best']),
  counts: z.strictObject({
    blogArticles: z.int(),
    knowledgeBaseArticles: z.int(),
    services: z.int(),
    games: z.int(),
    tlds: z.int(),
    monitors: z.int(),
    media: z.int(),
  }),
  /** The day, YYYY-MM-DD, on which the next scheduled article is due; a build on that day publishes it. */
  nextChangeAt: z.iso.date().nullable(),
  files: z.record(z.string(), z.strictObject({ bytes: z.int(), sha256: z.string().regex(/^[0-9a-f]{64}$/) })),
});
export type Manifest = z.infer<typeof Manifest>;

/** Whether a file of a release is the compressed form of another. */
export function isCompressed(file: string): boolean {
  return /\.(?:gz|br)$/.test(file);
}

/**
 * The text whose SHA-256, cut to 16 hexadecimal digits, is the id of a release: its manifest without the id and without
 * the compressed forms, whose bytes differ between builds of zlib though they hold the same. Two releases of one id
 * therefore hold the same to the byte.
 */
export function idSource(manifest: Omit<Manifest, 'id'>): string {
  const { contractVersion: version, compression, counts, nextChangeAt, files } = manifest;
  return JSON.stringify([
    version,
    compression,
    Object.entries(counts),
    nextChangeAt,
    Object.entries(files)
      .filter(([file]) => !isCompressed(file))
      .map(([file, { bytes, sha256 }]) => [file, bytes, sha256]),
  ]);
}
