import { describe, expect, test } from 'vitest';
import { article, createProject } from '../helpers/project.ts';
import { problemsOf } from './problems.ts';

const file = 'content/blog/news/broken.md';
const guide = 'content/knowledgebase/vps/broken.md';
const blogFields = 'title, description, date, author, cover, category, draft, updated, tags, aliases';
const noDate = 'must be a calendar date of the form YYYY-MM-DD';
const noMedia = '"cover" must be a path that begins with /media/, of letters, digits, dots, hyphens and underscores';

describe('a field is refused if', () => {
  test.each<[string, Record<string, string | undefined>, string[]]>([
    ['the title is missing', { title: undefined }, ['2:1  missing field "title"']],
    ['its name is mistyped', { title: undefined, titel: 'A' }, ['6:1  unknown field "titel" (did you mean "title"?)']],
    ['its name has a capital', { Draft: 'true' }, ['7:1  unknown field "Draft" (did you mean "draft"?)']],
    ['it is unknown', { keywords: 'x' }, [`7:1  unknown field "keywords" (the fields are ${blogFields})`]],
    ['the title is a number', { title: '123' }, ['2:8  "title" must be text, not a number (put it in quotes)']],
    ['the title is a fraction', { title: '1.5' }, ['2:8  "title" must be text, not a number (put it in quotes)']],
    ['the title is true', { title: 'true' }, ['2:8  "title" must be text, not true or false (put it in quotes)']],
    ['the title is a list', { title: '[x]' }, ['2:8  "title" must be text, not a list']],
    ['the title is a mapping', { title: '{ a: b }' }, ['2:8  "title" must be text, not a mapping of fields']],
    ['the title is left out', { title: '' }, ['2:8  "title" must be text, not empty']],
    ['the title is empty', { title: '""' }, ['2:8  "title" must not be empty']],
    ['the title is blank', { title: '"  "' }, ['2:8  "title" must not be empty']],
    [
      'the title has two lines',
      { title: '"a\\nb"' },
      ['2:8  "title" must be a single line; begin folded text with >-'],
    ],
    [
      'the title is a block of lines',
      { title: '|\n  a\n  b' },
      ['2:8  "title" must be a single line; begin folded text with >-'],
    ],
    [
      'the title is folded and keeps its line break',
      { title: '>\n  a\n  b' },
      ['2:8  "title" must be a single line; begin folded text with >-'],
    ],
    ['the description is empty', { description: '""' }, ['3:14  "description" must not be empty']],
    ['the date does not exist', { date: '2026-02-30' }, [`4:7  "date" ${noDate}`]],
    ['the date is 29 February of a common year', { date: '2027-02-29' }, [`4:7  "date" ${noDate}`]],
    ['the date is a word', { date: 'tomorrow' }, [`4:7  "date" ${noDate}`]],
    ['the date has single digits', { date: '2026-1-2' }, [`4:7  "date" ${noDate} (write 2026-01-02)`]],
    ['the date has a time', { date: '2026-01-02T10:00' }, [`4:7  "date" ${noDate} (write 2026-01-02)`]],
    ['the authors are a list', { author: '[Marit, Kees]' }, ['5:9  "author" must be text, not a list']],
    ['the cover is missing', { cover: undefined }, ['2:1  missing field "cover"']],
    ['the cover is a file name', { cover: 'cover.svg' }, [`6:8  ${noMedia}`]],
    ['the cover is an external URL', { cover: 'https://example.com/a.png' }, [`6:8  ${noMedia}`]],
    ['the cover leaves /media/', { cover: '/media/../a.svg' }, [`6:8  ${noMedia}`]],
    ['the cover does not exist', { cover: '/media/kb/none.png' }, ['6:8  there is no /media/kb/none.png in content/']],
    [
      'the cover has another case',
      { cover: '/media/covers/Cover.svg' },
      ['6:8  there is no /media/covers/Cover.svg in content/ (did you mean "/media/covers/cover.svg"?)'],
    ],
    ['the category is a number', { category: '5' }, ['7:11  "category" must be text, not a number (put it in quotes)']],
    ['draft is text', { draft: '"yes"' }, ['7:8  "draft" must be true or false, not text (write true without quotes)']],
    ['draft is yes', { draft: 'yes' }, ['7:8  "draft" must be true or false, not text (write true)']],
    ['draft is a number', { draft: '1' }, ['7:8  "draft" must be true or false, not a number']],
    ['updated does not exist', { updated: '2026-13-01' }, [`7:10  "updated" ${noDate}`]],
    ['aliases is text', { aliases: '/blog/old' }, ['7:10  "aliases" must be a list, not text (write [/blog/old])']],
    [
      'an alias leaves the blog',
      { aliases: '[/blog/old, /knowledgebase/old]' },
      ['7:22  "aliases[1]" must be a former path that begins with /blog/'],
    ],
    [
      'an alias has a space',
      { aliases: '["/blog/old news/a"]' },
      ['7:11  "aliases[0]" must be a former path that begins with /blog/'],
    ],
  ])('%s', async (_, fields, problems) => {
    const root = createProject({ [file]: article(fields, 'Text.\n') });
    expect(await problemsOf(root)).toEqual(problems.map((problem) => `${file}:${problem}`));
  });

  test('it is required and missing, for all required fields', async () => {
    const root = createProject({ [file]: '---\ndraft: true\n---\n\nText.\n' });
    const missing = ['title', 'description', 'date', 'author', 'cover'];
    expect(await problemsOf(root)).toEqual(missing.map((field) => `${file}:2:1  missing field "${field}"`));
  });

  test('it is a blog field in a knowledge base article', async () => {
    const root = createProject({ [guide]: '---\ntitle: A\ndescription: B\nauthor: Marit\n---\n\nText.\n' });
    expect(await problemsOf(root)).toEqual([
      `${guide}:4:1  unknown field "author" (the fields are title, description, category, draft, updated, tags, aliases)`,
    ]);
  });
});

describe('the name of a category', () => {
  test('is refused if two articles give different names; the second is reported', async () => {
    const root = createProject({
      'content/blog/more/a.md': article({ category: 'Alpha' }, 'Text.\n'),
      'content/blog/more/b.md': article({ category: 'Beta' }, 'Text.\n'),
    });
    expect(await problemsOf(root)).toEqual([
      'content/blog/more/b.md:7:11  "category" must be the same in all of more/ (content/blog/more/a.md says "Alpha")',
    ]);
  });

  test('is refused if an article gives another name than category.yaml', async () => {
    const root = createProject({ [guide]: '---\ntitle: A\ndescription: B\ncategory: VPS\n---\n\nText.\n' });
    expect(await problemsOf(root)).toEqual([
      `${guide}:4:11  "category" must be the same in all of vps/ (category.yaml says "Virtual servers")`,
    ]);
  });

  test.each([
    ['has no name', 'nam: VPS\n', ['1:1  unknown field "nam" (did you mean "name"?)']],
    ['is empty', '', ['1:1  the YAML must be a mapping of fields, not empty']],
    ['has an empty name', 'name: ""\n', ['1:7  "name" must not be empty']],
    ['has a name twice', 'name: A\nname: B\n', ['2:1  "name" is given twice (keep one of the two)']],
  ])('is refused if category.yaml %s', async (_, text, problems) => {
    const path = 'content/knowledgebase/vps/category.yaml';
    expect(await problemsOf(createProject({ [path]: text }))).toEqual(problems.map((problem) => `${path}:${problem}`));
  });
});
