import { imageDimensionsFromData } from 'image-dimensions';
import { SaxesParser } from 'saxes';
import type { Finding } from '../common/finding.ts';
import { mapWithTimeLimit } from '../common/time-limit.ts';

/** Facts read from the bytes of a media file, in plain JSON. */
export interface MediaFacts {
  /** A name in {@link formats}. */
  readonly format?: string;
  /** The size of a picture as browsers show it. */
  readonly size?: Size;
  /** An error if browsers certainly do not show the file. */
  readonly fault?: Finding;
}

/** The size of a picture in pixels. */
export type Size = Readonly<Record<'width' | 'height', number>>;

/** The sizes of pictures, by site path. */
export type PictureSizes = ReadonlyMap<string, Size>;

/** The limit of CPU time; a real picture takes less than 1 ms. */
const maxMs = 5000;

/** The headers are within the first bytes; damaged headers must not take long to read. */
const maxHeaderBytes = 4 * 1024 * 1024;

/** Larger sizes occur only in damaged headers. */
const maxPixels = 65_535;

/** Detects the format and the size of a media file. Never throws. */
export function readMediaFacts(bytes: Uint8Array): MediaFacts {
  let format: string | undefined;
  const read = (): MediaFacts | undefined => {
    try {
      format = detectFormat(bytes);
      return { ...(format && { format, ...readPicture(format, bytes) }) };
    } catch {
      return undefined;
    }
  };
  const [facts] = mapWithTimeLimit([read], (run) => run(), maxMs);
  const message = 'the size of the picture cannot be read';
  const fault = { severity: 'warning', line: 1, column: 1, message, hint: 'it may be damaged: save it again' } as const;
  return facts ?? { ...(format && { format }), fault };
}

function readPicture(format: string, bytes: Uint8Array): MediaFacts {
  if (format === 'svg') return readSvg(bytes);
  if (format === 'mp4') return readVideo(bytes);
  if (!['png', 'jpeg', 'gif', 'webp', 'avif'].includes(format)) return {};
  const head = Buffer.from(bytes.subarray(0, headBytes)).toString('latin1');
  if (unsized[format]?.test(head)) return {};
  const { width = 0, height = 0 } = imageDimensionsFromData(bytes.subarray(0, maxHeaderBytes)) ?? {};
  const facts = quarterTurn[format]?.some((sign) => sign.test(head)) ? toFacts(height, width) : toFacts(width, height);
  if (facts.size) return facts;
  throw new RangeError(`${width} x ${height}`);
}

/** Finds a codec that only some browsers play, in the list of codecs (`stsd`) of a video. */
function readVideo({ buffer, byteOffset, length }: Uint8Array): MediaFacts {
  const isHevc = /stsd[^]{12}(?:hvc1|hev1)/.test(Buffer.from(buffer, byteOffset, length).toString('latin1'));
  const message = 'the video is HEVC (H.265), which some browsers do not play';
  return isHevc ? { fault: { severity: 'warning', line: 1, column: 1, message, hint: 'convert it to H.264' } } : {};
}

function toFacts(width: number, height: number): MediaFacts {
  const size = { width: Math.round(width), height: Math.round(height) };
  return [size.width, size.height].every((length) => length >= 1 && length <= maxPixels) ? { size } : {};
}

/**
 * Describes a format by its signature, where a character is a byte, and its file endings. Browsers detect pictures,
 * videos and sounds by their bytes, not by the media type.
 */
const served = (label: string, family: 'picture' | 'player' | 'other', signature: RegExp, ...endings: string[]) => {
  return { label, family, signature, endings, advice: 'remove it' };
};
type Format = ReturnType<typeof served>;
const unserved = (label: string, signature: RegExp, advice: string): Format => {
  return { ...served(label, 'other', signature), advice };
};
const saveAs = 'browsers do not show it: save it as JPEG, PNG, WebP or AVIF';

/* oxlint-disable no-control-regex -- Signatures contain such bytes. */
/** Signs that browsers turn a picture by a quarter: EXIF orientations from 5 on, and odd turns of an AVIF. */
const quarterTurn: Partial<Record<string, readonly RegExp[]>> = {
  jpeg: [
    /Exif\0\0II\*\0(?:(?!\x12\x01\x03\0)[^]){4,2000}\x12\x01\x03\0\x01\0{3}[\x05-\x08]/,
    /Exif\0\0MM\0\*(?:(?!\x01\x12\0\x03)[^]){4,2000}\x01\x12\0\x03\0{3}\x01\0[\x05-\x08]/,
  ],
  avif: [/\0{3}\x09irot[\x01\x03]/],
};

/** Signs that the size in the headers is not what browsers show: an image sequence, a cropped picture. */
const unsized: Partial<Record<string, RegExp>> = { avif: /^[^]{4}ftyp[^]{0,64}?avis|\0{3}\x28clap/ };

/** All recognised formats; the first matching signature wins. */
export const formats: Readonly<Record<string, Format>> = {
  empty: unserved('empty', /^$/, 'save it again'),
  png: served('a PNG picture', 'picture', /^\x89PNG\r\n\x1a\n/, 'png'),
  jpeg: served('a JPEG picture', 'picture', /^\xff\xd8\xff/, 'jpg', 'jpeg'),
  gif: served('a GIF picture', 'picture', /^GIF8[79]a/, 'gif'),
  webp: served('a WebP picture', 'picture', /^RIFF[^]{4}WEBP/, 'webp'),
  wav: served('a WAV file', 'player', /^RIFF[^]{4}WAVE/, 'wav'),
  // The main brands mif1 and msf1 name no codec; the compatible brands do.
  avif: served('an AVIF picture', 'picture', /^[^]{4}ftyp(?:avi[fs]|m[is]f1[^]{0,32}?avif)/, 'avif'),
  heic: unserved('a HEIC picture', /^[^]{4}ftyp(?:he[iv][cmsx]|m[is]f1)/, saveAs),
  quicktime: {
    ...served('a QuickTime movie', 'player', /^[^]{4}ftypqt {2}/),
    advice: 'some browsers do not play it: convert it to MP4 with H.264',
  },
  // The containers also hold sounds: MP4 as .m4a, and WebM with Opus or Vorbis.
  mp4: served('an MP4 file', 'player', /^[^]{4}(?:ftyp|moov|mdat|free|skip|wide)/, 'mp4', 'm4a'),
  webm: served('a WebM file', 'player', /^\x1aE\xdf\xa3[^]{0,64}?webm/, 'webm'),
  ogg: served('an Ogg file', 'player', /^OggS/, 'ogg', 'opus'),
  mp3: served('an MP3 file', 'player', /^(?:ID3|\xff[\xe2\xe3\xf2-\xf5\xfa-\xfd])/, 'mp3'),
  bmp: { ...unserved('a BMP picture', /^BM[^]{4}\0{4}/, 'save it as PNG'), family: 'picture' },
  tiff: unserved('a TIFF picture', /^(?:II\*\0|MM\0\*)/, saveAs),
  gitLfs: unserved(
    'a pointer of Git LFS',
    /^version https:\/\/git-lfs\.github\.com\//,
    'run "git lfs pull" to fetch the file',
  ),
  html: unserved(
    'a web page',
    /^\s*(?:<!--(?:(?!-->)[^])*-->\s*)*<(?:!doctype\s+html|html|head|body|script|title|meta|div|p)[\s>]/i,
    'the download was a web page: save the file itself',
  ),
  svg: served('an SVG picture', 'other', /^\s*<(?:[^]*<)?(?:[\w-]+:)?svg(?=[\s/>])/i, 'svg'),
  // Last, because programs put other bytes before the signature.
  pdf: served('a PDF document', 'other', /^[^]{0,1024}?%PDF-/, 'pdf'),
};
/* oxlint-enable no-control-regex */

/** Finds the format of a file ending. */
export function formatOfEnding(ending: string): string | undefined {
  return findFormat(({ endings }) => endings.includes(ending));
}

function findFormat(matches: (format: Format) => boolean): string | undefined {
  return Object.keys(formats).find((name) => matches(formats[name]!));
}

/** Comments before the first element of an SVG or a web page must be shorter. */
const headBytes = 16_384;

function detectFormat(bytes: Uint8Array): string | undefined {
  const head = bytes.subarray(0, headBytes);
  const encoding = byteOrderMarkOf(head);
  const text = encoding ? new TextDecoder(encoding).decode(head) : Buffer.from(head).toString('latin1');
  return findFormat(({ signature }) => signature.test(text));
}

/** Detects the encoding by the byte order mark. */
function byteOrderMarkOf(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 3)).toString('hex');
  if (start === 'efbbbf') return 'utf-8';
  return start.startsWith('fffe') ? 'utf-16le' : start.startsWith('feff') ? 'utf-16be' : undefined;
}

const namespace = 'http://www.w3.org/2000/svg';
const notXml = 'it is not well-formed XML';

/** Reads an SVG as browsers do for `<img>`: one XML error hides the picture. */
function readSvg(bytes: Uint8Array): MediaFacts {
  const parser = new SaxesParser({ xmlns: true });
  let facts: MediaFacts = {};
  let isRoot = true;
  const fail = (reason: string, hint: string): void => {
    const message = `browsers do not show this SVG: ${reason}`;
    const fault = { severity: 'error', line: parser.line, column: parser.columnIndex + 1, message, hint } as const;
    if (!facts.fault) facts = { fault };
  };
  parser.on('error', () => fail(notXml, 'export it again, or fix the XML at this position'));
  parser.on('doctype', (doctype) => {
    // Drawing programs declare namespaces as entities.
    const declarations = doctype.matchAll(/<!ENTITY\s+([\w.:-]+)\s+(?:"([^"]*)"|'([^']*)')/g);
    for (const [, name = '', double, single = ''] of declarations) parser.ENTITIES[name] = double ?? single;
  });
  parser.on('opentag', ({ local, uri, attributes }) => {
    const hint = `begin it with <svg xmlns="${namespace}">`;
    if (isRoot && (local !== 'svg' || uri !== namespace)) fail('its namespace is missing', hint);
    else if (isRoot && !facts.fault) facts = sizeOf((name) => attributes[name]?.value);
    isRoot = false;
  });
  const text = decode(bytes);
  if (text === undefined) fail(notXml, 'save it as UTF-8');
  else parser.write(text).close();
  return facts;
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

/** CSS units in pixels. */
const units = { '': 1, px: 1, in: 96, cm: 96 / 2.54, mm: 96 / 25.4, q: 96 / 101.6, pt: 96 / 72, pc: 16 };
const pixelsOf = new Map(Object.entries(units));

/** Computes the size in pixels; the view box replaces missing and relative lengths. */
function sizeOf(attribute: (name: string) => string | undefined): MediaFacts {
  const [width, height] = [toPixels(attribute('width')), toPixels(attribute('height'))];
  if (width && height) return toFacts(width, height);
  const box = (attribute('viewBox') ?? '').trim().split(/[\s,]+/);
  const [, , boxWidth = 0, boxHeight = 0] = box.map(Number);
  if (box.length !== 4 || !(boxWidth > 0) || !(boxHeight > 0)) return {};
  if (width) return toFacts(width, (width * boxHeight) / boxWidth);
  return height ? toFacts((height * boxWidth) / boxHeight, height) : toFacts(boxWidth, boxHeight);
}

function toPixels(length = ''): number | undefined {
  const [, number, unit = ''] = /^\s*\+?(\d*\.?\d+(?:e[+-]?\d+)?)([a-z]*)\s*$/i.exec(length) ?? [];
  const pixels = pixelsOf.get(unit.toLowerCase());
  return number === undefined || pixels === undefined ? undefined : Number(number) * pixels;
}
