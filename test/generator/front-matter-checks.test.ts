import { describe, expect, test } from 'vitest';
import { article, buildProject, createProject } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { problemsOf, testFields } from './problems.ts';

const file = 'content/blog/news/broken.md';
const guide = 'content/knowledgebase/vps/broken.md';

function problemsOfFields(fields: Readonly<Record<string, string | undefined>>, body = 'Text.\n'): Promise<string[]> {
  return problemsOf(createProject({ [file]: article(fields, body) }));
}

describe('a text that YAML cuts off at a # is a warning', () => {
  const cut = (field: string, rest: string, write: string): string =>
    `warning: "${field}" ends before ${rest}, which YAML reads as a comment (write ${write})`;

  testFields({
    'title: We are #1 choice': `2:15  ${cut('title', '#1 choice', '"We are #1 choice"')}`,
    'title: Our "best" #1': `2:19  ${cut('title', '#1', `'Our "best" #1'`)}`,
    'title: "We are" #foo': [],
    'description: Tags such as #foo': `3:27  ${cut('description', '#foo', '"Tags such as #foo"')}`,
    'author: Marit #2': `5:15  ${cut('author', '#2', '"Marit #2"')}`,
    'author: Marit # an editor': [],
    'author: Marit ## an editor': [],
    'author: Marit#2': [],
    'date: 2026-01-01 #fixed': [],
    'cover: /media/covers/cover.svg #old': [],
    'draft: false #todo': [],
  });

  test('or an error if nothing is left', async () => {
    expect(await problemsOfFields({ title: '#1 choice' })).toEqual([
      `${file}:2:8  "title" must be text, not empty (YAML reads what follows # as a comment; write "#1 choice")`,
    ]);
  });

  test('in the catalog', async () => {
    const plan = 'name: Plan #1\n    ram: 1\n    storage: 1\n    price: 1 #eur\n    soldOut: false';
    const game = `name: A\nsoldOut: false\nsoldOutMessage: ""\nplans:\n  - ${plan}\n    orderLink: https://a.example/\n`;
    expect(await problemsOf(createProject({ 'catalog/games/a.yaml': game }))).toEqual([
      `catalog/games/a.yaml:5:16  ${cut('plans[0].name', '#1', '"Plan #1"')}`,
    ]);
  });

  test('in the name of a category', async () => {
    const path = 'content/knowledgebase/vps/category.yaml';
    expect(await problemsOf(createProject({ [path]: 'name: VPS #new\n' }))).toEqual([
      `${path}:1:11  ${cut('name', '#new', '"VPS #new"')}`,
    ]);
  });

  test('also beside an error', async () => {
    expect(await problemsOfFields({ title: 'We are #1', date: 'soon' })).toEqual([
      `${file}:2:15  ${cut('title', '#1', '"We are #1"')}`,
      `${file}:4:7  "date" must be a calendar date of the form YYYY-MM-DD`,
    ]);
  });

  test('again in the next build, which takes the article from the cache, and an error if that is strict', async () => {
    const root = createProject({ [file]: article({ title: 'We are #1' }, 'Text.\n') });
    const severities = async (options: { strict?: boolean }): Promise<string[]> => {
      const { diagnostics } = await buildProject(root, { noCache: false, ...options });
      return diagnostics.map(({ severity, message }) => `${severity}: ${message}`);
    };
    const message = '"title" ends before #1, which YAML reads as a comment';
    expect(await severities({})).toEqual([`warning: ${message}`]);
    expect(await severities({})).toEqual([`warning: ${message}`]);
    expect(await severities({ strict: true })).toEqual([`error: ${message}`]);
  });
});

describe('the fields updated and tags', () => {
  test('are accepted in both kinds of articles', async () => {
    const root = createProject({
      [file]: article({ updated: '2026-01-01', tags: '[vps, linux]' }, 'Text.\n'),
      [guide]: '---\ntitle: A\ndescription: B\nupdated: 2026-01-01\ntags: [vps]\n---\n\nText.\n',
    });
    expect(await problemsOf(root)).toEqual([]);
  });

  describe('are checked', () => {
    testFields({
      'tags: vps, linux': '7:7  "tags" must be a list, not text (write [vps, linux])',
      'tags: [vps, Linux]': '7:13  "tags[1]" must contain only lower-case letters, digits and hyphens (write linux)',
      'tags: [game servers]': '7:8  "tags[0]" must contain only lower-case letters, digits and hyphens',
      'updated: 18.11.2026': '7:10  "updated" must be a calendar date of the form YYYY-MM-DD (write 2026-11-18)',
      'updated: 2025-12-31':
        '7:10  warning: "updated" is before "date" (write the day of the last change, or remove the line)',
    });
  });
});

describe('invalid front matter hides no other problem:', () => {
  const noDate = `${file}:4:7  "date" must be a calendar date of the form YYYY-MM-DD`;

  test.each<[string, Files, string[]]>([
    [
      'a cover that does not exist',
      { [file]: article({ date: 'soon', cover: '/media/covers/gone.svg' }, 'Text.\n') },
      [noDate, `${file}:6:8  there is no /media/covers/gone.svg in content/`],
    ],
    [
      'an alias that another article has',
      { [file]: article({ date: 'soon', aliases: '[/blog/news/first]' }, 'Text.\n') },
      [noDate, `${file}:7:11  the alias /blog/news/first is taken by content/blog/news/first.md`],
    ],
    [
      'another name for its category',
      {
        'content/blog/news/a.md': article({ category: 'News' }, 'Text.\n'),
        [file]: article({ date: 'soon', category: 'Other' }, 'Text.\n'),
      },
      [noDate, `${file}:7:11  "category" must be the same in all of news/ (content/blog/news/a.md says "News")`],
    ],
    [
      'a dead link in the text',
      { [file]: article({ date: 'soon' }, '[x](gone.md)\n') },
      [noDate, `${file}:9:1  there is no article /blog/news/gone`],
    ],
    [
      'no text',
      { [file]: article({ date: 'soon', cover: '/media/covers/gone.svg' }, '') },
      [noDate, `${file}:6:8  there is no /media/covers/gone.svg in content/`, `${file}:9:1  the article has no text`],
    ],
  ])('%s', async (_, files, problems) => {
    expect(await problemsOf(createProject(files))).toEqual(problems);
  });

  test('a text that cannot be rendered does not hide a missing cover either', async () => {
    expect(await problemsOfFields({ cover: '/media/covers/gone.svg' }, '')).toEqual([
      `${file}:6:8  there is no /media/covers/gone.svg in content/`,
      `${file}:9:1  the article has no text`,
    ]);
  });

  test('and links to its former path and to its headings are not reported', async () => {
    const root = createProject({
      [file]: article({ date: 'soon', aliases: '[/blog/news/old]' }, ''),
      'content/blog/news/link.md': article({}, '[a](/blog/news/old) [b](broken.md#part)\n'),
    });
    expect((await problemsOf(root)).map((problem) => problem.split(':')[0])).toEqual([file, file]);
  });

  test('and the dead links of a draft are not reported', async () => {
    expect(await problemsOfFields({ date: 'soon', draft: 'true' }, '[x](gone.md)\n')).toEqual([noDate]);
  });
});
