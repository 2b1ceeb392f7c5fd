import { randomUUID } from 'node:crypto';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
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

/** Reads all pages of a key's actions; calls `afterPage` between pages. */
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

/** Tests the audit log and the actions of a key, for every kind of store. */
export function auditSuite(createTarget: CreateTarget): void {
  const open = async () => (await createTarget()).open();

  describe('the audit log', () => {
    test('entries are read back unchanged, by time and then in the order of writing', async () => {
      const { audit } = await open();
      const detail = `say "hi" -- 100% 服务器`;
      const later = auditEntry({ at: t0 + 1, phase: 'finished', outcome: 'ok', ms: 12, detail });
      await audit.append(later);
      await audit.append(auditEntry({ requestId: 'one' }));
      await audit.append(auditEntry({ requestId: 'two' }));
      const entries = [auditEntry({ requestId: 'one' }), auditEntry({ requestId: 'two' }), later];
      expect(await Array.fromAsync(audit.entries({}))).toEqual(entries);
    });

    test('entries can be filtered by server and by start time', async () => {
      const { audit } = await open();
      for (const at of [t0, t0 + 1, t0 + 2]) {
        await audit.append(auditEntry({ at }));
        await audit.append(auditEntry({ at, server: 'vps:survival' }));
      }
      expect(await Array.fromAsync(audit.entries({ server: 'vps:survival' }))).toHaveLength(3);
      const since = await Array.fromAsync(audit.entries({ since: t0 + 1 }));
      expect(since.map(({ at }) => at - t0)).toEqual([1, 1, 2, 2]);
      const both = await Array.fromAsync(audit.entries({ server: 'game:survival', since: t0 + 2 }));
      expect(both).toEqual([auditEntry({ at: t0 + 2 })]);
      expect(await Array.fromAsync(audit.entries({ server: 'game:none' }))).toEqual([]);
    });

    test('a recent power action on a server is found', async () => {
      const { audit } = await open();
      const server = 'game:survival';
      expect(await audit.lastPowerAction(server, 0)).toBeUndefined();
      await audit.append(auditEntry({ at: t0, phase: 'finished', action: 'stop', outcome: 'ok', ms: 1 }));
      await audit.append(auditEntry({ at: t0 + 5, action: 'start' }));
      // Written later by an instance whose clock is behind.
      await audit.append(auditEntry({ at: t0 + 3, action: 'kill' }));
      await audit.append(auditEntry({ at: t0 + 6, action: 'command' }));
      await audit.append(auditEntry({ at: t0 + 7, action: 'servers suspend', actor: 'command line', keyId: null }));
      await audit.append(auditEntry({ at: t0 + 8, action: 'stop', server: 'vps:survival' }));
      expect(await audit.lastPowerAction(server, 0)).toEqual({ lastAt: t0 + 5, requestedAt: t0 + 5 });
      expect(await audit.lastPowerAction(server, t0 + 4)).toMatchObject({ lastAt: t0 + 5 });
      expect(await audit.lastPowerAction(server, t0 + 5)).toBeUndefined();
      expect(await audit.lastPowerAction('vps:survival', t0)).toMatchObject({ lastAt: t0 + 8 });
      // The end of an action, and an action that was refused.
      await audit.append(auditEntry({ at: t0 + 9, phase: 'finished', action: 'start', outcome: 'unknown', ms: 1 }));
      for (const phase of ['requested', 'finished'] as const) {
        await audit.append(
          auditEntry({ at: t0 + 10, phase, action: 'start', actionId: 'refused', outcome: 'forbidden' }),
        );
      }
      expect(await audit.lastPowerAction(server, 0)).toEqual({ lastAt: t0 + 9, requestedAt: t0 + 5 });
    });

    test('a long log is read without gaps or duplicates, even with many entries at the same time', async () => {
      const { audit } = await open();
      // The clock of the instance that wrote the second half was behind.
      const entries = Array.from({ length: 2_400 }, (_, index) =>
        auditEntry({ at: index < 1_200 ? t0 + 1 : t0, requestId: String(index) }),
      );
      for (const entry of entries) await audit.append(entry);
      expect(await Array.fromAsync(audit.entries({}))).toEqual([...entries.slice(1_200), ...entries.slice(0, 1_200)]);
    });

    test('a change of a key or a server is read back with its author, and null for missing fields', async () => {
      const { audit } = await open();
      const change = { actor: 'command line', requestId: null, ip: null };
      const ofKey = auditEntry({ ...change, action: 'keys revoke', server: null });
      const ofServer = auditEntry({ ...change, action: 'servers suspend', keyId: null });
      await audit.append(ofKey);
      await audit.append(ofServer);
      expect(await Array.fromAsync(audit.entries({}))).toEqual([ofKey, ofServer]);
      expect(await Array.fromAsync(audit.entries({ server: 'game:survival' }))).toEqual([ofServer]);
    });

    test('purge removes exactly the entries before a time', async () => {
      const { audit } = await open();
      for (let index = 0; index < 2_100; index += 1) await audit.append(auditEntry({ at: t0 + (index % 3) }));
      await audit.purge(t0 + 2);
      const kept = await Array.fromAsync(audit.entries({}));
      expect(kept).toHaveLength(700);
      expect(new Set(kept.map(({ at }) => at))).toEqual(new Set([t0 + 2]));
    });

    test('a clock that is 30 days ahead of the last look is not trusted for a day', async () => {
      const { audit } = await open();
      const [hour, day] = [3_600_000, 86_400_000];
      const looks = [0, 30 * day, 61 * day, 62 * day - hour, 31 * day, 62 * day, 63 * day].map((after) => t0 + after);
      const trusted: boolean[] = [];
      for (const look of looks) trusted.push(await audit.noteLook(look));
      expect(trusted).toEqual([true, true, false, false, true, false, true]);
    });

    test('an action without an end reads as unknown after 15 minutes, and other actions as written', async () => {
      const { audit } = await open();
      const lost = auditEntry({ actionId: 'lost' });
      const young = auditEntry({ actionId: 'young', at: t0 + 60_000 });
      const done = auditEntry({ actionId: 'done' });
      const end = auditEntry({ actionId: 'done', at: t0 + 1, phase: 'finished', outcome: 'ok', ms: 1 });
      const old = auditEntry({ actionId: null });
      for (const entry of [lost, young, done, end, old]) await audit.append(entry);
      const lostAt = t0 + 15 * 60_000 + 1;
      const ended = [{ ...lost, outcome: 'unknown' }, done, old, end, young];
      const clock = vi.spyOn(Date, 'now').mockReturnValue(lostAt);
      onTestFinished(() => clock.mockRestore());
      expect(await Array.fromAsync(audit.entries({}))).toEqual(ended);
      clock.mockReturnValue(lostAt - 1);
      expect(await Array.fromAsync(audit.entries({}))).toEqual([lost, done, old, end, young]);
    });
  });

  describe('the actions of a key', () => {
    test('have the time and the outcome of the entry after the action, if written', async () => {
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

    test('are found by request id: the newest of the key, never of another key', async () => {
      const store = await open();
      const [, newest] = [await request(store), await request(store, { at: t0 + 2 }), await request(store)];
      await request(store, { at: t0 + 3, keyId: 'another00000' });
      expect(await store.audit.findAction(keyId, 'a-request')).toMatchObject({ actionId: newest });
      expect(await store.audit.findAction(keyId, 'A-request')).toBeUndefined();
      expect(await store.audit.findAction('unknown00000', 'a-request')).toBeUndefined();
    });

    test('exclude actions of other keys, changes of the key, and early entries without action ids', async () => {
      const store = await open();
      const own = await request(store);
      await request(store, { keyId: 'another00000' });
      const change = { actor: 'command line', requestId: null, ip: null, server: null } as const;
      await request(store, { ...change, action: 'keys rotate' });
      await store.audit.append(auditEntry({ actionId: null }));
      expect((await store.audit.actionsOf(keyId, 100)).map(({ actionId }) => actionId)).toEqual([own]);
      expect(await store.audit.findAction(keyId, '')).toBeUndefined();
    });

    test('are read once each, newest first, even with many actions at the same time', async () => {
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

    test('are read once each while other actions are written, ended and purged', async () => {
      const store = await open();
      const before = await Promise.all(
        Array.from({ length: 60 }, (_, index) => request(store, { at: t0 + index, requestId: `before-${index}` })),
      );
      const purged = await request(store, { at: t0 - 1 });
      let written = 0;
      const found = await walk(store, 7, async (page) => {
        const last = page.at(-1)!;
        written += 1;
        // A newer action, an action at the exact time of the cursor, and an action with a clock that is behind.
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
      // Actions written before the cursor appear on no later page.
      expect(found.filter(({ requestedAt }) => requestedAt >= t0 + 1000)).toEqual([]);
      expect(written).toBeGreaterThan(5);
    });

    test('are read by an index, not by scanning the log', async () => {
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
      const ofKey = `key_id = 'other7' AND phase = 'requested' AND actor IS NULL AND action_id IS NOT NULL`;
      const newestFirst = 'ORDER BY logged_at DESC, action_id DESC LIMIT 1';
      const oldestFirst = `AND (logged_at, id) > (${t0 - 1}, 0) ORDER BY logged_at, id LIMIT 1`;
      for (const [index, rest] of [
        ['hosting_audit_activity', `${ofKey} AND (logged_at, action_id) < (${t0 + 1}, 'b') ${newestFirst}`],
        ['hosting_audit_request', `${ofKey} AND request_id = 'of-7' ${newestFirst}`],
        ['hosting_audit_key', `key_id = 'other7' ${oldestFirst}`],
        ['hosting_audit_changes', `actor IS NOT NULL ${oldestFirst}`],
      ]) {
        const plan = await query(`${explain} SELECT * FROM hosting_audit WHERE ${rest}`);
        const text = JSON.stringify(plan);
        expect(text).toContain(index);
        expect(text).not.toMatch(/TEMP B-TREE|Sort/);
      }
    });
  });
}
