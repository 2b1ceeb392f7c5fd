import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { linesOf } from '../../helpers/console-client.ts';
import { bootstrap, openStream } from '../../hosting/instances.ts';
import { askEndpoint } from '../../server/ask.ts';
import { serveHosting } from '../../server/shared.ts';

/** Longer than the lifetime of a token. */
const followMs = 20_000;

test('a stream outlives its tokens without losing a line', async () => {
  const fields = { scopes: ['game-console:read'] as const };
  const { app, world } = await serveHosting({ CONSOLE_TOKEN_TTL_SECONDS: '8' }, { tickMs: 500, fields });
  world.panel.tokenSeconds = 10;
  world.panel.tokensPerMinute = 60;
  const opened = performance.now();
  const client = await openStream(app);
  await client.until('status');

  let renewals = 0;
  client.socket.on('message', (data: Buffer) => {
    if (!data.includes('"token expiring"')) return;
    renewals += 1;
    void bootstrap(app).then(({ token }) => client.send('auth', token));
  });
  const printed: string[] = [];
  const until = Date.now() + followMs;
  while (Date.now() < until) {
    printed.push(`line ${printed.length + 1}`);
    world.panel.wings.print(printed.at(-1)!);
    if (printed.length % 20 === 0) {
      client.send('send command', 'op me');
      client.send('set state', 'kill');
      client.send('send stats');
    }
    await sleep(50);
  }
  await expect.poll(() => linesOf(client.messages).length).toBe(printed.length);
  expect(linesOf(client.messages)).toEqual(printed);
  const others = client.messages.map(([event]) => event).filter((event) => event !== 'console output');
  expect(new Set(others)).toEqual(new Set(['auth success', 'status', 'stats', 'token expiring', 'permission denied']));
  expect(renewals).toBeGreaterThanOrEqual(Math.floor(followMs / 8000));
  // Renewals at half of the remaining lifetime, which is up to a second shorter, on the same socket.
  const { wings } = world.panel;
  expect(wings.auths.length).toBeGreaterThanOrEqual(Math.floor(followMs / 10_000));
  expect(wings.auths.length).toBeLessThanOrEqual((performance.now() - opened) / 4000 + 1);
  expect([wings.sockets(), wings.logsSent()]).toEqual([1, 1]);

  // Read-only is enforced twice: no write event is forwarded, and the upstream credential cannot write.
  expect(wings.forbidden).toEqual([]);
  expect(world.panel.commands).toEqual([]);
  expect(world.panel.signals).toEqual([]);
  expect((await askEndpoint(app, 'sendGameCommand')).status).toBe(403);
  for (const secret of [app.key, 'eyJ']) expect(JSON.stringify(app.log())).not.toContain(secret);
});
