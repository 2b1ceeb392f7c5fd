import { describe, expect, test } from 'vitest';
import { article, createProject } from '../helpers/project.ts';
import { problemsOf, testFrontMatter, testProblems } from './problems.ts';

const file = 'content/blog/news/broken.md';

/** A game whose plans begin on line 5. */
const toGame = (plans: string): string => `name: Broken\nsoldOut: false\nsoldOutMessage: ""\nplans:\n${plans}\n`;

const column =
  'the indentation of this line does not match the lines above (begin it in the column of the fields beside it)';

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

describe('a merge conflict is one problem, at its first line', () => {
  const conflict =
    'a merge conflict is not resolved (keep one of the two texts and delete the lines with <<<<<<<, ======= and >>>>>>>)';

  const one = '<<<<<<< HEAD\ntitle: A\n=======\ntitle: B\n>>>>>>> branch';
  testFrontMatter({
    'title: A\n<<<<<<< HEAD\ndate: 2026-01-01\n=======\ndate: 2026-01-02\n>>>>>>> branch\nauthor: M': `3:1  ${conflict}`,
    // The style that shows the common ancestor.
    'title: A\n<<<<<<< HEAD\nauthor: A\n||||||| 1234567\nauthor: B\n=======\nauthor: C\n>>>>>>> branch': `3:1  ${conflict}`,
    [`${one}\n${one}`]: [`2:1  ${conflict}`, `7:1  ${conflict}`],
    'title: A\n>>>>>>> branch': `3:1  ${conflict}`,
  });

  describe('in the catalog', () => {
    testProblems('catalog/games/broken.yaml', toGame, {
      '<<<<<<< HEAD\n  - name: S\n    ram: 1\n=======\n  - name: T\n    ram: 1\n>>>>>>> branch': `5:1  ${conflict}`,
    });
  });

  test('before the front matter', async () => {
    const text = `<<<<<<< HEAD\n${article({}, 'Text.\n')}`;
    expect(await problemsOf(createProject({ [file]: text }))).toEqual([`${file}:1:1  ${conflict}`]);
  });

  test('but a text may hold such a line', async () => {
    const description = '>-\n  <<<<<<< HEAD\n  =======\n  >>>>>>> branch';
    expect(await problemsOf(createProject({ [file]: article({ description }, 'Text.\n') }))).toEqual([]);
  });
});

describe('a text that needs quotes is shown with them:', () => {
  const begins = (sign: string): string => `a text that begins with ${sign} must be in quotes`;

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
      '2:8  YAML aliases (*name) are not allowed (write the value out, or put a text that begins with * in quotes)',
    'title: !important\ndescription: B':
      '2:8  YAML tags (!name) are not allowed (put a text that begins with ! in quotes)',
  });
});

describe('what is not closed is reported where it begins:', () => {
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
  const noField = 'this line is no field (write "name: value", or indent the line if it continues the text above it)';

  testFrontMatter({
    'title:A\ndescription: B': '2:7  a space is missing after the colon',
    'title:\u00A0A\ndescription: B':
      '2:7  the space after the colon is not an ordinary one (delete it and type a space)',
    'aliases:\n- /blog/a\n-/blog/b\ntitle: A': '4:2  a space is missing after the dash',
    'title A\ndescription: B': `2:1  ${noField}`,
    'description: First,\nand second.\nauthor: M': `3:1  ${noField}`,
    'title: "C:\\Users"\ndescription: B':
      '2:11  a backslash in double quotes must be written as \\\\ (or put the text in single quotes)',
    'aliases: [/blog/a]]\ntitle: A\nauthor: M':
      '2:19  this does not belong here (remove it, or put the whole text in quotes)',
  });

  test('a comma is missing in braces', async () => {
    const yaml = 'monitors:\n  - { name: A url: "https://a.example" }\nmaintenance: []\n';
    expect(await problemsOf(createProject({ 'catalog/status.yaml': yaml }))).toEqual([
      'catalog/status.yaml:2:15  a comma is missing before this field',
    ]);
  });

  describe('also two that do not depend on each other', () => {
    testFrontMatter({
      'title: News: two\nauthor: @marit\ndescription: B': [
        '2:8  a text that contains ": " must be in quotes (write "News: two")',
        '3:9  a text that begins with @ must be in quotes (write "@marit")',
      ],
    });
  });
});
