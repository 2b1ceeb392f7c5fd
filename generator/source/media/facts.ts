import { imageSize } from 'image-size';
import { withTimeLimit } from '../../common/time-limit.ts';
import { detectFormat } from './format.ts';
import type { FormatName } from './format.ts';
import { readSvg } from './svg.ts';
import type { SvgFault } from './svg.ts';

/** What the bytes of a media file say. It is plain JSON, so that the cache can store it. */
export interface MediaFacts {
  /** Undefined if the format is not known. */
  readonly format?: FormatName;
  /** The size of a picture as browsers show it; undefined if it is not known. */
  readonly size?: Size;
  readonly fault?: MediaFault;
}

/** A fault in the bytes of a media file. */
export interface MediaFault {
  /** An error if browsers certainly do not show the file. */
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly hint: string;
  /** Its place, if the file is a text. */
  readonly at?: Pick<SvgFault, 'line' | 'column'>;
}

/** The size of a picture in pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The limit of CPU time; a real picture takes less than 1 ms. */
const maxMs = 5000;

/** The headers of a picture are within its first bytes; reading damaged ones must not take long. */
const maxHeaderBytes = 4 * 1024 * 1024;

/** Reads what the bytes of a media file say. Never throws, whatever they are. */
export function readMediaFacts(bytes: Uint8Array): MediaFacts {
  let format: FormatName | undefined;
  try {
    const found = (format = withTimeLimit(() => detectFormat(bytes), maxMs));
    if (found === undefined) return {};
    return { format: found, ...withTimeLimit(() => readPicture(found, bytes), maxMs) };
  } catch {
    const message = 'the size of the picture cannot be read';
    return {
      ...(format && { format }),
      fault: { severity: 'warning', message, hint: 'it may be damaged: save it again' },
    };
  }
}

function readPicture(format: FormatName, bytes: Uint8Array): Omit<MediaFacts, 'format'> {
  if (format === 'svg') {
    const { width = 0, height = 0, fault } = readSvg(bytes);
    if (!fault) return toSize(width, height);
    const { message, hint, ...at } = fault;
    return { fault: { severity: 'error', message, hint, at } };
  }
  if (!['png', 'jpeg', 'gif', 'webp', 'avif'].includes(format)) return {};
  // A copy: image-size reads past the end of a view, into what else is in its buffer.
  const { width, height, orientation = 1 } = imageSize(new Uint8Array(bytes.subarray(0, maxHeaderBytes)));
  // Browsers turn a photo as its camera was held: from the fifth orientation on by a quarter.
  const size = orientation >= 5 ? toSize(height, width) : toSize(width, height);
  if (size.size) return size;
  throw new RangeError(`${width} x ${height}`);
}

/** A size that browsers can show; pictures of more pixels in a row exist only in damaged headers. */
const maxPixels = 65_535;

function toSize(width: number, height: number): Pick<MediaFacts, 'size'> {
  const size = { width: Math.round(width), height: Math.round(height) };
  return [size.width, size.height].every((length) => length >= 1 && length <= maxPixels) ? { size } : {};
}
