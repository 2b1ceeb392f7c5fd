import { z } from 'zod';

/** The version of paths and schemas in a release; servers reject releases of another major version. */
export const contractVersion = '2.0.0';

/** The `manifest.json` of a release, without the files. */
export const ManifestHead = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{16}$/),
  contractVersion: z.string(),
  /** The compression level of the `.gz` and `.br` files. */
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
  /** The next day from which a build of the same content has another result, YYYY-MM-DD. */
  nextChangeAt: z.iso.date().nullable(),
});
export type ManifestHead = z.infer<typeof ManifestHead>;

export const ManifestFile = z.strictObject({ bytes: z.int(), sha256: z.string().regex(/^[0-9a-f]{64}$/) });
export type ManifestFile = z.infer<typeof ManifestFile>;

/** The `manifest.json` of a release, with the size and hash of every file. */
export const Manifest = ManifestHead.extend({ files: z.record(z.string(), ManifestFile) });
export type Manifest = z.infer<typeof Manifest>;

/** Checks whether a file of a release is a compressed copy of another file. */
export function isCompressed(file: string): boolean {
  return /\.(?:gz|br)$/.test(file);
}
