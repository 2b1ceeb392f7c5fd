import { existsSync } from 'node:fs';
import { join } from 'node:path';
import matter from 'gray-matter';
import { describe, expect, onTestFinished, test } from 'vitest';
import { article, createProject, runGenerator, temporaryFolder } from '../helpers/project.ts';
import { problemsOf, testFields, testFrontMatter, testProblems, testProjects, testTexts, toGame } from './tables.ts';
import type { Problems } from './tables.ts';

const file = 'content/blog/news/broken.md';
const noAlias =
  'YAML aliases (*name) are not allowed (write out the value, or put a text that starts with * in quotes)';

const problemsOfArticle = (text: string): Promise<string[]> => problemsOf(createProject({ [file]: text }));

/** Creates an article with YAML as the front matter. */
const withYaml = (yaml: string): string => `---\n${yaml}\n---\n\nText.\n`;

/** Nested lists of aliases: ten lines that expand to a billion words. */
function billionLaughs(): string {
  const names = 'bcdefghij'.split('');
  const lines = names.map((name, index) => {
    const inner = `*${'abcdefghi'[index]}`;
    return `${name}: &${name} [${Array(9).fill(inner).join(', ')}]`;
  });
  return ['a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]', ...lines].join('\n');
}

describe('YAML is refused with line and column', () => {
  testFrontMatter({
    'title: A\ntitle: B': '3:1  "title" is given twice (keep one of the two)',
    'title:\n\tname: A': '3:1  this line is indented with a tab (indent with spaces, here and below)',
    'title: &a A\ndescription: *a': `3:14  ${noAlias}`,
    'title: *a': `2:8  ${noAlias}`,
    'base: &b { title: A }\n<<: *b': `3:5  ${noAlias}`,
    'title: !upper a': '2:8  YAML tags (!name) are not allowed (put a text that starts with ! in quotes)',
    'title: !!binary aGk=': '2:8  YAML tags (!name) are not allowed (put a text that starts with ! in quotes)',
    '__proto__: { draft: true }': '2:1  the key "__proto__" is not allowed',
    'constructor: x': '2:1  the key "constructor" is not allowed',
    'title: { prototype: x }': '2:10  the key "prototype" is not allowed',
    '"__proto__": x': '2:1  the key "__proto__" is not allowed',
    'title: A\n...\ntitle: B': '4:1  there is more than one YAML document',
    '%YAML 1.1': '2:10  unexpected text (remove it, or put the whole text in quotes)',
  });

  test('with thousands of nested levels in one line', async () => {
    for (const yaml of [`title: ${'['.repeat(10_000)}`, '? '.repeat(5000), `${'- '.repeat(5000)}x`]) {
      expect(await problemsOfArticle(withYaml(yaml))).toEqual([`${file}:1:1  the YAML is nested too deeply`]);
    }
  });

  test('with aliases that expand to a billion words; each alias is reported', async () => {
    const problems = await problemsOfArticle(withYaml(billionLaughs()));
    expect(problems).toHaveLength(81);
    expect([problems[0], problems[80]]).toEqual([`${file}:3:8  ${noAlias}`, `${file}:11:40  ${noAlias}`]);
  });
});

describe('YAML is accepted', () => {
  testFields({
    // As in YAML 1.2.
    'title: on; author: no; category: 2026-01-01': [],
    '<<: { draft: true }':
      '7:1  unknown field "<<" (the fields are title, description, date, author, cover, category, draft, updated, tags, aliases)',
    // An anchor without an alias, and a comment.
    'title: &a A # a comment; author: "#1"': [],
    // Control characters, which are escaped in JSON.
    'title: "a\\u001b[31mb"': [],
  });
});

test('a list as a key causes no warning of a library', async () => {
  const root = createProject({ [file]: '---\n? [\u001Bcred]\n: x\n---\n\nText.\n' });
  const { stderr } = await runGenerator(['check'], { cwd: root });
  expect(stderr).not.toContain('Warning');
  expect(stderr).not.toContain('\u001B');
});

const column = 'the indentation of this line does not match the lines above (align it with the neighbouring lines)';

describe('wrong indentation is one problem, at the line:', () => {
  testFrontMatter({
    'title: A\n  description: B\ndate: 2026-01-01\nauthor: M': `3:3  ${column}`,
    'title: A\n description: B\n date: 2026-01-01\nauthor: M': `3:2  ${column}`,
    '  title: A\ndescription: B\ndate: 2026-01-01\nauthor: M': `3:1  ${column}`,
    'aliases:\n  - /blog/a\n - /blog/b\ntitle: A': `4:2  ${column}`,
  });

  testProblems('catalog/games/broken-#.yaml', toGame, {
    '  - name: S\n    ram: 1\n   storage: 2\n    price: 3\n    soldOut: false': `7:4  ${column}`,
    '  - name: S\n  ram: 1\n  storage: 2\n  price: 3': `6:3  ${column}`,
    '  - name: S\n      ram: 1\n    storage: 2': `6:7  ${column}`,
    ' - name: S\n   ram: 1\n  - name: T\n    ram: 1': `7:3  ${column}`,
    '\t- name: S\n\t  ram: 1': '5:1  this line is indented with a tab (indent with spaces, here and below)',
  });
});

describe('a merge conflict is one problem at the first line', () => {
  const conflict =
    'unresolved merge conflict (keep one of the two texts, and delete the lines with <<<<<<<, ======= and >>>>>>>)';

  const one = '<<<<<<< HEAD\ntitle: A\n=======\ntitle: B\n>>>>>>> branch';
  testFrontMatter({
    'title: A\n<<<<<<< HEAD\ndate: 2026-01-01\n=======\ndate: 2026-01-02\n>>>>>>> branch\nauthor: M': `3:1  ${conflict}`,
    // The diff3 style, with the common ancestor.
    'title: A\n<<<<<<< HEAD\nauthor: A\n||||||| 1234567\nauthor: B\n=======\nauthor: C\n>>>>>>> branch': `3:1  ${conflict}`,
    [`${one}\n${one}`]: [`2:1  ${conflict}`, `7:1  ${conflict}`],
    'title: A\n>>>>>>> branch': `3:1  ${conflict}`,
  });

  describe('in the catalog', () => {
    testProblems('catalog/games/broken.yaml', toGame, {
      '<<<<<<< HEAD\n  - name: S\n    ram: 1\n=======\n  - name: T\n    ram: 1\n>>>>>>> branch': `5:1  ${conflict}`,
    });
  });

  testProjects({
    'before the front matter': [{ [file]: `<<<<<<< HEAD\n${article({}, 'Text.\n')}` }, `${file}:1:1  ${conflict}`],
    'but a text may hold such a line': [
      { [file]: article({ description: '>-\n  <<<<<<< HEAD\n  =======\n  >>>>>>> branch' }, 'Text.\n') },
    ],
  });
});

describe('a text that needs quotes is suggested with quotes:', () => {
  const begins = (sign: string): string => `a text that starts with ${sign} must be in quotes`;

  testFrontMatter({
    'title: News: two\ndescription: B': '2:8  a text that contains ": " must be in quotes (write "News: two")',
    'title: The "new": two\ndescription: B': `2:8  a text that contains ": " must be in quotes (write 'The "new": two')`,
    'title: @marit\ndescription: B': `2:8  ${begins('@')} (write "@marit")`,
    'title: `ssh` explained\ndescription: B': `2:8  ${begins('`')} (write "\`ssh\` explained")`,
    'title: %d days\ndescription: B': `2:8  ${begins('%')} (write "%d days")`,
    'title: > quoted\ndescription: B': `2:8  ${begins('>')} (write "> quoted")`,
    'title: | x\ndescription: B': `2:8  ${begins('|')} (write "| x")`,
    'title: - what\ndescription: B': `2:8  ${begins('-')} (write "- what")`,
    'title: ? what\ndescription: B': `2:8  ${begins('?')} (write "? what")`,
    'title: [Foo] bar\ndescription: B': `2:8  ${begins('[')} (write "[Foo] bar")`,
    'title: {Foo} bar\ndescription: B': `2:8  ${begins('{')} (write "{Foo} bar")`,
    'title: "A" and B\ndescription: B': `2:12  text follows the closing quote (write '"A" and B')`,
    "title: 'It's me'\ndescription: B": `2:12  text follows the closing quote (write "It's me")`,
    'title: *Bold* words\ndescription: B':
      '2:8  YAML aliases (*name) are not allowed (write out the value, or put a text that starts with * in quotes)',
    'title: !important\ndescription: B':
      '2:8  YAML tags (!name) are not allowed (put a text that starts with ! in quotes)',
  });
});

describe('an unclosed quote or bracket is reported at its start:', () => {
  testFrontMatter({
    'title: "A\ndescription: B\ndate: C': '2:8  this quote is not closed (add " at the end of the text)',
    'title: "A\ndescription: "B"\ndate: C': '2:8  this quote is not closed (add " at the end of the text)',
    "title: 'A\nauthor: M": "2:8  this quote is not closed (add ' at the end of the text)",
    'aliases: [/blog/a\ntitle: B\nauthor: M': '2:10  this [ is not closed (end it with ])',
    'title: {a: b\nauthor: M': '2:8  this { is not closed (end it with })',
    'title: [a': '2:8  this [ is not closed (end it with ])',
    'title: A\ntags: ["a", "b" "c"]': '3:17  a comma is missing before this',
    'title: A\ndescription:x': '3:13  a space is missing after the colon',
  });
});

describe('other mistakes in YAML are reported in plain words:', () => {
  const noField = 'this line is not a field (write "name: value", or indent the line if it continues the text above)';

  testFrontMatter({
    'title:A\ndescription: B': '2:7  a space is missing after the colon',
    'title:\u00A0A\ndescription: B':
      '2:7  the space after the colon is a special character (replace it with a normal space)',
    'aliases:\n- /blog/a\n-/blog/b\ntitle: A': '4:2  a space is missing after the dash',
    'title A\ndescription: B': `2:1  ${noField}`,
    'description: First,\nand second.\nauthor: M': `3:1  ${noField}`,
    'title: "C:\\Users"\ndescription: B':
      '2:11  a backslash in double quotes must be written as \\\\ (or put the text in single quotes)',
    'aliases: [/blog/a]]\ntitle: A\nauthor: M': '2:19  unexpected text (remove it, or put the whole text in quotes)',
  });

  testProblems('catalog/status.yaml', (yaml) => yaml, {
    'monitors:\n  - { name: A url: "https://a.example" }\nmaintenance: []\n': '2:15  a comma is missing before this',
  });

  describe('and two independent mistakes are both reported', () => {
    testFrontMatter({
      'title: News: two\nauthor: @marit\ndescription: B': [
        '2:8  a text that contains ": " must be in quotes (write "News: two")',
        '3:9  a text that starts with @ must be in quotes (write "@marit")',
      ],
    });
  });
});

const onlyYaml =
  '1:1  the first line must be exactly ---; only YAML front matter is allowed ' +
  '(start the file with ---, the fields, and --- again)';

describe('the front matter of an article', () => {
  const testArticles = (rows: Problems): void => testProblems('content/blog/news/broken-#.md', (text) => text, rows);
  const none = '1:1  there is no front matter (start the file with ---, the fields, and --- again)';
  const unclosed = 'the front matter is not closed (end it with a line of exactly ---)';

  const lines =
    '----|--- |---yaml|---json|---toml|---coffee|---js|---js |--- js|---JS|---javascript|---Javascript'.split('|');
  testArticles(Object.fromEntries(lines.map((line) => [`${line}\ntitle: A\n${line}\n\nText.\n`, onlyYaml])));

  testArticles({
    '': none,
    'Text.\n': none,
    ' ---\ntitle: A\n---\n\nText.\n': none,
    '\uFEFF\uFEFF---\ntitle: A\n---\n\nText.\n':
      '1:1  the first line starts with U+FEFF (byte order mark) (delete it before ---)',
    '\u00a0---\ntitle: A\n---\n\nText.\n':
      '1:1  the first line starts with U+00A0 (no-break space) (delete it before ---)',
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

test('code in front matter never runs', async () => {
  const path = join(temporaryFolder(), 'executed');
  onTestFinished(() => void Reflect.deleteProperty(globalThis, 'executed'));
  const code = `{ title: (globalThis.executed = true, require('node:fs').writeFileSync(${JSON.stringify(path)}, '')) }`;
  const traces = () => ({ global: 'executed' in globalThis, file: existsSync(path) });
  const languages = 'js|js | js|JS|javascript|Javascript|json|yaml|coffee|toml|cson'.split('|');
  const tags = ['!!js/function', '!!js/undefined', '!!python/object/apply:os.system', '!code'];
  const texts = [
    ...languages.map((language) => `---${language}\n${code}\n---\n\nText.\n`),
    ...tags.map((tag) => article({ title: `${tag} ${JSON.stringify(code)}` }, 'Text.\n')),
    // A second block is plain text.
    article({}, `---js\n${code}\n---\n`),
  ];
  const toFile = (at: number): string => `content/blog/news/code-${String(at).padStart(2, '0')}.md`;
  const problems = await problemsOf(createProject(Object.fromEntries(texts.map((text, at) => [toFile(at), text]))));
  const noTag = '2:8  YAML tags (!name) are not allowed (put a text that starts with ! in quotes)';
  expect(problems).toEqual([
    ...languages.map((_, at) => `${toFile(at)}:${onlyYaml}`),
    ...tags.map((_, at) => `${toFile(languages.length + at)}:${noTag}`),
  ]);
  expect(traces()).toEqual({ global: false, file: false });

  // Without our checks, gray-matter would run the code.
  matter(texts[0]!);
  expect(traces()).toEqual({ global: true, file: true });
});
