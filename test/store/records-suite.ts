import { describe, expect, test } from 'vitest';
import { apiKey, claim, end, rotateKey, streamToken } from './samples.ts';
import { openTwice, openWithQuery } from './target.ts';
import type { CreateTarget } from './target.ts';

const minute = 60_000;
const day = 24 * 60 * minute;
const t0 = 1_800_000_000_000;

/** Returns a token hash for each number. */
const hashOf = (number: number): string => number.toString(16).padStart(64, '0');

/** Tests the records of keys, servers, requests, votes and stream tokens, for every kind of store. */
export function recordsSuite(createTarget: CreateTarget): void {
  const open = async () => (await createTarget()).open();

  describe('API keys', () => {
    test('a key is read back as created, with any characters', async () => {
      const { apiKeys } = await open();
      const whole = apiKey({
        id: 'whole0000000',
        label: `Zoë's "key" 100% $1 \\ 服务器 🎮`,
        previousHash: 'b'.repeat(64),
        previousUntil: t0 + 1,
        expiresAt: t0 + 2,
        revokedAt: t0 + 3,
        lastUsedAt: t0 + 4,
      });
      await apiKeys.create(whole);
      await apiKeys.create(apiKey({ label: '', servers: [], scopes: [] }));
      expect(await apiKeys.find('whole0000000')).toEqual(whole);
      expect(await apiKeys.find('AbCdEfGhIj01')).toEqual(apiKey({ label: '', servers: [], scopes: [] }));
    });

    test('an id matches only exactly', async () => {
      const { apiKeys } = await open();
      await apiKeys.create(apiKey());
      for (const id of ['abcdefghij01', 'AbCdEfGhIj0', 'AbCdEfGhIj01 ', '%', `' OR '1'='1`]) {
        expect(await apiKeys.find(id)).toBeUndefined();
      }
    });

    test('keys are listed by creation, oldest first', async () => {
      const { apiKeys } = await open();
      expect(await apiKeys.list()).toEqual([]);
      await apiKeys.create(apiKey({ id: 'second000000', createdAt: t0 + 2 }));
      await apiKeys.create(apiKey({ id: 'third0000000', createdAt: t0 + 3 }));
      await apiKeys.create(apiKey({ id: 'first0000000', createdAt: t0 + 1 }));
      expect((await apiKeys.list()).map(({ id }) => id)).toEqual(['first0000000', 'second000000', 'third0000000']);
    });

    test('a second key with the same id is refused without changing the first', async () => {
      const { apiKeys } = await open();
      await apiKeys.create(apiKey());
      await expect(apiKeys.create(apiKey({ secretHash: 'c'.repeat(64) }))).rejects.toThrow('cannot be used');
      expect(await apiKeys.find('AbCdEfGhIj01')).toEqual(apiKey());
    });

    test('a change replaces the given fields, but nothing of a revoked or missing key', async () => {
      const { apiKeys } = await open();
      const none = { label: undefined, servers: undefined, scopes: undefined, expiresAt: undefined };
      await apiKeys.create(apiKey());
      expect(await apiKeys.update('AbCdEfGhIj01', { ...none, label: `a'b` })).toBe(true);
      expect(await apiKeys.find('AbCdEfGhIj01')).toEqual(apiKey({ label: `a'b` }));
      const all = { label: 'all', servers: ['vps:1'], scopes: ['game-logs:read'], expiresAt: t0 + 1 } as const;
      expect(await apiKeys.update('AbCdEfGhIj01', all)).toBe(true);
      expect(await apiKeys.find('AbCdEfGhIj01')).toEqual(apiKey(all));
      expect(await apiKeys.update('AbCdEfGhIj01', { ...none, expiresAt: null })).toBe(true);
      expect(await apiKeys.find('AbCdEfGhIj01')).toEqual(apiKey({ ...all, expiresAt: null }));
      expect(await apiKeys.update('missing00000', all)).toBe(false);
      await apiKeys.revoke('AbCdEfGhIj01', t0);
      expect(await apiKeys.update('AbCdEfGhIj01', { ...none, label: 'late' })).toBe(false);
      expect(await apiKeys.find('AbCdEfGhIj01')).toMatchObject({ label: 'all' });
    });

    test('a key is created only if no active key has its label', async () => {
      const { apiKeys } = await open();
      const at = (id: string, createdAt: number, label = 'svc-1') => apiKey({ id, createdAt, label });
      await apiKeys.create({ ...at('expiring0000', t0), expiresAt: t0 + 5 });
      expect(await apiKeys.createIfAbsent(at('refused00000', t0 + 4))).toMatchObject({ id: 'expiring0000' });
      expect(await apiKeys.createIfAbsent(at('second000000', t0 + 5))).toBeUndefined();
      expect(await apiKeys.find('second000000')).toEqual(at('second000000', t0 + 5));
      expect(await apiKeys.createIfAbsent(at('refused00000', t0 + 6))).toMatchObject({ id: 'second000000' });
      // A revoked key, or a key with another label by now, does not prevent a new key.
      const none = { servers: undefined, scopes: undefined, expiresAt: undefined };
      await apiKeys.update('second000000', { ...none, label: 'svc-2' });
      expect(await apiKeys.createIfAbsent(at('third0000000', t0 + 7))).toBeUndefined();
      await apiKeys.revoke('third0000000', t0 + 8);
      expect(await apiKeys.createIfAbsent(at('fourth000000', t0 + 9))).toBeUndefined();
      expect(await apiKeys.createIfAbsent(at('refused00000', t0 + 9, 'svc-2'))).toMatchObject({ id: 'second000000' });
      expect(await apiKeys.findActive('svc-1', t0 + 9)).toMatchObject({ id: 'fourth000000' });
      expect(await apiKeys.findActive('SVC-1', t0 + 9)).toBeUndefined();
      expect(await apiKeys.list()).toHaveLength(4);
    });

    test('rotation keeps only the previous secret, until its end', async () => {
      const { apiKeys } = await open();
      await apiKeys.create(apiKey());
      expect(await rotateKey(apiKeys, 'AbCdEfGhIj01', 'b'.repeat(64), t0 + 1)).toBe(true);
      expect(await rotateKey(apiKeys, 'AbCdEfGhIj01', 'c'.repeat(64), t0 + 2)).toBe(true);
      expect(await apiKeys.find('AbCdEfGhIj01')).toEqual(
        apiKey({ secretHash: 'c'.repeat(64), previousHash: 'b'.repeat(64), previousUntil: t0 + 2 }),
      );
      // A secret that was read before another rotation cannot be replaced.
      expect(await apiKeys.update('AbCdEfGhIj01', { secretHash: 'd'.repeat(64) }, apiKey())).toBe(false);
      expect(await apiKeys.list()).toHaveLength(1);
    });

    test('a second revocation keeps the time of the first', async () => {
      const { apiKeys } = await open();
      await apiKeys.create(apiKey());
      expect(await apiKeys.revoke('AbCdEfGhIj01', t0 + 1)).toBe(true);
      expect(await apiKeys.revoke('AbCdEfGhIj01', t0 + 2)).toBe(true);
      expect(await apiKeys.find('AbCdEfGhIj01')).toMatchObject({ revokedAt: t0 + 1 });
      expect(await apiKeys.revoke('missing00000', t0)).toBe(false);
    });

    // A use is stored asynchronously, on a busy machine possibly after the call.
    test('the last use is stored to the minute and never moves back', async () => {
      const [one, other] = await openTwice(createTarget);
      await one.apiKeys.create(apiKey());
      await one.apiKeys.touch('AbCdEfGhIj01', t0 + minute + 59_999);
      await expect.poll(() => one.apiKeys.find('AbCdEfGhIj01')).toMatchObject({ lastUsedAt: t0 + minute });
      // The clock of another instance is behind.
      await other.apiKeys.touch('AbCdEfGhIj01', t0);
      await other.close();
      expect(await one.apiKeys.find('AbCdEfGhIj01')).toMatchObject({ lastUsedAt: t0 + minute });
      await one.apiKeys.touch('missing00000', t0);
      expect(await one.apiKeys.list()).toHaveLength(1);
    });

    test('after a failed write, the next use is written', async () => {
      const { store, query } = await openWithQuery(createTarget);
      const { apiKeys } = store;
      await apiKeys.create(apiKey());
      await query('ALTER TABLE hosting_api_keys RENAME TO hosting_away');
      await apiKeys.touch('AbCdEfGhIj01', t0).catch(() => undefined);
      await query('ALTER TABLE hosting_away RENAME TO hosting_api_keys');
      const touchAndFind = async () => {
        await apiKeys.touch('AbCdEfGhIj01', t0 + 1);
        return apiKeys.find('AbCdEfGhIj01');
      };
      await expect.poll(touchAndFind).toMatchObject({ lastUsedAt: t0 });
    });

    test('a use is written once a minute', async () => {
      const { store, query } = await openWithQuery(createTarget);
      const { apiKeys } = store;
      await apiKeys.create(apiKey());
      await Promise.all(Array.from({ length: 20 }, (_, second) => apiKeys.touch('AbCdEfGhIj01', t0 + second)));
      await expect.poll(() => apiKeys.find('AbCdEfGhIj01')).toMatchObject({ lastUsedAt: t0 });
      await query('UPDATE hosting_api_keys SET last_used_at = NULL');
      await apiKeys.touch('AbCdEfGhIj01', t0 + minute - 1);
      expect(await apiKeys.find('AbCdEfGhIj01')).toMatchObject({ lastUsedAt: null });
      await apiKeys.touch('AbCdEfGhIj01', t0 + minute);
      await expect.poll(() => apiKeys.find('AbCdEfGhIj01')).toMatchObject({ lastUsedAt: t0 + minute });
    });
  });

  describe('servers', () => {
    const record = { logFile: null, suspendedAt: null, shared: 'no', madeBy: null, suspendedBy: null } as const;
    const vps = { server: 'vps:42', provider: 'fsn', ref: '4711', ...record } as const;
    const game = { ...vps, server: 'game:42', provider: 'panel', ref: '1a7ce997', logFile: 'logs/my.log' } as const;

    test('a server is read back as written, replaced completely, and removed once', async () => {
      const { servers } = await open();
      await servers.put(game);
      await servers.put(vps);
      expect(await servers.find('game:42')).toEqual(game);
      expect(await servers.find('vps:42')).toEqual(vps);
      await servers.put({ ...game, provider: 'other', logFile: null });
      expect(await servers.find('game:42')).toEqual({ ...game, provider: 'other', logFile: null });
      expect(await servers.remove('game:42')).toBe(true);
      expect(await servers.remove('game:42')).toBe(false);
      expect(await servers.find('game:42')).toBeUndefined();
      expect(await servers.list()).toEqual([vps]);
    });

    test.each([
      ['1a7ce997-259b-452e-8b4e-cecc464142ca', '1A7CE997', true, true],
      ['1a7ce997', '1a7ce998', false, true],
      ['my-name1', 'MY-NAME1', true, true],
      ['lobby', 'Lobby', true, true],
      ['lobby', 'lobbies', false, true],
      ['lobby', 'lobby', true, false],
    ])('the refs %s and %s are alike: %s, and may both be added: %s', async (ref, other, areAlike, mayAdd) => {
      const { servers } = await open();
      await servers.put({ ...game, ref });
      const second = { ...game, server: 'game:43', ref: other } as const;
      expect((await servers.findAlike(second)).map(({ server }) => server)).toEqual(areAlike ? ['game:42'] : []);
      const added = await servers.put(second).then(
        () => true,
        () => false,
      );
      expect(added).toBe(mayAdd);
      await servers.put({ ...second, shared: 'yes' });
    });

    test('a suspension keeps its first time, survives a replacement, and ends when the server is resumed', async () => {
      const { servers } = await open();
      await servers.put(game);
      await servers.put(vps);
      expect(await servers.suspend('game:42', t0)).toBe(true);
      expect(await servers.suspend('game:42', t0 + 1)).toBe(true);
      await servers.put({ ...game, ref: 'other' });
      expect(await servers.list()).toEqual([{ ...game, ref: 'other', suspendedAt: t0 }, vps]);
      expect(await servers.resume('game:42')).toBe(true);
      expect(await servers.resume('game:42')).toBe(true);
      expect(await servers.find('game:42')).toEqual({ ...game, ref: 'other' });
      for (const change of [servers.suspend('game:1', t0), servers.resume('game:1')]) expect(await change).toBe(false);
    });

    test('servers are listed by name in code point order', async () => {
      const { servers } = await open();
      for (const server of ['game:b', 'vps:1', 'game:a-c', 'game:B', 'game:ab', 'game:a_b'] as const) {
        await servers.put({ ...game, server, ref: server });
      }
      const names = ['game:B', 'game:a-c', 'game:a_b', 'game:ab', 'game:b', 'vps:1'];
      expect((await servers.list()).map(({ server }) => server)).toEqual(names);
    });
  });

  describe('idempotency', () => {
    const deadline = t0 + 20_000;
    const answer = { status: 200, body: '{"success":true}\n' };
    const known = { fingerprint: 'print', requestId: 'a-request' };

    test('the first request begins; later requests get `running`, then the answer', async () => {
      const { idempotency } = await open();
      expect(await idempotency.begin(claim())).toEqual({ state: 'begun' });
      const later = (ms: number) => claim({ fingerprint: 'other', now: t0 + ms, deadline: deadline + ms });
      expect(await idempotency.begin(later(1))).toEqual({ state: 'running', ...known, deadline });
      await idempotency.finish(claim(), answer, end);
      expect(await idempotency.begin(later(2))).toEqual({ state: 'answered', ...known, answer });
    });

    test('the same idempotency key of another API key is a different key', async () => {
      const { idempotency } = await open();
      for (const [apiKeyId, key] of [['k', 'one'] as const, ['l', 'one'] as const, ['k', 'One'] as const]) {
        expect(await idempotency.begin(claim({ apiKeyId, key }))).toEqual({ state: 'begun' });
      }
      await idempotency.finish(claim(), answer, end);
      expect(await idempotency.begin(claim({ apiKeyId: 'l' }))).toMatchObject({ state: 'running' });
    });

    test('a released key can begin again, but an answer is neither released nor replaced', async () => {
      const { idempotency } = await open();
      await idempotency.begin(claim());
      await idempotency.release(claim(), answer, end);
      const second = claim({ fingerprint: 'second', requestId: 'later' });
      expect(await idempotency.begin(second)).toEqual({ state: 'begun' });
      // The end of the first request does not end the claim of the second.
      await idempotency.finish(claim(), { status: 502, body: 'first' }, end);
      await idempotency.release(claim(), answer, end);
      await idempotency.finish(second, answer, end);
      await idempotency.finish(second, { status: 502, body: 'late' }, end);
      await idempotency.release(second, answer, end);
      const state = { state: 'answered', fingerprint: 'second', requestId: 'later', answer };
      expect(await idempotency.begin(claim())).toEqual(state);
    });

    test('a record expires after 24 hours, answered or not', async () => {
      const { idempotency } = await open();
      for (const key of ['answered', 'running']) await idempotency.begin(claim({ key }));
      await idempotency.finish(claim({ key: 'answered' }), answer, end);
      for (const state of ['answered', 'running']) {
        const renew = (now: number) => idempotency.begin(claim({ key: state, fingerprint: 'new', now }));
        expect(await idempotency.begin(claim({ key: state, now: t0 + day }))).toMatchObject({ state });
        expect(await renew(t0 + day + 1)).toEqual({ state: 'begun' });
        expect(await renew(t0 + day + 2)).toEqual({ state: 'running', ...known, fingerprint: 'new', deadline });
      }
    });

    test('purge removes only records that began before a time', async () => {
      const target = await createTarget();
      const { idempotency } = await target.open();
      await idempotency.begin(claim({ key: 'old', now: t0 - 1 }));
      await idempotency.begin(claim({ key: 'new' }));
      await idempotency.purge(t0);
      const query = await target.connect();
      expect(await query('SELECT idempotency_key AS name FROM hosting_idempotency')).toEqual([{ name: 'new' }]);
    });
  });

  describe('votes', () => {
    test('votes are counted by article, in total or from a day on', async () => {
      const { feedback } = await open();
      const vote = (path: string, on: string, helpful: boolean) => feedback.count({ path, day: on, helpful });
      await vote('/knowledgebase/vps/ssh', '2026-11-01', true);
      await vote('/knowledgebase/vps/ssh', '2026-11-01', true);
      await vote('/knowledgebase/vps/ssh', '2026-11-02', false);
      await vote('/knowledgebase/dns/records', '2026-11-02', true);
      await vote('', '2026-10-31', false);
      expect(await feedback.report({})).toEqual([
        { path: '', helpful: 0, unhelpful: 1 },
        { path: '/knowledgebase/dns/records', helpful: 1, unhelpful: 0 },
        { path: '/knowledgebase/vps/ssh', helpful: 2, unhelpful: 1 },
      ]);
      expect(await feedback.report({ since: '2026-11-02' })).toEqual([
        { path: '/knowledgebase/dns/records', helpful: 1, unhelpful: 0 },
        { path: '/knowledgebase/vps/ssh', helpful: 0, unhelpful: 1 },
      ]);
      expect(await feedback.report({ since: '2027-01-01' })).toEqual([]);
    });

    test('concurrent votes are all counted', async () => {
      const [one, other] = await openTwice(createTarget);
      const vote = { path: '/knowledgebase/vps/ssh', day: '2026-11-01', helpful: true };
      await Promise.all(Array.from({ length: 100 }, (_, at) => (at % 2 === 0 ? one : other).feedback.count(vote)));
      expect(await one.feedback.report({})).toEqual([{ path: vote.path, helpful: 100, unhelpful: 0 }]);
    });
  });

  describe('stream tokens', () => {
    test('a token is found by its hash on every instance, even if expired', async () => {
      const [one, other] = await openTwice(createTarget);
      const token = streamToken({ mode: 'read', expiresAt: t0 + 1 });
      await one.streamTokens.add(token);
      await one.streamTokens.add(streamToken({ tokenHash: hashOf(1), server: 'game:creative' }));
      expect(await other.streamTokens.find(token.tokenHash)).toEqual({ ...token, parentId: null });
      expect(await other.streamTokens.find(hashOf(2))).toBeUndefined();
    });

    test('the oldest of more than 200 valid tokens of a key is removed', async () => {
      const { streamTokens } = await open();
      await streamTokens.add(streamToken({ tokenHash: hashOf(1000), keyId: 'another00000' }));
      await streamTokens.add(streamToken({ tokenHash: hashOf(1001), issuedAt: t0 - 600_000, expiresAt: t0 }));
      for (let number = 0; number < 200; number += 1)
        await streamTokens.add(streamToken({ tokenHash: hashOf(number) }));
      expect(await streamTokens.find(hashOf(0))).toBeDefined();
      await streamTokens.add(streamToken({ tokenHash: hashOf(200) }));
      expect(await streamTokens.find(hashOf(0))).toBeUndefined();
      for (const kept of [1, 200, 1000, 1001]) expect(await streamTokens.find(hashOf(kept))).toBeDefined();
    });

    test('of 250 tokens issued concurrently by two instances, 200 are kept', async () => {
      const target = await createTarget();
      const stores = [await target.open(), await target.open()];
      await Promise.all(
        Array.from({ length: 250 }, (_, number) =>
          stores[number % 2]!.streamTokens.add(streamToken({ tokenHash: hashOf(number) })),
        ),
      );
      const query = await target.connect();
      expect(await query('SELECT id FROM hosting_stream_tokens')).toHaveLength(200);
    });

    test('purge removes only tokens that expired before a time', async () => {
      const { streamTokens } = await open();
      await streamTokens.add(streamToken({ tokenHash: hashOf(1), expiresAt: t0 - 1 }));
      await streamTokens.add(streamToken({ tokenHash: hashOf(2), expiresAt: t0 }));
      await streamTokens.purge(t0);
      expect(await streamTokens.find(hashOf(1))).toBeUndefined();
      expect(await streamTokens.find(hashOf(2))).toBeDefined();
    });
  });
}
