import { existsSync } from 'node:fs';
import { join } from 'node:path';
import matter from 'gray-matter';
import { afterEach, describe, expect, test } from 'vitest';
import { article, createProject, temporaryFolder } from '../helpers/project.ts';
import { problemsOf } from './problems.ts';

const file = 'content/blog/news/broken.md';

function problemsOfArticle(text: string): Promise<string[]> {
  return problemsOf(createProject({ [file]: text }));
}

/** An article with this YAML as its front matter. */
function withYaml(yaml: string): string {
  return `---\n${yaml}\n---\n\nText.\n`;
}

describe('the front matter of an article', () => {
  const onlyYaml =
    '1:1  the first line must be exactly ---; only YAML front matter is allowed ' +
    '(begin the file with ---, its fields, and --- again)';
  const none = '1:1  there is no front matter (begin the file with ---, its fields, and --- again)';
  const unclosed = 'the front matter is not closed (end it with a line of exactly ---)';

  test.each([
    '----',
    '--- ',
    '---yaml',
    '---json',
    '---toml',
    '---coffee',
    '---js',
    '---js ',
    '--- js',
    '---JS',
    '---javascript',
    '---Javascript',
  ])('is refused if the first line is "%s"', async (line) => {
    const text = `${line}\ntitle: A\n${line}\n\nText.\n`;
    expect(await problemsOfArticle(text)).toEqual([`${file}:${onlyYaml}`]);
  });

  test.each([
    ['the file is empty', '', none],
    ['the file begins with its text', 'Text.\n', none],
    ['the first line is indented', ' ---\ntitle: A\n---\n\nText.\n', none],
    ['the first line is the only one', '---', `1:1  ${unclosed}`],
    ['no line closes it', '---\ntitle: A\n\nText.\n', `1:1  ${unclosed}`],
    ['it is closed with ----', '---\ntitle: A\n----\n\nText.\n', `3:1  ${unclosed}`],
    ['text follows the closing ---', '---\ntitle: A\n--- yes\n\nText.\n', `3:1  ${unclosed}`],
    ['it is empty', '---\n---\n\nText.\n', '1:1  the YAML must be a mapping of fields, not empty'],
    ['it is a list', withYaml('- title: A'), '2:1  the YAML must be a mapping of fields, not a list'],
    ['it is a sentence', withYaml('Hello there'), '2:1  the YAML must be a mapping of fields, not text'],
  ])('is refused if %s', async (_, text, problem) => {
    expect(await problemsOfArticle(text)).toEqual([`${file}:${problem}`]);
  });

  test.each([
    ['no text', '', '9:1  the article has no text'],
    ['only a comment', '<!-- later -->\n', '9:1  the article has no text'],
    ['only HTML that is removed', '<script>alert(1)</script>\n', '9:1  the article has no text'],
  ])('must be followed by text, not by %s', async (_, body, problem) => {
    expect(await problemsOfArticle(article({}, body))).toEqual([`${file}:${problem}`]);
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
