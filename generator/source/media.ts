import { imageSize } from 'image-size';
import { SaxesParser } from 'saxes';
import type { Finding } from '../common/finding.ts';
import { withTimeLimit } from '../common/time-limit.ts';

/** What the bytes of a media file say. It is plain JSON, so that the cache can store it. */
export interface MediaFacts {
  /** Undefined if the format is not known. */
  readonly format?: FormatName;
  /** The size of a picture as browsers show it; undefined if it is not known. */
  readonly size?: Size;
  /** An error if browsers certainly do not show the file. */
  readonly fault?: Finding;
}

/** The size of a picture in pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The sizes of pictures in pixels, by site path. */
export type PictureSizes = ReadonlyMap<string, Size>;

/** The limit of CPU time; a real picture takes less than 1 ms. */
const maxMs = 5000;

/** The headers of a picture are within its first bytes; reading damaged ones must not take long. */
const maxHeaderBytes = 4 * 1024 * 1024;

/** A size that browsers can show; pictures of more pixels in a row exist only in damaged headers. */
const maxPixels = 65_535;

/** Reads what the bytes of a media file say. Never throws, whatever they are. */
export function readMediaFacts(bytes: Uint8Array): MediaFacts {
  let format: FormatName | undefined;
  try {
    const found = (format = withTimeLimit(() => detectFormat(bytes), maxMs));
    if (found === undefined) return {};
    return { format: found, ...withTimeLimit(() => readPicture(found, bytes), maxMs) };
  } catch {
    const message = 'the size of the picture cannot be read';
    const hint = 'it may be damaged: save it again';
    return { ...(format && { format }), fault: { severity: 'warning', line: 1, column: 1, message, hint } };
  }
}

function readPicture(format: FormatName, bytes: Uint8Array): MediaFacts {
  if (format === 'svg') return readSvg(bytes);
  if (!['png', 'jpeg', 'gif', 'webp', 'avif'].includes(format)) return {};
  // A copy: image-size reads past the end of a view, into what else is in its buffer.
  const { width, height, orientation = 1 } = imageSize(new Uint8Array(bytes.subarray(0, maxHeaderBytes)));
  // Browsers turn a photo as its camera was held: from the fifth orientation on by a quarter.
  const facts = orientation >= 5 ? toFacts(height, width) : toFacts(width, height);
  if (facts.size) return facts;
  throw new RangeError(`${width} x ${height}`);
}

function toFacts(width: number, height: number): MediaFacts {
  const size = { width: Math.round(width), height: Math.round(height) };
  return [size.width, size.height].every((length) => length >= 1 && length <= maxPixels) ? { size } : {};
}

/** What the bytes of a file are, whatever its name says. */
export interface Format {
  /** With its article, for messages. */
  readonly label: string;
  /** The endings of its names; none if it is not served. */
  readonly endings: readonly string[];
  /** What browsers do with it: they look at the bytes of pictures, and of videos and sounds, not at the type. */
  readonly family: 'picture' | 'player' | 'other';
  /** What to do with a file that is not served. */
  readonly advice?: string;
}

const saveAs = 'browsers do not show it: save it as JPEG, PNG, WebP or AVIF';

/** All formats that are recognised, those that are served first. */
export const formats = {
  png: { label: 'a PNG picture', endings: ['png'], family: 'picture' },
  jpeg: { label: 'a JPEG picture', endings: ['jpg', 'jpeg'], family: 'picture' },
  gif: { label: 'a GIF picture', endings: ['gif'], family: 'picture' },
  webp: { label: 'a WebP picture', endings: ['webp'], family: 'picture' },
  avif: { label: 'an AVIF picture', endings: ['avif'], family: 'picture' },
  svg: { label: 'an SVG picture', endings: ['svg'], family: 'other' },
  pdf: { label: 'a PDF document', endings: ['pdf'], family: 'other' },
  // Of the same structure: a sound in MP4 is an M4A, a sound in WebM is Opus or Vorbis.
  mp4: { label: 'an MP4 file', endings: ['mp4', 'm4a'], family: 'player' },
  webm: { label: 'a WebM file', endings: ['webm'], family: 'player' },
  mp3: { label: 'an MP3 file', endings: ['mp3'], family: 'player' },
  ogg: { label: 'an Ogg file', endings: ['ogg', 'opus'], family: 'player' },
  wav: { label: 'a WAV file', endings: ['wav'], family: 'player' },
  heic: { label: 'a HEIC picture', endings: [], family: 'other', advice: saveAs },
  bmp: { label: 'a BMP picture', endings: [], family: 'picture', advice: 'save it as PNG' },
  tiff: { label: 'a TIFF picture', endings: [], family: 'other', advice: saveAs },
  photoshop: { label: 'a Photoshop file', endings: [], family: 'other', advice: saveAs },
  jpegXl: { label: 'a JPEG XL picture', endings: [], family: 'other', advice: saveAs },
  gzip: { label: 'a compressed file (gzip)', endings: [], family: 'other', advice: 'unpack it' },
  zip: { label: 'a ZIP archive', endings: [], family: 'other', advice: 'unpack it' },
  gitLfs: {
    label: 'a pointer of Git LFS',
    endings: [],
    family: 'other',
    advice: 'run "git lfs pull", which gets the file itself',
  },
  html: { label: 'a web page', endings: [], family: 'other', advice: 'the download was a page: save the file itself' },
  empty: { label: 'empty', endings: [], family: 'other', advice: 'save it again' },
} as const satisfies Record<string, Format>;

/** The name of a format. */
export type FormatName = keyof typeof formats;

/** The format that a name promises by its ending. */
export function formatOfEnding(ending: string): FormatName | undefined {
  return formatNames.find((name) => (formats[name].endings as readonly string[]).includes(ending));
}

const formatNames = Object.keys(formats) as FormatName[];

/** The first element of an SVG or a web page stands within this many bytes, after comments. */
const headBytes = 16_384;

/* oxlint-disable no-control-regex -- Signatures contain such bytes. */
/** The signatures at the beginning of a file, in which each character stands for a byte. */
const signatures: readonly (readonly [FormatName, RegExp])[] = [
  ['empty', /^$/],
  ['png', /^\x89PNG\r\n\x1a\n/],
  ['jpeg', /^\xff\xd8\xff/],
  ['gif', /^GIF8[79]a/],
  ['webp', /^RIFF[^]{4}WEBP/],
  ['wav', /^RIFF[^]{4}WAVE/],
  ['avif', /^[^]{4}ftypavi[fs]/],
  ['heic', /^[^]{4}ftyphe[iv][cmsx]/],
  // The main brand of other HEIF files names no codec; the list of compatible brands does.
  ['avif', /^[^]{4}ftypm[is]f1[^]{0,32}?avif/],
  ['heic', /^[^]{4}ftypm[is]f1/],
  ['mp4', /^[^]{4}(?:ftyp|moov|mdat|free|skip|wide)/],
  ['webm', /^\x1aE\xdf\xa3[^]{0,64}?webm/],
  ['ogg', /^OggS/],
  ['mp3', /^(?:ID3|\xff[\xe2\xe3\xf2-\xf5\xfa-\xfd])/],
  ['bmp', /^BM[^]{4}\0{4}/],
  ['tiff', /^(?:II\*\0|MM\0\*)/],
  ['photoshop', /^8BPS/],
  ['jpegXl', /^(?:\xff\x0a|\0{3}\x0cJXL )/],
  ['gzip', /^\x1f\x8b/],
  ['zip', /^PK\x03\x04/],
  ['gitLfs', /^version https:\/\/git-lfs\.github\.com\//],
  ['html', /^\s*(?:<!--(?:(?!-->)[^])*-->\s*)*<(?:!doctype\s+html|html|head|body|script|title|meta|div|p)[\s>]/i],
  ['svg', /^\s*<(?:[^]*<)?(?:[\w-]+:)?svg(?=[\s/>])/i],
  // Programs put other bytes before it, so that it comes last.
  ['pdf', /^[^]{0,1024}?%PDF-/],
];
/* oxlint-enable no-control-regex */

/** Finds out what the bytes of a file are. */
function detectFormat(bytes: Uint8Array): FormatName | undefined {
  const head = bytes.subarray(0, headBytes);
  const encoding = byteOrderMarkOf(head);
  const text = encoding ? new TextDecoder(encoding).decode(head) : Buffer.from(head).toString('latin1');
  return signatures.find(([, pattern]) => pattern.test(text))?.[0];
}

/** The encoding of a text that begins with a byte order mark. */
function byteOrderMarkOf(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 3)).toString('hex');
  if (start === 'efbbbf') return 'utf-8';
  return start.startsWith('fffe') ? 'utf-16le' : start.startsWith('feff') ? 'utf-16be' : undefined;
}

const namespace = 'http://www.w3.org/2000/svg';

/** Reads an SVG as browsers read that of an `<img>`: it is XML, and one mistake hides the whole picture. */
function readSvg(bytes: Uint8Array): MediaFacts {
  const text = decode(bytes);
  if (text === undefined) return toFault(notXml, 'save it as UTF-8');
  const parser = new SaxesParser({ xmlns: true });
  let facts: MediaFacts | undefined;
  let isRoot = true;
  const fail = (message: string, hint: string): void => {
    if (!facts?.fault) facts = toFault(message, hint, parser.line, parser.columnIndex + 1);
  };
  parser.on('error', ({ message }) => fail(notXml, hintFor(message)));
  parser.on('doctype', (doctype) => {
    // Drawing programs declare their namespaces as entities.
    for (const [, name = '', double, single = ''] of doctype.matchAll(entityDeclaration)) {
      parser.ENTITIES[name] = double ?? single;
    }
  });
  parser.on('opentag', ({ local, uri, attributes }) => {
    if (!isRoot) return;
    isRoot = false;
    const hint = `begin it with <svg xmlns="${namespace}">`;
    if (local !== 'svg' || uri !== namespace) fail('browsers do not show this SVG: its namespace is missing', hint);
    else facts ??= sizeOf((name) => attributes[name]?.value);
  });
  parser.write(text).close();
  return facts ?? {};
}

function toFault(message: string, hint: string, line = 1, column = 1): MediaFacts {
  return { fault: { severity: 'error', line, column, message, hint } };
}

const notXml = 'browsers do not show this SVG: it is not well-formed XML';

const entityDeclaration = /<!ENTITY\s+([\w.:-]+)\s+(?:"([^"]*)"|'([^']*)')/g;

function hintFor(message: string): string {
  if (message.includes('undefined entity')) return 'XML has no names for characters such as &nbsp;; write &#160;';
  const [, prefix] = /unbound namespace prefix: "?([\w-]+)/.exec(message) ?? [];
  if (prefix === 'xlink') return 'add xmlns:xlink="http://www.w3.org/1999/xlink" to <svg>';
  if (prefix !== undefined) return `declare the prefix "${prefix}", or remove what has it`;
  return 'export it again, or correct what stands here';
}

function decode(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 100)).toString('latin1');
  const [, declared] = /^<\?xml[^>]*?\sencoding\s*=\s*["']([\w-]+)["']/.exec(start) ?? [];
  try {
    return new TextDecoder(byteOrderMarkOf(bytes) ?? declared ?? 'utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The pixels of a unit of CSS. */
const units = new Map([
  ['', 1],
  ['px', 1],
  ['in', 96],
  ['cm', 96 / 2.54],
  ['mm', 96 / 25.4],
  ['q', 96 / 101.6],
  ['pt', 96 / 72],
  ['pc', 16],
]);

/** The size in pixels; a missing or relative length follows from the view box. */
function sizeOf(attribute: (name: string) => string | undefined): MediaFacts {
  const [width, height] = [toPixels(attribute('width')), toPixels(attribute('height'))];
  if (width && height) return toFacts(width, height);
  const box = (
    attribute('viewBox')
      ?.trim()
      .split(/[\s,]+/) ?? []
  ).map(Number);
  const [, , boxWidth = 0, boxHeight = 0] = box;
  if (box.length !== 4 || !(boxWidth > 0) || !(boxHeight > 0)) return {};
  if (width) return toFacts(width, (width * boxHeight) / boxWidth);
  return height ? toFacts((height * boxWidth) / boxHeight, height) : toFacts(boxWidth, boxHeight);
}

function toPixels(length: string | undefined): number | undefined {
  const [, number, unit = ''] = /^\s*\+?(\d*\.?\d+(?:e[+-]?\d+)?)([a-z]*)\s*$/i.exec(length ?? '') ?? [];
  const factor = units.get(unit.toLowerCase());
  return number === undefined || factor === undefined ? undefined : Number(number) * factor;
}
