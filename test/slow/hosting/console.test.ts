import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { linesOf } from '../../helpers/console-client.ts';
import { bootstrap, openStream } from '../../hosting/instances.ts';
import { askEndpoint } from '../../server/ask.ts';
import { serveHosting } from '../../server/shared.ts';

/** How long the test follows a stream; longer than the lifetime of each token. */
const followMs = 20_000;

test('a stream outlives each of its tokens without losing a line', async () => {
  const fields = { scopes: ['game-console:read'] as const };
  const { app, world } = await serveHosting({ CONSOLE_TOKEN_TTL_SECONDS: '8' }, { tickMs: 500, fields });
  world.panel.tokenSeconds = 10;
  world.panel.tokensPerMinute = 60;
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
  expect(world.panel.wings.auths.length).toBeGreaterThanOrEqual(Math.floor(followMs / 10_000));

  // The stream is read-only twice: it forwards no write event, and the upstream credential has no write permission.
  expect(world.panel.wings.forbidden).toEqual([]);
  expect(world.panel.commands).toEqual([]);
  expect(world.panel.signals).toEqual([]);
  expect((await askEndpoint(app, 'sendGameCommand')).status).toBe(403);
  for (const secret of [app.key, 'eyJ']) expect(JSON.stringify(app.log())).not.toContain(secret);
});

describe('a stream', () => {
  test('has the address from PUBLIC_URL and an opaque token', async () => {
    const { app } = await serveHosting({ PUBLIC_URL: 'https://api.example.com/hosting/' });
    const { socket_url: url, token } = await bootstrap(app);
    expect(url).toBe('wss://api.example.com/hosting/v1/hosting/game/console/mine/stream');
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });

  test('provides the log content if the panel serves no log file', async () => {
    const { app, world } = await serveHosting();
    world.panel.files.clear();
    const client = await openStream(app);
    await client.until('status');
    world.panel.wings.print('\u001B[32mfirst\u001B[0m');
    world.panel.wings.print('second');
    await expect.poll(() => linesOf(client.messages)).toHaveLength(2);
    const { text } = await askEndpoint(app, 'getLatestGameLog');
    expect(JSON.parse(text)).toMatchObject({ empty: false, content: 'first\nsecond\n' });
  });

  test('ends when its server is assigned to another customer', async () => {
    const { app, world } = await serveHosting();
    const client = await openStream(app);
    await client.until('status');
    await world.store.servers.put({ server: 'game:mine', provider: 'panel', ref: 'another', logFile: null });
    await client.until('daemon error');
    world.panel.wings.print('a secret of the next customer');
    await client.roundTrip();
    expect(linesOf(client.messages)).toEqual([]);
  });
});
