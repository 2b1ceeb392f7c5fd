import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { EndpointName } from '#contract/endpoints.ts';
import { renderProblem } from '#contract/problem.ts';
import { openClient } from '../../helpers/console-client.ts';
import type { TestClient } from '../../helpers/console-client.ts';
import { describePostgres } from '../../helpers/postgres.ts';
import { bootstrap, createInstances, openStream } from '../../hosting/instances.ts';
import { askEndpoint, askJson } from '../../server/ask.ts';
import type { SharedApp } from '../../server/shared.ts';

/** Waits for the end of a stream, far shorter than its token is valid; `open` after a minute. */
const endOf = (client: TestClient): Promise<unknown> =>
  Promise.race([client.ended, sleep(60_000, 'open', { ref: false })]);

async function readActivity(app: SharedApp, query: string): Promise<{ ids: string[]; next: string | null }> {
  type Page = { activity: { request_id: string }[]; next: string | null };
  const { json } = await askJson<Page>(app, `/v1/hosting/activity?${query}`, { key: app.key });
  return { ids: json.activity.map(({ request_id: id }) => id), next: json.next };
}

/** Tests with a store that two instances share. */
function instancesSuite(createDatabase: () => Promise<string | undefined>): void {
  test('rotation ends streams and tokens of the old secret, revocation those of the key', async () => {
    const { apps, keyId, run } = await createInstances(await createDatabase());
    const streams = await Promise.all(apps.map(openStream));
    const newKey = await run('keys', 'rotate', keyId);
    const { url } = streams[1]!.socket;
    // Tokens are valid on both instances.
    const { token } = await bootstrap({ ...apps[0], key: newKey });
    const late = await openClient(url);
    late.send('auth', streams[0]!.token);
    const successor = await openClient(url);
    expect(await successor.auth(token)).toEqual(['auth success']);
    for (const client of [...streams, late]) {
      expect(await endOf(client)).toEqual({ code: 4003, reason: 'This API key is not known' });
    }
    await successor.roundTrip();
    expect(successor.socket.readyState).toBe(successor.socket.OPEN);
    await run('keys', 'revoke', keyId);
    expect(await endOf(successor)).toEqual({ code: 4003, reason: 'This API key was revoked' });
    for (const app of apps) expect((await askEndpoint({ ...app, key: newKey }, 'startGameServer')).status).toBe(401);
  });

  test('with an overlap, streams end with the old secret unless renewed with the new secret', async () => {
    const { apps, keyId, run } = await createInstances(await createDatabase());
    const streams = await Promise.all(apps.map(openStream));
    const rotating = performance.now();
    const newKey = await run('keys', 'rotate', keyId, '--overlap', '8s');
    const renewed = await openStream(apps[0]);
    await renewed.until('status');
    expect(await renewed.auth((await bootstrap({ ...apps[1], key: newKey })).token)).toEqual(['auth success']);
    for (const { socket } of streams) expect(socket.readyState).toBe(socket.OPEN);
    for (const client of streams) expect(await endOf(client)).toMatchObject({ code: 4003 });
    expect(performance.now() - rotating).toBeGreaterThan(7900);
    await renewed.roundTrip();
    expect(renewed.socket.readyState).toBe(renewed.socket.OPEN);
  });

  test('a change of a key applies to the next request on every instance, and ends streams without access', async () => {
    const { world, apps, keyId, run } = await createInstances(await createDatabase());
    const streams = await Promise.all(apps.map(openStream));
    const statusesOf = (name: EndpointName) =>
      Promise.all(apps.map(async (app) => (await askEndpoint(app, name)).status));
    await run('keys', 'update', keyId, '--scope', 'game-console:read', '--scope', 'vps-power:read_write');
    expect(await statusesOf('startGameServer')).toEqual([403, 403]);
    expect(await statusesOf('openGameConsole')).toEqual([200, 200]);
    expect(await statusesOf('startVps')).toEqual([200, 200]);
    for (const stream of streams) {
      stream.send('send command', 'say hello');
      await stream.until('permission denied');
      expect(stream.socket.readyState).toBe(stream.socket.OPEN);
    }
    await run('keys', 'update', keyId, '--server', 'vps:mine');
    expect(await statusesOf('openGameConsole')).toEqual([403, 403]);
    const reason = 'You do not have access to this server';
    for (const stream of streams) expect(await endOf(stream)).toEqual({ code: 4003, reason });
    expect(await statusesOf('startVps')).toEqual([200, 200]);
    expect(world.panel.commands).toEqual([]);
    await run('keys', 'update', keyId, '--server', 'game:mine', '--scope', 'game-console:read_write');
    for (const app of apps) await openStream(app);
  });

  test('a suspended server is 403 on every instance and its streams end, until it is resumed', async () => {
    const { world, apps, run } = await createInstances(await createDatabase());
    const streams = await Promise.all(apps.map(openStream));
    await run('servers', 'suspend', 'game:mine');
    for (const app of apps) {
      for (const name of ['startGameServer', 'sendGameCommand', 'openGameConsole', 'getLatestGameLog'] as const) {
        const text = renderProblem('json', 'forbidden', 'This game server is suspended');
        const suspended = { status: 403, text, headers: { 'www-authenticate': 'Bearer' } };
        expect(await askEndpoint(app, name)).toMatchObject(suspended);
      }
      expect((await askEndpoint(app, 'startVps')).status).toBe(200);
    }
    const late = await openClient(streams[0]!.socket.url);
    late.send('auth', streams[0]!.token);
    for (const client of [...streams, late]) expect(await endOf(client)).toMatchObject({ code: 4003 });
    await run('servers', 'resume', 'game:mine');
    for (const app of apps) expect((await askEndpoint(app, 'startGameServer')).status).toBe(200);
    await openStream(apps[1]);
    expect(world.panel.signals).toEqual(['start', 'start']);
    expect(world.panel.commands).toEqual([]);
  });

  test('the activity has the actions of all instances, and each instance can continue its pages', async () => {
    const { apps } = await createInstances(await createDatabase());
    const ids = Array.from({ length: 6 }, (_, at) => `order-${at}000`);
    for (const [at, id] of ids.entries()) {
      await askEndpoint(apps[at % 2]!, 'killGameServer', { headers: { 'X-Request-Id': id } });
    }
    const first = await readActivity(apps[0], 'limit=4');
    const second = await readActivity(apps[1], `limit=4&after=${first.next}`);
    expect([first.ids.length, second.next]).toEqual([4, null]);
    expect([...first.ids, ...second.ids].toSorted()).toEqual(ids);
  });
}

describe('in a SQLite file', () => {
  instancesSuite(() => Promise.resolve(undefined));
});
describePostgres((postgres) => instancesSuite(() => postgres().createDatabase()));
