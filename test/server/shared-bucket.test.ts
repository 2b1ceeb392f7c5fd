import { MessageChannel } from 'node:worker_threads';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createSharedBuckets } from '../../server/limits.ts';
import { openStore } from '../../server/store/index.ts';
import { describePostgres, withClient } from '../helpers/postgres.ts';

const minute = { name: 'votes', rps: 1 / 60, burst: 50 };

test('a timely answer of the database counts, also if the busy process reads it late', async () => {
  const { port1: answers, port2: database } = new MessageChannel();
  onTestFinished(() => answers.close());
  const failures: unknown[] = [];
  const consume = () => {
    const answer = new Promise<{ allowed: boolean; fullUs: number }>((resolve) => answers.once('message', resolve));
    // oxlint-disable-next-line require-post-message-target-origin -- not a window
    database.postMessage({ allowed: false, fullUs: 0 });
    return answer;
  };
  const limits = { consume, purge: () => Promise.resolve() };
  const buckets = createSharedBuckets(limits, (error) => failures.push(error));
  onTestFinished(buckets.close);
  const answer = buckets.create(minute).consume('192.0.2.1');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 250);
  expect((await answer).allowed).toBe(false);
  expect(failures).toEqual([]);
});

describePostgres((server) => {
  /** Creates instances on one database, each with its clock. */
  async function createInstances(count: number) {
    const url = await server().createDatabase();
    const create = async () => {
      const store = await openStore({ DATA_DIR: '', DATABASE_URL: url });
      onTestFinished(() => store.close());
      let elapsed = 0;
      const failures: unknown[] = [];
      const onFailure = (error: unknown): void => void failures.push(error);
      const now = () => performance.now() + elapsed;
      const limits = store.limits!;
      const consume = vi.spyOn(limits, 'consume');
      const buckets = createSharedBuckets(limits, onFailure, now);
      onTestFinished(buckets.close);
      // The first call waits for the secret of the hashes.
      await limits.consume('first', 'first', rateOf({ rps: 1000, burst: 1000 }));
      /** The number of queries. */
      const asked = () => consume.mock.calls.length;
      return { ...buckets, limits, failures, asked, advance: (ms: number) => (elapsed += ms) };
    };
    const instances = [];
    for (let at = 0; at < count; at += 1) instances.push(await create());
    // On a busy machine, the database may exceed the wait of a request.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    return { url, instances };
  }

  test('two instances admit exactly the burst of 400 requests at once', async () => {
    const { instances } = await createInstances(2);
    const buckets = instances.map(({ create }) => create(minute));
    const results = await Promise.all(
      Array.from({ length: 400 }, (_, at) => instances[at % 2]!.limits.consume('votes', '192.0.2.1', rateOf(minute))),
    );
    expect(results.filter(({ allowed }) => allowed)).toHaveLength(50);
    for (const bucket of buckets) {
      const { allowed, left, waitMs, retryAfter } = await bucket.consume('192.0.2.1');
      expect({ allowed, left }).toEqual({ allowed: false, left: 0 });
      expect(waitMs).toBeGreaterThan(0);
      expect(waitMs).toBeLessThanOrEqual(60_000);
      expect(retryAfter).toBeLessThanOrEqual(60);
      expect((await bucket.consume('192.0.2.2')).headers['RateLimit-Policy']).toBe('"votes";q=50;w=3000');
    }
    expect(instances.flatMap(({ failures }) => failures)).toEqual([]);
  });

  test('a bucket refills by the clock of the database, not of the instances', async () => {
    const { instances, url } = await createInstances(1);
    const [{ limits, advance }] = instances as [(typeof instances)[0]];
    const rate = rateOf({ rps: 1 / 60, burst: 2 });
    const consume = async () => (await limits.consume('votes', 'a', rate)).allowed;
    expect([await consume(), await consume(), await consume()]).toEqual([true, true, false]);
    advance(3_600_000);
    expect(await consume()).toBe(false);
    const shift = (us: number) =>
      withClient(url, (client) => client.query('UPDATE hosting_limits SET full_at = full_at + $1', [us]));
    await shift(-60_000_000);
    expect([await consume(), await consume()]).toEqual([true, false]);
    // Simulates a database clock set back by an hour.
    await shift(3_600_000_000);
    expect([await consume(), await consume(), await consume()]).toEqual([true, true, false]);
  });

  test('a stalled database delays one request by 200 ms, then no request for 10 s', async () => {
    const { instances, url } = await createInstances(1);
    const [{ create, advance, failures, asked }] = instances as [(typeof instances)[0]];
    const bucket = create({ name: 'votes', rps: 1 / 60, burst: 3 });
    await withClient(url, async (client) => {
      await client.query('BEGIN');
      await client.query('LOCK TABLE hosting_limits IN ACCESS EXCLUSIVE MODE');
      const before = asked();
      const delayed = bucket.consume('a');
      await vi.advanceTimersByTimeAsync(199);
      await client.query('SELECT 1');
      expect(failures).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      expect((await delayed).left).toBe(2);
      expect((await bucket.consume('a')).left).toBe(1);
      expect((await bucket.consume('a')).left).toBe(0);
      expect((await bucket.consume('a')).allowed).toBe(false);
      expect(asked()).toBe(before + 1);
      expect(failures.map(String)).toEqual(['Error: the database did not answer within 200 ms']);
      advance(10_000);
      const again = bucket.consume('a');
      await vi.advanceTimersByTimeAsync(200);
      await again;
      expect(asked()).toBe(before + 2);
      expect(failures).toHaveLength(1);
      await client.query('ROLLBACK');
    });
    advance(10_000);
    expect((await bucket.consume('b')).left).toBe(2);
    const rows = await withClient(url, (client) => client.query(`SELECT 1 FROM hosting_limits WHERE name = 'votes'`));
    expect(rows.rowCount).toBeGreaterThan(0);
  });

  test('a lost database is reported every 30 s, and each instance falls back to local limits', async () => {
    const { instances, url } = await createInstances(2);
    const buckets = instances.map(({ create }) => create({ name: 'votes', rps: 1 / 60, burst: 1 }));
    await withClient(url, (client) => client.query('DROP TABLE hosting_limits'));
    const consume = () => Promise.all(buckets.map(async (bucket) => (await bucket.consume('a')).allowed));
    expect([await consume(), await consume()]).toEqual([
      [true, true],
      [false, false],
    ]);
    const [first] = instances;
    for (let count = 0; count < 4; count += 1) {
      first!.advance(10_000);
      await consume();
    }
    expect(first!.failures).toHaveLength(2);
    expect(instances[1]!.failures).toHaveLength(1);
  });

  test('keys are stored as keyed hashes, in an unlogged table, until their buckets are full', async () => {
    const { instances, url } = await createInstances(2);
    for (const { limits } of instances) await limits.consume('votes', '192.0.2.1', rateOf(minute));
    const read = () =>
      withClient(url, async (client) => (await client.query<{ name: string }>('SELECT * FROM hosting_limits')).rows);
    const rows = await read();
    expect(rows.map(({ name }) => name).toSorted()).toEqual(['first', 'votes']);
    expect(JSON.stringify(rows)).not.toContain('192.0.2');
    await instances[0]!.limits.purge();
    expect((await read()).map(({ name }) => name)).toEqual(['votes']);
    const persistence = await withClient(url, (client) =>
      client.query(`SELECT relpersistence AS kind FROM pg_class WHERE relname = 'hosting_limits'`),
    );
    expect(persistence.rows).toEqual([{ kind: 'u' }]);
  });
});

function rateOf({ rps, burst }: { rps: number; burst: number }) {
  const tokenUs = Math.floor(1_000_000 / rps);
  return { tokenUs, capacityUs: burst * tokenUs };
}
