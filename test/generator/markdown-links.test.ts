import { describe, expect, test } from 'vitest';
import { article, buildProject, createProject, guide } from '../helpers/project.ts';
import { publish, publishTable, readPublished, testHtml } from './render.ts';

/** The URL of the first link or image of an article. */
function addressIn(html: string): string | undefined {
  return / (?:href|src)="([^"]*)"/.exec(html)?.[1];
}

describe('a link to an article', () => {
  const links = [
    ['first.md', '/blog/news/first'],
    ['./first.md', '/blog/news/first'],
    ['first', '/blog/news/first'],
    ['../news/first.md', '/blog/news/first'],
    ['/blog/news/first.md', '/blog/news/first'],
    ['/blog/news/first', '/blog/news/first'],
    ['../../knowledgebase/vps/ssh.md', '/knowledgebase/vps/ssh'],
    ['%66irst.md', '/blog/news/first'],
    ['first.md#details', '/blog/news/first#details'],
    ['first.md?plan=a&days=2#details', '/blog/news/first?plan=a&#x26;days=2#details'],
    ['/blog/news/first?x', '/blog/news/first?x'],
    ['page-0.md', '/blog/news/page-0'],
    ['#', '#'],
    ['/blog', '/blog'],
    ['../', '/blog/'],
    ['/pricing?a=b#c', '/pricing?a=b#c'],
  ] as const;
  const pages = publishTable(links.map(([written]) => `[x](${written})\n`));

  test.each(links)('written as %s has the URL %s', async (written, address) => {
    expect(addressIn((await pages(`[x](${written})\n`)).html)).toBe(address);
  });

  test('may have a definition, or be raw HTML', async () => {
    for (const markdown of ['See [x].\n\n[x]: first.md#details "Title"\n', '<a href="first.md#details">x</a>\n']) {
      expect(addressIn((await publish(markdown)).html)).toBe('/blog/news/first#details');
    }
  });

  test('may lead to a former path', async () => {
    const { html } = await publish('[x](old.md#details)\n', {
      'content/blog/news/first.md': article({ aliases: '[/blog/news/old]' }, '## Details\n'),
    });
    expect(html).toBe('<p><a href="/blog/news/old#details">x</a></p>');
  });
});

describe('a link to another site', () => {
  const urls = [
    'https://example.com/a.md',
    'http://example.com/b.md#c',
    '//example.com/a.md',
    'mailto:a@example.com',
    'https://example.com/%66?a=%20#%66',
  ];
  const pages = publishTable(urls.map((url) => `[x](${url})\n`));

  test.each(urls)('is unchanged: %s', async (url) => {
    expect(addressIn((await pages(`[x](${url})\n`)).html)).toBe(url);
  });
});

describe('media', () => {
  const addresses = [
    ['/media/kb/map.svg', '/media/kb/map.svg'],
    ['../../media/kb/map.svg', '/media/kb/map.svg'],
    ['../../media/kb/map.svg#part', '/media/kb/map.svg#part'],
    ['../../media/covers/../kb/map.svg', '/media/kb/map.svg'],
  ] as const;
  const inEveryWay = (written: string) => `![x](${written})\n\n[x](${written})\n\n<img src="${written}" alt="">\n`;
  const pages = publishTable(addresses.map(([written]) => inEveryWay(written)));

  test.each(addresses)('written as %s has the URL %s', async (written, address) => {
    const { html } = await pages(inEveryWay(written));
    expect([...html.matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, url]) => url)).toEqual([address, address, address]);
  });

  test('keeps its text, title and size', async () => {
    const { html } = await publish(
      '![A *map*](../../media/kb/map.svg "Where")\n\n<img src="/media/kb/map.svg" alt="" width="40" height="30">\n',
    );
    expect(html).toBe(
      '<p><img src="/media/kb/map.svg" alt="A map" title="Where" loading="lazy" decoding="async"></p>\n' +
        '<img src="/media/kb/map.svg" alt="" width="40" height="30" loading="lazy" decoding="async">',
    );
  });
});

describe('a heading', () => {
  describe('gets an id', () => {
    testHtml({
      '# Set up': '<h1 id="set-up">Set up</h1>',
      'Set up\n===': '<h1 id="set-up">Set up</h1>',
      '## `npm ci` and *more*': '<h2 id="npm-ci-and-more"><code>npm ci</code> and <em>more</em></h2>',
      '### Größe & Preis: 100 %': '<h3 id="größe--preis-100-">Größe &#x26; Preis: 100 %</h3>',
      '#### 日本語': '<h4 id="日本語">日本語</h4>',
      '##### [first](first.md)': '<h5 id="first"><a href="/blog/news/first">first</a></h5>',
      '###### !!!': '<h6>!!!</h6>',
      '# Name': '<h1 id="user-content-name">Name</h1>',
      '# Location': '<h1 id="user-content-location">Location</h1>',
      '# constructor': '<h1 id="user-content-constructor">constructor</h1>',
      '# \\_\\_proto\\_\\_': '<h1 id="user-content-__proto__">__proto__</h1>',
      '<h2 id="mine">Mine</h2>': '<h2 id="user-content-mine">Mine</h2>',
      '<h2>Mine</h2>': '<h2 id="mine">Mine</h2>',
    });
  });

  test('has a unique id, also if other headings have the same text', async () => {
    const { html } = await publish('# A\n\n# A\n\n# A-1\n\n# A\n\n# Name\n\n# Name\n');
    expect([...html.matchAll(/id="([^"]+)"/g)].map(([, id]) => id)).toEqual([
      'a',
      'a-1',
      'a-1-1',
      'a-2',
      'user-content-name',
      'name-1',
    ]);
  });
});

describe('a link to a heading or an anchor', () => {
  const target = [
    '## Name\n',
    '## Größe\n',
    '### 100 %\n',
    '<h4 id="mine">Mine</h4>\n',
    '<a id="spot"></a>\n',
    '<a name="place"></a>\n',
    'A[^note].\n\n[^note]: Text.\n',
  ].join('\n');
  const ofHeadings = ['name', 'gr%C3%B6%C3%9Fe', 'größe', '100-', 'user-content-mine'];
  const ofElements = ['mine', 'spot', 'place', 'fn-note'];

  function hasAnchor(html: string, address: string): boolean {
    const hash = address.slice(address.indexOf('#') + 1);
    return [hash, decodeURIComponent(hash)].some((id) => html.includes(`id="${id}"`) || html.includes(`name="${id}"`));
  }

  const toOwnPage = (anchor: string) => `[x](#${anchor})\n\n${target}`;
  const pages = publishTable([...ofHeadings, ...ofElements].map(toOwnPage));

  test.each([...ofHeadings, ...ofElements])('works on the same page: #%s', async (anchor) => {
    const { html } = await pages(toOwnPage(anchor));
    const address = addressIn(html);
    expect(hasAnchor(html, address!), address).toBe(true);
  });

  /** Links to all anchors from other articles; returns the problems, and the HTML of the articles in a lenient build. */
  async function linkFromOthers() {
    const all = [...ofHeadings, ...ofElements];
    const toText = (anchor: string): string => article({}, `[x](../../knowledgebase/vps/target.md#${anchor})\n`);
    const root = createProject({
      ...Object.fromEntries(all.map((anchor, at) => [`content/blog/news/page-${at}.md`, toText(anchor)])),
      'content/knowledgebase/vps/target.md': guide('Target', target),
    });
    const { diagnostics } = await buildProject(root, { lenient: true });
    const html = readPublished(root, '/knowledgebase/vps/target').html;
    const results = all.map((anchor, at): [string, object] => {
      const problems = diagnostics.filter(({ file }) => file.endsWith(`/page-${at}.md`)).map(({ message }) => message);
      const address = addressIn(readPublished(root, `/blog/news/page-${at}`).html)!;
      expect(address).toMatch(/^\/knowledgebase\/vps\/target#/);
      return [anchor, { problems, found: hasAnchor(html, address) }];
    });
    return Object.fromEntries(results);
  }
  let linked: ReturnType<typeof linkFromOthers> | undefined;

  test.each(ofHeadings)('works in another article: #%s', async (anchor) => {
    expect((await (linked ??= linkFromOthers()))[anchor]).toEqual({ problems: [], found: true });
  });

  // The sanitiser prefixes these ids, so a link from another article would not find them.
  test.each(ofElements)('is refused in another article if the sanitiser prefixed its id: #%s', async (anchor) => {
    expect((await (linked ??= linkFromOthers()))[anchor]).toEqual({
      problems: [`there is no heading or anchor #${anchor} in /knowledgebase/vps/target`],
      found: false,
    });
  });
});
