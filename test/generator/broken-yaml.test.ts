import { describe, expect, test } from 'vitest';
import { article, createProject, runGenerator } from '../helpers/project.ts';
import { problemsOf, testFrontMatter } from './problems.ts';

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

describe('YAML is refused with line and column', () => {
  testFrontMatter({
    'title: "unfinished\ndescription: x': '2:8  this quote is not closed (add " at the end of the text)',
    'title: News: the second': '2:8  a text that contains ": " must be in quotes (write "News: the second")',
    'title: "@"\nauthor: @marit': '3:9  a text that begins with @ must be in quotes (write "@marit")',
    'title: `ssh` explained': '2:8  a text that begins with ` must be in quotes (write "`ssh` explained")',
    'title: %d days': '2:8  a text that begins with % must be in quotes (write "%d days")',
    'title: [a': '2:8  this [ is not closed (end it with ])',
    'title: A\ntitle: B': '3:1  "title" is given twice (keep one of the two)',
    'title:\n\tname: A': '3:1  this line is indented with a tab (indent with spaces, here and below)',
    'title: &a A\ndescription: *a': `3:14  ${noAlias}`,
    'title: *a': `2:8  ${noAlias}`,
    'base: &b { title: A }\n<<: *b': `3:5  ${noAlias}`,
    'title: !upper a': '2:8  YAML tags (!name) are not allowed (put a text that begins with ! in quotes)',
    'title: !!binary aGk=': '2:8  YAML tags (!name) are not allowed (put a text that begins with ! in quotes)',
    '__proto__: { draft: true }': '2:1  the key "__proto__" is not allowed',
    'constructor: x': '2:1  the key "constructor" is not allowed',
    'title: { prototype: x }': '2:10  the key "prototype" is not allowed',
    '"__proto__": x': '2:1  the key "__proto__" is not allowed',
    'title: A\n...\ntitle: B': '4:1  there is more than one YAML document',
    '%YAML 1.1': '2:10  this does not belong here (remove it, or put the whole text in quotes)',
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
