import { expect, test } from 'vitest';
import { openTwice } from './target.ts';
import type { CreateTarget } from './target.ts';

/** Tests of the votes of readers, for every kind of store. */
export function feedbackSuite(createTarget: CreateTarget): void {
  const open = async () => (await createTarget()).open();

  test('the votes of readers are counted by article, all or from a start day', async () => {
    const { feedback } = await open();
    const vote = (path: string, day: string, helpful: boolean) => feedback.count({ path, day, helpful });
    await vote('/knowledgebase/vps/ssh', '2026-11-01', true);
    await vote('/knowledgebase/vps/ssh', '2026-11-01', true);
    await vote('/knowledgebase/vps/ssh', '2026-11-02', false);
    await vote('/knowledgebase/dns/records', '2026-11-02', true);
    await vote('', '2026-10-31', false);
    expect(await feedback.report({})).toEqual([
      { path: '', helpful: 0, unhelpful: 1 },
      { path: '/knowledgebase/dns/records', helpful: 1, unhelpful: 0 },
      { path: '/knowledgebase/vps/ssh', helpful: 2, unhelpful: 1 },
    ]);
    expect(await feedback.report({ since: '2026-11-02' })).toEqual([
      { path: '/knowledgebase/dns/records', helpful: 1, unhelpful: 0 },
      { path: '/knowledgebase/vps/ssh', helpful: 0, unhelpful: 1 },
    ]);
    expect(await feedback.report({ since: '2027-01-01' })).toEqual([]);
  });

  test('the votes of readers that are given concurrently are all counted', async () => {
    const [one, other] = await openTwice(createTarget);
    const vote = { path: '/knowledgebase/vps/ssh', day: '2026-11-01', helpful: true };
    await Promise.all(Array.from({ length: 100 }, (_, at) => (at % 2 === 0 ? one : other).feedback.count(vote)));
    expect(await one.feedback.report({})).toEqual([{ path: vote.path, helpful: 100, unhelpful: 0 }]);
  });
}
