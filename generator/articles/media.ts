import { basename, extname } from 'node:path';
import { mediaTypes } from '#contract/articles.ts';
import type { Diagnostics } from '../source/diagnostics.ts';
import { placeOf, readSource } from '../source/load.ts';
import type { SourceFile } from '../source/load.ts';
import { formatOfEnding, formats, readMediaFacts } from '../source/media.ts';
import type { Format, MediaFacts, PictureSizes, Size } from '../source/media.ts';
import { mediaKey } from './cache.ts';
import type { ArticleCache } from './cache.ts';
import type { Content } from './content.ts';

/** Pages with larger pictures load slowly on phones. */
const maxPictureBytes = 1_000_000;

/**
 * Reads the media files that the cache does not know, and reports those that are not what their names say, that browsers do
 * not show, or that are too large. Returns the sizes of the pictures.
 */
export function checkMediaFiles({ media }: Content, cache: ArticleCache, diagnostics: Diagnostics): PictureSizes {
  const sizes = new Map<string, Size>();
  for (const [path, file] of media) {
    const key = mediaKey(file);
    let facts = cache.read(key) as MediaFacts | undefined;
    if (!facts) {
      const bytes = readSource(file, diagnostics);
      if (!bytes) continue;
      cache.write(key, (facts = readMediaFacts(bytes)));
    }
    checkMediaFile(file, facts, diagnostics);
    if (facts.size) sizes.set(path, facts.size);
  }
  return sizes;
}

function checkMediaFile(file: SourceFile, { format, fault }: MediaFacts, diagnostics: Diagnostics): void {
  const ending = extname(file.path);
  const expected = formatOfEnding(ending.slice(1))!;
  const { label: wanted, family }: Format = formats[expected];
  if (format === expected) {
    if (fault) diagnostics.report(file.display, [fault]);
    if (mediaKindOf(file.path) !== 'image' || file.bytes <= maxPictureBytes) return;
    const message = `the picture has ${(file.bytes / 1e6).toFixed(1)} MB, more than 1 MB`;
    diagnostics.warning(placeOf(file), message, 'readers wait for it: make it smaller, or save it as WebP or AVIF');
  } else if (format) {
    const { label, endings, advice = 'remove it', ...actual }: Format = formats[format];
    const hint = endings[0] ? `rename it to "${basename(file.path, ending)}.${endings[0]}"` : advice;
    // Browsers look at the bytes of pictures, and at those of videos and sounds.
    const works = family !== 'other' && actual.family === family;
    diagnostics[works ? 'warning' : 'error'](placeOf(file), `the file is ${label}, not ${wanted}`, hint);
  } else {
    // Some players write sounds without a signature at the beginning.
    const severity = family === 'player' ? 'warning' : 'error';
    diagnostics[severity](placeOf(file), `the file is not ${wanted}`, 'save it again, or remove it');
  }
}

/** The kind of a media file by its ending: the first part of its media type. */
export function mediaKindOf(path: string): string | undefined {
  return mediaTypes[extname(path).slice(1)]?.split('/')[0];
}
