import { expect, test } from 'vitest';
import { startDemo } from '../helpers/demo.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { ask } from '../server/ask.ts';
import { openTestStore } from '../store/target.ts';

test('the demo adds a game server, a VPS and one key for both, only once', async () => {
  const settings = { DATA_DIR: temporaryFolder() };
  const first = await startDemo(settings);
  const { status } = await ask(first, '/v1/hosting/game/logs/demo/latest', { key: first.key });
  expect(status).toBe(200);
  await first.stop();

  const second = await startDemo(settings);
  expect(second.demoKey).toBeUndefined();
  const store = await openTestStore(settings);
  expect((await store.servers.list()).map(({ server }) => server)).toEqual(['game:demo', 'vps:demo']);
  expect(await store.apiKeys.list()).toHaveLength(1);
  const changes = await Array.fromAsync(store.audit.entries({}));
  const finished = changes.filter(({ phase }) => phase === 'finished');
  expect(finished.map(({ actor, action, outcome }) => `${actor}: ${action}: ${outcome}`)).toEqual([
    'npm start: servers add: ok',
    'npm start: servers add: ok',
    'npm start: keys create: ok',
  ]);
  await second.stop();
  await store.apiKeys.revoke(first.key.split('_')[1]!, Date.now());
  expect((await startDemo(settings)).demoKey).toMatch(/^hk_/);
});
