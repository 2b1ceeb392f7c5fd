import { expect, test } from 'vitest';
import { stopClock } from '../helpers/clock.ts';
import { createInstances, openStream } from '../hosting/instances.ts';
import { askJson } from '../server/ask.ts';
import { serveHosting } from '../server/shared.ts';
import { childrenSuite } from './children-suite.ts';

childrenSuite(() => createInstances());

test('a key and its child keys share one limit, with the commands of their streams', async () => {
  stopClock();
  const { app } = await serveHosting(
    { POWER_RATELIMIT_RPS: '1', POWER_RATELIMIT_BURST: '5' },
    { fields: { managesKeys: true } },
  );
  const post = async (key: string, target: string, body?: object) => {
    const question = { key, method: 'POST', body: body && JSON.stringify(body) };
    return await askJson<{ key: string }>(app, target, question);
  };
  const make = async () => {
    const scopes = ['game-power:read_write', 'game-console:read_write'];
    return (await post(app.key, '/v1/keys', { label: 'bot', scopes })).json.key;
  };
  const restart = async (key: string) => (await post(key, '/v1/hosting/game/power/mine/restart')).status;
  const [one, other] = [await make(), await make()];
  expect([await restart(one), await restart(app.key)]).toEqual([200, 200]);
  const client = await openStream({ ...app, key: other });
  client.send('send command', 'list', 'a');
  await client.until('command accepted');
  client.send('send command', 'list', 'b');
  expect((await client.until('command refused')).at(-1)).toEqual(['command refused', 'b', 'rate_limited']);
  expect([await restart(one), await restart(app.key)]).toEqual([429, 429]);
});
