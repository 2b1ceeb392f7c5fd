import { describe } from 'vitest';
import { article } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { testFields, testProblems, testProjects } from './tables.ts';
import type { Problems } from './tables.ts';

const file = 'content/blog/news/broken.md';
const guide = 'content/knowledgebase/vps/broken.md';
const blogFields = 'title, description, date, author, cover, category, draft, updated, tags, aliases';
const noDate = 'must be a calendar date of the form YYYY-MM-DD';
const noMedia = '"cover" must be a path below /media/ with only letters, digits, dots, hyphens and underscores';
const noAlias = '7:11  "aliases[0]" must have';
const noSegment = `${noAlias} no segment . or ..`;
const noEscape = `${noAlias} no %2F and no invalid percent-encoding`;
const noOthers = `${noAlias} only letters, digits, hyphens, dots, underscores and tildes`;

describe('a field is refused', () => {
  testFields({
    'title; description; date; author; cover; draft: true': ['title', 'description', 'date', 'author', 'cover'].map(
      (field) => `2:1  missing field "${field}"`,
    ),
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
    'title: \u200b': '2:8  "title" must have a visible character, not only U+200B (zero-width space)',
    'description: "\u2060 \u00ad"': '3:14  "description" must have a visible character, not only U+2060 (word joiner)',
    'title: "a\\nb"': '2:8  "title" must be a single line: start folded text with >-, and leave no empty line in it',
    'title: |\n  a\n  b':
      '2:8  "title" must be a single line: start folded text with >-, and leave no empty line in it',
    'title: >-\n  a\n\n  b':
      '2:8  "title" must be a single line: start folded text with >-, and leave no empty line in it',
    'title: >\n  a\n  b':
      '2:8  "title" must be a single line: start folded text with >-, and leave no empty line in it',
    'description: ""': '3:14  "description" must not be empty',
    'date: 2026-02-30': '4:7  "date" must be an existing day: there is no 2026-02-30',
    'date: 2027-02-29': '4:7  "date" must be an existing day: there is no 2027-02-29',
    'date: tomorrow': `4:7  "date" ${noDate}`,
    'date: 2026-1-2': `4:7  "date" ${noDate} (write 2026-01-02)`,
    'date: 2026-01-02T10:00': `4:7  "date" ${noDate} (write 2026-01-02)`,
    'author: [Marit, Kees]': '5:9  "author" must be text, not a list',
    cover: '2:1  missing field "cover"',
    'cover: cover.svg': `6:8  ${noMedia}`,
    'cover: https://example.com/a.png':
      '6:8  "cover" must not be a URL: save the file in content/media/ and write /media/ and the file name',
    'cover: /media/../a.svg': `6:8  ${noMedia}`,
    'cover: /media/kb/none.png': '6:8  there is no /media/kb/none.png in content/',
    'cover: /media/covers/Cover.svg':
      '6:8  there is no /media/covers/Cover.svg in content/ (did you mean "/media/covers/cover.svg"?)',
    'category: 5': '7:11  "category" must be text, not a number (put it in quotes)',
    'draft: yes': '7:8  "draft" must be true or false, not text',
    'draft: 1': '7:8  "draft" must be true or false, not a number',
    'updated: 2026-13-01': '7:10  "updated" must be an existing day: there is no 2026-13-01',
    'aliases: /blog/old': '7:10  "aliases" must be a list, not text (write [/blog/old])',
    'aliases: [/a, 2025/old]': '7:15  "aliases[1]" must start with / and a segment',
    'aliases: [https://www.example.com/old]': '7:11  "aliases[0]" must start with / and a segment',
    'aliases: [/]': '7:11  "aliases[0]" must start with / and a segment',
    'aliases: ["/?p=12"]': `${noAlias} no query and no fragment`,
    'aliases: ["/a#b"]': `${noAlias} no query and no fragment`,
    'aliases: [/2025//old]': `${noAlias} no empty segment: write one slash instead of //`,
    'aliases: [/2025/old//]': `${noAlias} no empty segment: write one slash instead of //`,
    'aliases: [/2025%2Fold]': noEscape,
    'aliases: [/50%]': noEscape,
    'aliases: ["/blog/old news/a"]': noOthers,
    'aliases: [/blog/old%20news/a]': noOthers,
    'aliases: ["/a\\b"]': noOthers,
    // Paths that leave their folder.
    'aliases: [/blog/../../x]': noSegment,
    'aliases: [/blog/./x]': noSegment,
    'aliases: [/blog/news/%2e%2E]': noSegment,
    'aliases: [/blog/news/.]': noSegment,
  });

  testProjects({
    'it is a blog field in a knowledge base article': [
      { [guide]: '---\ntitle: A\ndescription: B\nauthor: Marit\n---\n\nText.\n' },
      `${guide}:4:1  unknown field "author" (the fields are title, description, category, draft, updated, tags, aliases)`,
    ],
  });
});

describe('the message about a value suggests a correction', () => {
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
    '2026-11-18T10:00': '2026-11-18',
    '2026-11-18 10:00:00 +01:00': '2026-11-18',
    '2026-11-18T10:00:00.000Z': '2026-11-18',
    // Ambiguous values.
    '31.02.2026': undefined,
    '03/04/2026': undefined,
    '18. November 2026': undefined,
    '2026-11': undefined,
    '18.11.': undefined,
    '1/2/3': undefined,
  });
  testHints('aliases', '7:10  "aliases" must be a list, not text', {
    '/x': '[/x]',
    '/blog/a, /blog/b': '[/blog/a, /blog/b]',
    '"/blog/a: b"': '["/blog/a: b"]',
  });
  testHints('cover', `6:8  ${noMedia}`, {
    'media/covers/cover.svg': '/media/covers/cover.svg',
    'content/media/covers/cover.svg': '/media/covers/cover.svg',
    '../../media/covers/cover.svg': '/media/covers/cover.svg',
    '/media/covers/Bild 1.png': '/media/covers/bild-1.png',
  });
});

describe('the name of a category', () => {
  testProjects({
    'is refused if two articles give different names; the second is reported': [
      {
        'content/blog/more/a.md': article({ category: 'Alpha' }, 'Text.\n'),
        'content/blog/more/b.md': article({ category: 'Beta' }, 'Text.\n'),
      },
      'content/blog/more/b.md:7:11  "category" must be the same in all of more/ (content/blog/more/a.md says "Alpha")',
    ],
    'is refused if an article gives another name than category.yaml': [
      { [guide]: '---\ntitle: A\ndescription: B\ncategory: VPS\n---\n\nText.\n' },
      `${guide}:4:11  "category" must be the same in all of vps/ (category.yaml says "Virtual servers")`,
    ],
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

describe('a text that YAML cuts off at a # is a warning', () => {
  const cut = (field: string, rest: string, write: string): string =>
    `warning: "${field}" ends before ${rest}, which is a comment in YAML (write ${write})`;

  testFields({
    'title: We are #1 choice': `2:15  ${cut('title', '#1 choice', '"We are #1 choice"')}`,
    'title: Our "best" #1': `2:19  ${cut('title', '#1', `'Our "best" #1'`)}`,
    'title: "They are" #foo': [],
    'description: Tags such as #foo': `3:27  ${cut('description', '#foo', '"Tags such as #foo"')}`,
    'author: Marit #2': `5:15  ${cut('author', '#2', '"Marit #2"')}`,
    'author: Marit # an editor': [],
    'author: Marit ## an editor': [],
    'author: Marit#2': [],
    'date: 2026-01-01 #fixed': [],
    'cover: /media/covers/cover.svg #old': [],
    'draft: false #todo': [],
    // An error, because the value is empty.
    'title: #1 choice': '2:8  "title" must be text, not empty (YAML reads # as a comment; write "#1 choice")',
    'title: I am #1; date: soon': [`2:13  ${cut('title', '#1', '"I am #1"')}`, `4:7  "date" ${noDate}`],
  });
  const plan = 'name: Plan #1\n    ram: 1\n    storage: 1\n    price: 1 #eur\n    soldOut: false';
  testProjects({
    'in the catalog': [
      {
        'catalog/games/a.yaml': `name: A\nsoldOut: false\nsoldOutMessage: ""\nplans:\n  - ${plan}\n    orderLink: https://a.example/\n`,
      },
      `catalog/games/a.yaml:5:16  ${cut('plans[0].name', '#1', '"Plan #1"')}`,
    ],
    'in the name of a category': [
      { 'content/knowledgebase/vps/category.yaml': 'name: VPS #new\n' },
      `content/knowledgebase/vps/category.yaml:1:11  ${cut('name', '#new', '"VPS #new"')}`,
    ],
  });
});

describe('the fields updated and tags', () => {
  testProjects({
    'are accepted in both kinds of articles': [
      {
        [file]: article({ updated: '2026-01-01', tags: '[vps, linux]' }, 'Text.\n'),
        [guide]: '---\ntitle: A\ndescription: B\nupdated: 2026-01-01\ntags: [vps]\n---\n\nText.\n',
      },
    ],
  });

  describe('are checked', () => {
    testFields({
      'tags: vps, linux': '7:7  "tags" must be a list, not text (write [vps, linux])',
      'tags: [vps, Linux]': '7:13  "tags[1]" must contain only lower-case letters, digits and hyphens (write linux)',
      'tags: ["#linux"]': '7:8  "tags[0]" must contain only lower-case letters, digits and hyphens (write linux)',
      'tags: [#linux]': '7:7  this [ is not closed (YAML reads # as a comment; remove it)',
      'tags:\n  - #linux': '8:5  "tags[0]" must be text, not empty (YAML reads # as a comment; write "linux")',
      'tags: [game servers]': '7:8  "tags[0]" must contain only lower-case letters, digits and hyphens',
      'updated: 18.11.2026': '7:10  "updated" must be a calendar date of the form YYYY-MM-DD (write 2026-11-18)',
      'updated: 2025-12-31':
        '7:10  warning: "updated" is before "date" (write the day of the last change, or remove the line)',
    });
  });
});

describe('empty optional fields count as left out', () => {
  const plan = '  - { name: S, ram: 1, storage: 1, price: 1, orderLink: "https://a.example/", soldOut: false }\n';
  testProjects({
    'in articles, as content management systems write them': [
      {
        [file]: article({ category: "''", updated: '', tags: '', aliases: '[]', draft: '' }, 'Text.\n'),
        [guide]:
          '---\ntitle: A\ndescription: >-\n  Two\n  lines.\ncategory: null\nupdated: ""\ntags: []\n---\n\nText.\n',
      },
    ],
    'in authors.yaml and the catalog': [
      {
        'content/authors.yaml': "Marit: { picture: '', url: }\n",
        'catalog/games/a.yaml': `name: A\nsoldOut: false\nsoldOutMessage:\norder: ''\nplans:\n${plan}`,
        'catalog/games/b.yaml': `name: B\nsoldOut: false\nplans:\n${plan}`,
      },
    ],
    'but not required fields, nor a text that YAML takes for a comment': [
      { [file]: article({ author: "''", category: '#general', updated: '# soon' }, 'Text.\n') },
      `${file}:5:9  "author" must not be empty`,
      `${file}:7:11  warning: "category" ends before #general, which is a comment in YAML (write "#general")`,
    ],
  });
});

describe('invalid front matter does not hide other problems:', () => {
  const soon = (fields: Readonly<Record<string, string>>, body = 'Text.\n'): Files => ({
    [file]: article({ date: 'soon', ...fields }, body),
  });
  const badDate = `${file}:4:7  "date" ${noDate}`;
  const noCover = `${file}:6:8  there is no /media/covers/gone.svg in content/`;
  const noText = `${file}:9:1  the article has no text`;

  testProjects({
    'a cover that does not exist': [soon({ cover: '/media/covers/gone.svg' }), badDate, noCover],
    'an alias that another article has': [
      soon({ aliases: '[/blog/news/first]' }),
      badDate,
      `${file}:7:11  the alias /blog/news/first is taken by content/blog/news/first.md`,
    ],
    'another name for its category': [
      { 'content/blog/news/a.md': article({ category: 'News' }, 'Text.\n'), ...soon({ category: 'Other' }) },
      badDate,
      `${file}:7:11  "category" must be the same in all of news/ (content/blog/news/a.md says "News")`,
    ],
    'a dead link in the text': [
      soon({}, '[x](gone.md)\n'),
      badDate,
      `${file}:9:1  there is no article /blog/news/gone`,
    ],
    'no text': [soon({ cover: '/media/covers/gone.svg' }, ''), badDate, noCover, noText],
    'a text that cannot be rendered': [
      soon({ cover: '/media/covers/gone.svg', date: '2026-01-01' }, ''),
      noCover,
      noText,
    ],
    'and links to its former path and to its headings are not reported': [
      {
        ...soon({ aliases: '[/blog/news/old]' }, ''),
        'content/blog/news/link.md': article({}, '[a](/blog/news/old) [b](broken.md#part)\n'),
      },
      badDate,
      noText.replace('9:1', '10:1'),
    ],
    'and the dead links of a draft stay warnings': [
      soon({ draft: 'true' }, '[x](gone.md)\n'),
      badDate,
      'content/blog/news/broken.md:10:1  warning: there is no article /blog/news/gone (remove the reference until its target exists)',
    ],
    'and the dead links of an article that is no draft are errors': [
      soon({ draft: 'false' }, '[x](gone.md)\n'),
      badDate,
      'content/blog/news/broken.md:10:1  there is no article /blog/news/gone',
    ],
  });
});

const authors = 'content/authors.yaml';

describe('authors.yaml is refused with', () => {
  testProblems(authors, (yaml) => yaml, {
    'Marit:\n  picture: /media/kb/mapp.svg\n':
      '2:12  there is no /media/kb/mapp.svg in content/ (did you mean "/media/kb/map.svg"?)',
    'Marit: { picture: "https://a.example/x.svg" }\n':
      '1:19  "Marit.picture" must not be a URL: save the file in content/media/ and write /media/ and the file name',
    'Marit: { url: "http://a.example" }\n': '1:15  "Marit.url" must be a URL that starts with https://',
    'Marit: { image: /media/x.svg }\n': '1:10  unknown field "Marit.image" (the fields are picture, url)',
    'Marit:\n': '1:7  "Marit" must be a mapping of fields, not empty',
    'Marit: {}\nMarit: {}\n': '2:1  "Marit" is given twice (keep one of the two)',
    '- Marit\n': '1:1  the YAML must be a mapping of fields, not a list',
  });
});

describe('authors', () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>\n';
  const byGuest = (fields = {}) => ({
    'content/blog/news/third.md': article({ author: 'Guest', ...fields }, 'Text.\n'),
  });

  testProjects({
    'may have a picture, which is used': [
      { 'content/media/marit.svg': svg, [authors]: 'Marit: { picture: /media/marit.svg }\n' },
    ],
    'who are not in authors.yaml are a warning, with the name that was meant': [
      {
        [authors]: 'Marit: {}\nAda Lovelace: {}\n',
        ...byGuest({ author: 'Ada Lovelance' }),
        'content/blog/news/fourth.md': article({ author: 'Guest' }, 'Text.\n'),
      },
      'content/blog/news/fourth.md:5:9  warning: the author Guest is not in authors.yaml (add there: "Guest": {})',
      'content/blog/news/third.md:5:9  warning: the author Ada Lovelance is not in authors.yaml (did you mean "Ada Lovelace"?)',
    ],
    'are not looked up for a draft': [{ ...byGuest({ draft: 'true' }), [authors]: 'Marit: {}\n' }],
    'are not looked up without that file': [byGuest()],
    'in a file that is named almost so are out of place': [
      { 'content/author.yaml': 'Marit: {}\n' },
      'content/author.yaml:1:1  this file is out of place (did you mean "authors.yaml"?)',
    ],
  });
});
