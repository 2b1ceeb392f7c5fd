import { z } from 'zod';
import type { ServedFile } from '#contract/endpoint.ts';
import examples from '#contract/examples.json' with { type: 'json' };
import { Line, schemas } from '#contract/primitives.ts';

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
