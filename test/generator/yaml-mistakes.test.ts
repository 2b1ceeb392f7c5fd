import { describe, expect, test } from 'vitest';
import { article, createProject } from '../helpers/project.ts';
import { problemsOf } from './problems.ts';

const file = 'content/blog/news/broken.md';
const game = 'catalog/games/broken.yaml';

/** The problems of a blog article with this front matter, which begins on line 2; without the file name. */
async function problemsOfFrontMatter(yaml: string): Promise<string[]> {
  const problems = await problemsOf(createProject({ [file]: `---\n${yaml}\n---\n\nText.\n` }));
  return problems.map((problem) => problem.replace(`${file}:`, ''));
}

/** The problems of a game whose plans begin on line 5; without the file name. */
async function problemsOfPlans(plans: string): Promise<string[]> {
  const yaml = `name: Broken\nsoldOut: false\nsoldOutMessage: ""\nplans:\n${plans}\n`;
  const problems = await problemsOf(createProject({ [game]: yaml }));
  return problems.map((problem) => problem.replace(`${game}:`, ''));
}

const column =
  'the indentation of this line does not match the lines above (begin it in the column of the fields beside it)';

describe('wrong indentation is one problem, at the line', () => {
  test.each([
    ['a field is indented', 'title: A\n  description: B\ndate: 2026-01-01\nauthor: M', `3:3  ${column}`],
    ['two fields are indented', 'title: A\n description: B\n date: 2026-01-01\nauthor: M', `3:2  ${column}`],
    ['the first field is indented', '  title: A\ndescription: B\ndate: 2026-01-01\nauthor: M', `3:1  ${column}`],
    ['an item is indented less', 'aliases:\n  - /blog/a\n - /blog/b\ntitle: A', `4:2  ${column}`],
  ])('in front matter: %s', async (_, yaml, problem) => {
    expect(await problemsOfFrontMatter(yaml)).toEqual([problem]);
  });

  test.each([
    ['one field less', '  - name: S\n    ram: 1\n   storage: 2\n    price: 3\n    soldOut: false', `7:4  ${column}`],
    ['fields in the column of the dash', '  - name: S\n  ram: 1\n  storage: 2\n  price: 3', `6:3  ${column}`],
    ['fields too far', '  - name: S\n      ram: 1\n    storage: 2', `6:7  ${column}`],
    ['an item too far', ' - name: S\n   ram: 1\n  - name: T\n    ram: 1', `7:3  ${column}`],
    ['tabs', '\t- name: S\n\t  ram: 1', '5:1  this line is indented with a tab (indent with spaces, here and below)'],
  ])('in a plan: %s', async (_, plans, problem) => {
    expect(await problemsOfPlans(plans)).toEqual([problem]);
  });
});

describe('a merge conflict is one problem, at its first line', () => {
  const conflict =
    'a merge conflict is not resolved (keep one of the two texts and delete the lines with <<<<<<<, ======= and >>>>>>>)';

  test('in front matter', async () => {
    const yaml = 'title: A\n<<<<<<< HEAD\ndate: 2026-01-01\n=======\ndate: 2026-01-02\n>>>>>>> branch\nauthor: M';
    expect(await problemsOfFrontMatter(yaml)).toEqual([`3:1  ${conflict}`]);
  });

  test('in the style that shows the common ancestor', async () => {
    const yaml = 'title: A\n<<<<<<< HEAD\nauthor: A\n||||||| 1234567\nauthor: B\n=======\nauthor: C\n>>>>>>> branch';
    expect(await problemsOfFrontMatter(yaml)).toEqual([`3:1  ${conflict}`]);
  });

  test('for each of two conflicts', async () => {
    const one = '<<<<<<< HEAD\ntitle: A\n=======\ntitle: B\n>>>>>>> branch';
    expect(await problemsOfFrontMatter(`${one}\n${one}`)).toEqual([`2:1  ${conflict}`, `7:1  ${conflict}`]);
  });

  test('if only its end is left', async () => {
    expect(await problemsOfFrontMatter('title: A\n>>>>>>> branch')).toEqual([`3:1  ${conflict}`]);
  });

  test('in the catalog', async () => {
    const plans = '<<<<<<< HEAD\n  - name: S\n    ram: 1\n=======\n  - name: T\n    ram: 1\n>>>>>>> branch';
    expect(await problemsOfPlans(plans)).toEqual([`5:1  ${conflict}`]);
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

  test.each([
    ['News: two', '2:8  a text that contains ": " must be in quotes (write "News: two")'],
    ['The "new": two', `2:8  a text that contains ": " must be in quotes (write 'The "new": two')`],
    ['@marit', `2:8  ${begins('@')} (write "@marit")`],
    ['`ssh` explained', `2:8  ${begins('`')} (write "\`ssh\` explained")`],
    ['%d days', `2:8  ${begins('%')} (write "%d days")`],
    ['> quoted', `2:8  ${begins('>')} (write "> quoted")`],
    ['| x', `2:8  ${begins('|')} (write "| x")`],
    ['- what', `2:8  ${begins('-')} (write "- what")`],
    ['? what', `2:8  ${begins('?')} (write "? what")`],
    ['[Foo] bar', `2:8  ${begins('[')} (write "[Foo] bar")`],
    ['{Foo} bar', `2:8  ${begins('{')} (write "{Foo} bar")`],
    ['"A" and B', `2:12  text follows the closing quote (write '"A" and B')`],
    ["'It's me'", `2:12  text follows the closing quote (write "It's me")`],
    [
      '*Bold* words',
      '2:8  YAML aliases (*name) are not allowed (write the value out, or put a text that begins with * in quotes)',
    ],
    ['!important', '2:8  YAML tags (!name) are not allowed (put a text that begins with ! in quotes)'],
  ])('%s', async (title, problem) => {
    expect(await problemsOfFrontMatter(`title: ${title}\ndescription: B`)).toEqual([problem]);
  });
});

describe('what is not closed is reported where it begins:', () => {
  test.each([
    ['a quote', 'title: "A\ndescription: B\ndate: C', '2:8  this quote is not closed (add " at the end of the text)'],
    [
      'a quote before another one',
      'title: "A\ndescription: "B"\ndate: C',
      '2:8  this quote is not closed (add " at the end of the text)',
    ],
    ['a single quote', "title: 'A\nauthor: M", "2:8  this quote is not closed (add ' at the end of the text)"],
    ['a list', 'aliases: [/blog/a\ntitle: B\nauthor: M', '2:10  this [ is not closed (end it with ])'],
    ['fields in braces', 'title: {a: b\nauthor: M', '2:8  this { is not closed (end it with })'],
    ['a list at the end', 'title: [a', '2:8  this [ is not closed (end it with ])'],
    [
      'a list whose comma is missing is closed',
      'title: A\ntags: ["a", "b" "c"]',
      '3:17  a comma is missing before this',
    ],
    [
      'the last line without a space is no indentation',
      'title: A\ndescription:x',
      '3:13  a space is missing after the colon',
    ],
  ])('%s', async (_, yaml, problem) => {
    expect(await problemsOfFrontMatter(yaml)).toEqual([problem]);
  });
});

describe('other mistakes in YAML are reported in plain words:', () => {
  const noField = 'this line is no field (write "name: value", or indent the line if it continues the text above it)';

  test.each([
    ['no space after a colon', 'title:A\ndescription: B', '2:7  a space is missing after the colon'],
    [
      'a no-break space after a colon',
      'title:\u00A0A\ndescription: B',
      '2:7  the space after the colon is not an ordinary one (delete it and type a space)',
    ],
    ['no space after a dash', 'aliases:\n- /blog/a\n-/blog/b\ntitle: A', '4:2  a space is missing after the dash'],
    ['no colon', 'title A\ndescription: B', `2:1  ${noField}`],
    ['a second line of text', 'description: First,\nand second.\nauthor: M', `3:1  ${noField}`],
    [
      'a backslash in double quotes',
      'title: "C:\\Users"\ndescription: B',
      '2:11  a backslash in double quotes must be written as \\\\ (or put the text in single quotes)',
    ],
    [
      'a bracket too many',
      'aliases: [/blog/a]]\ntitle: A\nauthor: M',
      '2:19  this does not belong here (remove it, or put the whole text in quotes)',
    ],
  ])('%s', async (_, yaml, problem) => {
    expect(await problemsOfFrontMatter(yaml)).toEqual([problem]);
  });

  test('a comma is missing in braces', async () => {
    const yaml = 'monitors:\n  - { name: A url: "https://a.example" }\nmaintenance: []\n';
    expect(await problemsOf(createProject({ 'catalog/status.yaml': yaml }))).toEqual([
      'catalog/status.yaml:2:15  a comma is missing before this field',
    ]);
  });

  test('two mistakes that do not depend on each other are both reported', async () => {
    expect(await problemsOfFrontMatter('title: News: two\nauthor: @marit\ndescription: B')).toEqual([
      '2:8  a text that contains ": " must be in quotes (write "News: two")',
      '3:9  a text that begins with @ must be in quotes (write "@marit")',
    ]);
  });
});
