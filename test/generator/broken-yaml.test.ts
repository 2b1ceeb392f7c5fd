import { describe, expect, test } from 'vitest';
import { article, createProject, runGenerator } from '../helpers/project.ts';
import { problemsOf } from './problems.ts';

const file = 'content/blog/news/broken.md';
const noAlias =
  'YAML aliases (*name) are not allowed (write the value out, or put a text that begins with * in quotes)';

function problemsOfYaml(yaml: string): Promise<string[]> {
  return problemsOf(createProject({ [file]: `---\n${yaml}\n---\n\nText.\n` }));
}

function at(problems: readonly string[]): string[] {
  return problems.map((problem) => `${file}:${problem}`);
}

/** Nested lists of aliases: ten lines that expand to a billion words. */
function billionLaughs(): string {
  const names = 'bcdefghij'.split('');
  const lines = names.map((name, index) => {
    const inner = `*${'abcdefghi'[index]}`;
    return `${name}: &${name} [${Array(9).fill(inner).join(', ')}]`;
  });
  return ['a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]', ...lines].join('\n');
}

describe('YAML is refused with line and column if', () => {
  test.each([
    [
      'a quote is never closed',
      'title: "unfinished\ndescription: x',
      ['2:8  this quote is not closed (add " at the end of the text)'],
    ],
    [
      'an unquoted text contains a colon',
      'title: News: the second',
      ['2:8  a text that contains ": " must be in quotes (write "News: the second")'],
    ],
    [
      'a text begins with @',
      'title: "@"\nauthor: @marit',
      ['3:9  a text that begins with @ must be in quotes (write "@marit")'],
    ],
    [
      'a text begins with a backtick',
      'title: `ssh` explained',
      ['2:8  a text that begins with ` must be in quotes (write "`ssh` explained")'],
    ],
    ['a text begins with %', 'title: %d days', ['2:8  a text that begins with % must be in quotes (write "%d days")']],
    ['a bracket is never closed', 'title: [a', ['2:8  this [ is not closed (end it with ])']],
    ['a key is given twice', 'title: A\ntitle: B', ['3:1  "title" is given twice (keep one of the two)']],
    [
      'a line is indented with a tab',
      'title:\n\tname: A',
      ['3:1  this line is indented with a tab (indent with spaces, here and below)'],
    ],
    ['a value is an alias', 'title: &a A\ndescription: *a', [`3:14  ${noAlias}`]],
    ['a value is an alias without an anchor', 'title: *a', [`2:8  ${noAlias}`]],
    ['a mapping is merged', 'base: &b { title: A }\n<<: *b', [`3:5  ${noAlias}`]],
    [
      'a value has a custom tag',
      'title: !upper a',
      ['2:8  YAML tags (!name) are not allowed (put a text that begins with ! in quotes)'],
    ],
    [
      'a value has a tag of YAML 1.1',
      'title: !!binary aGk=',
      ['2:8  YAML tags (!name) are not allowed (put a text that begins with ! in quotes)'],
    ],
    ['a key is __proto__', '__proto__: { draft: true }', ['2:1  the key "__proto__" is not allowed']],
    ['a key is constructor', 'constructor: x', ['2:1  the key "constructor" is not allowed']],
    ['a nested key is prototype', 'title: { prototype: x }', ['2:10  the key "prototype" is not allowed']],
    ['a key is __proto__ in quotes', '"__proto__": x', ['2:1  the key "__proto__" is not allowed']],
    ['there is more than one document', 'title: A\n...\ntitle: B', ['4:1  there is more than one YAML document']],
    [
      'it has a directive',
      '%YAML 1.1',
      ['2:10  this does not belong here (remove it, or put the whole text in quotes)'],
    ],
  ])('%s', async (_, yaml, problems) => {
    expect(await problemsOfYaml(yaml)).toEqual(at(problems));
  });

  test('it has thousands of nested levels in one line', async () => {
    for (const yaml of [`title: ${'['.repeat(10_000)}`, '? '.repeat(5000), `${'- '.repeat(5000)}x`]) {
      expect(await problemsOfYaml(yaml)).toEqual(at(['1:1  the YAML is nested too deeply']));
    }
  });

  test('a mapping is merged without an alias: in YAML 1.2, << is an ordinary field', async () => {
    expect(await problemsOf(createProject({ [file]: article({ '<<': '{ draft: true }' }, 'Text.\n') }))).toEqual(
      at([
        '7:1  unknown field "<<" (the fields are title, description, date, author, cover, category, draft, updated, tags, aliases)',
      ]),
    );
  });

  test('aliases expand to a billion words; each alias is reported', async () => {
    const problems = await problemsOfYaml(billionLaughs());
    expect(problems).toHaveLength(81);
    expect(problems[0]).toBe(`${file}:3:8  ${noAlias}`);
    expect(problems[80]).toBe(`${file}:11:40  ${noAlias}`);
  });
});

test('yes, no, on and dates are text, as in YAML 1.2', async () => {
  const root = createProject({ [file]: article({ title: 'on', author: 'no', category: '2026-01-01' }, 'Text.\n') });
  const problems = await problemsOf(root);
  expect(problems).toEqual([]);
});

test('an anchor without an alias and a comment are accepted', async () => {
  const text = article({ title: '&a A # a comment', author: '"#1"' }, 'Text.\n');
  expect(await problemsOf(createProject({ [file]: text }))).toEqual([]);
});

test('a key that is a list prints no warning of a library', async () => {
  const root = createProject({ [file]: '---\n? [\u001Bcred]\n: x\n---\n\nText.\n' });
  const { stderr } = await runGenerator(['check'], { cwd: root });
  expect(stderr).not.toContain('Warning');
  expect(stderr).not.toContain('\u001B');
});
