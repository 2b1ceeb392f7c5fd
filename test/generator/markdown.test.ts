import { describe, expect, test } from 'vitest';
import { publish, publishTable } from './render.ts';

async function render(markdown: string): Promise<string> {
  return (await publish(markdown)).html;
}

describe('GitHub-flavoured Markdown', () => {
  const cases = [
    [
      'a table with aligned columns',
      '| a | b | c |\n|:--|--:|:-:|\n| 1 | `x\\|y` | **3** |\n',
      '<table tabindex="0">\n<thead>\n<tr>\n<th align="left">a</th>\n<th align="right">b</th>\n<th align="center">c</th>\n</tr>\n</thead>\n' +
        '<tbody>\n<tr>\n<td align="left">1</td>\n<td align="right"><code>x|y</code></td>\n' +
        '<td align="center"><strong>3</strong></td>\n</tr>\n</tbody>\n</table>',
    ],
    ['struck text', '~~gone~~ and ~too~\n', '<p><del>gone</del> and <del>too</del></p>'],
    [
      'a list of tasks',
      '- [x] done\n- [ ] open\n- plain\n',
      '<ul class="contains-task-list">\n' +
        '<li class="task-list-item"><input type="checkbox" checked disabled aria-label="Completed task"> done</li>\n' +
        '<li class="task-list-item"><input type="checkbox" disabled aria-label="Incomplete task"> open</li>\n' +
        '<li>plain</li>\n</ul>',
    ],
    [
      'addresses in the text',
      'See www.example.com, https://example.com/a?b=c#d and mail@example.com.\n',
      '<p>See <a href="http://www.example.com">www.example.com</a>, ' +
        '<a href="https://example.com/a?b=c#d">https://example.com/a?b=c#d</a> and ' +
        '<a href="mailto:mail@example.com">mail@example.com</a>.</p>',
    ],
    [
      'an address in brackets',
      '<https://example.com>\n',
      '<p><a href="https://example.com">https://example.com</a></p>',
    ],
    ['hard breaks', 'a  \nb\\\nc\n', '<p>a<br>\nb<br>\nc</p>'],
    ['a list that begins with 3', '3. a\n4. b\n', '<ol start="3">\n<li>a</li>\n<li>b</li>\n</ol>'],
    ['a quote that is not an alert', '> a\n> b\n', '<blockquote>\n<p>a\nb</p>\n</blockquote>'],
    ['safe raw HTML', 'Press <kbd>Ctrl</kbd> on H<sub>2</sub>O.\n', '<p>Press <kbd>Ctrl</kbd> on H<sub>2</sub>O.</p>'],
    [
      'a details element',
      '<details open><summary>More</summary>\n\n**Text.**\n\n</details>\n',
      '<details open><summary>More</summary>\n<p><strong>Text.</strong></p>\n</details>',
    ],
    [
      'Markdown in raw HTML',
      '<div align="center">\n\n*a*\n\n</div>\n',
      '<div align="center">\n<p><em>a</em></p>\n</div>',
    ],
    ['reserved characters of HTML', 'a < b & "c"\n', '<p>a &#x3C; b &#x26; "c"</p>'],
  ] as const;
  const pages = publishTable(cases.map(([, markdown]) => markdown));

  test.each(cases)('supports %s', async (_, markdown, html) => {
    expect((await pages(markdown)).html).toBe(html);
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

  const texts = [
    ['bold text', '**Bold** text.', '<p><strong>Bold</strong> text.</p>'],
    ['a link', '[first](first.md) is first.', '<p><a href="/blog/news/first">first</a> is first.</p>'],
    ['code', '`ls` lists.', '<p><code>ls</code> lists.</p>'],
    [
      'an image',
      '![x](/media/kb/map.svg)',
      '<p><img src="/media/kb/map.svg" alt="x" loading="lazy" decoding="async"></p>',
    ],
    ['a list', '- a', '<ul>\n<li>a</li>\n</ul>'],
    ['a paragraph of its own', '\n> Text.', '<p>Text.</p>'],
    ['another quote', '> Text.', '<blockquote>\n<p>Text.</p>\n</blockquote>'],
    ['a block of code', '```\n> x\n> ```', '<pre tabindex="0"><code>x\n</code></pre>'],
  ] as const;
  const notes = publishTable(texts.map(([, text]) => `> [!NOTE]\n> ${text}\n`));

  test.each(texts)('may begin their text with %s', async (_, text, html) => {
    expect((await notes(`> [!NOTE]\n> ${text}\n`)).html).toBe(
      `<div class="markdown-alert markdown-alert-note">\n<p class="markdown-alert-title">Note</p>\n${html}\n</div>`,
    );
  });

  test('may be in a list, and have no text', async () => {
    expect(await render('- > [!TIP]\n')).toBe(
      '<ul>\n<li>\n<div class="markdown-alert markdown-alert-tip">\n<p class="markdown-alert-title">Tip</p>\n</div>\n</li>\n</ul>',
    );
  });

  const nearMisses = [
    ['the kind is unknown', '> [!INFO]\n> Text.\n', '<blockquote>\n<p>[!INFO]\nText.</p>\n</blockquote>'],
    ['text follows the marker', '> [!NOTE] Text.\n', '<blockquote>\n<p>[!NOTE] Text.</p>\n</blockquote>'],
    ['bold text follows it', '> [!NOTE] **a**\n', '<blockquote>\n<p>[!NOTE] <strong>a</strong></p>\n</blockquote>'],
    ['the marker is not first', '> a\n> [!NOTE]\n', '<blockquote>\n<p>a\n[!NOTE]</p>\n</blockquote>'],
    ['the marker is bold', '> **[!NOTE]**\n> a\n', '<blockquote>\n<p><strong>[!NOTE]</strong>\na</p>\n</blockquote>'],
    ['the marker has a space', '> [! NOTE]\n> a\n', '<blockquote>\n<p>[! NOTE]\na</p>\n</blockquote>'],
    ['the marker is escaped', '> \\[!NOTE]\n> a\n', '<blockquote>\n<p>[!NOTE]\na</p>\n</blockquote>'],
    ['there is no quote', '[!NOTE]\na\n', '<p>[!NOTE]\na</p>'],
  ] as const;
  const quotes = publishTable(nearMisses.map(([, markdown]) => markdown));

  test.each(nearMisses)('are quotes or text if %s', async (_, markdown, html) => {
    expect((await quotes(markdown)).html).toBe(html);
  });
});
