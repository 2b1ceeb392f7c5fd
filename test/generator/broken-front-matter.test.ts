import { existsSync } from 'node:fs';
import { join } from 'node:path';
import matter from 'gray-matter';
import { afterEach, describe, expect, test } from 'vitest';
import { article, createProject, temporaryFolder } from '../helpers/project.ts';
import { problemsOf, testProblems, testTexts } from './problems.ts';
import type { Problems } from './problems.ts';

const file = 'content/blog/news/broken.md';

function problemsOfArticle(text: string): Promise<string[]> {
  return problemsOf(createProject({ [file]: text }));
}

/** An article with this YAML as its front matter. */
function withYaml(yaml: string): string {
  return `---\n${yaml}\n---\n\nText.\n`;
}

describe('the front matter of an article', () => {
  const testArticles = (rows: Problems): void => testProblems('content/blog/news/broken-#.md', (text) => text, rows);
  const onlyYaml =
    '1:1  the first line must be exactly ---; only YAML front matter is allowed ' +
    '(begin the file with ---, its fields, and --- again)';
  const none = '1:1  there is no front matter (begin the file with ---, its fields, and --- again)';
  const unclosed = 'the front matter is not closed (end it with a line of exactly ---)';

  const lines =
    '----|--- |---yaml|---json|---toml|---coffee|---js|---js |--- js|---JS|---javascript|---Javascript'.split('|');
  testArticles(Object.fromEntries(lines.map((line) => [`${line}\ntitle: A\n${line}\n\nText.\n`, onlyYaml])));

  testArticles({
    '': none,
    'Text.\n': none,
    ' ---\ntitle: A\n---\n\nText.\n': none,
    '---': `1:1  ${unclosed}`,
    '---\ntitle: A\n\nText.\n': `1:1  ${unclosed}`,
    '---\ntitle: A\n----\n\nText.\n': `3:1  ${unclosed}`,
    '---\ntitle: A\n--- yes\n\nText.\n': `3:1  ${unclosed}`,
    '---\n---\n\nText.\n': '1:1  the YAML must be a mapping of fields, not empty',
    [withYaml('- title: A')]: '2:1  the YAML must be a mapping of fields, not a list',
    [withYaml('Hello there')]: '2:1  the YAML must be a mapping of fields, not text',
  });

  describe('must be followed by text', () => {
    testTexts({
      '': '9:1  the article has no text',
      '<!-- later -->\n': '9:1  the article has no text',
      '<script>alert(1)</script>\n': '9:1  the article has no text',
    });
  });
});

describe('code in front matter', () => {
  afterEach(() => {
    Reflect.deleteProperty(globalThis, 'executed');
  });

  /** Code that sets a global and writes a file when it runs. */
  function createProbe() {
    const path = join(temporaryFolder(), 'executed');
    const code = `{ title: (globalThis.executed = true, require('node:fs').writeFileSync(${JSON.stringify(path)}, '')) }`;
    return { code, traces: () => ({ global: 'executed' in globalThis, file: existsSync(path) }) };
  }

  test('runs if gray-matter parses the file without our checks', () => {
    const { code, traces } = createProbe();
    matter(`---js\n${code}\n---\n\nText.\n`);
    expect(traces()).toEqual({ global: true, file: true });
  });

  test.each(['js', 'js ', ' js', 'JS', 'javascript', 'Javascript', 'json', 'yaml', 'coffee', 'toml', 'cson'])(
    'never runs after "---%s"',
    async (language) => {
      const { code, traces } = createProbe();
      expect(await problemsOfArticle(`---${language}\n${code}\n---\n\nText.\n`)).toHaveLength(1);
      expect(traces()).toEqual({ global: false, file: false });
    },
  );

  test('never runs in a second block, since that is text', async () => {
    const { code, traces } = createProbe();
    expect(await problemsOfArticle(article({}, `---js\n${code}\n---\n`))).toEqual([]);
    expect(traces()).toEqual({ global: false, file: false });
  });

  test.each(['!!js/function', '!!js/undefined', '!!python/object/apply:os.system', '!code'])(
    'never runs after the YAML tag %s',
    async (tag) => {
      const { code, traces } = createProbe();
      const problems = await problemsOfArticle(article({ title: `${tag} ${JSON.stringify(code)}` }, 'Text.\n'));
      expect(problems).toEqual([
        `${file}:2:8  YAML tags (!name) are not allowed (put a text that begins with ! in quotes)`,
      ]);
      expect(traces()).toEqual({ global: false, file: false });
    },
  );
});
