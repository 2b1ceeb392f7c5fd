import { describe, expect, test } from 'vitest';
import { article, createProject } from '../helpers/project.ts';
import { problemsOf, testFields, testProblems } from './problems.ts';
import type { Problems } from './problems.ts';

const file = 'content/blog/news/broken.md';
const guide = 'content/knowledgebase/vps/broken.md';
const blogFields = 'title, description, date, author, cover, category, draft, updated, tags, aliases';
const noDate = 'must be a calendar date of the form YYYY-MM-DD';
const noMedia = '"cover" must be a path that begins with /media/, of letters, digits, dots, hyphens and underscores';

describe('a field is refused', () => {
  testFields({
    'title; author; titel: A': ['2:1  missing field "author"', '5:1  unknown field "titel" (did you mean "title"?)'],
    title: '2:1  missing field "title"',
    'title; titel: A': '6:1  unknown field "titel" (did you mean "title"?)',
    'Draft: true': '7:1  unknown field "Draft" (did you mean "draft"?)',
    'keywords: x': `7:1  unknown field "keywords" (the fields are ${blogFields})`,
    'title: 123': '2:8  "title" must be text, not a number (put it in quotes)',
    'title: 1.5': '2:8  "title" must be text, not a number (put it in quotes)',
    'title: true': '2:8  "title" must be text, not true or false (put it in quotes)',
    'title: [x]': '2:8  "title" must be text, not a list',
    'title: { a: b }': '2:8  "title" must be text, not a mapping of fields',
    'title: ': '2:8  "title" must be text, not empty',
    'title: ""': '2:8  "title" must not be empty',
    'title: "  "': '2:8  "title" must not be empty',
    'title: "a\\nb"': '2:8  "title" must be a single line; begin folded text with >-',
    'title: |\n  a\n  b': '2:8  "title" must be a single line; begin folded text with >-',
    'title: >\n  a\n  b': '2:8  "title" must be a single line; begin folded text with >-',
    'description: ""': '3:14  "description" must not be empty',
    'date: 2026-02-30': `4:7  "date" ${noDate}`,
    'date: 2027-02-29': `4:7  "date" ${noDate}`,
    'date: tomorrow': `4:7  "date" ${noDate}`,
    'date: 2026-1-2': `4:7  "date" ${noDate} (write 2026-01-02)`,
    'date: 2026-01-02T10:00': `4:7  "date" ${noDate} (write 2026-01-02)`,
    'author: [Marit, Kees]': '5:9  "author" must be text, not a list',
    cover: '2:1  missing field "cover"',
    'cover: cover.svg': `6:8  ${noMedia}`,
    'cover: https://example.com/a.png': `6:8  ${noMedia}`,
    'cover: /media/../a.svg': `6:8  ${noMedia}`,
    'cover: /media/kb/none.png': '6:8  there is no /media/kb/none.png in content/',
    'cover: /media/covers/Cover.svg':
      '6:8  there is no /media/covers/Cover.svg in content/ (did you mean "/media/covers/cover.svg"?)',
    'category: 5': '7:11  "category" must be text, not a number (put it in quotes)',
    'draft: "yes"': '7:8  "draft" must be true or false, not text (write true without quotes)',
    'draft: yes': '7:8  "draft" must be true or false, not text (write true)',
    'draft: 1': '7:8  "draft" must be true or false, not a number',
    'updated: 2026-13-01': `7:10  "updated" ${noDate}`,
    'aliases: /blog/old': '7:10  "aliases" must be a list, not text (write [/blog/old])',
    'aliases: [/blog/old, /knowledgebase/old]': '7:22  "aliases[1]" must be a former path that begins with /blog/',
    'aliases: ["/blog/old news/a"]': '7:11  "aliases[0]" must be a former path that begins with /blog/',
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

describe('the message about a value says what to write', () => {
  const testHints = (name: string, problem: string, hints: Readonly<Record<string, string | undefined>>): void => {
    const toProblem = (hint: string | undefined) => problem + (hint === undefined ? '' : ` (write ${hint})`);
    const rows = Object.entries(hints).map(([value, hint]) => [`${name}: ${value}`, toProblem(hint)]);
    testFields(Object.fromEntries(rows) as Problems);
  };
  testHints('date', `4:7  "date" ${noDate}`, {
    '18.11.2026': '2026-11-18',
    '3.2.2026': '2026-02-03',
    '2026-2-3': '2026-02-03',
    '2026/11/18': '2026-11-18',
    '2026.11.18': '2026-11-18',
    '18-11-2026': '2026-11-18',
    '11/18/2026': '2026-11-18',
    '18/11/2026': '2026-11-18',
    '03/04/2026': '2026-03-04 or 2026-04-03',
    '04/04/2026': '2026-04-04',
    '2026-11-18T10:00': '2026-11-18',
    '2026-11-18 10:00:00 +01:00': '2026-11-18',
    '2026-11-18T10:00:00.000Z': '2026-11-18',
    // Not certain.
    '31.02.2026': undefined,
    '18. November 2026': undefined,
    '2026-11': undefined,
    '18.11.': undefined,
    '1/2/3': undefined,
  });
  testHints('date', '4:7  "date" must be text, not a number', { 20261118: '2026-11-18', 2026: undefined });
  testHints('aliases', '7:10  "aliases" must be a list, not text', {
    '/x': '[/x]',
    '/blog/a, /blog/b': '[/blog/a, /blog/b]',
    '"/blog/a: b"': '["/blog/a: b"]',
  });
  testHints('draft', '7:8  "draft" must be true or false, not text', {
    '"true"': 'true without quotes',
    ja: 'true',
    No: 'false',
    '"off"': 'false without quotes',
  });
  testHints('cover', `6:8  ${noMedia}`, {
    'media/covers/cover.svg': '/media/covers/cover.svg',
    '/media/covers/Bild 1.png': '/media/covers/bild-1.png',
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

  describe('is refused in category.yaml', () => {
    testProblems('content/knowledgebase/vps/category.yaml', (yaml) => yaml, {
      'nam: VPS\n': '1:1  unknown field "nam" (did you mean "name"?)',
      '': '1:1  the YAML must be a mapping of fields, not empty',
      'name: ""\n': '1:7  "name" must not be empty',
      'name: A\nname: B\n': '2:1  "name" is given twice (keep one of the two)',
    });
  });
});
