import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseFragment } from 'parse5';
import type { DefaultTreeAdapterTypes } from 'parse5';
import { expect, test } from 'vitest';
import { describeFeedparser, describeXmllint, lintXml, parseFeed } from '../helpers/xml.ts';
import { article, buildProject, createProject, siteUrls } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';

type Options = Parameters<typeof buildProject>[1];

/** Builds a project with the given files, and reads its feed. */
async function feedOf(files: Files = {}, options: Options = {}): Promise<string> {
  const root = createProject(files);
  const { diagnostics } = await buildProject(root, { lenient: true, urls: siteUrls, ...options });
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  return readFileSync(join(root, 'dist/current/public/v1/blog/feed.xml'), 'utf8');
}

const first = 'content/blog/news/first.md';

describeFeedparser(() => {
  test('reads the feed without a complaint, with all parts of an entry', async () => {
    const xml = await feedOf({
      'content/blog/news/category.yaml': 'name: News & more\n',
      'content/authors.yaml': 'Marit: { url: "https://www.example.com/team/marit?a=1&b=2" }\n',
      [first]: article(
        {
          title: 'First',
          date: '2026-01-02',
          updated: '2026-05-06',
          tags: '[linux, vps]',
          aliases: '[/blog/news/zero]',
        },
        '## Details\n\nMore.\n',
      ),
    });
    const { bozo, version, feed, links, entries } = parseFeed(xml);
    expect({ bozo, version, links }).toEqual({
      bozo: false,
      version: 'atom10',
      links: { self: 'https://api.example.com/v1/blog/feed.xml', alternate: 'https://www.example.com/blog' },
    });
    expect(feed).toMatchObject({
      id: 'https://api.example.com/v1/blog/feed.xml',
      title: 'Blog of www.example.com',
      updated: '2026-05-06T00:00:00Z',
    });
    expect(entries.map(({ title }) => title)).toEqual(['Second', 'First']);
    expect(entries[0]).toMatchObject({ updated: '2026-03-04T00:00:00Z', published: '2026-03-04T00:00:00Z' });
    const { tags, content, ...entry } = entries[1]!;
    expect(entry).toMatchObject({
      // That of its first path, since a reader shows an entry with another id again.
      id: 'https://www.example.com/blog/news/zero',
      link: 'https://www.example.com/blog/news/first',
      published: '2026-01-02T00:00:00Z',
      updated: '2026-05-06T00:00:00Z',
      author_detail: { name: 'Marit', href: 'https://www.example.com/team/marit?a=1&b=2' },
      summary: 'What it says.',
    });
    expect(tags).toEqual([
      { term: 'news', label: 'News & more', scheme: null },
      { term: 'linux', label: null, scheme: null },
      { term: 'vps', label: null, scheme: null },
    ]);
    expect(content).toMatchObject([{ type: 'text/html', value: '<h2 id="details">Details</h2>\n<p>More.</p>' }]);
  });

  test.each([
    ['markup', '"<b>a</b> & &amp; ]]> <![CDATA[ <!-- -->"', '<b>a</b> & &amp; ]]> <![CDATA[ <!-- -->'],
    ['control characters', '"a\\u0007b\\u0000c\\u001Bd\\uFFFE\\uFFFFe"', 'abcde'],
    ['half a character', '"a\\uD800b"', 'ab'],
    ['an emoji and other scripts', 'Ünï 日本 🦀', 'Ünï 日本 🦀'],
  ])('finds a title and a summary with %s well formed', async (_, written, read) => {
    const xml = await feedOf({ [first]: article({ title: written, description: written }, '## Details\n\nText.\n') });
    const { bozo, entries } = parseFeed(xml);
    expect(bozo).toBe(false);
    expect(entries[1]).toMatchObject({ title: read, summary: read });
  });

  test('reads the text of an article as its file has it', async () => {
    const body = '## Details\n\n`]]>` &amp;lt; `<b>` \u0007\n\n```html\n<a href="/media/x.svg" title=\'x\'>\n```\n';
    const { bozo, entries } = parseFeed(await feedOf({ [first]: article({}, body) }));
    expect(bozo).toBe(false);
    const { value } = entries[1]!.content[0]!;
    expect(value).toContain('<code>]]></code> &#x26;lt; <code>&#x3C;b></code>');
    // In code, an address is text.
    expect(textOf(value)).toContain('<a href="/media/x.svg" title=\'x\'>');
  });
});

describeXmllint(() => {
  test('finds the feed well formed, whatever the texts are', async () => {
    const hostile = '"<b> & ]]> \\u0007 \\uFFFE \\uD800"';
    const body = '## Details\n\n`]]>` &amp;lt; \u0007 <b title="\uFFFF">x</b>\n';
    const xml = await feedOf({ [first]: article({ title: hostile, description: hostile, author: hostile }, body) });
    expect(lintXml(xml)).toBe('');
    expect(lintXml(xml.replace('</feed>', ''))).toContain('error');
  });
});

/** The text of HTML. */
function textOf(html: string): string {
  const read = (node: DefaultTreeAdapterTypes.Node): string =>
    'value' in node ? node.value : 'childNodes' in node ? node.childNodes.map(read).join('') : '';
  return read(parseFragment(html));
}

/** All values of attributes that hold an address. */
function addressesIn(html: string): string[] {
  const read = (node: DefaultTreeAdapterTypes.Node): string[] => [
    ...('attrs' in node ? node.attrs : [])
      .filter(({ name }) => /^(?:href|src|srcset|poster|cite|longdesc)$/.test(name))
      .map(({ value }) => value),
    ...('childNodes' in node ? node.childNodes.flatMap(read) : []),
  ];
  return read(parseFragment(html));
}

/** The HTML of the entry of the first article. */
function contentOf(xml: string): string {
  const [, , entry = ''] = xml.split('<entry>');
  const [, escaped = ''] = /<content type="html">(.*)<\/content>/s.exec(entry) ?? [];
  const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#13': '\r' };
  return escaped.replace(/&(#?\w+);/g, (_, name: string) => entities[name]!);
}

test.each([
  ['a picture', '![Map](/media/kb/map.svg)', ['https://api.example.com/media/kb/map.svg']],
  ['a link to a file', '[map](/media/kb/map.svg)', ['https://api.example.com/media/kb/map.svg']],
  ['a link to an article', '[second](second.md)', ['https://www.example.com/blog/news/second']],
  [
    'a link to a heading of another article',
    '[x](/knowledgebase/vps/ssh.md#a)',
    ['https://www.example.com/knowledgebase/vps/ssh#a'],
  ],
  ['a link to a heading', '[x](#details)', ['https://www.example.com/blog/news/first#details']],
  ['a link to another page of the website', '[x](/prices?a=1&b=2)', ['https://www.example.com/prices?a=1&b=2']],
  ['a relative link', '[x](other.html)', ['https://www.example.com/blog/news/other.html']],
  ['a link without a scheme', '[x](//cdn.example.com/a)', ['https://cdn.example.com/a']],
  ['an absolute link', '[x](https://a.example/media/x)', ['https://a.example/media/x']],
  ['an address of email', '[x](mailto:a@b.example)', ['mailto:a@b.example']],
  [
    'a srcset',
    '<picture><source srcset="/media/kb/map.svg 1x, /media/covers/cover.svg 2x"><img src="/media/kb/map.svg" alt="Map"></picture>',
    [
      'https://api.example.com/media/kb/map.svg 1x, https://api.example.com/media/covers/cover.svg 2x',
      'https://api.example.com/media/kb/map.svg',
    ],
  ],
  [
    'a description that looks like an attribute',
    '<img alt=" src=" title="> src=x" src="/media/kb/map.svg">',
    ['https://api.example.com/media/kb/map.svg'],
  ],
])('the feed has the absolute address of %s', async (_, body, expected) => {
  const xml = await feedOf({ [first]: article({}, `## Details\n\n${body}\n`) });
  expect(addressesIn(contentOf(xml))).toEqual(expected);
});

test('addresses with a path and an ampersand are the beginning of all others', async () => {
  const urls = { site: 'https://example.com/a&b', service: 'https://example.com/api&v' };
  const body = '## Details\n\n![Map](/media/kb/map.svg) [x](second.md)\n';
  const xml = await feedOf({ [first]: article({}, body) }, { urls });
  const expected = ['https://example.com/api&v/media/kb/map.svg', 'https://example.com/a&b/blog/news/second'];
  expect(addressesIn(contentOf(xml))).toEqual(expected);
  expect(xml).toContain('<link rel="self" type="application/atom+xml" href="https://example.com/api&amp;v/v1/blog/');
});

test('the feed has the newest 30 articles, without drafts and scheduled ones', async () => {
  const days = Array.from({ length: 40 }, (_, index) => String(index + 1).padStart(2, '0'));
  const many = days.map((day): [string, string] => {
    const state = day === '39' ? { draft: 'true' } : day === '40' ? { date: '2027-01-01' } : {};
    const date = `2025-${day > '28' ? '02' : '01'}-${day > '28' ? String(Number(day) - 28).padStart(2, '0') : day}`;
    return [`content/blog/many/a-${day}.md`, article({ title: `A ${day}`, date, ...state }, 'Text.\n')];
  });
  const xml = await feedOf(Object.fromEntries(many));
  const titles = [...xml.matchAll(/<entry>.*?<title>(.*?)<\/title>/gs)].map(([, title]) => title);
  expect(titles).toHaveLength(30);
  expect([titles.slice(0, 3), titles.at(-1)]).toEqual([['Second', 'First', 'A 38'], 'A 11']);
});
