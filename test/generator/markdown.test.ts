import { describe, expect, test } from 'vitest';
import { article, guide } from '../helpers/project.ts';
import { publish, publishTable, testHtml, testProblems } from './tables.ts';
import type { Problems } from './tables.ts';

describe('GitHub-flavoured Markdown', () => {
  testHtml({
    '| a | b | c |\n|:--|--:|:-:|\n| 1 | `x\\|y` | **3** |\n':
      '<table tabindex="0">\n<thead>\n<tr>\n<th align="left">a</th>\n<th align="right">b</th>\n<th align="center">c</th>\n</tr>\n</thead>\n' +
      '<tbody>\n<tr>\n<td align="left">1</td>\n<td align="right"><code>x|y</code></td>\n' +
      '<td align="center"><strong>3</strong></td>\n</tr>\n</tbody>\n</table>',
    '~~gone~~ in ~/.ssh (~5~10 minutes)\n': '<p><del>gone</del> in ~/.ssh (~5~10 minutes)</p>',
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

describe('a comment is in no published file', () => {
  const bodies: Readonly<Record<string, string>> = {
    'Now <!-- secret --> or later.\n': 'Now or later.\n',
    'One<!-- secret -->, two, **three** <!-- secret -->\n': 'One, two, **three**\n',
    'One\n    <!-- secret -->\ntwo <!-- secret\nsecret --> three.\n': 'One\ntwo three.\n',
    '<!-- secret -->\n\n## One\n<!-- secret -->\nTwo.\n\n<!-- secret\n\nsecret -->\n\nThree.\n\n<!-- secret\n':
      '## One\nTwo.\n\nThree.\n',
    '> One.\n> <!-- secret -->\n\n- two\n\n  <!-- secret -->\n\n  three <!-- secret -->\n\n| a <!-- secret --> |\n|---|\n':
      '> One.\n\n- two\n\n  three\n\n| a |\n|---|\n',
    '<div>\n<!-- secret -->\n<i>one</i><!-- secret --> two <!-- secret --></div>\n': '<div>\n<i>one</i> two </div>\n',
    'One.\n\n[//]: # (secret)\n\n[comment]: <> (secret)\n': 'One.\n',
    // An empty one stays where its neighbours would join.
    '- one\n\n<!-- secret -->\n\n- two\n': '- one\n\n<!-- -->\n\n- two\n',
    '- one\n\n<!-- secret -->\n\n    two\n': '- one\n\n<!-- -->\n\n    two\n',
    '- one\n\n<!-- secret -->\n\n  two\n\n<!-- secret -->\nThree.\n': '- one\n\n<!-- -->\n\n  two\n\nThree.\n',
    'One[^1].\n\n[^1]: Two.\n\n<!-- secret -->\n\n    three\n': 'One[^1].\n\n[^1]: Two.\n\n<!-- -->\n\n    three\n',
    'One.\n<!-- secret -->\ntwo.\n': 'One.\n<!-- -->\ntwo.\n',
    '[//]: # (secret)\n2. one\n': '[//]: #\n2. one\n',
    'One.\n\n[//]: # (secret)\n2. two\n': 'One.\n\n[//]: #\n2. two\n',
    '<!-- secret -->\n2. one\n\n<!-- secret -->\n[//]: # (secret)\n\nThree.\n': '2. one\n\nThree.\n',
    '- one\n  <!-- secret -->\n  two\n- <!-- secret -->\n': '- one\n  <!-- -->\n  two\n-\n',
    '*one*<!-- secret -->*two*, *three <!-- secret -->*\n': '*one*<!-- -->*two*, *three <!-- -->*\n',
    '<!-- secret --> *one*\n': '<!-- --> *one*\n',
    // Code and values are not comments, and a definition may be a link.
    'Use `<!-- one -->` <b title="<!-- two -->">x</b>.\n\n```html\n<!-- three -->\n```\n\n[four]\n\n[four]: # (five)\n':
      'Use `<!-- one -->` <b title="<!-- two -->">x</b>.\n\n```html\n<!-- three -->\n```\n\n[four]\n\n[four]: # (five)\n',
  };
  const pages = publishTable(Object.keys(bodies));
  const cleaned = publishTable(Object.values(bodies));
  const withoutSpace = (html: string) => html.replace(/\s+/g, ' ').replace(/ ?(<[^>]*>) ?/g, '$1');

  test.each(Object.entries(bodies))('%j', async (markdown, body) => {
    const published = await pages(markdown);
    expect(published.body).toBe(body);
    expect(JSON.stringify(published)).not.toContain('secret');
    expect(withoutSpace((await cleaned(body)).html)).toBe(withoutSpace(published.html));
  });
});

describe('footnotes', () => {
  /** The ids of a page, and the ids in its internal links. */
  function anchorsOf(html: string) {
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!);
    const targets = [...html.matchAll(/ href="#([^"]+)"/g)].map(([, target]) => target!);
    return { ids, targets };
  }

  testHtml({
    'One[^1] and two[^note].\n\n[^1]: First.\n[^note]: Second.\n':
      '<p>One<sup><a href="#user-content-fn-1" id="user-content-fnref-1" data-footnote-ref ' +
      'aria-describedby="user-content-footnote-label">1</a></sup> and two<sup><a href="#user-content-fn-note" ' +
      'id="user-content-fnref-note" data-footnote-ref aria-describedby="user-content-footnote-label">2</a></sup>.</p>\n' +
      '<section data-footnotes class="footnotes"><h2 class="sr-only" id="user-content-footnote-label">Footnotes</h2>\n' +
      '<ol>\n<li id="user-content-fn-1">\n<p>First. <a href="#user-content-fnref-1" data-footnote-backref="" ' +
      'aria-label="Back to reference 1" class="data-footnote-backref">↩</a></p>\n</li>\n' +
      '<li id="user-content-fn-note">\n<p>Second. <a href="#user-content-fnref-note" data-footnote-backref="" ' +
      'aria-label="Back to reference 2" class="data-footnote-backref">↩</a></p>\n</li>\n</ol>\n</section>',
    'Text.\n\n[^1]: Unused.\n': '<p>Text.</p>',
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
});

describe('alerts', () => {
  const toBox = (title: string, html: string) =>
    `<div class="markdown-alert markdown-alert-${title.toLowerCase()}">\n<p class="markdown-alert-title">${title}</p>\n${html}</div>`;

  describe('start with', () => {
    testHtml(
      { NOTE: 'Note', TIP: 'Tip', IMPORTANT: 'Important', WARNING: 'Warning', CAUTION: 'Caution', note: 'Note' },
      { toMarkdown: (mark) => `> [!${mark}]\n> Text.\n`, toHtml: (title) => toBox(title, '<p>Text.</p>\n') },
    );
  });

  describe('may start their text with', () => {
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
      { toMarkdown: (text) => `> [!NOTE]\n> ${text}\n`, toHtml: (html) => toBox('Note', `${html}\n`) },
    );
  });

  describe('may be in a list, and have no text', () => {
    testHtml({ '- > [!TIP]\n': `<ul>\n<li>\n${toBox('Tip', '')}\n</li>\n</ul>` });
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
  const toCode = (html: string, language: string) =>
    `<pre tabindex="0"><code class="hljs language-${language}">${html}\n</code></pre>`;

  describe('is highlighted with the class names of its language:', () => {
    testHtml(
      {
        'js\nconst a = 1; // one':
          '<span class="hljs-keyword">const</span> a = <span class="hljs-number">1</span>; <span class="hljs-comment">// one</span>',
        'sh\necho "a"': '<span class="hljs-built_in">echo</span> <span class="hljs-string">"a"</span>',
        'yaml\na: 1': '<span class="hljs-attr">a:</span> <span class="hljs-number">1</span>',
        'nginx\nlisten 80;': '<span class="hljs-attribute">listen</span> <span class="hljs-number">80</span>;',
        'dockerfile\nFROM node': '<span class="hljs-keyword">FROM</span> node',
        'text\na < b': 'a &#x3C; b',
        'nonsense\na < b & c': 'a &#x3C; b &#x26; c',
        'constructor\na': 'a',
        '__proto__\na': 'a',
        'c++\nint a;': '<span class="hljs-type">int</span> a;',
        'html\n<script>alert(1)</script>':
          '<span class="hljs-tag">&#x3C;<span class="hljs-name">script</span>></span>' +
          'alert(1)<span class="hljs-tag">&#x3C;/<span class="hljs-name">script</span>></span>',
      },
      {
        toMarkdown: (text) => `\`\`\`${text}\n\`\`\`\n`,
        toHtml: (html, text) => toCode(html, text.split('\n', 1)[0]!),
      },
    );
  });

  const [arrows, dashes] = ['>'.repeat(120), '- '.repeat(120)];
  const line = (text: string, names = ''): string => `<span class="line${names}">${text}\n</span>`;

  // Raw HTML makes the renderer parse the article again.
  describe.each([
    ['plain Markdown', '', ''],
    ['an article with raw HTML', '<kbd>x</kbd>\n\n', '<p><kbd>x</kbd></p>\n'],
  ])('in %s', (_, raw, html) => {
    testHtml(
      {
        // Without a language it has no class.
        '```\na < b\n```\n\n    c\n':
          '<pre tabindex="0"><code>a &#x3C; b\n</code></pre>\n<pre tabindex="0"><code>c\n</code></pre>',
        'Run `a < b`.\n': '<p>Run <code>a &#x3C; b</code>.</p>',
        // Only the first word of the info string is the language.
        '```text linenos=table {file="x"}\na\n```\n': toCode('a', 'text'),
        // An empty first line stays.
        '```\n\na\n\nb\n```\n': '<pre tabindex="0"><code>\na\n\nb\n</code></pre>',
        '```text\n\n\na\n```\n': toCode('\n\na', 'text'),
        // Markers in code do not count as nesting.
        [`\`\`\`\n${arrows}\n\`\`\`\n`]: `<pre tabindex="0"><code>${arrows}\n</code></pre>`,
        [`\`\`\`\n${dashes}\n\`\`\`\n`]: `<pre tabindex="0"><code>${dashes}\n</code></pre>`,
        '```text title="server.ts"\na\n```\n':
          '<pre data-title="server.ts" tabindex="0"><code class="hljs language-text">a\n</code></pre>',
        '```text title=\'my "file"\'\na\n```\n\n```text title=a.sh\nb\n```\n':
          '<pre data-title="my &#x22;file&#x22;" tabindex="0"><code class="hljs language-text">a\n</code></pre>\n' +
          '<pre data-title="a.sh" tabindex="0"><code class="hljs language-text">b\n</code></pre>',
        '```text {2,4-5}\na\nb\n\nd\ne\n```\n':
          `<pre tabindex="0"><code class="hljs language-text">${line('a')}${line('b', ' highlighted')}${line('')}` +
          `${line('d', ' highlighted')}${line('e', ' highlighted')}</code></pre>`,
        '```js {2}\n/* a\n  b */ c();\n```\n':
          `<pre tabindex="0"><code class="hljs language-js"><span class="line"><span class="hljs-comment">/* a\n</span></span>` +
          '<span class="line highlighted"><span class="hljs-comment">  b */</span> <span class="hljs-title function_">c</span>();\n' +
          '</span></code></pre>',
        // A diff marks added and removed lines.
        '```diff title="x" {1}\n--- a\n-b\n+c\n d\n```\n':
          `<pre data-title="x" tabindex="0"><code class="hljs language-diff">` +
          line('<span class="hljs-comment">--- a</span>', ' highlighted') +
          line('<span class="hljs-deletion">-b</span>', ' diff remove') +
          line('<span class="hljs-addition">+c</span>', ' diff add') +
          `${line(' d')}</code></pre>`,
      },
      { toMarkdown: (text) => raw + text, toHtml: (code) => html + code },
    );
  });
});

describe('a link', () => {
  testHtml(
    {
      'first.md': '/blog/news/first',
      './first.md': '/blog/news/first',
      first: '/blog/news/first',
      '../news/first.md': '/blog/news/first',
      '/blog/news/first.md': '/blog/news/first',
      '/blog/news/first': '/blog/news/first',
      '../../knowledgebase/vps/ssh.md': '/knowledgebase/vps/ssh',
      '%66irst.md': '/blog/news/first',
      'first.md#details': '/blog/news/first#details',
      'first.md?plan=a&days=2#details': '/blog/news/first?plan=a&#x26;days=2#details',
      '/blog/news/first?x': '/blog/news/first?x',
      'page-0.md': '/blog/news/page-0',
      '#': '#',
      '/blog': '/blog',
      '../': '/blog/',
      '/pricing?a=b#c': '/pricing?a=b#c',
      // A former path.
      'old.md#details': '/blog/news/old#details',
      // Other sites.
      'https://example.com/a.md': 'https://example.com/a.md',
      'http://example.com/b.md#c': 'http://example.com/b.md#c',
      '//example.com/a.md': '//example.com/a.md',
      'mailto:a@example.com': 'mailto:a@example.com',
      'https://example.com/%66?a=%20#%66': 'https://example.com/%66?a=%20#%66',
      'HTTPS://example.com/A': 'https://example.com/A',
    },
    {
      toMarkdown: (written) => `[x](${written})\n`,
      toHtml: (url) => `<p><a href="${url}">x</a></p>`,
      files: { 'content/blog/news/first.md': article({ aliases: '[/blog/news/old]' }, '## Details\n') },
    },
  );

  describe('may have a definition, or be raw HTML', () => {
    testHtml({
      'See [x].\n\n[x]: first.md#details "Title"\n':
        '<p>See <a href="/blog/news/first#details" title="Title">x</a>.</p>',
      '<a href="first.md#details">x</a>\n': '<p><a href="/blog/news/first#details">x</a></p>',
    });
  });
});

describe('media', () => {
  const lazy = 'loading="lazy" decoding="async"';
  testHtml(
    {
      '/media/kb/map.svg': '/media/kb/map.svg',
      '../../media/kb/map.svg': '/media/kb/map.svg',
      '../../media/kb/map.svg#part': '/media/kb/map.svg#part',
      '../../media/covers/../kb/map.svg': '/media/kb/map.svg',
    },
    {
      toMarkdown: (written) => `![x](${written})\n\n[x](${written})\n\n<img src="${written}" alt="">\n`,
      toHtml: (url) =>
        `<p><img src="${url}" alt="x" ${lazy}></p>\n<p><a href="${url}">x</a></p>\n<img src="${url}" alt="" ${lazy}>`,
    },
  );

  describe('keeps its text, title and size', () => {
    testHtml({
      '![A *map*](../../media/kb/map.svg "Where")\n\n<img src="/media/kb/map.svg" alt="" width="40" height="30">\n':
        `<p><img src="/media/kb/map.svg" alt="A map" title="Where" ${lazy}></p>\n` +
        `<img src="/media/kb/map.svg" alt="" width="40" height="30" ${lazy}>`,
    });
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
      '###### !!!': '<h6 id="section">!!!</h6>',
      '## \u{26A0}\u{FE0F} Known\u{FE0F}': '<h2 id="-known">\u{26A0}\u{FE0F} Known\u{FE0F}</h2>',
      '## Gro\u0308\u00DFe': '<h2 id="gr\u00F6\u00DFe">Gro\u0308\u00DFe</h2>',
      '# Name': '<h1 id="user-content-name">Name</h1>',
      '# Location': '<h1 id="user-content-location">Location</h1>',
      '# constructor': '<h1 id="user-content-constructor">constructor</h1>',
      '# \\_\\_proto\\_\\_': '<h1 id="user-content-__proto__">__proto__</h1>',
      '<h2 id="mine">Mine</h2>': '<h2 id="user-content-mine">Mine</h2>',
      '<h2>Mine</h2>': '<h2 id="mine">Mine</h2>',
    });
  });

  describe('has a unique id, even if other headings have the same text', () => {
    testHtml({
      '# ?\n\n# \u{1F389}\n\n# Section\n':
        '<h1 id="section">?</h1>\n<h1 id="section-1">\u{1F389}</h1>\n<h1 id="section-2">Section</h1>',
      '# A\n\n# A\n\n# A-1\n\n# A\n\n# Name\n\n# Name\n':
        '<h1 id="a">A</h1>\n<h1 id="a-1">A</h1>\n<h1 id="a-1-1">A-1</h1>\n<h1 id="a-2">A</h1>\n' +
        '<h1 id="user-content-name">Name</h1>\n<h1 id="name-1">Name</h1>',
    });
  });
});

describe('a link to a heading or an anchor', () => {
  const target = [
    '## Name\n',
    '## Größe\n',
    '## \u{26A0}\u{FE0F} Problems\n',
    '## Retention[^note]\n',
    '### 100 %\n',
    '<h4 id="mine">Mine</h4>\n',
    '<a id="spot"></a>\n',
    '<a name="place"></a>\n',
    'A[^note].\n\n[^note]: Text.\n',
  ].join('\n');
  const ofHeadings = ['name', 'gr%C3%B6%C3%9Fe', 'größe', 'gro\u0308ße', '-problems', '\u{FE0F}-problems', 'retention'];
  ofHeadings.push('100-', 'user-content-mine');
  const ofElements = ['mine', 'spot', 'place', 'fn-note'];

  /** Checks whether the first link of an article points to an anchor of a page. */
  function hasAnchor(html: string, link: string): boolean {
    const [, hash = ''] = / href="[^"#]*#([^"]*)"/.exec(link)!;
    return [hash, decodeURIComponent(hash)].some((id) => html.includes(`id="${id}"`) || html.includes(`name="${id}"`));
  }

  const toOwnPage = (anchor: string) => `[x](#${anchor})\n\n${target}`;
  const pages = publishTable([...ofHeadings, ...ofElements].map(toOwnPage));

  test.each([...ofHeadings, ...ofElements])('works on the same page: #%s', async (anchor) => {
    const { html } = await pages(toOwnPage(anchor));
    expect(hasAnchor(html, html), html).toBe(true);
  });

  const toOther = (anchor: string) => `[x](../../knowledgebase/vps/target.md#${anchor})\n`;
  const files = { 'content/knowledgebase/vps/target.md': guide('Target', target) };
  const others = publishTable([...ofHeadings, ...ofElements].map(toOther), { files, lenient: true });

  // The sanitiser prefixes the ids of elements, so links from other articles would be dead.
  test.each([...ofHeadings, ...ofElements])('works in another article only for headings: #%s', async (anchor) => {
    const { html } = await others(toOther(anchor));
    expect(html).toMatch(/^<p><a href="\/knowledgebase\/vps\/target#/);
    expect(hasAnchor((await pages(toOwnPage('name'))).html, html)).toBe(ofHeadings.includes(anchor));
  });

  describe('is refused in another article if the sanitiser prefixed its id', () => {
    const refusal = (anchor: string) =>
      `9:1  there is no heading or anchor #${anchor} in /knowledgebase/vps/target (write #user-content-${anchor})`;
    const rows = [
      ...ofHeadings.map((anchor) => [anchor, []]),
      ...ofElements.map((anchor) => [anchor, refusal(anchor)]),
    ];
    const toText = (anchor: string) => article({}, toOther(anchor));
    testProblems('content/blog/news/page-#.md', toText, Object.fromEntries(rows) as Problems, files);
  });
});

const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ');

describe('the reading time', () => {
  const texts = [
    ['one word', 'Word.', 1],
    ['200 words', words(200), 1],
    ['201 words', words(201), 2],
    ['4,000 words', words(4000), 20],
    ['200 words with dashes and signs between them', `${words(100)} - – & | ${words(100)}`, 1],
    ['200 words, some of them partly bold', `**w**ord ~~w~~or*d* [w](first.md)ord ${words(197)}`, 1],
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
    ['201 Thai words', 'ภาษาไทยง่าย'.repeat(67), 2],
    ['200 Khmer words', 'ភាសាខ្មែរ'.repeat(100), 1],
    ['201 Russian words', Array.from({ length: 201 }, () => 'слово').join(' '), 2],
  ] as const;
  const pages = publishTable(texts.map(([, markdown]) => markdown));

  test.each(texts)('of %s is rounded up to whole minutes', async (_, markdown, minutes) => {
    expect((await pages(markdown)).readTime).toBe(`${minutes} min read`);
  });
});
