import { expect, test } from 'vitest';
import { buildProject, createProject, guide } from '../../helpers/project.ts';

test.each([
  ['101 nested lists', `${'- '.repeat(101)}x\n`, '6: lists or quotes are nested more than 100 levels deep'],
  [
    '101 nested quotes below a text',
    `Text.\n\n${'>'.repeat(101)} x\n`,
    '8: lists or quotes are nested more than 100 levels deep',
  ],
  [
    '60,001 lines',
    'a\n'.repeat(60_001),
    '6: the article has 60001 lines and marks of Markdown, more than the limit of 60000',
  ],
  [
    'a table of 101 columns and 100 rows',
    `${'|a'.repeat(101)}|\n${'|-'.repeat(101)}|\n${'|a\n'.repeat(99)}`,
    '6: the table has 10100 cells, more than the limit of 10000',
  ],
  ['10,000 nested elements', `${'<div>'.repeat(10_000)}x\n`, '6: the article is nested too deeply'],
  ['55,000 of a]', `${'a]'.repeat(55_000)}\n`, '6: the article takes more than 5 s to render'],
])('an article of %s is refused with its line', async (_, markdown, problem) => {
  const root = createProject({ 'content/knowledgebase/vps/large.md': guide('Large', markdown) });
  const { diagnostics, release } = await buildProject(root);
  expect(diagnostics.map(({ line, message }) => `${line}: ${message}`)).toEqual([problem]);
  expect(release).toBeUndefined();
});

test.each([
  ['100 nested lists', `${'- '.repeat(100)}x\n`],
  ['a code block with a line of marks', `\`\`\`text\n${'>'.repeat(200)}\n\`\`\`\n`],
  ['a table of 100 columns and 100 rows', `${'|a'.repeat(100)}|\n${'|-'.repeat(100)}|\n${'|a\n'.repeat(99)}`],
])('an article of %s is published', async (_, markdown) => {
  const root = createProject({ 'content/knowledgebase/vps/large.md': guide('Large', markdown) });
  expect((await buildProject(root)).diagnostics).toEqual([]);
});

test('an article that takes too long is refused, and articles of the same batch are not', async () => {
  const root = createProject({
    'content/knowledgebase/vps/a-slow.md': guide('Slow', `${'*a_'.repeat(900)}\n`),
    'content/knowledgebase/vps/b-too-slow.md': guide('Too slow', `${'*a_'.repeat(20_000)}\n`),
    'content/knowledgebase/vps/c-slow.md': guide('Slow too', `${'*a_'.repeat(700)}\n`),
  });
  const { diagnostics } = await buildProject(root);
  expect(diagnostics.map(({ file, message }) => [file.split('/').at(-1), message])).toEqual([
    ['b-too-slow.md', 'the article takes more than 5 s to render'],
  ]);
});
