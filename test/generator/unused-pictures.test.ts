import { expect, test } from 'vitest';
import { mediaSamples } from '../helpers/media.ts';
import { article, createProject, guide } from '../helpers/project.ts';
import { problemsOf } from './problems.ts';

const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>\n';
const unused = (file: string): string =>
  `content/media/${file}:1:1  warning: no article uses this file (remove it, or link it from an article)`;

test('a picture that no article uses is reported, one line for each file', async () => {
  const root = createProject({ 'content/media/kb/old.svg': svg, 'content/media/films/tour.mp4': mediaSamples['mp4'] });
  expect(await problemsOf(root)).toEqual([unused('films/tour.mp4'), unused('kb/old.svg')]);
});

test.each([
  ['a link', '[the map](/media/kb/new.svg)\n'],
  ['a relative image', '![The map](../../media/kb/new.svg)\n'],
  ['an image in raw HTML', '<img src="/media/kb/new.svg" alt="The map">\n'],
  [
    'a srcset',
    '<picture><source srcset="/media/kb/new.svg 2x"><img src="/media/kb/map.svg" alt="The map"></picture>\n',
  ],
  ['a reference', '![The map][map]\n\n[map]: /media/kb/new.svg\n'],
])('a picture is used by %s', async (_, body) => {
  const root = createProject({
    'content/media/kb/new.svg': svg,
    'content/knowledgebase/dns/new.md': guide('New', body),
  });
  expect(await problemsOf(root)).toEqual([]);
});

test.each([
  ['a draft', { draft: 'true' }],
  ['a scheduled article', { date: '2030-01-01' }],
])('pictures and the cover of %s are used', async (_, fields) => {
  const root = createProject({
    'content/media/covers/new.svg': svg,
    'content/media/kb/new.svg': svg,
    'content/blog/news/third.md': article({ cover: '/media/covers/new.svg', ...fields }, '![x](/media/kb/new.svg)\n'),
  });
  expect(await problemsOf(root)).toEqual([]);
});

test.each([
  [
    'has a mistake in its front matter',
    'blog/news/third.md',
    article({ cover: '/media/new.svg', date: 'soon' }, 'x\n'),
  ],
  ['has no front matter', 'knowledgebase/dns/new.md', '![x](/media/new.svg)\n'],
  ['is in the wrong folder', 'knowledgebase/new.md', guide('New', '![x](/media/new.svg)\n')],
])('while an article %s, its pictures do not count as unused', async (_, path, text) => {
  const root = createProject({ 'content/media/new.svg': svg, [`content/${path}`]: text });
  expect((await problemsOf(root)).filter((problem) => problem.includes('warning'))).toEqual([]);
});
