import { expect, test } from 'vitest';
import type { AuditEntry } from '../../server/store/types.ts';
import { createPowerHistory } from '../../server/hosting/service.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { auditEntry } from '../store/samples.ts';

const server = 'game:mine';
const start = Date.parse('2026-03-01T12:00:00Z');

/** A history over a real audit log, at a time that the test sets. */
async function createHistory() {
  const { store } = await createHostingWorld(temporaryFolder());
  let time = start;
  const history = createPowerHistory({ audit: store.audit, now: () => time, monotonic: () => time - start });
  const write = (fields: Partial<AuditEntry>): Promise<void> =>
    store.audit.append(
      auditEntry({ at: time, phase: 'finished', action: 'stop', server, outcome: 'ok', ms: 1, ...fields }),
    );
  return { history, write, since: () => history.sinceLastAction(server), pass: (ms: number) => (time += ms) };
}

test('the action of this instance is timed exactly, also by its entry in the log', async () => {
  const { history, write, since, pass } = await createHistory();
  await history.follow(server, async () => {
    await write({ phase: 'requested', outcome: null, ms: null });
    pass(300);
    await write({});
  });
  expect(await since()).toBe(0);
  pass(1234);
  expect(await since()).toBe(1234);
});

test('so is one that fails, or whose end cannot be written', async () => {
  const { history, since, pass } = await createHistory();
  const failure = new Error('no answer');
  await expect(history.follow(server, () => Promise.reject(failure))).rejects.toBe(failure);
  pass(500);
  expect(await since()).toBe(500);
});

test('the action of another instance counts from its entry, and 2 s longer, as clocks differ', async () => {
  const { write, since, pass } = await createHistory();
  await write({});
  expect(await since()).toBe(0);
  pass(2000);
  expect(await since()).toBe(0);
  pass(1500);
  expect(await since()).toBe(1500);
});

test('the newer of two actions counts, whichever instance it was', async () => {
  const { history, write, since, pass } = await createHistory();
  await history.follow(server, () => Promise.resolve());
  pass(5000);
  await write({});
  pass(3000);
  expect(await since()).toBe(1000);
  await history.follow(server, () => Promise.resolve());
  pass(10);
  expect(await since()).toBe(10);
});

test('an action whose end is not written yet counts too', async () => {
  const { write, since, pass } = await createHistory();
  await write({ phase: 'requested', outcome: null, ms: null });
  pass(2500);
  expect(await since()).toBe(500);
});

test('commands, changes by the operator, actions on other servers, and those of long ago do not count', async () => {
  const { write, since, pass } = await createHistory();
  expect(await since()).toBe(Number.POSITIVE_INFINITY);
  await write({ action: 'command', detail: 'say hello' });
  await write({ action: 'servers suspend', actor: 'command line', keyId: null });
  await write({ server: 'vps:mine' });
  expect(await since()).toBe(Number.POSITIVE_INFINITY);
  await write({});
  pass(10 * 60_000);
  expect(await since()).toBe(Number.POSITIVE_INFINITY);
});
