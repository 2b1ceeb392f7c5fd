import { describe, expect, test } from 'vitest';
import { mediaTypes } from '#contract/content.ts';
import { readMediaFacts } from '../../generator/source/media/facts.ts';
import { jpeg, mediaSamples, png } from '../helpers/media.ts';
import { article, createProject, guide } from '../helpers/project.ts';
import { problemsOf } from './problems.ts';

/** Checks a project in which an article uses a media file; returns the problems of the file. */
async function problemsOfMedia(name: string, bytes: Buffer | string): Promise<string[]> {
  const root = createProject({
    [`content/media/kb/${name}`]: bytes,
    'content/knowledgebase/vps/uses.md': guide('Uses', `[The file](/media/kb/${name})\n`),
  });
  const problems = await problemsOf(root);
  return problems.map((problem) => problem.replace(`content/media/kb/${name}:`, ''));
}

const damaged = 'warning: the size of the picture cannot be read (it may be damaged: save it again)';
const notXml = 'browsers do not show this SVG: it is not well-formed XML';
const again = 'export it again, or correct what stands here';
const svg = (text: string): string => `<svg xmlns="http://www.w3.org/2000/svg">${text}</svg>\n`;

test.each(Object.keys(mediaTypes))('a file that is what its ending (%s) says has no problem', async (ending) => {
  expect(await problemsOfMedia(`sample.${ending}`, mediaSamples[ending]!)).toEqual([]);
});

test.each([
  ['a thousand comments', '<!-- x -->\n'.repeat(1000)],
  ['the name of another format in a comment', '<!-- %PDF-1.4 -->'],
])('an SVG that begins with %s has no problem', async (_, head) => {
  expect(await problemsOfMedia('a.svg', `${head}${svg('')}`)).toEqual([]);
});

describe('a media file is reported:', () => {
  test.each(
    Object.entries<[string, Buffer | string]>({
      // What browsers show nevertheless.
      '1:1  warning: the file is a PNG picture, not a JPEG picture (rename it to "a.png")': ['a.jpg', png(2, 1)],
      '1:1  warning: the file is a JPEG picture, not a WebP picture (rename it to "a.jpg")': ['a.webp', jpeg(2, 1)],
      '1:1  warning: the file is an MP4 file, not a WebM file (rename it to "a.mp4")': ['a.webm', mediaSamples['mp4']!],
      // What they do not show.
      '1:1  the file is an SVG picture, not a PNG picture (rename it to "a.svg")': ['a.png', svg('')],
      '1:1  the file is a PNG picture, not an SVG picture (rename it to "a.png")': ['a.svg', png(2, 1)],
      '1:1  the file is a web page, not a PNG picture (the download was a page: save the file itself)': [
        'a.png',
        '<!doctype html>\n<title>404</title>\n',
      ],
      '1:1  the file is a web page, not an MP4 file (the download was a page: save the file itself)': [
        'a.mp4',
        '\n<html lang="en">x',
      ],
      '1:1  the file is a PDF document, not a PNG picture (rename it to "a.pdf")': ['a.png', mediaSamples['pdf']!],
      '1:1  the file is a HEIC picture, not a JPEG picture (browsers do not show it: save it as JPEG, PNG, WebP or AVIF)':
        ['a.jpg', Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic', 'latin1')],
      '1:1  the file is a pointer of Git LFS, not a PNG picture (run "git lfs pull", which gets the file itself)': [
        'a.png',
        'version https://git-lfs.github.com/spec/v1\noid sha256:0\n',
      ],
      '1:1  the file is a compressed file (gzip), not an SVG picture (unpack it)': [
        'a.svg',
        Buffer.from('\x1f\x8b\x08\0', 'latin1'),
      ],
      '1:1  the file is empty, not a GIF picture (save it again)': ['a.gif', ''],
      '1:1  the file is not a PNG picture (save it again, or remove it)': ['a.png', 'Hello'],
      '1:1  warning: the file is not an MP3 file (save it again, or remove it)': ['a.mp3', 'Hello'],
      '1:1  warning: the picture has 1.4 MB, more than 1 MB (readers wait for it: make it smaller, or save it as WebP or AVIF)':
        ['d.png', png(2, 1, 1_400_000)],
      // SVG.
      [`3:7  ${notXml} (${again})`]: ['a.svg', svg('\n  <g>\n')],
      [`1:48  ${notXml} (${again})`]: ['b.svg', svg('<g id=a/>')],
      [`1:54  ${notXml} (XML has no names for characters such as &nbsp;; write &#160;)`]: [
        'c.svg',
        svg('<text>a&nbsp;b</text>'),
      ],
      [`1:63  ${notXml} (add xmlns:xlink="http://www.w3.org/1999/xlink" to <svg>)`]: [
        'd.svg',
        svg('<use xlink:href="#a"/>'),
      ],
      '1:28  browsers do not show this SVG: its namespace is missing (begin it with <svg xmlns="http://www.w3.org/2000/svg">)':
        ['e.svg', '<svg width="1" height="1"/>'],
      [`1:1  ${notXml} (save it as UTF-8)`]: ['f.svg', Buffer.from(svg('<title>\xe4</title>'), 'latin1')],
      [`1:43  ${notXml} (${again})`]: ['g.svg', '<svg xmlns="http://www.w3.org/2000/svg"><g'],
    }),
  )('%s', async (problem, [name, bytes]) => {
    expect(await problemsOfMedia(name, bytes)).toEqual([problem]);
  });

  test.each<[string, Buffer]>([
    ['it is damaged', png(2, 1).subarray(0, 14)],
    ['it has no pixels', png(0, 0)],
    ['it has too many pixels', Buffer.concat([png(2, 1).subarray(0, 16), Buffer.alloc(8, 255)])],
    ['its headers end', jpeg(2, 1).subarray(0, 25)],
  ])('%s', async (_, bytes) => {
    const name = bytes[0] === 0xff ? 'a.jpg' : 'a.png';
    expect(await problemsOfMedia(name, bytes)).toEqual([`1:1  ${damaged}`]);
  });
});

test.each([
  [
    'entities, as drawing programs write it',
    '<!DOCTYPE svg [<!ENTITY ns_svg "http://www.w3.org/2000/svg">]>\n<svg xmlns="&ns_svg;"><text>&ns_svg;</text></svg>',
  ],
  [
    'another encoding',
    Buffer.from(
      '<?xml version="1.0" encoding="iso-8859-1"?><svg xmlns="http://www.w3.org/2000/svg"><title>\xe4</title></svg>',
      'latin1',
    ),
  ],
  ['UTF-16', Buffer.from('\ufeff<svg xmlns="http://www.w3.org/2000/svg"/>', 'utf16le')],
  ['a prefix', '<s:svg xmlns:s="http://www.w3.org/2000/svg"/>'],
  ['comments before it', `<?xml version="1.0"?>\n<!-- ${'x'.repeat(2000)} -->\n${svg('')}`],
  ['a script, which the server never lets run', svg('<script>alert(1)</script>')],
])('an SVG with %s has no problem', async (_, text) => {
  expect(await problemsOfMedia('drawing.svg', text)).toEqual([]);
});

/** Checks a project whose third blog article has a cover; returns the problems. */
function problemsOfCover(name: string, bytes: Buffer | string): Promise<string[]> {
  const cover = `/media/covers/${name}`;
  return problemsOf(
    createProject({ [`content${cover}`]: bytes, 'content/blog/news/third.md': article({ cover }, 'Text.\n') }),
  );
}

describe('a cover', () => {
  test.each<[string, string, Buffer | string]>([
    ['1200 x 630 pixels', 'a.jpg', jpeg(1200, 630)],
    ['twice as large', 'a.jpg', jpeg(2400, 1260)],
    ['rounded', 'a.jpg', jpeg(1200, 628)],
    ['a smaller SVG of the same shape', 'a.svg', '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 315"/>'],
    ['an SVG without a size', 'a.svg', svg('')],
  ])('may be %s', async (_, name, bytes) => {
    expect(await problemsOfCover(name, bytes)).toEqual([]);
  });

  test.each(
    Object.entries<[string, Buffer | string]>({
      'warning: the cover is 1200 x 1200 pixels, not 1200 x 630 (crop it to that shape)': ['a.jpg', jpeg(1200, 1200)],
      'warning: the cover is 600 x 315 pixels, not 1200 x 630 (use a larger one)': ['a.jpg', jpeg(600, 315)],
      'warning: the cover is 630 x 1200 pixels, not 1200 x 630 (crop it to that shape)': ['a.jpg', jpeg(1200, 630, 6)],
      'warning: the cover is 24 x 24 pixels, not 1200 x 630 (crop it to that shape)': [
        'a.svg',
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"/>',
      ],
      'the cover is not a picture (use a picture)': ['a.mp4', mediaSamples['mp4']!],
    }),
  )('is reported: %s', async (problem, [name, bytes]) => {
    expect(await problemsOfCover(name, bytes)).toEqual([`content/blog/news/third.md:6:8  ${problem}`]);
  });
});

test('what follows a file in memory does not count', () => {
  const headersEnd = 25;
  expect(readMediaFacts(jpeg(2, 1).subarray(0, headersEnd)).size).toBeUndefined();
});
