import { expect, test } from 'vitest';
import { createTestApp } from '../helpers/app.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import type { HostingWorld } from '../helpers/hosting.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { eventually, sharedProject } from '../server/shared.ts';
import { auditEntry, streamToken } from '../store/samples.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const requestIds = async ({ store }: HostingWorld): Promise<unknown[]> =>
  (await Array.fromAsync(store.audit.entries({}))).map(({ requestId }) => requestId);

/** A world whose store has old and new records. */
async function createOldWorld(): Promise<HostingWorld> {
  const world = await createHostingWorld(temporaryFolder());
  const { audit, streamTokens } = world.store;
  const now = Date.now();
  await audit.append(auditEntry({ at: now - 30 * dayMs - hourMs, requestId: 'old' }));
  await audit.append(auditEntry({ at: now - 30 * dayMs + hourMs, requestId: 'young' }));
  await streamTokens.add(streamToken({ tokenHash: 'c'.repeat(64), expiresAt: now - hourMs - 60_000 }));
  await streamTokens.add(streamToken({ tokenHash: 'd'.repeat(64), expiresAt: now - hourMs + 60_000 }));
  return world;
}

test('AUDIT_RETENTION_DAYS removes older entries of the audit log by itself', async () => {
  const world = await createOldWorld();
  await createTestApp({ root: await sharedProject(), settings: { ...world.settings, AUDIT_RETENTION_DAYS: '30' } });
  await expect.poll(() => requestIds(world), eventually).toEqual(['young']);
});

test('without AUDIT_RETENTION_DAYS the audit log is kept; tokens that expired an hour ago are removed', async () => {
  const world = await createOldWorld();
  await createTestApp({ root: await sharedProject(), settings: world.settings });
  await expect.poll(() => world.store.streamTokens.find('c'.repeat(64)), eventually).toBeUndefined();
  expect(await world.store.streamTokens.find('d'.repeat(64))).toBeDefined();
  expect(await requestIds(world)).toEqual(['old', 'young']);
});
