import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { jpeg, mediaSamples, png } from '../helpers/media.ts';
import { article, buildProject, createProject, writeFiles } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { buildAndRead } from './build-and-read.ts';
import { publish, publishTable, readPublished } from './render.ts';
import { changedPaths, readTree } from './tree.ts';

const lazy = 'loading="lazy" decoding="async"';
const svg = (attributes: string): string => `<svg xmlns="http://www.w3.org/2000/svg" ${attributes}/>\n`;

const pictures: [string, string, Buffer | string, string][] = [
  ['a PNG', 'a.png', png(640, 360), 'width="640" height="360"'],
  ['a GIF', 'a.gif', mediaSamples['gif']!, 'width="12" height="8"'],
  ['a WebP', 'a.webp', mediaSamples['webp']!, 'width="12" height="8"'],
  ['an AVIF', 'a.avif', mediaSamples['avif']!, 'width="12" height="8"'],
  ['a JPEG', 'a.jpg', jpeg(400, 300), 'width="400" height="300"'],
  ['a JPEG that is not turned', 'b.jpg', jpeg(400, 300, 1), 'width="400" height="300"'],
  ['a JPEG that is upside down', 'c.jpg', jpeg(400, 300, 3), 'width="400" height="300"'],
  ['a JPEG that is turned to the left', 'd.jpg', jpeg(400, 300, 6), 'width="300" height="400"'],
  ['a JPEG that is turned to the right', 'e.jpeg', jpeg(400, 300, 8), 'width="300" height="400"'],
  ['an SVG with a width and height', 'a.svg', svg('width="120px" height="60"'), 'width="120" height="60"'],
  ['an SVG in millimetres', 'b.svg', svg('width="25.4mm" height="1in"'), 'width="96" height="96"'],
  ['an SVG with a view box', 'c.svg', svg('viewBox="0 0 860 340.4"'), 'width="860" height="340"'],
  ['an SVG with a relative width', 'd.svg', svg('width="100%" viewBox="0,0 24 24"'), 'width="24" height="24"'],
  ['an SVG with a width and a view box', 'e.svg', svg('width="48" viewBox="0 0 24 12"'), 'width="48" height="24"'],
];
const toText = (name: string): string => `![A thing](/media/sizes/${name})\n`;
const files: Files = Object.fromEntries(pictures.map(([, name, bytes]) => [`content/media/sizes/${name}`, bytes]));
const pages = publishTable(
  pictures.map(([, name]) => toText(name)),
  { files },
);

test.each(pictures)('%s has its size in the HTML', async (_, name, _bytes, size) => {
  const { html } = await pages(toText(name));
  expect(html).toBe(`<p><img src="/media/sizes/${name}" alt="A thing" ${size} ${lazy}></p>`);
});

test('an SVG without a size and pictures of other sites get no size', async () => {
  const text = '![Map](/media/kb/map.svg) ![x](https://example.com/x.png)\n';
  expect((await publish(text)).html).toBe(
    `<p><img src="/media/kb/map.svg" alt="Map" ${lazy}> <img src="https://example.com/x.png" alt="x"></p>`,
  );
});

test.each([
  ['both lengths stay', 'width="100" height="10"', 'width="100" height="10"'],
  ['the height follows from the width', 'width="320"', 'width="320" height="180"'],
  ['the width follows from the height', 'height="90px"', 'width="160" height="90"'],
  ['percentages stay', 'width="50%"', 'width="50%"'],
  ['percentages stay beside a length', 'width="50%" height="20"', 'width="50%" height="20"'],
  ['what browsers ignore is replaced', 'width="auto" height="-3"', 'width="640" height="360"'],
])('of a picture in raw HTML, %s', async (_, written, size) => {
  const { html } = await publish(`<img src="../../media/a.png?v=1" alt="" ${written}>\n`, {
    'content/media/a.png': png(640, 360),
  });
  const attributes = [...html.matchAll(/ (width|height|loading|decoding|data-size)="[^"]*"/g)].map(([text]) => text);
  expect(attributes.join('').trim().split(' ').toSorted()).toEqual([...size.split(' '), ...lazy.split(' ')].toSorted());
});

test('texts that look like the place of a size stay texts', async () => {
  const text =
    ' data-size="&#x0;" \\0 &#0; ![ data-size="&#x0;"](/media/a.png) <b title=\' data-size="&#x0;"\'>x</b>\n';
  const { html } = await publish(text, { 'content/media/a.png': png(2, 1) });
  expect(html).toContain(`width="2" height="1" ${lazy}`);
  expect(html.match(/width/g)).toHaveLength(1);
});

const other = article({ title: 'Other' }, 'A text without pictures.\n');
const shown = article({}, '![A](/media/a.png)\n');
const cached = { noCache: false } as const;

test('a replaced picture changes its size in the HTML of the next build, and no other article', async () => {
  const root = createProject({
    'content/media/a.png': png(640, 360),
    'content/blog/news/shown.md': shown,
    'content/blog/news/other.md': other,
  });
  const before = await buildAndRead(root, cached);
  expect(readPublished(root, '/blog/news/shown').html).toContain('width="640" height="360"');
  writeFiles(root, { 'content/media/a.png': png(800, 200) });
  let rendered = 0;
  const { release } = await buildProject(root, { ...cached, progress: () => (rendered += 1) });
  expect(rendered).toBe(1);
  expect(readPublished(root, '/blog/news/shown').html).toContain('width="800" height="200"');
  const tree = readTree(realpathSync(join(root, 'dist/current')));
  const changed = changedPaths(before.tree, tree).filter((path) => !/\.(?:gz|br)$/.test(path));
  expect(changed).toEqual(['manifest.json', 'public/media/a.png', 'public/v1/blog/article/news/shown.json']);
  const again = createProject({
    'content/media/a.png': png(800, 200),
    'content/blog/news/shown.md': shown,
    'content/blog/news/other.md': other,
  });
  expect((await buildAndRead(again)).id).toBe(release!.id);
});

test('a picture that is replaced by one of the same size renders no article', async () => {
  const root = createProject({ 'content/media/a.png': png(64, 36), 'content/blog/news/shown.md': shown });
  await buildProject(root, cached);
  writeFiles(root, { 'content/media/a.png': png(64, 36, 10) });
  let rendered = 0;
  await buildProject(root, { ...cached, progress: () => (rendered += 1) });
  expect(rendered).toBe(0);
});
