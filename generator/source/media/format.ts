/** What the bytes of a file are, whatever its name says. */
export interface Format {
  /** With its article, for messages. */
  readonly label: string;
  /** The endings of its names; none if it is not served. */
  readonly endings: readonly string[];
  /** What browsers do with it: they look at the bytes of pictures, and of videos and sounds, not at the type. */
  readonly family: 'picture' | 'player' | 'other';
}

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
  heic: { label: 'a HEIC picture', endings: [], family: 'other' },
  bmp: { label: 'a BMP picture', endings: [], family: 'picture' },
  tiff: { label: 'a TIFF picture', endings: [], family: 'other' },
  photoshop: { label: 'a Photoshop file', endings: [], family: 'other' },
  jpegXl: { label: 'a JPEG XL picture', endings: [], family: 'other' },
  gzip: { label: 'a compressed file (gzip)', endings: [], family: 'other' },
  zip: { label: 'a ZIP archive', endings: [], family: 'other' },
  gitLfs: { label: 'a pointer of Git LFS', endings: [], family: 'other' },
  html: { label: 'a web page', endings: [], family: 'other' },
  empty: { label: 'empty', endings: [], family: 'other' },
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
export function detectFormat(bytes: Uint8Array): FormatName | undefined {
  const head = bytes.subarray(0, headBytes);
  const encoding = byteOrderMarkOf(head);
  const text = encoding ? new TextDecoder(encoding).decode(head) : Buffer.from(head).toString('latin1');
  return signatures.find(([, pattern]) => pattern.test(text))?.[0];
}

/** The encoding of a text that begins with a byte order mark. */
export function byteOrderMarkOf(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 3)).toString('hex');
  if (start === 'efbbbf') return 'utf-8';
  return start.startsWith('fffe') ? 'utf-16le' : start.startsWith('feff') ? 'utf-16be' : undefined;
}
