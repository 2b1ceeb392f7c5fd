import { describe, expect, test } from 'vitest';
import { publish, publishTable, testHtml } from './render.ts';

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
