import { chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createTestApp } from '../../helpers/app.ts';
import type { TestApp } from '../../helpers/app.ts';
import { mountSmall } from '../../helpers/permitted.ts';
import { describePostgres, withClient } from '../../helpers/postgres.ts';
import { ask, askEndpoint } from '../../server/ask.ts';
import { eventually, serveHosting, sharedProject } from '../../server/shared.ts';

const limits = { FEEDBACK_RATELIMIT_BURST: '1000', METRICS_PORT: '0' };
const isPower = ({ path }: { readonly path: string }): boolean => path.endsWith('/power');

const vote = (app: TestApp, helpful = true) =>
  ask(app, '/v1/kb/feedback', { method: 'POST', body: JSON.stringify({ helpful }) });
const isReady = async (app: TestApp) => (await ask(app, '/ready')).status === 200;
/** Lists the errors in the log, except slow answers of the database: on a busy machine, they are no outage. */
const lines = (app: TestApp) =>
  app.log().filter(({ level, msg }) => level === 'error' && !String(msg).startsWith('database too slow'));

describePostgres((server) => {
  /** Starts a server with a database of its own; the functions change that database alone. */
  async function serve(settings: Record<string, string> = {}) {
    const url = await server().createDatabase();
    const name = /\w+$/.exec(url)![0];
    const admin = async (...statements: string[]): Promise<void> =>
      withClient(server().url('postgres'), async (client) => {
        for (const sql of statements) await client.query(sql);
      });
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`;
    const { app, world } = await serveHosting({ ...limits, ...settings }, { databaseUrl: url });
    return {
      url,
      app,
      world,
      admin,
      name,
      end,
      /** Refuses writes, and disconnects all clients. */
      refuseWrites: () => admin(`ALTER DATABASE ${name} SET default_transaction_read_only = on`, end),
      takeWrites: () => admin(`ALTER DATABASE ${name} RESET default_transaction_read_only`, end),
      votes: async () => (await world.store.feedback.report({})).reduce((sum, { helpful }) => sum + helpful, 0),
      entries: async () => Array.fromAsync(world.store.audit.entries({})),
    };
  }

  test('votes while the store takes no writes are counted when it takes them again', async () => {
    const { app, refuseWrites, takeWrites, votes } = await serve();
    expect((await vote(app)).status).toBe(202);
    await refuseWrites();
    for (let count = 0; count < 20; count += 1) expect((await vote(app)).status).toBe(202);
    await expect.poll(() => isReady(app), eventually).toBe(false);
    expect((await vote(app)).status).toBe(202);
    await takeWrites();
    await expect.poll(votes, eventually).toBe(22);
    await expect.poll(() => isReady(app), eventually).toBe(true);
  });

  test('the end of an action that falls into an outage is replayed at once, and is in the store after it', async () => {
    const { app, world, refuseWrites, takeWrites, entries } = await serve();
    const headers = { 'Idempotency-Key': 'accepted' };
    const act = () => askEndpoint(app, 'startGameServer', { headers });
    const arrived = world.panel.hold(isPower);
    const answer = act();
    const free = await arrived;
    await refuseWrites();
    free();
    expect((await answer).status).toBe(200);
    const replay = { status: 200, headers: { 'idempotent-replayed': 'true' } };
    expect(await act()).toMatchObject(replay);
    await takeWrites();
    await expect.poll(async () => (await entries()).length, eventually).toBe(2);
    await expect.poll(() => isReady(app), eventually).toBe(true);
    expect(await act()).toMatchObject(replay);
    expect(world.panel.signals).toEqual(['start']);
    expect((await entries()).map(({ phase, outcome }) => [phase, outcome])).toEqual([
      ['requested', null],
      ['finished', 'ok'],
    ]);
    expect(lines(app).map(({ msg }) => msg)).toEqual(['the store does not answer']);
  });

  test('a refused action whose end falls into an outage is refused again, and acts after it', async () => {
    const { app, world, refuseWrites, takeWrites } = await serve();
    const headers = { 'Idempotency-Key': 'refused' };
    world.panel.fail({ status: 429 }, isPower);
    const arrived = world.panel.hold(isPower);
    const first = askEndpoint(app, 'startGameServer', { headers });
    const free = await arrived;
    await refuseWrites();
    free();
    expect(await first).toMatchObject({ headers: { 'action-outcome': 'not_sent' } });
    world.panel.fail(undefined);
    await takeWrites();
    const repeat = async () => {
      const { status, headers: received } = await askEndpoint(app, 'startGameServer', { headers });
      if (status !== 200) expect(received['action-outcome']).toBe('not_sent');
      return status;
    };
    await expect.poll(repeat, eventually).toBe(200);
    expect(world.panel.signals).toEqual(['start']);
  });

  test('a stop names each end of an action and the votes that the store does not take', async () => {
    const { app, world, refuseWrites } = await serve();
    const arrived = world.panel.hold(isPower);
    const answer = askEndpoint(app, 'startGameServer', { headers: { 'Idempotency-Key': 'one' } });
    const free = await arrived;
    await refuseWrites();
    free();
    const { headers } = await answer;
    await vote(app);
    await app.stop();
    const lost = { request_id: headers['x-request-id'], server: 'game:mine', action: 'start', outcome: 'ok' };
    expect(lines(app).slice(1)).toEqual([
      expect.objectContaining({ ...lost, msg: 'the end of an action is lost' }),
      expect.objectContaining({ votes: 1, msg: 'votes are lost' }),
    ]);
  });

  test.each(['an action', 'a look'])('a store that goes back and has lost %s is named once', async (lost) => {
    const { url, app, world, admin, name, end } = await serve();
    const count = async (): Promise<number> => {
      const sql = 'SELECT COALESCE(MAX(counter), 0) AS count FROM hosting_health';
      return withClient(url, async (client) => (await client.query<{ count: number }>(sql)).rows[0]!.count);
    };
    await expect.poll(count, eventually).toBe(1);
    const other = `${name}_before`;
    await world.store.close();
    await admin(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`, end, `CREATE DATABASE ${other} TEMPLATE ${name}`);
    onTestFinished(() => admin(`DROP DATABASE ${name} WITH (FORCE)`));
    await admin(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    // The outage leads to a look, which the copy lacks.
    if (lost === 'a look') await expect.poll(count, eventually).toBe(2);
    else await expect.poll(async () => (await askEndpoint(app, 'startGameServer')).status, eventually).toBe(200);
    await admin(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`, end);
    await admin(`ALTER DATABASE ${name} RENAME TO ${name}_lost`, `ALTER DATABASE ${other} RENAME TO ${name}`);
    const named = () => lines(app).filter(({ msg }) => String(msg).startsWith('the store went back by up to '));
    await expect.poll(() => named().length, eventually).toBe(1);
    await expect.poll(() => isReady(app), eventually).toBe(true);
    await expect.poll(async () => (await askEndpoint(app, 'startGameServer')).status, eventually).toBe(200);
    await sleep(2000);
    expect(named()).toHaveLength(1);
    expect(await app.metrics()).toContain('hosting_api_store_went_back_total 1');
  });

  test('a vote and an end that no synchronous standby confirms are written once, after it is back', async () => {
    const { app, world, admin, votes, entries } = await serve();
    const arrived = world.panel.hold(isPower);
    const headers = { 'Idempotency-Key': 'unconfirmed' };
    const answer = askEndpoint(app, 'startGameServer', { headers });
    const free = await arrived;
    await admin(`ALTER SYSTEM SET synchronous_standby_names = 'away'`, 'SELECT pg_reload_conf()');
    onTestFinished(() => admin('ALTER SYSTEM RESET synchronous_standby_names', 'SELECT pg_reload_conf()'));
    free();
    expect((await vote(app)).status).toBe(202);
    expect((await answer).status).toBe(200);
    await expect
      .poll(() => JSON.stringify(lines(app)), eventually)
      .toContain('no synchronous standby confirms the write');
    // Longer than an attempt.
    await sleep(7000);
    expect((await vote(app)).status).toBe(202);
    await admin('ALTER SYSTEM RESET synchronous_standby_names', 'SELECT pg_reload_conf()');
    await expect.poll(votes, eventually).toBe(2);
    await expect.poll(() => isReady(app), eventually).toBe(true);
    const phases = async () => (await entries()).map(({ phase }) => phase);
    // The end waits for the store, which takes it up to a second after it is ready.
    await expect.poll(phases, eventually).toEqual(['requested', 'finished']);
    expect((await askEndpoint(app, 'startGameServer', { headers })).headers).toMatchObject({
      'idempotent-replayed': 'true',
    });
    await sleep(1500);
    expect([await votes(), await phases()]).toEqual([2, ['requested', 'finished']]);
  });

  test('conflicts of transactions fail no request, lose no vote, and are no outage', async () => {
    const { app, admin, name, end, votes } = await serve();
    await admin(`ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`, end);
    await expect.poll(() => isReady(app), eventually).toBe(true);
    const answers = await Promise.all(Array.from({ length: 60 }, () => vote(app)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 60 }, () => 202));
    await expect.poll(votes, eventually).toBe(60);
    // They claim the same record.
    const headers = { 'Idempotency-Key': 'same' };
    const same = await Promise.all(Array.from({ length: 30 }, () => askEndpoint(app, 'startGameServer', { headers })));
    expect(new Set(same.map(({ status }) => status)).difference(new Set([200, 409]))).toEqual(new Set());
    expect(JSON.stringify(app.log())).not.toContain('40001');
  });

  test('a refused connection loses no vote, and the log says that no connection is left', async () => {
    const { admin, name, url, votes } = await serve();
    const user = `few_${name}`;
    await admin(`CREATE ROLE ${user} LOGIN PASSWORD 'few' CONNECTION LIMIT 3`);
    onTestFinished(() =>
      withClient(url, async (client) => void (await client.query(`DROP OWNED BY ${user}; DROP ROLE ${user}`))),
    );
    await withClient(url, (client) => client.query(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${user}`));
    const settings = { ...limits, DATABASE_URL: url.replace(`postgres:${server().password}@`, `${user}:few@`) };
    const app = await createTestApp({ root: await sharedProject(), settings });
    const answers = await Promise.all(Array.from({ length: 30 }, () => vote(app)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 30 }, () => 202));
    await expect.poll(votes, eventually).toBe(30);
    expect(JSON.stringify(lines(app))).toContain('PostgreSQL has no connection left (53300)');
    await app.stop();
  });

  test('a database whose disk is full is unready until there is room, and loses no vote', async (context) => {
    const folder = mountSmall(context, 'size=40m,mode=777');
    const [space, ballast] = [join(folder, 'space'), join(folder, 'ballast')];
    mkdirSync(space);
    if (process.getuid!() === 0) chownSync(space, 65_534, 65_534);
    const { app, admin, name, end, votes } = await serve();
    await admin(`CREATE TABLESPACE small LOCATION '${space}'`, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`, end);
    onTestFinished(() => admin(`DROP DATABASE ${name} WITH (FORCE)`, 'DROP TABLESPACE small'));
    await admin(`ALTER DATABASE ${name} SET TABLESPACE small`, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    await expect.poll(() => isReady(app), eventually).toBe(true);
    expect(() => writeFileSync(ballast, Buffer.alloc(64 * 1024 * 1024))).toThrow('ENOSPC');
    let accepted = 0;
    const act = async () => {
      const { status } = await askEndpoint(app, 'startGameServer');
      accepted += Number((await vote(app)).status === 202);
      return status;
    };
    await expect.poll(act, eventually).toBe(500);
    expect(await isReady(app)).toBe(false);
    expect(await app.metrics()).toContain('store_answers 0');
    await sleep(5000);
    expect(await isReady(app)).toBe(false);
    rmSync(ballast);
    await expect.poll(() => isReady(app), eventually).toBe(true);
    await expect.poll(act, eventually).toBe(200);
    await expect.poll(votes, eventually).toBe(accepted);
  });
});
