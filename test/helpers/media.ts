import { crc32, deflateSync } from 'node:zlib';

/** Creates a PNG picture of one colour. */
export function png(width: number, height: number, padding = 0): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0], 8);
  const rows = deflateSync(Buffer.alloc((width + 1) * height));
  const text = padding > 0 ? [pngChunk('tEXt', Buffer.alloc(padding, 'x'))] : [];
  const chunks = [pngChunk('IHDR', header), ...text, pngChunk('IDAT', rows), pngChunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...chunks]);
}

function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  return Buffer.concat([uint32(data.length), body, uint32(crc32(body))]);
}

/** Creates the headers of a JPEG picture with an orientation, in either byte order. */
export function jpeg(width: number, height: number, orientation?: number, isLittleEndian = false): Buffer {
  const value = orientation ?? 1;
  const big = Buffer.from(`MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0${String.fromCharCode(value)}\0\0`, 'latin1');
  const little = Buffer.from(
    `II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0${String.fromCharCode(value)}\0\0\0`,
    'latin1',
  );
  const tiff = Buffer.concat([isLittleEndian ? little : big, uint32(0)]);
  const exif = jpegSegment(0xe1, Buffer.concat([Buffer.from('Exif\0\0'), tiff]));
  const frame = Buffer.from([8, height >> 8, height, width >> 8, width, 1, 1, 0x11, 0]);
  const segments = [jpegSegment(0xe0, Buffer.from('JFIF\0\x01\x01\0\0\x01\0\x01\0\0', 'latin1'))];
  if (orientation !== undefined) segments.push(exif);
  const start = Buffer.from([0xff, 0xd8]);
  return Buffer.concat([start, ...segments, jpegSegment(0xc0, frame), Buffer.from([0xff, 0xd9])]);
}

function jpegSegment(marker: number, data: Buffer): Buffer {
  const length = data.length + 2;
  return Buffer.concat([Buffer.from([0xff, marker, length >> 8, length]), data]);
}

/** The first bytes of a file of each media type. Pictures are 12 pixels wide and 8 high. */
export const mediaSamples: Readonly<Record<string, Buffer>> = {
  avif: avif(12, 8),
  gif: Buffer.from('GIF89a\x0c\0\x08\0\0\0\0;', 'latin1'),
  jpeg: jpeg(12, 8),
  jpg: jpeg(12, 8),
  m4a: box('ftyp', Buffer.from('M4A \0\0\0\0M4A mp42', 'latin1')),
  mp3: Buffer.from('ID3\x04\0\0\0\0\0\0', 'latin1'),
  mp4: box('ftyp', Buffer.from('isom\0\0\0\0isommp41', 'latin1')),
  ogg: Buffer.from('OggS\0\x02\0\0', 'latin1'),
  opus: Buffer.from('OggS\0\x02\0\x01', 'latin1'),
  pdf: Buffer.from('%PDF-1.7\n'),
  png: png(12, 8),
  svg: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="12" height="8"/>\n'),
  wav: Buffer.from('RIFF\x24\0\0\0WAVEfmt ', 'latin1'),
  webm: Buffer.from('\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm', 'latin1'),
  webp: webp(12, 8),
};

function webp(width: number, height: number): Buffer {
  const canvas = Buffer.alloc(10);
  canvas.writeUIntLE(width - 1, 4, 3);
  canvas.writeUIntLE(height - 1, 7, 3);
  return Buffer.concat([Buffer.from('RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0', 'latin1'), canvas]);
}

/** Creates the headers of an AVIF picture of one tile of 4 x 4 pixels and the whole picture. */
export function avif(width: number, height: number, turns = 0, brand = 'avif', ...properties: Buffer[]): Buffer {
  const sizes = [
    [4, 4],
    [width, height],
  ].map(([w, h]) => box('ispe', uint32(0), uint32(w!), uint32(h!)));
  const turned = turns === 0 ? [] : [box('irot', Buffer.from([turns]))];
  // Item 1 is the tile, and item 2, the primary item, has the second size.
  const items = box('ipma', uint32(0), uint32(2), Buffer.from([0, 1, 1, 1, 0, 2, 1, 2]));
  const all = box('iprp', box('ipco', ...sizes, ...turned, ...properties), items);
  const meta = box('meta', uint32(0), box('pitm', uint32(0), Buffer.from([0, 2])), all);
  return Buffer.concat([box('ftyp', Buffer.from(`${brand}\0\0\0\0${brand}mif1`, 'latin1')), meta]);
}

/** Creates a box of a file such as AVIF or MP4. */
export function box(type: string, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([uint32(content.length + 8), Buffer.from(type), content]);
}

/** Encodes a number in four bytes, big-endian. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
