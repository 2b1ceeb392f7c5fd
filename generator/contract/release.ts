import { z } from 'zod';

/** The version of the paths and schemas of a release; a server rejects a release of another major version. */
export const contractVersion = '2.0.0';

/** `manifest.json` of a release without its files. */
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
  /** The publication day of the next scheduled article, YYYY-MM-DD; a build on that day publishes it. */
  nextChangeAt: z.iso.date().nullable(),
});
export type ManifestHead = z.infer<typeof ManifestHead>;

/** The size and hash of a file of a release. */
export const ManifestFile = z.strictObject({ bytes: z.int(), sha256: z.string().regex(/^[0-9a-f]{64}$/) });
export type ManifestFile = z.infer<typeof ManifestFile>;

/** `manifest.json` of a release: its contents, with the size and hash of every file. */
export const Manifest = ManifestHead.extend({ files: z.record(z.string(), ManifestFile) });
export type Manifest = z.infer<typeof Manifest>;

/** Whether a file of a release is a compressed encoding of another. */
export function isCompressed(file: string): boolean {
  return /\.(?:gz|br)$/.test(file);
}
