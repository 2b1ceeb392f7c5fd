import { describe, expect, test } from 'vitest';
import { parseMarkdown } from '../../generator/markdown/parse.ts';
import { hostileMarkdown } from './hostile-markdown.ts';
import { findDangers } from './html-safety.ts';
import { findDifferences, reference, texts } from './parse-reference.ts';
import { publish, publishTable } from './render.ts';

const toText = (markdown: string) => `The text begins.\n\n${markdown}\n`;
// The targets of their links do not exist, which is only a warning in a lenient build.
const pages = publishTable(Object.values(hostileMarkdown).map(toText), { lenient: true });

test.each(Object.entries(hostileMarkdown))('the HTML is safe for %s', async (_, markdown) => {
  const { html } = await pages(toText(markdown));
  expect(html).toMatch(/^<p>The text begins\.<\/p>/);
  expect(findDangers(html), html).toEqual([]);
});

describe('findDangers reports', () => {
  test.each([
    ['<script>alert(1)</script>', '<script>'],
    ['<b onclick="x">x</b>', 'b onclick'],
    ['<p style="x">x</p>', 'p style'],
    ['<a href="javascript:x">x</a>', 'a href=javascript:x'],
    ['<a href=" java\tscript:x">x</a>', 'a href= java\tscript:x'],
    ['<img src="data:x,y">', 'img src=data:x,y'],
    ['<p id="location">x</p>', 'p id=location'],
    ['<h1 id="location">x</h1>', 'h1 id=location'],
    ['<input type="text">', 'an input that is no checkbox'],
    ['<video controls src="https://example.com/a.mp4"></video>', 'video src=https://example.com/a.mp4'],
    ['<video controls src="//example.com/a.mp4"></video>', 'video src=//example.com/a.mp4'],
    ['<video controls poster="/blog/a.png"></video>', 'video poster=/blog/a.png'],
    ['<video src="/media/a.mp4"></video>', 'a player without controls'],
    ['<audio controls autoplay src="/media/a.mp3"></audio>', 'audio autoplay'],
    ['<svg></svg>', '<svg>'],
    ['<template><script></script></template>', '<script>'],
    ['<!-- x -->', 'a comment'],
    ['</main><p>x</p>', 'breaks out of its place: main p footer'],
    ['<plaintext>', 'breaks out of its place: main'],
    ['<source srcset="a.png 1x, javascript:x 2x">', 'source srcset=javascript:x'],
    ['<h1><table><h1>x', 'means something else when it is written again'],
  ])('%s', (html, danger) => {
    expect(findDangers(html)).toContain(danger);
  });
});

test('safe HTML is unchanged', async () => {
  const html = '<p><b>a</b> <del>b</del> <ruby>c<rt>d</rt></ruby> <a href="https://example.com" title="e">f</a></p>';
  expect((await publish(`${html}\n`)).html).toBe(html);
  expect(findDangers(html)).toEqual([]);
});

test.each([...texts, ...Object.values(hostileMarkdown)])('a text is parsed as remark-gfm parses it: %j', (markdown) => {
  expect(parseMarkdown(markdown)).toEqual(reference.parse(markdown));
});

// test/slow/ compares ten times as many.
test('random combinations of texts are parsed as remark-gfm parses them', () => {
  expect(findDifferences(300, 1)).toEqual([]);
});
