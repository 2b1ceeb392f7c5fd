import { describe, expect, test } from 'vitest';
import { mediaTypes } from '#contract/articles.ts';
import { readMediaFacts } from '../../generator/source/media.ts';
import { avif, box, jpeg, mediaSamples, png, uint32 } from '../helpers/media.ts';
import { article, buildProject, createProject, guide, writeFiles } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { problemsOf, publish, readPublished, testHtml, testProblems, testProjects } from './tables.ts';

/** Checks a project with an article that uses a media file; returns the file's problems. */
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
const again = 'export it again, or fix the XML at this position';
const svg = (text: string): string => `<svg xmlns="http://www.w3.org/2000/svg">${text}</svg>\n`;
const svgWith = (attributes: string): string => `<svg xmlns="http://www.w3.org/2000/svg" ${attributes}/>\n`;

test.each(Object.keys(mediaTypes))('a file that matches its ending .%s has no problem', async (ending) => {
  expect(await problemsOfMedia(`sample.${ending}`, mediaSamples[ending]!)).toEqual([]);
});

test.each(
  Object.entries<[string, Buffer | string]>({
    // Browsers show these files.
    '1:1  warning: the file is a PNG picture, not a JPEG picture (rename it to "a.png")': ['a.jpg', png(2, 1)],
    '1:1  warning: the file is a JPEG picture, not a WebP picture (rename it to "a.jpg")': ['a.webp', jpeg(2, 1)],
    '1:1  warning: the file is an MP4 file, not a WebM file (rename it to "a.mp4")': ['a.webm', mediaSamples['mp4']!],
    '1:1  warning: the file is a QuickTime movie, not an MP4 file (some browsers do not play it: convert it to MP4 with H.264)':
      ['a.mp4', box('ftyp', Buffer.from('qt  \0\0\0\0qt  ', 'latin1'))],
    '1:1  warning: the video is HEVC (H.265), which some browsers do not play (convert it to H.264)': [
      'a.mp4',
      Buffer.concat([
        mediaSamples['mp4']!,
        box('mdat', Buffer.alloc(9)),
        box('moov', box('stsd', uint32(0), uint32(1), box('hvc1'))),
      ]),
    ],
    // Browsers do not show these files.
    '1:1  the file is an SVG picture, not a PNG picture (rename it to "a.svg")': ['a.png', svg('')],
    '1:1  the file is a PNG picture, not an SVG picture (rename it to "a.png")': ['a.svg', png(2, 1)],
    '1:1  the file is a web page, not a PNG picture (the download was a web page: save the file itself)': [
      'a.png',
      '<!doctype html>\n<title>404</title>\n',
    ],
    '1:1  the file is a web page, not an MP4 file (the download was a web page: save the file itself)': [
      'a.mp4',
      '\n<html lang="en">x',
    ],
    '1:1  the file is a PDF document, not a PNG picture (rename it to "a.pdf")': ['a.png', mediaSamples['pdf']!],
    '1:1  the file is a HEIC picture, not a JPEG picture (browsers do not show it: save it as JPEG, PNG, WebP or AVIF)':
      ['a.jpg', Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic', 'latin1')],
    '1:1  the file is a pointer of Git LFS, not a PNG picture (run "git lfs pull" to fetch the file)': [
      'a.png',
      'version https://git-lfs.github.com/spec/v1\noid sha256:0\n',
    ],
    '1:1  the file is empty, not a GIF picture (save it again)': ['a.gif', ''],
    '1:1  the file is not a PNG picture (save it again, or remove it)': ['a.png', 'Hello'],
    '1:1  warning: the file is not an MP3 file (save it again, or remove it)': ['a.mp3', 'Hello'],
    '1:1  warning: the picture has 1.4 MB, more than 1 MB (large pictures load slowly: make it smaller, or save it as WebP or AVIF)':
      ['d.png', png(2, 1, 1_400_000)],
    // SVG.
    [`3:7  ${notXml} (${again})`]: ['a.svg', svg('\n  <g>\n')],
    [`1:48  ${notXml} (${again})`]: ['b.svg', svg('<g id=a/>')],
    [`1:54  ${notXml} (${again})`]: ['c.svg', svg('<text>a&nbsp;b</text>')],
    [`1:63  ${notXml} (${again})`]: ['d.svg', svg('<use xlink:href="#a"/>')],
    '1:28  browsers do not show this SVG: its namespace is missing (begin it with <svg xmlns="http://www.w3.org/2000/svg">)':
      ['e.svg', '<svg width="1" height="1"/>'],
    [`1:1  ${notXml} (save it as UTF-8)`]: ['f.svg', Buffer.from(svg('<title>\xe4</title>'), 'latin1')],
    [`1:43  ${notXml} (${again})`]: ['g.svg', '<svg xmlns="http://www.w3.org/2000/svg"><g'],
  }),
)('a media file is reported: %s', async (problem, [name, bytes]) => {
  expect(await problemsOfMedia(name, bytes)).toEqual([problem]);
});

test.each<[string, Buffer]>([
  ['it is damaged', png(2, 1).subarray(0, 14)],
  ['it has no pixels', png(0, 0)],
  ['it has too many pixels', Buffer.concat([png(2, 1).subarray(0, 16), Buffer.alloc(8, 255)])],
  ['its headers end', jpeg(2, 1).subarray(0, 25)],
])('a media file is reported: %s', async (_, bytes) => {
  const name = bytes[0] === 0xff ? 'a.jpg' : 'a.png';
  expect(await problemsOfMedia(name, bytes)).toEqual([`1:1  ${damaged}`]);
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
  ['a thousand comments before it', `${'<!-- x -->\n'.repeat(1000)}${svg('')}`],
  ['the name of another format in a comment', `<!-- %PDF-1.4 -->${svg('')}`],
  ['a declaration and a long comment before it', `<?xml version="1.0"?>\n<!-- ${'x'.repeat(2000)} -->\n${svg('')}`],
  ['a script, which the server never lets run', svg('<script>alert(1)</script>')],
])('an SVG with %s has no problem', async (_, text) => {
  expect(await problemsOfMedia('drawing.svg', text)).toEqual([]);
});

test('a cover that is not a picture is reported', async () => {
  const cover = '/media/covers/a.mp4';
  const files = {
    [`content${cover}`]: mediaSamples['mp4']!,
    'content/blog/news/third.md': article({ cover }, 'Text.\n'),
  };
  expect(await problemsOf(createProject(files))).toEqual([
    'content/blog/news/third.md:6:8  the cover is not a picture (use a picture)',
  ]);
});

test('bytes after a file in memory are ignored', () => {
  const headersEnd = 25;
  expect(readMediaFacts(jpeg(2, 1).subarray(0, headersEnd)).size).toBeUndefined();
});

const lazy = 'loading="lazy" decoding="async"';

const pictures: Readonly<Record<string, [bytes: Buffer | string, size: string]>> = {
  'a.png': [png(640, 360), 'width="640" height="360"'],
  'a.gif': [mediaSamples['gif']!, 'width="12" height="8"'],
  'a.webp': [mediaSamples['webp']!, 'width="12" height="8"'],
  'a.avif': [mediaSamples['avif']!, 'width="12" height="8"'],
  'a.jpg': [jpeg(400, 300), 'width="400" height="300"'],
  'not-turned.jpg': [jpeg(400, 300, 1), 'width="400" height="300"'],
  'upside-down.jpg': [jpeg(400, 300, 3), 'width="400" height="300"'],
  'turned-left.jpg': [jpeg(400, 300, 6), 'width="300" height="400"'],
  'little-endian.jpg': [jpeg(400, 300, 6, true), 'width="300" height="400"'],
  'not-turned-little-endian.jpg': [jpeg(400, 300, 3, true), 'width="400" height="300"'],
  'fill-bytes.jpg': [
    Buffer.from(
      jpeg(400, 300)
        .toString('latin1')
        .replace(/(?<!^)\xff/g, '\xff\xff\xff'),
      'latin1',
    ),
    'width="400" height="300"',
  ],
  'tiles.avif': [avif(4032, 1860), 'width="4032" height="1860"'],
  'turned.avif': [avif(1024, 722, 1), 'width="722" height="1024"'],
  'turned-left.avif': [avif(1024, 722, 3), 'width="722" height="1024"'],
  'upside-down.avif': [avif(1024, 722, 2), 'width="1024" height="722"'],
  'turned-right.jpeg': [jpeg(400, 300, 8), 'width="300" height="400"'],
  'width-and-height.svg': [svgWith('width="120px" height="60"'), 'width="120" height="60"'],
  'millimetres.svg': [svgWith('width="25.4mm" height="1in"'), 'width="96" height="96"'],
  'view-box.svg': [svgWith('viewBox="0 0 860 340.4"'), 'width="860" height="340"'],
  'relative-width.svg': [svgWith('width="100%" viewBox="0,0 24 24"'), 'width="24" height="24"'],
  'width-and-view-box.svg': [svgWith('width="48" viewBox="0 0 24 12"'), 'width="48" height="24"'],
  'height-and-view-box.svg': [svgWith('height="24" viewBox="0 0 24 12"'), 'width="48" height="24"'],
};
const pictureFiles = Object.entries(pictures).map(([name, [bytes]]) => [`content/media/${name}`, bytes] as const);
const files: Files = Object.fromEntries(pictureFiles);

describe('a picture has its size in the HTML:', () => {
  testHtml(Object.fromEntries(Object.entries(pictures).map(([name, [, size]]) => [name, size])), {
    files,
    toMarkdown: (name) => `![A thing](/media/${name})\n`,
    toHtml: (size, name) => `<p><img src="/media/${name}" alt="A thing" ${size} ${lazy}></p>`,
  });
});

describe('a picture in raw HTML keeps its written size:', () => {
  testHtml(
    {
      'width="100" height="10"': 'width="100" height="10"',
      // The other length is computed.
      'width="320"': 'width="320" height="180"',
      'height="90px"': 'width="160" height="90"',
      'width="50%"': 'width="50%"',
      'width="50%" height="20"': 'width="50%" height="20"',
      // Values that browsers ignore are replaced.
      'width="auto" height="-3"': 'width="640" height="360"',
    },
    {
      files,
      toMarkdown: (written) => `<img src="../../media/a.png?v=1" alt="" ${written}>\n`,
      toHtml: (size) => `<img src="/media/a.png?v=1" alt="" ${size} ${lazy}>`,
    },
  );
});

describe('an SVG without a size, an image sequence, a cropped AVIF and pictures of other sites get no size', () => {
  const unsized = {
    'content/media/sequence.avif': avif(12, 8, 0, 'avis'),
    'content/media/cropped.avif': avif(12, 8, 0, 'avif', box('clap', Buffer.alloc(32))),
  };
  testHtml(
    {
      '![Map](/media/kb/map.svg) ![x](https://example.com/x.png)\n': `<p><img src="/media/kb/map.svg" alt="Map" ${lazy}> <img src="https://example.com/x.png" alt="x"></p>`,
      '![S](/media/sequence.avif) ![C](/media/cropped.avif)\n': `<p><img src="/media/sequence.avif" alt="S" ${lazy}> <img src="/media/cropped.avif" alt="C" ${lazy}></p>`,
    },
    { files: unsized },
  );
});

test.each([
  ['sequence.avif', avif(12, 8, 0, 'avis')],
  ['cropped.avif', avif(12, 8, 0, 'avif', box('clap', Buffer.alloc(32)))],
  [
    'h264.mp4',
    Buffer.concat([
      mediaSamples['mp4']!,
      box('free', Buffer.from('hvc1')),
      box('moov', box('stsd', uint32(0), uint32(1), box('avc1'))),
    ]),
  ],
  ['endless.mp4', Buffer.concat([mediaSamples['mp4']!, uint32(0), Buffer.from('mdat'), Buffer.alloc(16)])],
])('a file without a readable size or codec is not called damaged: %s', async (name, bytes) => {
  expect(await problemsOfMedia(name, bytes)).toEqual([]);
});

test('a text that looks like a size placeholder is unchanged', async () => {
  const text =
    ' data-size="&#x0;" \\0 &#0; ![ data-size="&#x0;"](/media/a.png) <b title=\' data-size="&#x0;"\'>x</b>\n';
  const { html } = await publish(text, { 'content/media/a.png': png(2, 1) });
  expect(html).toContain(`width="2" height="1" ${lazy}`);
  expect(html.match(/width/g)).toHaveLength(1);
});

test('a thin picture that is shown smaller keeps a height', async () => {
  const text = '<img src="/media/line.png" alt="" width="200">\n';
  const { html } = await publish(text, { 'content/media/line.png': png(2000, 4) });
  expect(html).toContain(`width="200" height="1" ${lazy}`);
});

test('a replaced picture rerenders its article only if the size differs', async () => {
  const shown = article({}, '![A](/media/a.png)\n');
  const root = createProject({ 'content/media/a.png': png(640, 360), 'content/blog/news/shown.md': shown });
  await buildProject(root);
  const renderedWith = async (picture: Buffer): Promise<number> => {
    writeFiles(root, { 'content/media/a.png': picture });
    let rendered = 0;
    await buildProject(root, { progress: (step) => (rendered += Number(step === 'rendering')) });
    return rendered;
  };
  expect(await renderedWith(png(640, 360, 10))).toBe(0);
  expect(await renderedWith(png(800, 200))).toBe(1);
  expect(readPublished(root, '/blog/news/shown').html).toContain('width="800" height="200"');
});

const players = {
  'content/media/films/tour.mp4': mediaSamples['mp4'],
  'content/media/films/tour.webm': mediaSamples['webm'],
  'content/media/films/tour.png': mediaSamples['png'],
  'content/media/sounds/beep.mp3': mediaSamples['mp3'],
};

describe('raw HTML keeps players of own files, figures, marks and abbreviations:', () => {
  testHtml(
    {
      '<figure>\n\n![A tour](/media/films/tour.png)\n\n<figcaption>The *hall*</figcaption>\n</figure>\n':
        '<figure>\n<p><img src="/media/films/tour.png" alt="A tour" width="12" height="8" loading="lazy" decoding="async"></p>\n' +
        '<figcaption>The *hall*</figcaption>\n</figure>',
      'A <mark>new</mark> <abbr title="Domain Name System" class="x">DNS</abbr>.\n':
        '<p>A <mark>new</mark> <abbr title="Domain Name System">DNS</abbr>.</p>',
      '<video src="../../media/films/tour.mp4#t=10,20" poster="/media/films/tour.png" width="640" autoplay muted></video>\n':
        '<p><video src="/media/films/tour.mp4#t=10,20" poster="/media/films/tour.png" width="640" controls></video></p>',
      ['<video>\n<source src="/media/films/tour.webm" type="video/webm">\n<source src="https://example.com/a.mp4">' +
      '\n<source src="/media/films/tour.mp4" type="video/mp4">\n<a href="/media/films/tour.mp4">Download</a></video>\n']:
        '<video controls>\n<source src="/media/films/tour.webm" type="video/webm">\n\n' +
        '<source src="/media/films/tour.mp4" type="video/mp4">\n<a href="/media/films/tour.mp4">Download</a></video>',
      '<audio src="/media/sounds/beep.mp3"></audio>\n': '<p><audio src="/media/sounds/beep.mp3" controls></audio></p>',
      'One.\n\n<video src="https://example.com/a.mp4">Your browser is old.</video>\n\nTwo.\n':
        '<p>One.</p>\n<p></p>\n<p>Two.</p>',
    },
    { files: players },
  );
});

/** An article that uses every media file above. */
const withMedia = (markdown: string): string =>
  guide(
    'Uses',
    `${markdown}\n\n${Object.keys(players)
      .map((path) => `[x](${path.replace('content', '')})\n`)
      .join('')}`,
  );

describe('a wrong use of media is reported:', () => {
  testProblems(
    'content/knowledgebase/vps/uses-#.md',
    withMedia,
    {
      '<video src="/media/films/tuor.mp4"></video>':
        '6:1  there is no /media/films/tuor.mp4 in content/ (did you mean "/media/films/tour.mp4"?)',
      '<video><source src="/media/films/tuor.webm"></video>':
        '6:8  there is no /media/films/tuor.webm in content/ (did you mean "/media/films/tour.webm"?)',
      '<video src="/media/films/tour.mp4" poster="/media/none.png"></video>':
        '6:1  there is no /media/none.png in content/',
      '<video src="/media/films/tour.png"></video>':
        '6:1  /media/films/tour.png is neither a video nor a sound (write ![what it shows](/media/films/tour.png))',
      '![A tour](/media/films/tour.mp4)':
        '6:1  /media/films/tour.mp4 is not a picture (write <video src="/media/films/tour.mp4"></video>)',
      '![A beep](/media/sounds/beep.mp3)':
        '6:1  /media/sounds/beep.mp3 is not a picture (write <audio src="/media/sounds/beep.mp3"></audio>)',
      '<audio controls></audio>':
        '6:1  warning: <audio> is removed with its content: it plays no file in content/media/ (save the file there)',
      '<video src="/media/films/tour.mp4"><source src="//example.com/a.mp4"></video>':
        '6:36  warning: "//example.com/a.mp4" is removed (save the file in content/media/)',
      '<video poster="https://example.com/a.png" src="/media/films/tour.mp4"></video>':
        '6:1  warning: "https://example.com/a.png" is removed (save the file in content/media/)',
      '<video src="/media/films/tour.mp4">':
        '6:1  warning: <video> is not closed: all following text is hidden (write </video> at the end)',
    },
    players,
  );
});

test('players, figures, marks and abbreviations have no problem, and use their media', async () => {
  const body =
    '<figure>\n<video poster="../../media/films/tour.png">\n<source src="../../media/films/tour.webm">\n' +
    '<source src="/media/films/tour.mp4" type="video/mp4">\n</video>\n<figcaption>x</figcaption>\n</figure>\n\n' +
    '<audio src="/media/sounds/beep.mp3"></audio> <mark>x</mark> <abbr title="x">y</abbr>\n';
  const root = createProject({ ...players, 'content/knowledgebase/vps/uses.md': guide('Uses', body) });
  expect(await problemsOf(root)).toEqual([]);
});

const unused = (file: string): string =>
  `content/media/${file}:1:1  warning: no article uses this file (remove it, or link it from an article)`;

const usedBy = (fields: Readonly<Record<string, string>>): Files => ({
  'content/media/covers/new.svg': svg(''),
  'content/media/kb/new.svg': svg(''),
  'content/blog/news/third.md': article({ cover: '/media/covers/new.svg', ...fields }, '![x](/media/kb/new.svg)\n'),
});

testProjects({
  'a picture that no article uses is reported, one line for each file': [
    { 'content/media/kb/old.svg': svg(''), 'content/media/films/tour.mp4': mediaSamples['mp4'] },
    unused('films/tour.mp4'),
    unused('kb/old.svg'),
  ],
  'pictures and the cover of a draft are used': [usedBy({ draft: 'true' })],
  'pictures and the cover of a scheduled article are used': [usedBy({ date: '2028-01-01' })],
});

test.each([
  [
    'has a mistake in its front matter',
    'blog/news/third.md',
    article({ cover: '/media/new.svg', date: 'soon' }, 'x\n'),
  ],
  ['has no front matter', 'knowledgebase/dns/new.md', '![x](/media/new.svg)\n'],
  ['is in the wrong folder', 'knowledgebase/new.md', guide('New', '![x](/media/new.svg)\n')],
])('while an article %s, its pictures are not unused', async (_, path, text) => {
  const root = createProject({ 'content/media/new.svg': svg(''), [`content/${path}`]: text });
  expect((await problemsOf(root)).filter((problem) => problem.includes('warning'))).toEqual([]);
});

describe('a picture is used by', () => {
  testProblems(
    'content/knowledgebase/dns/new.md',
    (body) => guide('New', body),
    {
      '[the map](/media/kb/new.svg)\n': [],
      '![The map](../../media/kb/new.svg)\n': [],
      '<img src="/media/kb/new.svg" alt="The map">\n': [],
      '<picture><source srcset="/media/kb/new.svg 2x"><img src="/media/kb/map.svg" alt="The map"></picture>\n': [],
      '![The map][map]\n\n[map]: /media/kb/new.svg\n': [],
    },
    { 'content/media/kb/new.svg': svg('') },
  );
});
