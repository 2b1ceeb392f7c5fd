import { describe, expect, test } from 'vitest';
import { publish, publishTable } from './render.ts';

async function render(markdown: string): Promise<string> {
  return (await publish(markdown)).html;
}

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
