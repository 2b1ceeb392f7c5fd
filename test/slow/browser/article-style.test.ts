import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createTestApp } from '../../helpers/app.ts';
import { png } from '../../helpers/media.ts';
import { buildProject, createProject, guide } from '../../helpers/project.ts';
import { contrastOf, describeChromium, newPage, servePage } from './chromium.ts';

const inline =
  'a [link](/blog/news/first), `code`, <kbd>Ctrl</kbd>, <samp>out</samp>, <mark>marked [link](/blog/news/first) `code`</mark>';
const alerts = ['NOTE', 'TIP', 'IMPORTANT', 'WARNING', 'CAUTION'].map((kind) => `> [!${kind}]\n> Text, ${inline}.\n`);

/** An article that uses every rule of the style sheet. */
const body = `
## Two

### Three

- **one**

1. first

Text, ${inline}, <abbr title="Domain Name System">DNS</abbr>, <del>old</del> <ins>new</ins> and a footnote[^1].

${alerts.join('\n')}
> A quote, ${inline}.

| A [head](/blog/news/first) \`code\` | Price |
| --- | --: |
| ${inline} | 3.50 |

<details open><summary>More, <code>code</code></summary>

- [x] Done
- [ ] Open

</details>

<figure>

![Map](/media/kb/photo.png)

<figcaption>What it shows, with a <a href="/blog/news/first">link</a> and <code>code</code></figcaption>
</figure>

\`\`\`ts title="server.ts" {2}
// A comment
const port = 3000; /* it
goes on */
\`\`\`

\`\`\`diff {2} title="a.conf"
@@ -1,2 +1,2 @@
-listen 80;
+listen 443;
 server_name example.com;
\`\`\`

[^1]: The note, ${inline}.
`;

/** Rules of other style sheets, as in resets, component frameworks and themes: boxes with colours, greyed texts. */
const others = {
  none: '',
  reset: `* { margin: 0; padding: 0; border: 0; font: inherit } ol, ul { list-style: none } th, td { text-align: start }`,
  boxes: `pre, code, kbd, samp { color: #e2e8f0; background: #1e293b } mark { color: #fee; background: #511 }
    blockquote p, figcaption, dd, h2, li, summary, td, a:visited { color: #777 } th { color: #ddd; background: #333 }`,
};

/** Code for each highlight.js class in the style sheet, on each kind of line. */
function toCode(style: string): string {
  const names = [...new Set(style.match(/\bhljs-[\w-]+/g))];
  const spans = ['', ...names].map((name) => `<span class="${name}">${name || 'other'}</span>`).join(' ');
  const kinds = ['line', 'line highlighted', 'line diff add', 'line diff remove', 'line highlighted diff add'];
  const lines = kinds.map((kind) => `<span class="${kind}">${spans}\n</span>`).join('');
  return `<pre data-title="all"><code class="hljs">${lines}</code></pre>`;
}

/** Every text with its colours, and every meaningful edge. */
function readColours(page: Page): Promise<{ what: string; colours: [string, string]; least: number }[]> {
  return page.evaluate(() => {
    const canvas = matchMedia('(prefers-color-scheme: dark)').matches ? 'rgb(18, 18, 18)' : 'rgb(255, 255, 255)';
    const backgroundOf = (element: Element | null): string => {
      if (!element) return canvas;
      const { backgroundColor } = getComputedStyle(element);
      const [, , , alpha = '1'] = backgroundColor.match(/[\d.]+/g)!;
      if (alpha !== '0' && alpha !== '1') throw new Error(`${backgroundColor} is half transparent`);
      return alpha === '0' ? backgroundOf(element.parentElement) : backgroundColor;
    };
    const nameOf = (element: Element): string => {
      const path = [];
      for (let at: Element | null = element; at && at.className !== 'markdown-body'; at = at.parentElement) {
        path.unshift(at.localName + (at.className && `.${at.className.replaceAll(' ', '.')}`));
      }
      return path.join(' > ');
    };
    const found: { what: string; colours: [string, string]; least: number }[] = [];
    for (const element of document.querySelectorAll('.markdown-body *')) {
      const style = getComputedStyle(element);
      const background = backgroundOf(element);
      const add = (what: string, color: string, least: number) =>
        found.push({ what, colours: [color, background], least });
      const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent!.trim() !== '');
      if (hasText) add(nameOf(element), style.color, 4.5);
      if (element.matches('pre[data-title]')) add('title of code', getComputedStyle(element, '::before').color, 4.5);
      if (element.matches('.highlighted, .add, .remove, .markdown-alert')) {
        add(`edge of ${nameOf(element)}`, style.borderLeftColor, 3);
      }
    }
    return found;
  });
}

const forms = {
  h2: 'large bold',
  h3: 'large bold',
  strong: 'bold',
  ul: 'disc',
  ol: 'decimal',
  'th:last-child': 'right bold',
  'td:last-child': 'right',
};

/** Reads what tells elements apart from plain text, and checks that no text is smaller than 85 % of its paragraph. */
function readForms(page: Page): Promise<Record<string, string>> {
  return page.evaluate((selectors) => {
    const root = getComputedStyle(document.querySelector('.markdown-body')!);
    const read = (selector: string): string => {
      const element = document.querySelector(`.markdown-body ${selector}`)!;
      const { fontSize, fontWeight, listStyleType, textAlign } = getComputedStyle(element);
      const words = [];
      if (Number.parseFloat(fontSize) > 1.2 * Number.parseFloat(root.fontSize)) words.push('large');
      if (element.matches('ul, ol')) words.push(listStyleType);
      if (textAlign === 'right') words.push('right');
      if (Number(fontWeight) >= 600) words.push('bold');
      return words.join(' ');
    };
    const small = [...document.querySelectorAll('.markdown-body :not(input)')].filter((element) => {
      const size = (of: Element): number => Number.parseFloat(getComputedStyle(of).fontSize);
      return size(element) < 0.85 * size(element.parentElement!);
    });
    const found = Object.fromEntries(selectors.map((selector) => [selector, read(selector)]));
    return { ...found, ...(small.length > 0 && { small: small.map(({ localName }) => localName).join() }) };
  }, Object.keys(forms));
}

describeChromium((browser) => {
  test.each(['light', 'dark'] as const)('all texts of an article have enough contrast (%s)', async (colorScheme) => {
    const root = createProject({
      'content/media/kb/photo.png': png(320, 180),
      'content/knowledgebase/vps/all.md': guide('Everything', body),
    });
    const { diagnostics } = await buildProject(root);
    expect(diagnostics).toEqual([]);
    const app = await createTestApp({ root });
    const style = await (await fetch(`${app.url}/v1/article.css`)).text();
    const answer = await fetch(`${app.url}/v1/kb/article?path=/knowledgebase/vps/all`);
    const { html } = (await answer.json()) as { html: string };
    const url = await servePage(
      '<!doctype html><meta name="color-scheme" content="light dark"><title>Article</title>' +
        `<link rel="stylesheet" href="${app.url}/v1/article.css"><base href="${app.url}">` +
        `<style></style><main class="markdown-body">${html}${toCode(style)}</main>`,
    );
    const page = await newPage(browser(), { colorScheme, viewport: { width: 800, height: 1000 } });
    await page.goto(url);
    for (const [name, rules] of Object.entries(others)) {
      await page.evaluate((text) => (document.querySelector('style')!.textContent = text), rules);
      const found = await readColours(page);
      expect(found.length).toBeGreaterThan(150);
      expect([name, found.filter(({ colours, least }) => contrastOf(...colours) < least)]).toEqual([name, []]);
      expect([name, await readForms(page)]).toEqual([name, forms]);
    }
    // A marked line is as wide as its block, including the scrolled part.
    const overlaps = await page.evaluate(() =>
      [...document.querySelectorAll('pre .line')].map(
        (line) => line.closest('pre')!.scrollWidth - Math.round(line.getBoundingClientRect().width),
      ),
    );
    expect(overlaps).toEqual(overlaps.map(() => 0));
  });
});
