import { expect, test } from 'vitest';
import { createCommandLine } from './run-command.ts';

async function createVotes() {
  const line = await createCommandLine();
  const { feedback } = line.store;
  const today = new Date().toISOString().slice(0, 10);
  const vote = (path: string, helpful: boolean, day = today) => feedback.count({ path, day, helpful });
  await vote('/knowledgebase/vps/ssh', true);
  await vote('/knowledgebase/vps/ssh', true);
  await vote('/knowledgebase/vps/ssh', false, '2026-01-01');
  await vote('/knowledgebase/dns/records', false);
  await vote('', true);
  await vote('', false);
  return line;
}

test('the report lists the least helpful articles first', async () => {
  const { run } = await createVotes();
  const { stdout, status } = await run('feedback', 'report');
  expect(status).toBe(0);
  expect(stdout.trimEnd().split('\n')).toEqual([
    'HELPED  YES  NO  ARTICLE',
    '0 %     0    1   /knowledgebase/dns/records',
    '50 %    1    1   (no article of the knowledge base)',
    '67 %    2    1   /knowledgebase/vps/ssh',
  ]);
});

test.each(['30d', '2026-06-01'])('votes before --since %s are left out', async (since) => {
  const { json } = await createVotes();
  expect(await json('feedback', 'report', '--json', '--since', since)).toEqual([
    { path: '/knowledgebase/dns/records', helpful: 0, unhelpful: 1 },
    { path: '', helpful: 1, unhelpful: 1 },
    { path: '/knowledgebase/vps/ssh', helpful: 2, unhelpful: 0 },
  ]);
});

test('an invalid --since is refused', async () => {
  const { run } = await createVotes();
  const { stderr, status } = await run('feedback', 'report', '--since', 'yesterday');
  expect({ stderr, status }).toEqual({
    stderr: '--since must be a date (YYYY-MM-DD), or a duration such as 30d\n',
    status: 1,
  });
});
