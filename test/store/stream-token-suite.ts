import { describe, expect, test } from 'vitest';
import { streamToken } from './samples.ts';
import { openTwice } from './target.ts';
import type { CreateTarget } from './target.ts';

const t0 = streamToken().issuedAt;

/** A hash for each number. */
const hashOf = (number: number): string => number.toString(16).padStart(64, '0');

/** Tests of the tokens of console streams, for every kind of store. */
export function streamTokenSuite(createTarget: CreateTarget): void {
  describe('stream tokens', () => {
    test('a token is found by its hash on every instance, also after it expired', async () => {
      const [one, other] = await openTwice(createTarget);
      const token = streamToken({ mode: 'read', expiresAt: t0 + 1 });
      await one.streamTokens.add(token);
      await one.streamTokens.add(streamToken({ tokenHash: hashOf(1), server: 'game:creative' }));
      expect(await other.streamTokens.find(token.tokenHash)).toEqual(token);
      expect(await other.streamTokens.find(hashOf(2))).toBeUndefined();
    });

    test('the oldest of more than 200 valid tokens of a key is removed', async () => {
      const { streamTokens } = await (await createTarget()).open();
      await streamTokens.add(streamToken({ tokenHash: hashOf(1000), keyId: 'another00000' }));
      await streamTokens.add(streamToken({ tokenHash: hashOf(1001), issuedAt: t0 - 600_000, expiresAt: t0 }));
      for (let number = 0; number < 200; number += 1)
        await streamTokens.add(streamToken({ tokenHash: hashOf(number) }));
      expect(await streamTokens.find(hashOf(0))).toBeDefined();
      await streamTokens.add(streamToken({ tokenHash: hashOf(200) }));
      expect(await streamTokens.find(hashOf(0))).toBeUndefined();
      for (const kept of [1, 200, 1000, 1001]) expect(await streamTokens.find(hashOf(kept))).toBeDefined();
    });

    test('of 250 tokens that two instances issue at once, 200 are kept', async () => {
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
      const { streamTokens } = await (await createTarget()).open();
      await streamTokens.add(streamToken({ tokenHash: hashOf(1), expiresAt: t0 - 1 }));
      await streamTokens.add(streamToken({ tokenHash: hashOf(2), expiresAt: t0 }));
      await streamTokens.purge(t0);
      expect(await streamTokens.find(hashOf(1))).toBeUndefined();
      expect(await streamTokens.find(hashOf(2))).toBeDefined();
    });
  });
}
