import { expect, test } from 'vitest';
import { waitMs } from '../../server/limits.ts';
import type { TestApp } from '../helpers/app.ts';
import { createTestApp } from '../helpers/app.ts';
import { stopTimers } from '../helpers/clock.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import { describePostgres, withClient } from '../helpers/postgres.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { openStream } from '../hosting/instances.ts';
import { ask } from './ask.ts';
import type { Question } from './ask.ts';
import { sharedProject } from './shared.ts';

const power = '/v1/hosting/game/power/mine/start';
const log = '/v1/hosting/game/logs/mine/latest';

describePostgres((server) => {
  /** Starts two instances on one database, with limits of four requests. */
  async function serveTwice() {
    const databaseUrl = await server().createDatabase();
    const { settings, issueKey, panel } = await createHostingWorld(temporaryFolder(), { databaseUrl });
    const root = await sharedProject();
    const limits = Object.fromEntries(
      ['POWER', 'READ', 'DOMAIN'].flatMap((name) => [
        [`${name}_RATELIMIT_RPS`, '1'],
        [`${name}_RATELIMIT_BURST`, '4'],
      ]),
    );
    const feedback = { FEEDBACK_RATELIMIT_WINDOW_SECONDS: '3600', FEEDBACK_RATELIMIT_BURST: '4' };
    const start = () => createTestApp({ root, settings: { ...settings, ...limits, ...feedback } });
    const world = { databaseUrl, panel, key: await issueKey(), apps: [await start(), await start()] as const };
    // On a busy machine, the database may exceed the wait of a request.
    stopTimers(waitMs);
    return world;
  }

  /** Sends eight requests to both instances in turn; returns the statuses in order of time. */
  async function statuses(apps: readonly TestApp[], target: string, question: Question): Promise<number[]> {
    const answers: number[] = [];
    for (let count = 0; count < 8; count += 1) answers.push((await ask(apps[count % 2]!, target, question)).status);
    return answers;
  }

  test('two instances have one limit for votes', async () => {
    const { apps } = await serveTwice();
    const vote = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"helpful":true}' };
    expect(await statuses(apps, '/v1/kb/feedback', vote)).toEqual([202, 202, 202, 202, 429, 429, 429, 429]);
    const { headers } = await ask(apps[1], '/v1/kb/feedback', vote);
    expect(headers['retry-after']).toBe('3600');
    expect(headers.ratelimit).toContain('"feedback";r=0;t=');
  });

  test('two instances have one limit for actions, reads and searches', async () => {
    const { apps, key } = await serveTwice();
    const rows = [
      [power, { method: 'POST', key }],
      [log, { key }],
      ['/v1/domains/search?domain=example.com', {}],
    ] as const;
    for (const [target, question] of rows) {
      const started = performance.now();
      const answers = await statuses(apps, target, question);
      const allowed = answers.filter((status) => status === 200).length;
      // Four at once, and another for each second of a slow machine.
      expect(allowed).toBeGreaterThanOrEqual(4);
      expect(allowed).toBeLessThanOrEqual(4 + Math.ceil((performance.now() - started) / 1000));
    }
  });

  test('the pace of registries and the budgets of a panel are in the database, without addresses and ids', async () => {
    const { apps, key, databaseUrl } = await serveTwice();
    await ask(apps[0], '/v1/domains/search?domain=example.com');
    const client = await openStream({ ...apps[0], key });
    await client.until('status');
    const rows = await withClient(databaseUrl, (database) => database.query('SELECT * FROM hosting_limits'));
    const names = new Set(rows.rows.map(({ name }: { name: string }) => name));
    expect([...names].toSorted()).toEqual(['domains', 'panel', 'reads', 'registry']);
    expect(JSON.stringify(rows.rows)).not.toMatch(/127\.0\.0\.1|hk_/);
    expect(JSON.stringify(rows.rows)).not.toContain(key.split('_')[1]);
  });
});
