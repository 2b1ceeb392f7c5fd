import { z } from 'zod';

/** The version of the paths and shapes of a release; a server refuses a release of another major version. */
export const contractVersion = '2.0.0';

/** `manifest.json` of a release without its files. */
export const ManifestHead = z.strictObject({
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
});
export type ManifestHead = z.infer<typeof ManifestHead>;

/** What proves a file of a release. */
export const ManifestFile = z.strictObject({ bytes: z.int(), sha256: z.string().regex(/^[0-9a-f]{64}$/) });
export type ManifestFile = z.infer<typeof ManifestFile>;

/** `manifest.json` of a release: what it holds, and how every byte of it is proved. */
export const Manifest = ManifestHead.extend({ files: z.record(z.string(), ManifestFile) });
export type Manifest = z.infer<typeof Manifest>;

/** Whether a file of a release is the compressed form of another. */
export function isCompressed(file: string): boolean {
  return /\.(?:gz|br)$/.test(file);
}
