import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { createHostingWorld } from '../../helpers/hosting.ts';
import type { HostingWorld } from '../../helpers/hosting.ts';
import { describePostgres } from '../../helpers/postgres.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { createInstances } from '../../hosting/instances.ts';
import { ask, askEndpoint } from '../../server/ask.ts';
import { createServable, startProcess } from '../../server/process.ts';
import { eventually } from '../../server/shared.ts';
import type { SharedApp } from '../../server/shared.ts';

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
function activitySuite(createDatabase: () => Promise<string | undefined>): void {
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
  activitySuite(() => Promise.resolve(undefined));
});
describePostgres((postgres) => activitySuite(() => postgres().createDatabase()));
