import { html as standard, parse, parseFragment, serialize } from 'parse5';
import type { DefaultTreeAdapterTypes } from 'parse5';
import { expect, test } from 'vitest';
import { parseMarkdown } from '../../generator/markdown/parse.ts';
import { hostileMarkdown } from './hostile-markdown.ts';
import { findDifferences, reference, texts } from './parse-reference.ts';
import { article, buildProject, createProject } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { publish, publishTable, readPublished } from './tables.ts';

type Node = DefaultTreeAdapterTypes.Node;
type Element = DefaultTreeAdapterTypes.Element;

/** The allowed elements, written out to detect changes in the sanitiser. */
const elements = new Set(
  (
    'a abbr audio b blockquote br code dd del details div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i img input ins kbd li mark ol p picture pre q ' +
    'rp rt ruby s samp section source span strike strong sub summary sup table tbody td tfoot th thead tr tt ul var video'
  ).split(' '),
);
const links = new Set(['http:', 'https:', 'mailto:', 'xmpp:', 'irc:', 'ircs:']);
const web = new Set(['http:', 'https:']);
const addresses: Readonly<Record<string, ReadonlySet<string>>> = {
  href: links,
  src: web,
  cite: web,
  longdesc: web,
  srcset: web,
  poster: web,
};
/** Only media of this site: other sites could track readers. */
const players = new Set(['audio', 'source', 'video']);
const forbidden =
  /^(?:on.*|style|srcdoc|formaction|form|background|data|autoplay|crossorigin|data-lines|data-size|ping|target|download|http-equiv|content|manifest|is|slot|xmlns.*|xlink:.*|autofocus|contenteditable)$/i;

/** Finds HTML that a browser could run, load or misparse, with a parser that follows the HTML standard. */
function findDangers(html: string): string[] {
  const dangers = new Set<string>();
  for (const scriptingEnabled of [true, false]) {
    visit(parseFragment(html, { scriptingEnabled }), (node) => {
      for (const danger of dangersOf(node)) dangers.add(danger);
    });
    // In a page, the HTML must not close the parent element or swallow the following text.
    const page = parse(`<!doctype html><main>${html}</main><footer></footer>`, { scriptingEnabled });
    const order: string[] = [];
    visit(page, (node) => {
      if ('tagName' in node && node.parentNode && 'tagName' in node.parentNode && node.parentNode.tagName === 'body') {
        order.push(node.tagName);
      }
    });
    if (order.join(' ') !== 'main footer') dangers.add(`breaks out of its place: ${order.join(' ')}`);
  }
  // Parsing and serialising again, like innerHTML, must not change the HTML.
  const once = serialize(parseFragment(html));
  if (serialize(parseFragment(once)) !== once) dangers.add('means something else when it is written again');
  return [...dangers];
}

function visit(node: Node, report: (node: Node) => void): void {
  report(node);
  if ('content' in node) visit(node.content, report);
  if ('childNodes' in node) for (const child of node.childNodes) visit(child, report);
}

function dangersOf(node: Node): string[] {
  if (node.nodeName === '#comment') return ['a comment'];
  if (!('tagName' in node)) return [];
  const dangers = node.attrs.flatMap((attribute) => dangersOfAttribute(node, attribute.name, attribute.value));
  if (!elements.has(node.tagName)) dangers.push(`<${node.tagName}>`);
  if (node.namespaceURI !== standard.NS.HTML) dangers.push(`<${node.tagName}> of ${node.namespaceURI}`);
  if (/^(?:audio|video)$/.test(node.tagName) && !node.attrs.some(({ name }) => name === 'controls')) {
    dangers.push('a player without controls');
  }
  if (node.tagName === 'input' && node.attrs.find(({ name }) => name === 'type')?.value !== 'checkbox') {
    dangers.push('an input that is no checkbox');
  }
  return dangers;
}

function dangersOfAttribute({ tagName }: Element, name: string, value: string): string[] {
  if (forbidden.test(name)) return [`${tagName} ${name}`];
  if (name === 'id' || name === 'name') {
    // The generator creates the ids of Markdown headings; authors write all other ids, including raw headings.
    const own = value.startsWith('user-content-') || (/^h[1-6]$/.test(tagName) && name === 'id' && !clobbers(value));
    return own ? [] : [`${tagName} ${name}=${value}`];
  }
  if (players.has(tagName) && (name === 'src' || name === 'poster') && !/^\/media\/[^\\]+$/.test(value)) {
    return [`${tagName} ${name}=${value}`];
  }
  const schemes = Object.hasOwn(addresses, name) ? addresses[name]! : undefined;
  if (!schemes) return [];
  const urls = name === 'srcset' ? value.split(',').map((candidate) => candidate.trim().split(/\s/, 1)[0]!) : [value];
  return urls
    .filter((url) => !schemes.has(URL.parse(url, 'https://site.example/blog/news/page')?.protocol ?? 'https:'))
    .map((url) => `${tagName} ${name}=${url}`);
}

/** Checks whether an id shadows a property of documents, forms or objects (DOM clobbering). */
function clobbers(id: string): boolean {
  const names =
    'location name cookie body forms images links scripts title domain history top self parent attributes nodename';
  return names.split(' ').includes(id) || id in {};
}

const toText = (markdown: string) => `The text begins.\n\n${markdown}\n`;
// The link targets do not exist, which is only a warning in a lenient build.
const pages = publishTable(Object.values(hostileMarkdown).map(toText), { lenient: true });

test.each(Object.entries(hostileMarkdown))('the HTML is safe for %s', async (_, markdown) => {
  const { html } = await pages(toText(markdown));
  expect(html).toMatch(/^<p>The text begins\.<\/p>/);
  expect(findDangers(html), html).toEqual([]);
});

/** Publishes each text. Returns the HTML, and whether the text was reported. */
async function publishReported(markdowns: readonly string[]) {
  const files = markdowns.map((text, index) => [`content/blog/news/page-${index}.md`, article({}, toText(text))]);
  const root = createProject(Object.fromEntries(files) as Files);
  const { diagnostics } = await buildProject(root, { lenient: true });
  return markdowns.map((_, index) => ({
    html: readPublished(root, `/blog/news/page-${index}`).html,
    isReported: diagnostics.some(({ file }) => file.endsWith(`/page-${index}.md`)),
  }));
}

test('a removed element is reported, unless its text stays and looks much the same', async () => {
  const others =
    'abbr acronym audio bdi bdo blink canvas cite data datalist del dfn dialog ins map mark meter output picture ' +
    'portal progress slot time video x-y your-ip';
  const names = [...Object.values(standard.TAG_NAMES), ...others.split(' ')];
  const articles = await publishReported(names.map((name) => `<div>\n<${name}>word</${name}>\n</div>`));
  const removed = names.filter((name, index) => !articles[index]!.html.includes(`<${name}`));
  const silent = removed.filter((name) => !articles[names.indexOf(name)]!.isReported);
  expect(removed.length).toBeGreaterThan(60);
  expect(silent.toSorted().join(' ')).toBe(
    'acronym address article aside base basefont bdi bdo big blink body caption center cite col colgroup data datalist dfn dir ' +
      'fieldset font footer form frame frameset head header hgroup html image label link main map marquee menu meta nav nobr ' +
      'optgroup output param rb rtc search slot small tbody td tfoot th thead time tr u wbr',
  );
  for (const name of silent) expect(articles[names.indexOf(name)]!.html, name).toContain('word');
});

test('a removed attribute is reported if it runs a script, hides text or has an unsafe address', async () => {
  const handlers = 'onclick onload onerror ontoggle onpointerrawupdate onx';
  const names =
    'abbr accept accesskey action align allow alt aria-hidden aria-label async autocomplete autofocus autoplay background ' +
    'bgcolor border cellpadding charset checked cite class color cols colspan content contenteditable controls ' +
    'coords crossorigin data data-x datetime default defer dir disabled download draggable enctype face for form formaction ' +
    'headers height hidden high href hreflang http-equiv id inert inputmode is itemprop kind label lang list ' +
    'loading longdesc loop low manifest max maxlength media method min multiple muted name nonce novalidate open ' +
    'optimum part pattern ping placeholder playsinline popover poster preload readonly rel required reversed role rows ' +
    'rowspan sandbox scope scrolling selected shape size sizes slot span spellcheck src srcdoc srclang srcset start step ' +
    'style summary tabindex target title translate type usemap valign value width wrap xmlns';
  const written = [...handlers.split(' '), ...names.split(' ')];
  const articles = await publishReported(written.map((name) => `<b ${name}="display: none">word</b>`));
  const removed = written.filter((name, index) => !new RegExp(`<b ${name}\\b`).test(articles[index]!.html));
  const reported = removed.filter((name) => articles[written.indexOf(name)]!.isReported);
  expect(reported.join(' ')).toBe(`${handlers} hidden popover srcset style`);
});

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
])('findDangers reports %s', (html, danger) => {
  expect(findDangers(html)).toContain(danger);
});

test('safe HTML is unchanged', async () => {
  const html = '<p><b>a</b> <del>b</del> <ruby>c<rt>d</rt></ruby> <a href="https://example.com" title="e">f</a></p>';
  expect((await publish(`${html}\n`)).html).toBe(html);
  expect(findDangers(html)).toEqual([]);
});

test.each([...texts, ...Object.values(hostileMarkdown)])('the text is parsed like remark-gfm: %j', (markdown) => {
  expect(parseMarkdown(markdown)).toEqual(reference.parse(markdown));
});

// test/slow/ compares ten times as many texts.
test('random combinations of texts are parsed like remark-gfm', () => {
  expect(findDifferences(300, 1)).toEqual([]);
});
