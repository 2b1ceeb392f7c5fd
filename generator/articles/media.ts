import { basename, extname } from 'node:path';
import { mediaTypes } from '#contract/content.ts';
import type { Diagnostics } from '../source/diagnostics.ts';
import { placeOf, readSource } from '../source/load.ts';
import type { SourceFile } from '../source/load.ts';
import { formatOfEnding, formats, readMediaFacts } from '../source/media.ts';
import type { Format, FormatName, MediaFacts, PictureSizes, Size } from '../source/media.ts';
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
    const facts = cache.readMedia(file.sha256) ?? readFacts(file, cache, diagnostics);
    if (!facts) continue;
    checkMediaFile(file, facts, diagnostics);
    if (facts.size) sizes.set(path, facts.size);
  }
  return sizes;
}

function readFacts(file: SourceFile, cache: ArticleCache, diagnostics: Diagnostics): MediaFacts | undefined {
  const bytes = readSource(file, diagnostics);
  if (!bytes) return undefined;
  const facts = readMediaFacts(bytes);
  cache.writeMedia(file.sha256, facts);
  return facts;
}

function checkMediaFile(file: SourceFile, { format, fault }: MediaFacts, diagnostics: Diagnostics): void {
  const expected = formatOfEnding(extname(file.path).slice(1))!;
  if (format !== expected) return checkName(file, format, expected, diagnostics);
  if (fault) diagnostics.report(file.display, [fault]);
  if (mediaKindOf(file.path) === 'image' && file.bytes > maxPictureBytes) {
    const message = `the picture has ${(file.bytes / 1e6).toFixed(1)} MB, more than 1 MB`;
    diagnostics.warning(placeOf(file), message, 'readers wait for it: make it smaller, or save it as WebP or AVIF');
  }
}

/** Reports a file that is not what the ending of its name says. */
function checkName(
  file: SourceFile,
  format: FormatName | undefined,
  expected: FormatName,
  diagnostics: Diagnostics,
): void {
  const { label: wanted, family }: Format = formats[expected];
  const actual: Format | undefined = format && formats[format];
  if (!actual) {
    // Some players write sounds without a signature at the beginning.
    const severity = family === 'player' ? 'warning' : 'error';
    return diagnostics[severity](placeOf(file), `the file is not ${wanted}`, 'save it again, or remove it');
  }
  const ending = extname(file.path);
  const [better] = actual.endings;
  const hint = better ? `rename it to "${basename(file.path, ending)}.${better}"` : (actual.advice ?? 'remove it');
  // Browsers look at the bytes of pictures, and at those of videos and sounds.
  const works = family !== 'other' && actual.family === family;
  diagnostics[works ? 'warning' : 'error'](placeOf(file), `the file is ${actual.label}, not ${wanted}`, hint);
}

/** The kind of a media file by its ending: the first part of its media type. */
export function mediaKindOf(path: string): string | undefined {
  return mediaTypes[extname(path).slice(1)]?.split('/')[0];
}
