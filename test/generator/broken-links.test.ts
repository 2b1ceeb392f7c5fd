import { describe, expect, test } from 'vitest';
import { article, createProject, guide } from '../helpers/project.ts';
import { problemsOf, testTexts } from './problems.ts';

const file = 'content/blog/news/links.md';

function problemsOfMarkdown(markdown: string): Promise<string[]> {
  return problemsOf(createProject({ [file]: article({}, markdown) }));
}

describe('a link is an error if', () => {
  testTexts({
    'See [x](none.md).': '9:5  there is no article /blog/news/none',
    '[x](/blog/news/none)': '9:1  there is no article /blog/news/none',
    '[x](frist.md)': '9:1  there is no article /blog/news/frist (did you mean "/blog/news/first"?)',
    '[x](First.md)': '9:1  there is no article /blog/news/First (did you mean "/blog/news/first"?)',
    '[x](ssh.md)': '9:1  there is no article /blog/news/ssh (did you mean "/knowledgebase/vps/ssh"?)',
    '[x](/blog/news/first/)': '9:1  there is no article /blog/news/first/ (did you mean "/blog/news/first"?)',
    '[x](first.md#detials)':
      '9:1  there is no heading or anchor #detials in /blog/news/first (did you mean "details"?)',
    '[x](first.md#installation)': '9:1  there is no heading or anchor #installation in /blog/news/first',
    '[x](#nope)': '9:1  there is no heading or anchor #nope in /blog/news/page-#',
    '[x](../../../etc/passwd)': '9:1  the link "../../../etc/passwd" leads out of content/',
    '[x](../../README.md)': '9:1  the link "../../README.md" leads out of content/',
    '[x](../../media/../../catalog/domains.yaml)':
      '9:1  the link "../../media/../../catalog/domains.yaml" leads out of content/',
    '[x](%2e%2e/%2e%2e/x.md)': '9:1  the link "%2e%2e/%2e%2e/x.md" leads out of content/',
    '[x](/blog/nwes)': '9:1  there is no article /blog/nwes',
    '<a href="none.md">x</a>': '9:1  there is no article /blog/news/none',
    'Text.\n\n- one\n- [x](none.md)': '12:3  there is no article /blog/news/none',
    '| a |\n|-|\n| [x](none.md) |': '11:3  there is no article /blog/news/none',
    'See [x].\n\n[x]: none.md': '9:5  there is no article /blog/news/none',
  });

  test.each([
    ['a draft', { draft: 'true' }, 'the article /blog/news/target is a draft'],
    ['a scheduled article', { date: '2027-01-01' }, 'the article /blog/news/target is not published before 2027-01-01'],
  ])('it leads to %s', async (_, fields, problem) => {
    const root = createProject({
      [file]: article({}, 'Soon: [x](target.md).\n'),
      'content/blog/news/target.md': article(fields, 'Text.\n'),
    });
    expect(await problemsOf(root)).toEqual([`${file}:9:7  ${problem}`]);
  });

  test('its target does not exist; each such link is reported', async () => {
    expect(await problemsOfMarkdown('[a](a1.md) and [b](b2.md)\n\n[a](a1.md)\n')).toEqual([
      `${file}:9:1  there is no article /blog/news/a1`,
      `${file}:9:16  there is no article /blog/news/b2`,
      `${file}:11:1  there is no article /blog/news/a1`,
    ]);
  });
});

describe('media is an error if', () => {
  testTexts({
    '![x](/media/kb/none.png)': '9:1  there is no /media/kb/none.png in content/',
    '![x](../../media/kb/mpa.svg)':
      '9:1  there is no /media/kb/mpa.svg in content/ (did you mean "/media/kb/map.svg"?)',
    '[x](/media/kb/none.pdf)': '9:1  there is no /media/kb/none.pdf in content/',
    '<img src="/media/kb/none.png" alt="">': '9:1  there is no /media/kb/none.png in content/',
    '<picture><source srcset="/media/kb/none.webp"><img src="/media/kb/map.svg" alt=""></picture>':
      '9:10  there is no /media/kb/none.webp in content/',
    '![x](map.svg)': '9:1  the image "map.svg" is not in content/media/ (did you mean "/media/kb/map.svg"?)',
  });
});

describe('a link is not an error if', () => {
  testTexts({
    '[x](/blog) [y](/knowledgebase/)': [],
    '[x](/blog/news) [y](/knowledgebase/vps/) [z](.)': [],
    '[x](/pricing) [y](/#top)': [],
    '[x](https://example.com/none.md) [y](//example.com) [z](mailto:a@example.com)': [],
    '[x](#) [y](#top) [z](first.md#top)': [],
  });

  test('it is in a draft, since its target may not exist yet', async () => {
    expect(await problemsOf(createProject({ [file]: article({ draft: 'true' }, '[x](none.md)\n') }))).toEqual([]);
  });

  test('a scheduled article leads to another', async () => {
    const root = createProject({
      [file]: article({ date: '2027-02-01' }, '[x](target.md)\n'),
      'content/blog/news/target.md': article({ date: '2027-01-01' }, 'Text.\n'),
    });
    expect(await problemsOf(root)).toEqual([]);
  });

  test('its target article is broken: only the error in that article is reported', async () => {
    const root = createProject({
      [file]: article({}, '[x](broken.md) [y](/knowledgebase/vps/broken#part)\n'),
      'content/blog/news/broken.md': article({ title: '5' }, 'Text.\n'),
      'content/knowledgebase/vps/broken.md': guide('"', '## Part\n'),
    });
    expect(await problemsOf(root)).toEqual([
      'content/blog/news/broken.md:2:8  "title" must be text, not a number (put it in quotes)',
      'content/knowledgebase/vps/broken.md:2:8  this quote is not closed (add " at the end of the text)',
    ]);
  });
});

describe('an alias is an error if', () => {
  const first = 'content/blog/news/first.md';
  const second = 'content/blog/news/second.md';

  test.each([
    [
      'an article has the path',
      { aliases: '[/blog/news/first]' },
      {},
      `7:11  the alias /blog/news/first is taken by ${first}`,
    ],
    [
      'it is the article itself',
      { aliases: '[/blog/news/second]' },
      {},
      `7:11  the alias /blog/news/second is taken by ${second}`,
    ],
    [
      'another article has it too',
      { aliases: '[/blog/a, /blog/old]' },
      { aliases: '[/blog/old]' },
      `7:20  the alias /blog/old is taken by ${first}`,
    ],
    [
      'it is listed twice',
      { aliases: '[/blog/old, /blog/old]' },
      {},
      `7:22  the alias /blog/old is taken by ${second}`,
    ],
  ])('%s', async (_, secondFields, firstFields, problem) => {
    const root = createProject({
      [first]: article(firstFields, 'Text.\n'),
      [second]: article(secondFields, 'Text.\n'),
    });
    expect(await problemsOf(root)).toEqual([`${second}:${problem}`]);
  });

  test('a draft has the path', async () => {
    const root = createProject({
      [second]: article({ aliases: '[/blog/news/target]' }, 'Text.\n'),
      'content/blog/news/target.md': article({ draft: 'true' }, 'Text.\n'),
    });
    expect(await problemsOf(root)).toEqual([
      `${second}:7:11  the alias /blog/news/target is taken by content/blog/news/target.md`,
    ]);
  });
});
