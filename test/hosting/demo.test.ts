import { expect, onTestFinished, test } from 'vitest';
import { readEnv } from '../../server/env.ts';
import { startServer } from '../../server/start.ts';
import { demoSettings } from '../helpers/demo.ts';
import { createTestLog } from '../helpers/upstream.ts';
import { ask } from '../server/ask.ts';
import { openTestStore } from '../store/target.ts';

test('the demo adds a game server, a VPS and a key for both, once', async () => {
  const settings = await demoSettings();
  const { log } = createTestLog();
  const first = await startServer(readEnv(settings), log, { demo: true });
  const headers = { authorization: `Bearer ${first.demoKey}` };
  const port = Number(new URL(first.url).port);
  const read = await ask({ port }, '/v1/hosting/game/logs/demo/latest', { headers });
  expect(read.status).toBe(200);
  await first.stop();

  const second = await startServer(readEnv(settings), log, { demo: true });
  onTestFinished(() => second.stop());
  expect(second.demoKey).toBeUndefined();
  const store = await openTestStore({ DATA_DIR: settings.DATA_DIR });
  expect((await store.servers.list()).map(({ server }) => server)).toEqual(['game:demo', 'vps:demo']);
  expect(await store.apiKeys.list()).toHaveLength(1);
  const changes = await Array.fromAsync(store.audit.entries({}));
  const finished = changes.filter(({ phase }) => phase === 'finished');
  expect(finished.map(({ actor, action, outcome }) => `${actor}: ${action}: ${outcome}`)).toEqual([
    'npm start: servers add: ok',
    'npm start: servers add: ok',
    'npm start: keys create: ok',
  ]);
});
