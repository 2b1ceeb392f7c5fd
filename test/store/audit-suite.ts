import { describe, expect, test } from 'vitest';
import { auditEntry } from './samples.ts';
import type { CreateTarget } from './target.ts';

const t0 = 1_800_000_000_000;

/** Tests of the audit log, for every kind of store. */
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

    test('the last power action on a server is found, if it is recent', async () => {
      const { audit } = await open();
      const server = 'game:survival';
      expect(await audit.lastPowerAction(server, 0)).toBeUndefined();
      await audit.append(auditEntry({ at: t0, phase: 'finished', action: 'stop', outcome: 'ok', ms: 1 }));
      await audit.append(auditEntry({ at: t0 + 5, action: 'start' }));
      // An instance whose clock is behind wrote this one later.
      await audit.append(auditEntry({ at: t0 + 3, action: 'kill' }));
      await audit.append(auditEntry({ at: t0 + 6, action: 'command' }));
      await audit.append(auditEntry({ at: t0 + 7, action: 'servers suspend', actor: 'command line', keyId: null }));
      await audit.append(auditEntry({ at: t0 + 8, action: 'stop', server: 'vps:survival' }));
      expect(await audit.lastPowerAction(server, 0)).toBe(t0 + 5);
      expect(await audit.lastPowerAction(server, t0 + 4)).toBe(t0 + 5);
      expect(await audit.lastPowerAction(server, t0 + 5)).toBeUndefined();
      expect(await audit.lastPowerAction('vps:survival', t0)).toBe(t0 + 8);
    });

    test('a long log is read without gaps or duplicates, also if many entries have the same time', async () => {
      const { audit } = await open();
      // The instance that wrote the second half had a clock that was behind.
      const entries = Array.from({ length: 2_400 }, (_, index) =>
        auditEntry({ at: index < 1_200 ? t0 + 1 : t0, requestId: String(index) }),
      );
      for (const entry of entries) await audit.append(entry);
      expect(await Array.fromAsync(audit.entries({}))).toEqual([...entries.slice(1_200), ...entries.slice(0, 1_200)]);
    });

    test('a change of a key or a server is read back with who made it, and without what it does not have', async () => {
      const { audit } = await open();
      const change = { actor: 'command line', requestId: null, ip: null };
      const ofKey = auditEntry({ ...change, action: 'keys revoke', server: null });
      const ofServer = auditEntry({ ...change, action: 'servers suspend', keyId: null });
      await audit.append(ofKey);
      await audit.append(ofServer);
      expect(await Array.fromAsync(audit.entries({}))).toEqual([ofKey, ofServer]);
      expect(await Array.fromAsync(audit.entries({ server: 'game:survival' }))).toEqual([ofServer]);
    });

    test('purge removes all entries before a time, and only those', async () => {
      const { audit } = await open();
      for (let index = 0; index < 2_100; index += 1) await audit.append(auditEntry({ at: t0 + (index % 3) }));
      await audit.purge(t0 + 2);
      const kept = await Array.fromAsync(audit.entries({}));
      expect(kept).toHaveLength(700);
      expect(new Set(kept.map(({ at }) => at))).toEqual(new Set([t0 + 2]));
    });

    test('an action without an end reads as unknown after 15 minutes, and others as they were written', async () => {
      const { audit } = await open();
      const lost = auditEntry({ actionId: 'lost' });
      const young = auditEntry({ actionId: 'young', at: t0 + 60_000 });
      const done = auditEntry({ actionId: 'done' });
      const end = auditEntry({ actionId: 'done', at: t0 + 1, phase: 'finished', outcome: 'ok', ms: 1 });
      const old = auditEntry({ actionId: null });
      for (const entry of [lost, young, done, end, old]) await audit.append(entry);
      const asOf = t0 + 15 * 60_000 + 1;
      const ended = [{ ...lost, outcome: 'unknown' }, done, old, end, young];
      expect(await Array.fromAsync(audit.entries({ asOf }))).toEqual(ended);
      expect(await Array.fromAsync(audit.entries({ asOf: asOf - 1 }))).toEqual([lost, done, old, end, young]);
    });

    test('a duration with a fraction of a millisecond is rounded', async () => {
      const { audit } = await open();
      await audit.append(auditEntry({ ms: 12.6 }));
      expect(await Array.fromAsync(audit.entries({}))).toEqual([auditEntry({ ms: 13 })]);
    });
  });
}
