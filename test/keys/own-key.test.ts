import { describe, expect, test } from 'vitest';
import { ask, askJson } from '../server/ask.ts';
import type { Answer } from '../server/ask.ts';
import { stopClock } from '../helpers/clock.ts';
import { borrowHosting, serveShared, sharedApp, sharedHosting } from '../server/shared.ts';
import type { SharedApp } from '../server/shared.ts';

function askKey(app: SharedApp, key: string, method = 'GET'): Promise<Answer> {
  return ask(app, '/v1/key', { method, headers: { Authorization: `Bearer ${key}` } });
}

test('a key is described to its holder, without its secret', async () => {
  const { issueKey } = await sharedHosting();
  const reads = { READ_RATELIMIT_RPS: '7', READ_RATELIMIT_BURST: '9' };
  const app = await serveShared({ POWER_RATELIMIT_RPS: '3', POWER_RATELIMIT_BURST: '', ...reads });
  const createdAt = Date.parse('2026-03-01T12:00:00.250Z');
  const expiresAt = Date.now() + 60_000;
  const servers = ['game:mine', 'vps:other'] as const;
  const key = await issueKey({ label: 'Panel "A" – ü', scopes: ['game-power:read'], servers, createdAt, expiresAt });
  const { status, headers, text } = await askKey(app, key);
  expect(status).toBe(200);
  expect(JSON.parse(text)).toEqual({
    id: key.split('_')[1],
    label: 'Panel "A" – ü',
    scopes: ['game-power:read'],
    servers: ['game:mine', 'vps:other'],
    created_at: '2026-03-01T12:00:00.250Z',
    expires_at: new Date(expiresAt).toISOString(),
    limits: { power: { requests_per_second: 3, burst: 5 }, read: { requests_per_second: 7, burst: 9 } },
  });
  expect(headers['cache-control']).toBe('no-store');
  expect(headers['ratelimit-policy']).toContain('"reads";q=9;w=2');
  expect(headers).not.toHaveProperty('etag');
});

test('a key without an expiry, without scopes and without servers is described too', async () => {
  const { issueKey } = await sharedHosting();
  const key = await issueKey({ scopes: [], servers: [], label: '' });
  const body = JSON.parse((await askKey(await sharedApp(), key)).text) as Record<string, unknown>;
  expect(body).toMatchObject({ label: '', scopes: [], servers: [], expires_at: null });
});

test('GET and HEAD count as reads', async () => {
  const { issueKey } = await sharedHosting();
  stopClock();
  const app = await serveShared({ READ_RATELIMIT_RPS: '1', READ_RATELIMIT_BURST: '2' });
  const key = await issueKey();
  for (const method of ['GET', 'HEAD']) expect((await askKey(app, key, method)).status).toBe(200);
  const limited = await askKey(app, key);
  expect(limited.status).toBe(429);
  expect(limited.headers['retry-after']).toBe('1');
  expect((await askKey(app, await issueKey())).status).toBe(200);
});

describe('the servers of a key', () => {
  async function page(app: SharedApp, key: string, query = '') {
    type Page = { servers: Listed[]; next: string | null; error?: string };
    const { status, json } = await askJson<Page>(app, `/v1/hosting/servers${query}`, { key });
    return { status, ...json };
  }

  test('list the actions that the scopes allow, and working paths of their endpoints', async () => {
    const { app, world } = await borrowHosting();
    const key = await world.issueKey({
      servers: ['vps:mine', 'game:mine'],
      scopes: ['vps-power:read', 'game-logs:read'],
    });
    const before = [...world.panel.seen, ...world.hetzner.seen].length;
    const { servers, next } = await page(app, key);
    expect([...world.panel.seen, ...world.hetzner.seen]).toHaveLength(before);
    expect(next).toBeNull();
    expect(servers.map(({ links: _links, ...one }) => one)).toEqual([
      { server: 'vps:mine', id: 'mine', kind: 'vps', actions: ['state'] },
      { server: 'game:mine', id: 'mine', kind: 'game', actions: ['log'] },
    ]);
    expect(servers.map(({ links }) => Object.keys(links))).toEqual([
      ['state', 'start', 'stop', 'reset'],
      ['state', 'start', 'stop', 'restart', 'kill', 'console', 'command', 'log'],
    ]);
    for (const { actions, links } of servers) {
      for (const action of actions) {
        const { status } = await ask(app, links[action]!, { headers: { Authorization: `Bearer ${key}` } });
        expect({ action, status }).toEqual({ action, status: 200 });
      }
    }
    const all = await page(app, await world.issueKey({ servers: ['game:mine'] }));
    expect(all.servers[0]!.actions.toSorted()).toEqual(Object.keys(servers[1]!.links).toSorted());
  });

  test('have no actions while suspended or after removal', async () => {
    const { app, world } = await borrowHosting();
    const key = await world.issueKey({ servers: ['game:mine', 'vps:mine', 'game:none'] });
    await world.store.servers.suspend('game:mine', Date.now());
    const { servers } = await page(app, key);
    expect(servers.map(({ actions }) => actions)).toEqual([[], ['state', 'start', 'stop', 'reset'], []]);
  });

  test('are paged in the order of the key, each once', async () => {
    const { app, world } = await borrowHosting();
    const names = Array.from({ length: 45 }, (_, at) => `game:s${(at * 7) % 45}` as const);
    const key = await world.issueKey({ servers: names });
    const read: string[] = [];
    const lengths: number[] = [];
    for (let query = ''; ;) {
      const { servers, next } = await page(app, key, query);
      read.push(...servers.map(({ server }) => server));
      lengths.push(servers.length);
      if (next === null) break;
      query = `?after=${next}`;
    }
    expect({ read, lengths }).toEqual({ read: names, lengths: [20, 20, 5] });
    const { next, servers } = await page(app, key, '?limit=45');
    expect([servers.length, next]).toEqual([45, null]);

    const first = await page(app, key, '?limit=1');
    const other = await world.issueKey({ servers: names });
    expect(await page(app, other, `?after=${first.next}`)).toMatchObject({ status: 400, error: 'validation_error' });
    for (const query of ['?limit=0', '?limit=101', '?after=x', `?after=${'A'.repeat(40)}`]) {
      expect(await page(app, key, query)).toMatchObject({ status: 400, error: 'validation_error' });
    }
    expect(await page(app, await world.issueKey({ servers: [] }))).toMatchObject({ servers: [], next: null });
  });
});

interface Listed {
  readonly server: string;
  readonly actions: readonly string[];
  readonly links: Readonly<Record<string, string>>;
}
