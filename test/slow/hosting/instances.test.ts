import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { EndpointName } from '#contract/endpoints.ts';
import { renderProblem } from '#contract/problem.ts';
import { openClient } from '../../helpers/console-client.ts';
import type { TestClient } from '../../helpers/console-client.ts';
import { createHostingWorld } from '../../helpers/hosting.ts';
import type { HostingWorld } from '../../helpers/hosting.ts';
import { describePostgres } from '../../helpers/postgres.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { bootstrap, createInstances, openStream } from '../../hosting/instances.ts';
import { ask, askEndpoint } from '../../server/ask.ts';
import { createServable, startProcess } from '../../server/process.ts';
import { eventually } from '../../server/shared.ts';
import type { SharedApp } from '../../server/shared.ts';

/** How a stream ended; `open` if it did not end within 6 s. */
const endOf = (client: TestClient): Promise<unknown> =>
  Promise.race([client.ended, sleep(6000, 'open', { ref: false })]);

async function readState(app: SharedApp): Promise<string> {
  const { status, text } = await askEndpoint(app, 'getVpsState');
  expect(status).toBe(200);
  return (JSON.parse(text) as { state: string }).state;
}

interface Page {
  readonly activity: readonly { readonly request_id: string; readonly status: string }[];
  readonly next: string | null;
}

async function read<Body>(app: Pick<SharedApp, 'port' | 'key'>, path: string): Promise<Body> {
  const { status, text } = await ask(app, `/v1/hosting/${path}`, { headers: { Authorization: `Bearer ${app.key}` } });
  expect({ path, status }).toEqual({ path, status: 200 });
  return JSON.parse(text) as Body;
}

const actionOf = (app: Pick<SharedApp, 'port' | 'key'>, id: string) =>
  read<Record<string, unknown>>(app, `actions/${id}`);

function act(app: SharedApp, requestId: string): Promise<{ status: number }> {
  return askEndpoint(app, 'killGameServer', { headers: { 'X-Request-Id': requestId } });
}

/** Moves all entries of the audit log into the past. */
function age({ settings }: HostingWorld, ms: number): void {
  const database = new DatabaseSync(join(settings.DATA_DIR!, 'hosting.sqlite'));
  database.prepare('UPDATE hosting_audit SET logged_at = logged_at - ?').run(ms);
  database.close();
}

test('the outcomes of a lost answer, of a killed process and of a refusal are true', async () => {
  const world = await createHostingWorld(temporaryFolder());
  const key = await world.issueKey();
  const { settings } = await createServable();
  const all = { ...settings, ...world.settings, UPSTREAM_TIMEOUT_SECONDS: '2' };
  const first = startProcess(all);
  const app = { port: await first.listening(), key } as SharedApp;

  world.panel.fail({ status: 422 }, ({ method }) => method === 'POST');
  expect((await act(app, 'was-refused')).status).toBe(502);

  // The panel gets the action, and its answer does not come in time.
  world.panel.fail('hang', ({ method }) => method === 'POST');
  expect((await act(app, 'answer-lost')).status).toBe(502);

  const sent = () => world.panel.seen.filter(({ path }) => path.endsWith('/power')).length;
  const before = sent();
  const cut = act(app, 'was-killed').catch(() => 'cut');
  await expect.poll(sent, eventually).toBe(before + 1);
  first.child.kill('SIGKILL');
  expect(await cut).toBe('cut');
  world.panel.fail(undefined);

  const second = startProcess(all);
  const after = { port: await second.listening(), key } as SharedApp;
  expect(await actionOf(after, 'was-refused')).toMatchObject({ status: 'failed', finished_at: expect.any(String) });
  expect(await actionOf(after, 'answer-lost')).toMatchObject({ status: 'unknown', finished_at: expect.any(String) });
  // Another instance may still run it.
  expect(await actionOf(after, 'was-killed')).toMatchObject({ status: 'running', finished_at: null });
  // The timeout of an action and the wait for the store.
  age(world, 32_000);
  expect(await actionOf(after, 'was-killed')).toMatchObject({ status: 'unknown', finished_at: null });
  const { activity, next } = await read<Page>(after, 'activity');
  expect(activity.map(({ request_id: id, status }) => [id, status])).toEqual([
    ['was-killed', 'unknown'],
    ['answer-lost', 'unknown'],
    ['was-refused', 'failed'],
  ]);
  expect(next).toBeNull();
  // Nothing was sent again.
  expect(sent()).toBe(before + 1);
});

/** Tests with one kind of store, shared by two instances. */
function instancesSuite(createDatabase: () => Promise<string | undefined>): void {
  test("rotation ends the old secret's streams within 5 s, and its tokens", async () => {
    const { apps, keyId, run } = await createInstances(await createDatabase());
    const streams = await Promise.all(apps.map(openStream));
    const newKey = await run('keys', 'rotate', keyId);
    const rotated = performance.now();
    const [one] = apps;
    const { socket_url: url, token } = await bootstrap({ ...one, key: newKey });
    const late = await openClient(url);
    late.send('auth', streams[1]!.token);
    const successor = await openClient(url);
    expect(await successor.auth(token)).toEqual(['auth success']);
    for (const client of [...streams, late]) {
      expect(await endOf(client)).toEqual({ code: 4003, reason: 'This API key is not known' });
    }
    expect(performance.now() - rotated).toBeLessThan(5000);
    await successor.roundTrip();
    expect(successor.socket.readyState).toBe(successor.socket.OPEN);
  });

  test("with an overlap, the old secret's streams end with it, unless they were renewed by the new one", async () => {
    const { apps, keyId, run } = await createInstances(await createDatabase());
    const streams = await Promise.all(apps.map(openStream));
    const newKey = await run('keys', 'rotate', keyId, '--overlap', '4s');
    const overlapEnd = performance.now() + 4000;
    const renewed = await openStream(apps[0]);
    await renewed.until('status');
    expect(await renewed.auth((await bootstrap({ ...apps[1], key: newKey })).token)).toEqual(['auth success']);
    for (const client of streams) {
      expect(client.socket.readyState).toBe(client.socket.OPEN);
    }
    for (const client of streams) {
      expect(await Promise.race([client.ended, sleep(10_000, 'open', { ref: false })])).toMatchObject({ code: 4003 });
    }
    const after = performance.now() - overlapEnd;
    expect(after).toBeGreaterThan(-500);
    expect(after).toBeLessThan(5000);
    await renewed.roundTrip();
    expect(renewed.socket.readyState).toBe(renewed.socket.OPEN);
  });

  test('a change of a key holds from the next request on, on every instance; streams that it does not allow end', async () => {
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
    const changed = performance.now();
    await run('keys', 'update', keyId, '--server', 'vps:mine');
    expect(await statusesOf('openGameConsole')).toEqual([403, 403]);
    const reason = 'You do not have access to this server';
    for (const stream of streams) expect(await endOf(stream)).toEqual({ code: 4003, reason });
    expect(performance.now() - changed).toBeLessThan(5000);
    expect(await statusesOf('startVps')).toEqual([200, 200]);
    expect(world.panel.commands).toEqual([]);
    await run('keys', 'update', keyId, '--server', 'game:mine', '--scope', 'game-console:read_write');
    for (const app of apps) await openStream(app);
  });

  test('a suspended server is 403 to its keys on every instance, its streams end, and resume undoes it', async () => {
    const { world, apps, run } = await createInstances(await createDatabase());
    const streams = await Promise.all(apps.map(openStream));
    await run('servers', 'suspend', 'game:mine');
    const suspended = performance.now();
    for (const app of apps) {
      for (const name of ['startGameServer', 'sendGameCommand', 'openGameConsole', 'getLatestGameLog'] as const) {
        const { status, text, headers } = await askEndpoint(app, name);
        const body = renderProblem('json', 'forbidden', 'This game server is suspended');
        expect({ status, text, challenge: headers['www-authenticate'] }).toEqual({
          status: 403,
          text: body,
          challenge: 'Bearer',
        });
      }
      expect((await askEndpoint(app, 'startVps')).status).toBe(200);
    }
    const late = await openClient(streams[0]!.socket.url);
    late.send('auth', streams[0]!.token);
    for (const client of [...streams, late]) expect(await endOf(client)).toMatchObject({ code: 4003 });
    expect(performance.now() - suspended).toBeLessThan(5000);
    await run('servers', 'resume', 'game:mine');
    for (const app of apps) expect((await askEndpoint(app, 'startGameServer')).status).toBe(200);
    await openStream(apps[1]);
    expect(world.panel.signals).toEqual(['start', 'start']);
    expect(world.panel.commands).toEqual([]);
  });

  test("a revoked key's streams are closed within 5 s on every instance", async () => {
    const { apps, keyId, run } = await createInstances(await createDatabase());
    // A token of one instance is valid on the other.
    const { token } = await bootstrap(apps[0]);
    const client = await openClient((await bootstrap(apps[1])).socket_url);
    expect(await client.auth(token)).toEqual(['auth success']);
    await run('keys', 'revoke', keyId);
    const revoked = performance.now();
    expect(await client.ended).toMatchObject({ code: 4003 });
    expect(performance.now() - revoked).toBeLessThan(5000);
    for (const app of apps) expect((await askEndpoint(app, 'startGameServer')).status).toBe(401);
  });

  test('of 100 requests with one Idempotency-Key to two instances, one runs the action', async () => {
    const { world, apps } = await createInstances(await createDatabase());
    const headers = { 'Idempotency-Key': 'order-4711' };
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, at) => askEndpoint(apps[at % 2]!, 'startGameServer', { headers })),
    );
    expect(new Set(answers.map(({ status }) => status)).isSubsetOf(new Set([200, 409]))).toBe(true);
    expect(world.panel.signals).toEqual(['start']);
  });

  test('an action on one instance is in the next answers of the other, with at most one more list', async () => {
    const { apps, world } = await createInstances(await createDatabase());
    const [one, other] = apps;
    const lists = () => world.hetzner.seen.filter(({ path }) => path.includes('per_page=50')).length;
    expect(await readState(other)).toBe('running');
    expect((await askEndpoint(one, 'stopVps')).status).toBe(200);
    const readers = await Promise.all(Array.from({ length: 10 }, () => readState(other)));
    expect(new Set(readers)).toEqual(new Set(['offline']));
    expect(lists()).toBe(2);
    expect(await readState(other)).toBe('offline');
  });

  test('the pages of two keys are complete, without duplicates and apart, while both write on two instances', async () => {
    const { world, apps } = await createInstances(await createDatabase());
    const keys = [apps[0].key, await world.issueKey()];
    const written = keys.map(() => [] as string[]);
    const walk = { isDone: false };
    // Each key acts on both instances at once.
    const writers = keys.flatMap((key, owner) =>
      apps.map(async (app, instance) => {
        for (let count = 0; !walk.isDone; count += 1) {
          const id = `key-${owner}-${instance}-${count}`;
          expect((await act({ ...app, key }, id)).status).toBe(200);
          written[owner]!.push(id);
        }
      }),
    );
    for (let round = 0; round < 3; round += 1) {
      await expect
        .poll(() => Math.min(...written.map((ids) => ids.length)), eventually)
        .toBeGreaterThan(15 * (round + 1));
      for (const [owner, key] of keys.entries()) {
        const before = [...written[owner]!];
        const found: string[] = [];
        let [next, pages]: [string | null, number] = [null, 0];
        do {
          const query: string = next === null ? 'limit=5' : `limit=5&after=${next}`;
          const page: Page = await read({ port: apps[pages % 2]!.port, key }, `activity?${query}`);
          found.push(...page.activity.map(({ request_id: id }) => id));
          ({ next } = page);
          pages += 1;
        } while (next !== null);
        expect(new Set(found).size).toBe(found.length);
        expect(before.filter((id) => !found.includes(id))).toEqual([]);
        expect(found.filter((id) => !id.startsWith(`key-${owner}-`))).toEqual([]);
        expect(pages).toBeGreaterThan(3);
      }
    }
    walk.isDone = true;
    await Promise.all(writers);
  });
}

describe('in a SQLite file', () => {
  instancesSuite(() => Promise.resolve(undefined));
});
describePostgres((postgres) => instancesSuite(() => postgres().createDatabase()));
