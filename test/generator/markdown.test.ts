import { describe, expect, test } from 'vitest';
import { article, buildProject, createProject, guide } from '../helpers/project.ts';
import { publish, publishTable, readPublished, testHtml } from './render.ts';

async function render(markdown: string): Promise<string> {
  return (await publish(markdown)).html;
}

describe('GitHub-flavoured Markdown', () => {
  testHtml({
    '| a | b | c |\n|:--|--:|:-:|\n| 1 | `x\\|y` | **3** |\n':
      '<table tabindex="0">\n<thead>\n<tr>\n<th align="left">a</th>\n<th align="right">b</th>\n<th align="center">c</th>\n</tr>\n</thead>\n' +
      '<tbody>\n<tr>\n<td align="left">1</td>\n<td align="right"><code>x|y</code></td>\n' +
      '<td align="center"><strong>3</strong></td>\n</tr>\n</tbody>\n</table>',
    '~~gone~~ and ~too~\n': '<p><del>gone</del> and <del>too</del></p>',
    '- [x] done\n- [ ] open\n- plain\n':
      '<ul class="contains-task-list">\n' +
      '<li class="task-list-item"><input type="checkbox" checked disabled aria-label="Completed task"> done</li>\n' +
      '<li class="task-list-item"><input type="checkbox" disabled aria-label="Incomplete task"> open</li>\n' +
      '<li>plain</li>\n</ul>',
    'See www.example.com, https://example.com/a?b=c#d and mail@example.com.\n':
      '<p>See <a href="http://www.example.com">www.example.com</a>, ' +
      '<a href="https://example.com/a?b=c#d">https://example.com/a?b=c#d</a> and ' +
      '<a href="mailto:mail@example.com">mail@example.com</a>.</p>',
    '<https://example.com>\n': '<p><a href="https://example.com">https://example.com</a></p>',
    'a  \nb\\\nc\n': '<p>a<br>\nb<br>\nc</p>',
    '3. a\n4. b\n': '<ol start="3">\n<li>a</li>\n<li>b</li>\n</ol>',
    '> a\n> b\n': '<blockquote>\n<p>a\nb</p>\n</blockquote>',
    'Press <kbd>Ctrl</kbd> on H<sub>2</sub>O.\n': '<p>Press <kbd>Ctrl</kbd> on H<sub>2</sub>O.</p>',
    '<details open><summary>More</summary>\n\n**Text.**\n\n</details>\n':
      '<details open><summary>More</summary>\n<p><strong>Text.</strong></p>\n</details>',
    '<div align="center">\n\n*a*\n\n</div>\n': '<div align="center">\n<p><em>a</em></p>\n</div>',
    'a < b & "c"\n': '<p>a &#x3C; b &#x26; "c"</p>',
  });

  test('is in the field body without front matter and surrounding blank lines', async () => {
    const { body } = await publish('\n\n  First *line*.\n\nLast.\n');
    expect(body).toBe('  First *line*.\n\nLast.\n');
  });
});

describe('footnotes', () => {
  /** The ids of a page, and the ids that its links to the same page refer to. */
  function anchorsOf(html: string) {
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!);
    const targets = [...html.matchAll(/ href="#([^"]+)"/g)].map(([, target]) => target!);
    return { ids, targets };
  }

  test('are at the end, with links in both directions', async () => {
    const html = await render('One[^1] and two[^note].\n\n[^1]: First.\n[^note]: Second.\n');
    expect(html).toBe(
      '<p>One<sup><a href="#user-content-fn-1" id="user-content-fnref-1" data-footnote-ref ' +
        'aria-describedby="user-content-footnote-label">1</a></sup> and two<sup><a href="#user-content-fn-note" ' +
        'id="user-content-fnref-note" data-footnote-ref aria-describedby="user-content-footnote-label">2</a></sup>.</p>\n' +
        '<section data-footnotes class="footnotes"><h2 class="sr-only" id="user-content-footnote-label">Footnotes</h2>\n' +
        '<ol>\n<li id="user-content-fn-1">\n<p>First. <a href="#user-content-fnref-1" data-footnote-backref="" ' +
        'aria-label="Back to reference 1" class="data-footnote-backref">↩</a></p>\n</li>\n' +
        '<li id="user-content-fn-note">\n<p>Second. <a href="#user-content-fnref-note" data-footnote-backref="" ' +
        'aria-label="Back to reference 2" class="data-footnote-backref">↩</a></p>\n</li>\n</ol>\n</section>',
    );
  });

  const labels = ['1', 'note', 'Note', 'with-dash', 'ü', '日本', 'a"b', 'a%20b', 'name', '__proto__'];
  const toMarkdown = (label: string) => `A[^${label}] B[^${label}].\n\n[^${label}]: Text.\n`;
  const pages = publishTable(labels.map(toMarkdown));

  test.each(labels)('have links to existing ids if the label is %s', async (label) => {
    const { ids, targets } = anchorsOf((await pages(toMarkdown(label))).html);
    expect(targets).toHaveLength(4);
    for (const target of targets) {
      expect(
        [target, decodeURIComponent(target)].some((id) => ids.includes(id)),
        target,
      ).toBe(true);
    }
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('are left out if nothing refers to them', async () => {
    expect(await render('Text.\n\n[^1]: Unused.\n')).toBe('<p>Text.</p>');
  });
});

describe('alerts', () => {
  const kinds = [
    ['NOTE', 'note', 'Note'],
    ['TIP', 'tip', 'Tip'],
    ['IMPORTANT', 'important', 'Important'],
    ['WARNING', 'warning', 'Warning'],
    ['CAUTION', 'caution', 'Caution'],
    ['note', 'note', 'Note'],
  ] as const;
  const begun = publishTable(kinds.map(([marker]) => `> [!${marker}]\n> Text.\n`));

  test.each(kinds)('begin with [!%s]', async (marker, kind, title) => {
    expect((await begun(`> [!${marker}]\n> Text.\n`)).html).toBe(
      `<div class="markdown-alert markdown-alert-${kind}">\n<p class="markdown-alert-title">${title}</p>\n<p>Text.</p>\n</div>`,
    );
  });

  describe('may begin their text with', () => {
    testHtml(
      {
        '**Bold** text.': '<p><strong>Bold</strong> text.</p>',
        '[first](first.md) is first.': '<p><a href="/blog/news/first">first</a> is first.</p>',
        '`ls` lists.': '<p><code>ls</code> lists.</p>',
        '![x](/media/kb/map.svg)': '<p><img src="/media/kb/map.svg" alt="x" loading="lazy" decoding="async"></p>',
        '- a': '<ul>\n<li>a</li>\n</ul>',
        '\n> Text.': '<p>Text.</p>',
        '> Text.': '<blockquote>\n<p>Text.</p>\n</blockquote>',
        '```\n> x\n> ```': '<pre tabindex="0"><code>x\n</code></pre>',
      },
      {
        toMarkdown: (text) => `> [!NOTE]\n> ${text}\n`,
        toHtml: (html) =>
          `<div class="markdown-alert markdown-alert-note">\n<p class="markdown-alert-title">Note</p>\n${html}\n</div>`,
      },
    );
  });

  test('may be in a list, and have no text', async () => {
    expect(await render('- > [!TIP]\n')).toBe(
      '<ul>\n<li>\n<div class="markdown-alert markdown-alert-tip">\n<p class="markdown-alert-title">Tip</p>\n</div>\n</li>\n</ul>',
    );
  });

  describe('are quotes or text after a near miss', () => {
    testHtml({
      '> [!INFO]\n> Text.\n': '<blockquote>\n<p>[!INFO]\nText.</p>\n</blockquote>',
      '> [!NOTE] Text.\n': '<blockquote>\n<p>[!NOTE] Text.</p>\n</blockquote>',
      '> [!NOTE] **a**\n': '<blockquote>\n<p>[!NOTE] <strong>a</strong></p>\n</blockquote>',
      '> a\n> [!NOTE]\n': '<blockquote>\n<p>a\n[!NOTE]</p>\n</blockquote>',
      '> **[!NOTE]**\n> a\n': '<blockquote>\n<p><strong>[!NOTE]</strong>\na</p>\n</blockquote>',
      '> [! NOTE]\n> a\n': '<blockquote>\n<p>[! NOTE]\na</p>\n</blockquote>',
      '> \\[!NOTE]\n> a\n': '<blockquote>\n<p>[!NOTE]\na</p>\n</blockquote>',
      '[!NOTE]\na\n': '<p>[!NOTE]\na</p>',
    });
  });
});

describe('a block of code', () => {
  const samples = [
    [
      'js',
      'const a = 1; // one',
      '<span class="hljs-keyword">const</span> a = <span class="hljs-number">1</span>; <span class="hljs-comment">// one</span>',
    ],
    ['sh', 'echo "a"', '<span class="hljs-built_in">echo</span> <span class="hljs-string">"a"</span>'],
    ['yaml', 'a: 1', '<span class="hljs-attr">a:</span> <span class="hljs-number">1</span>'],
    ['nginx', 'listen 80;', '<span class="hljs-attribute">listen</span> <span class="hljs-number">80</span>;'],
    ['dockerfile', 'FROM node', '<span class="hljs-keyword">FROM</span> node'],
    ['text', 'a < b', 'a &#x3C; b'],
    ['nonsense', 'a < b & c', 'a &#x3C; b &#x26; c'],
    ['constructor', 'a', 'a'],
    ['__proto__', 'a', 'a'],
    ['c++', 'int a;', '<span class="hljs-type">int</span> a;'],
  ] as const;
  const toBlock = (language: string, code: string) => `\`\`\`${language}\n${code}\n\`\`\`\n`;
  const pages = publishTable(samples.map(([language, code]) => toBlock(language, code)));

  test.each(samples)('is highlighted with the class names of its language: %s', async (language, code, html) => {
    expect((await pages(toBlock(language, code))).html).toBe(
      `<pre tabindex="0"><code class="hljs language-${language}">${html}\n</code></pre>`,
    );
  });

  test('has no class without a language', async () => {
    expect(await render('```\na < b\n```\n\n    c\n')).toBe(
      '<pre tabindex="0"><code>a &#x3C; b\n</code></pre>\n<pre tabindex="0"><code>c\n</code></pre>',
    );
    expect(await render('Run `a < b`.\n')).toBe('<p>Run <code>a &#x3C; b</code>.</p>');
  });

  test('uses only the first word of the info string as language', async () => {
    expect(await render('```text linenos=table {file="x"}\na\n```\n')).toBe(
      '<pre tabindex="0"><code class="hljs language-text">a\n</code></pre>',
    );
  });

  test.each([
    ['in plain Markdown', ''],
    ['in an article with raw HTML', '<kbd>x</kbd>\n\n'],
  ])('keeps an empty first line, %s', async (_, before) => {
    const start = before ? '<p><kbd>x</kbd></p>\n' : '';
    expect(await render(`${before}\`\`\`\n\na\n\nb\n\`\`\`\n`)).toBe(
      `${start}<pre tabindex="0"><code>\na\n\nb\n</code></pre>`,
    );
    expect(await render(`${before}\`\`\`text\n\n\na\n\`\`\`\n`)).toBe(
      `${start}<pre tabindex="0"><code class="hljs language-text">\n\na\n</code></pre>`,
    );
  });

  test('shows HTML as text', async () => {
    expect(await render('```html\n<script>alert(1)</script>\n```\n')).toBe(
      '<pre tabindex="0"><code class="hljs language-html"><span class="hljs-tag">&#x3C;<span class="hljs-name">script</span>></span>' +
        'alert(1)<span class="hljs-tag">&#x3C;/<span class="hljs-name">script</span>></span>\n</code></pre>',
    );
  });

  test.each([
    ['arrows', '>'.repeat(120)],
    ['dashes', '- '.repeat(120)],
  ])('may contain a line of 120 %s, which do not count as nesting', async (_, line) => {
    const { body, html } = await publish(`\`\`\`\n${line}\n\`\`\`\n`);
    expect(body).toContain(line);
    expect(html).toBe(`<pre tabindex="0"><code>${line}\n</code></pre>`);
  });
});

describe('the info string of a block of code', () => {
  const line = (text: string, names = ''): string => `<span class="line${names}">${text}\n</span>`;
  const samples: [string, string, string][] = [
    [
      'gives it a title',
      '```text title="server.ts"\na\n```\n',
      '<pre data-title="server.ts" tabindex="0"><code class="hljs language-text">a\n</code></pre>',
    ],
    [
      'gives it a title in single quotes or without any',
      '```text title=\'my "file"\'\na\n```\n\n```text title=a.sh\nb\n```\n',
      '<pre data-title="my &#x22;file&#x22;" tabindex="0"><code class="hljs language-text">a\n</code></pre>\n' +
        '<pre data-title="a.sh" tabindex="0"><code class="hljs language-text">b\n</code></pre>',
    ],
    [
      'marks lines',
      '```text {2,4-5}\na\nb\n\nd\ne\n```\n',
      `<pre tabindex="0"><code class="hljs language-text">${line('a')}${line('b', ' highlighted')}${line('')}` +
        `${line('d', ' highlighted')}${line('e', ' highlighted')}</code></pre>`,
    ],
    [
      'marks lines inside of highlighted code',
      '```js {2}\n/* a\n  b */ c();\n```\n',
      `<pre tabindex="0"><code class="hljs language-js"><span class="line"><span class="hljs-comment">/* a\n</span></span>` +
        '<span class="line highlighted"><span class="hljs-comment">  b */</span> <span class="hljs-title function_">c</span>();\n' +
        '</span></code></pre>',
    ],
    [
      'names a diff, whose lines say what they change',
      '```diff title="x" {1}\n--- a\n-b\n+c\n d\n```\n',
      `<pre data-title="x" tabindex="0"><code class="hljs language-diff">` +
        line('<span class="hljs-comment">--- a</span>', ' highlighted') +
        line('<span class="hljs-deletion">-b</span>', ' diff remove') +
        line('<span class="hljs-addition">+c</span>', ' diff add') +
        `${line(' d')}</code></pre>`,
    ],
  ];
  test.each([
    ['plain Markdown', ''],
    ['an article with raw HTML', '<kbd>x</kbd>\n\n'],
  ])('is read in %s', async (_, raw) => {
    // An article with raw HTML is parsed once more.
    const pages = publishTable(samples.map(([, markdown]) => raw + markdown));
    for (const [name, markdown, html] of samples) {
      // oxlint-disable-next-line no-await-in-loop -- One build for all.
      const published = (await pages(raw + markdown)).html;
      expect(published.replace('<p><kbd>x</kbd></p>\n', ''), name).toBe(html);
    }
  });
});

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

const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ');

describe('the reading time', () => {
  const texts = [
    ['one word', 'Word.', 1],
    ['200 words', words(200), 1],
    ['201 words', words(201), 2],
    ['400 words', words(400), 2],
    ['401 words', words(401), 3],
    ['4,000 words', words(4000), 20],
    ['200 words with dashes and signs between them', `${words(100)} - – & | ${words(100)}`, 1],
    ['200 words, some of them partly bold', `**w**ord ~~w~~or*d* [w](first.md)ord ${words(197)}`, 1],
    ['200 words in paragraphs', Array.from({ length: 200 }, () => 'word').join('\n\n'), 1],
    ['201 words in paragraphs', Array.from({ length: 201 }, () => 'word').join('\n\n'), 2],
    ['201 words broken over lines', Array.from({ length: 201 }, () => 'word').join('\\\n'), 2],
    [
      '201 words in headings, lists, tables and quotes',
      `# a\n\n- b\n\n> c\n\n| d | e |\n|-|-|\n| f | g |\n\n${words(194)}`,
      2,
    ],
    ['201 words, one of them in a footnote', `${words(200)}[^1]\n\n[^1]: word`, 2],
    ['200 words and a block of code', `${words(200)}\n\n\`\`\`\n${words(500)}\n\`\`\``, 1],
    ['200 words and an indented block of code', `${words(200)}\n\n    ${words(500)}`, 1],
    ['200 words and inline code', `${words(200)} \`${words(500)}\``, 1],
    ['200 words and a comment', `${words(200)}\n\n<!-- ${words(500)} -->`, 1],
    ['200 words and the tags around one of them', `<b class="a b c d">word</b> ${words(199)}`, 1],
    ['only code', '```\ncode\n```', 1],
    ['200 Chinese characters', '漢'.repeat(200), 1],
    ['201 Chinese characters', '漢'.repeat(201), 2],
    ['201 Japanese characters with their signs', `${'日本語の文。'.repeat(40)}漢`, 2],
    ['200 Japanese characters with their signs', '日本語の文。'.repeat(40), 1],
    ['199 Chinese characters and a word', `${'漢'.repeat(199)} word`, 1],
    ['200 Chinese characters and a word', `${'漢'.repeat(200)}word`, 2],
    ['201 Korean words', Array.from({ length: 201 }, () => '한국어').join(' '), 2],
    ['201 Russian words', Array.from({ length: 201 }, () => 'слово').join(' '), 2],
  ] as const;
  const pages = publishTable(texts.map(([, markdown]) => markdown));

  test.each(texts)('of %s is rounded up to whole minutes', async (_, markdown, minutes) => {
    expect((await pages(markdown)).readTime).toBe(`${minutes} min read`);
  });
});
