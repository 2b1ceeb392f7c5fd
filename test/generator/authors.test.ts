import { describe, expect, test } from 'vitest';
import { article, createProject } from '../helpers/project.ts';
import { problemsOf } from './problems.ts';

const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>\n';
const authors = 'content/authors.yaml';

test('a picture of an author is used', async () => {
  const root = createProject({ 'content/media/marit.svg': svg, [authors]: 'Marit: { picture: /media/marit.svg }\n' });
  expect(await problemsOf(root)).toEqual([]);
});

test.each<[string, string, string[]]>([
  [
    'a picture that does not exist',
    'Marit:\n  picture: /media/kb/mapp.svg\n',
    ['2:12  there is no /media/kb/mapp.svg in content/ (did you mean "/media/kb/map.svg"?)'],
  ],
  ['a picture elsewhere', 'Marit: { picture: "https://a.example/x.svg" }\n', ['1:19  "Marit.picture" must be a path']],
  ['an address that is not https', 'Marit: { url: "http://a.example" }\n', ['1:15  "Marit.url" must be a URL']],
  ['an unknown field', 'Marit: { image: /media/x.svg }\n', ['1:10  unknown field "Marit.image"']],
  ['an empty entry', 'Marit:\n', ['1:7  "Marit" must be a mapping of fields, not empty']],
  ['an author given twice', 'Marit: {}\nMarit: {}\n', ['2:1  ']],
  ['a list', '- Marit\n', ['1:1  ']],
])('authors.yaml with %s is an error', async (_, yaml, expected) => {
  const found = await problemsOf(createProject({ [authors]: yaml }));
  expect(found).toHaveLength(expected.length);
  for (const [at, problem] of found.entries()) expect(problem).toContain(`${authors}:${expected[at]!}`);
  expect(found.filter((problem) => problem.includes('warning'))).toEqual([]);
});

describe('the author of an article who is not in authors.yaml', () => {
  test('is a warning, with the name that was meant', async () => {
    const root = createProject({
      [authors]: 'Marit: {}\nAda Lovelace: {}\n',
      'content/blog/news/third.md': article({ author: 'Ada Lovelance' }, 'Text.\n'),
      'content/blog/news/fourth.md': article({ author: 'Guest' }, 'Text.\n'),
    });
    expect(await problemsOf(root)).toEqual([
      'content/blog/news/fourth.md:5:9  warning: the author Guest is not in authors.yaml (add there: "Guest": {})',
      'content/blog/news/third.md:5:9  warning: the author Ada Lovelance is not in authors.yaml (did you mean "Ada Lovelace"?)',
    ]);
  });

  test('is not reported for a draft, or without that file', async () => {
    const other = { 'content/blog/news/third.md': article({ author: 'Guest', draft: 'true' }, 'Text.\n') };
    expect(await problemsOf(createProject({ ...other, [authors]: 'Marit: {}\n' }))).toEqual([]);
    const guest = { 'content/blog/news/third.md': article({ author: 'Guest' }, 'Text.\n') };
    expect(await problemsOf(createProject(guest))).toEqual([]);
  });
});

test('a file that is named almost so is out of place', async () => {
  const root = createProject({ 'content/author.yaml': 'Marit: {}\n' });
  expect(await problemsOf(root)).toEqual([
    'content/author.yaml:1:1  this file is out of place (did you mean "authors.yaml"?)',
  ]);
});
