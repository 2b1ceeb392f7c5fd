import { z } from 'zod';
import type { ServedFile } from '#contract/endpoint.ts';
import examples from '#contract/examples.json' with { type: 'json' };
import { IsoDate, Line, Tags, schemas } from '#contract/primitives.ts';

/** Creates the schema of the front matter of a kind of article; `root` is the first segment of its paths. */
export function frontMatterOf<Own extends z.ZodRawShape>(root: string, own: Own) {
  const former = new RegExp(String.raw`^/${root}(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._-]+)+$`);
  return z.strictObject({
    title: Line.describe('Title of the article.'),
    description: Line.describe('One or two sentences for lists and search engines.'),
    ...own,
    category: Line.optional().describe('Display name of the category; must be the same in all its articles.'),
    draft: z.boolean().optional().describe('true excludes the article from every release.'),
    updated: IsoDate.optional().describe('Day of the last significant change, YYYY-MM-DD.'),
    tags: Tags.optional().describe('Tags: lower-case letters, digits and hyphens.'),
    aliases: z
      .array(z.string().regex(former, `must be a former path that begins with /${root}/`))
      .optional()
      .describe('Former paths of this article, which keep working.'),
  });
}

/** What the operation on one article of a kind has; the example is the path of one. */
export const articleFileOf = (root: string, example: string) =>
  ({
    hasFormerPaths: true,
    description:
      'A former path answers with the article too; its path and the header Content-Location have the present path.',
    query: z.object({
      path: z.string().meta({ description: `Full path of the article, starting with /${root}/.`, example }),
    }),
    missing: { code: 'path_required' },
    reply: 'The article.',
    problems: ['path_required', 'validation_error'],
    messages: { validation_error: 'Query parameter path is given more than once' },
    absent: 'article_not_found',
  }) as const satisfies Partial<ServedFile>;

/** The `category.yaml` of a category. */
export const Category = z.strictObject({
  name: Line.describe('Display name of the category.'),
});
export type Category = z.infer<typeof Category>;

/** The `removed.yaml` of content/. */
export const Removed = z
  .array(
    z
      .string()
      .regex(
        /^\/(?:blog|knowledgebase)(?:\/[A-Za-z0-9._-]+)+$/,
        'must be a path that begins with /blog/ or /knowledgebase/',
      )
      .describe('Path of a former article, which begins with /blog/ or /knowledgebase/.'),
  )
  .describe('Paths that were online and are gone for good.');

/** Maps former article paths to current ones. */
export const Aliases = z.record(z.string(), z.string()).register(schemas, {
  id: 'Redirects',
  description: 'The present path of each former path of an article.',
  example: examples.listRedirects,
});
export type Aliases = z.infer<typeof Aliases>;

/** The media types that may be served below /media/, by file extension. */
export const mediaTypes: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  gif: 'image/gif',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  m4a: 'audio/mp4',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  ogg: 'audio/ogg',
  opus: 'audio/ogg',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  wav: 'audio/wav',
  webm: 'video/webm',
  webp: 'image/webp',
};

/** The static files of content/media/. */
export const mediaFiles = {
  getMedia: {
    file: 'public/media/{path*}',
    path: '/media/{path*}',
    tag: 'Media',
    summary: 'An image or other media file of an article',
    description: 'Articles refer to these files by their path.',
    mediaType: mediaTypes,
    reply: 'The file.',
    partReply: 'The part of the file that Range names.',
    example: examples.getMedia,
    problems: ['range_not_satisfiable'],
    absent: 'media_not_found',
    failure: 'internal_error',
  },
} as const satisfies Record<string, ServedFile>;
