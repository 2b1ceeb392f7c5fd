import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { ActionRecord, AuditEntry, Store } from '../../server/store/types.ts';
import { auditEntry } from './samples.ts';
import type { CreateTarget } from './target.ts';

const t0 = 1_800_000_000_000;
const keyId = 'AbCdEfGhIj01';

/** Writes an entry before an action; returns its id. */
async function request({ audit }: Store, fields: Partial<AuditEntry> = {}): Promise<string> {
  const actionId = randomUUID();
  await audit.append(auditEntry({ actionId, action: 'start', ...fields }));
  return actionId;
}

/** Reads all pages of a key's actions. Something else may happen after each page. */
async function walk(
  { audit }: Store,
  limit: number,
  afterPage: (page: readonly ActionRecord[]) => unknown = () => undefined,
): Promise<ActionRecord[]> {
  const all: ActionRecord[] = [];
  for (;;) {
    const page = await audit.actionsOf(keyId, limit, all.at(-1));
    all.push(...page);
    if (page.length < limit) return all;
    await afterPage(page);
  }
}

/** Tests of the actions of a key, for every kind of store. */
export function activitySuite(createTarget: CreateTarget): void {
  const open = async () => (await createTarget()).open();

  describe('the actions of a key', () => {
    test('have the time and the outcome of the entry after them, if there is one', async () => {
      const store = await open();
      const running = await request(store, { at: t0 + 2, requestId: 'running' });
      const ended = await request(store, { at: t0, requestId: 'ended', server: 'vps:42', detail: 'say secret' });
      const end = { actionId: ended, action: 'start', server: 'vps:42', requestId: 'ended' } as const;
      await store.audit.append(auditEntry({ ...end, at: t0 + 9, phase: 'finished', outcome: 'provider_error', ms: 9 }));
      const common = { requestId: 'running', action: 'start', server: 'game:survival' };
      const first = { actionId: running, ...common, requestedAt: t0 + 2, finishedAt: null, outcome: null };
      const failed = { requestedAt: t0, finishedAt: t0 + 9, outcome: 'provider_error' };
      const expected = [first, { actionId: ended, action: 'start', server: 'vps:42', requestId: 'ended', ...failed }];
      expect(await store.audit.actionsOf(keyId, 100)).toEqual(expected);
      expect(await store.audit.findAction(keyId, 'ended')).toEqual(expected[1]);
      expect(await store.audit.findAction(keyId, 'running')).toEqual(expected[0]);
    });

    test('are found by request id: the newest of the key, and none of another key', async () => {
      const store = await open();
      const [, newest] = [await request(store), await request(store, { at: t0 + 2 }), await request(store)];
      await request(store, { at: t0 + 3, keyId: 'another00000' });
      expect(await store.audit.findAction(keyId, 'a-request')).toMatchObject({ actionId: newest });
      expect(await store.audit.findAction(keyId, 'A-request')).toBeUndefined();
      expect(await store.audit.findAction('unknown00000', 'a-request')).toBeUndefined();
    });

    test('are neither those of other keys, nor changes of the key, nor entries of versions without action ids', async () => {
      const store = await open();
      const own = await request(store);
      await request(store, { keyId: 'another00000' });
      const change = { actor: 'command line', requestId: null, ip: null, server: null } as const;
      await request(store, { ...change, action: 'keys rotate' });
      await store.audit.append(auditEntry({ actionId: null }));
      expect((await store.audit.actionsOf(keyId, 100)).map(({ actionId }) => actionId)).toEqual([own]);
      expect(await store.audit.findAction(keyId, '')).toBeUndefined();
    });

    test('are read once each, newest first, also if many have the same time', async () => {
      const store = await open();
      const times = Array.from({ length: 120 }, (_, index) => t0 + (index % 4));
      const ids = await Promise.all(times.map((at) => request(store, { at })));
      for (const limit of [1, 7, 40, 120]) {
        const found = await walk(store, limit);
        expect(new Set(found.map(({ actionId }) => actionId))).toEqual(new Set(ids));
        expect(found).toHaveLength(ids.length);
        expect(found.map(({ requestedAt }) => requestedAt)).toEqual(times.toSorted((one, other) => other - one));
      }
    });

    test('are read once each while others are written, ended and purged', async () => {
      const store = await open();
      const before = await Promise.all(
        Array.from({ length: 60 }, (_, index) => request(store, { at: t0 + index, requestId: `before-${index}` })),
      );
      const purged = await request(store, { at: t0 - 1 });
      let written = 0;
      const found = await walk(store, 7, async (page) => {
        const last = page.at(-1)!;
        written += 1;
        // One that is newer than all, one at the very time of the cursor, and one of a clock that is behind.
        for (const at of [t0 + 1000 + written, last.requestedAt, t0 - 5]) {
          await request(store, { at, requestId: 'late' });
          await request(store, { at, keyId: 'another00000' });
        }
        const { actionId } = last;
        await store.audit.append(auditEntry({ actionId, at: t0 + 999, phase: 'finished', outcome: 'ok', ms: 1 }));
        await store.audit.purge(t0 - 5);
      });
      const ids = found.map(({ actionId }) => actionId);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.filter((id) => before.includes(id))).toEqual(before.toReversed());
      expect(ids).toContain(purged);
      // None that was written before the cursor appears on a later page.
      expect(found.filter(({ requestedAt }) => requestedAt >= t0 + 1000)).toEqual([]);
      expect(written).toBeGreaterThan(5);
    });

    test('are read by an index, not by reading the whole log', async () => {
      const target = await createTarget();
      const store = await target.open();
      await Promise.all(
        Array.from({ length: 900 }, (_, index) =>
          request(store, { keyId: `other${index % 30}`, requestId: `of-${index}` }),
        ),
      );
      const query = await target.connect();
      const explain = target.dialect.tableEnd === '' ? 'EXPLAIN' : 'EXPLAIN QUERY PLAN';
      if (explain === 'EXPLAIN') await query('ANALYZE hosting_audit');
      const condition = `key_id = 'other7' AND phase = 'requested' AND actor IS NULL AND action_id IS NOT NULL`;
      const order = 'ORDER BY logged_at DESC, action_id DESC LIMIT 1';
      for (const [index, more] of [
        ['hosting_audit_activity', `(logged_at, action_id) < (${t0 + 1}, 'b')`],
        ['hosting_audit_request', `request_id = 'of-7'`],
      ]) {
        const plan = await query(`${explain} SELECT * FROM hosting_audit WHERE ${condition} AND ${more} ${order}`);
        const text = JSON.stringify(plan);
        expect(text).toContain(index);
        expect(text).not.toMatch(/TEMP B-TREE|Sort/);
      }
    });
  });
}
