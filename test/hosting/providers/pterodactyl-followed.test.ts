import { expect, onTestFinished, test } from 'vitest';
import { createPterodactyl } from '../../../server/hosting/providers/pterodactyl/index.ts';
import { createStateClock } from '../../helpers/state-clock.ts';
import { createPanelUpstream, panelKeys } from '../../helpers/upstream-panel.ts';
import { createTestLog, until } from '../../helpers/upstream.ts';
import { recordConsole } from './console-recorder.ts';

const always = Number.POSITIVE_INFINITY;

/** A running server whose console is followed, and time that passes for the provider alone. */
async function follow() {
  const panel = await createPanelUpstream();
  panel.wings.become('running');
  const settings = {
    type: 'pterodactyl',
    url: panel.url,
    token: panelKeys.write,
    read_only_token: panelKeys.read,
  } as const;
  const clock = createStateClock();
  const provider = createPterodactyl(settings, {
    timeoutMs: 5000,
    log: createTestLog().log,
    clock,
    timings: { quietMs: 0 },
  });
  onTestFinished(() => provider.close());
  const { wings } = panel;
  const record = recordConsole(provider.game!, wings.uuid);
  await record.ready();
  await until('statistics came', () => wings.statsSent() === 1);
  const stateAfter = (maxAgeMs: number) => provider.game!.state(wings.uuid, maxAgeMs);
  const reads = () => panel.seen.filter(({ path }) => path.endsWith('/resources')).length;
  /** Prints a line, which is a sign of life. */
  const print = async (line: string) => {
    wings.print(line);
    await record.received(line);
  };
  return { wings, clock, record, stateAfter, reads, print };
}

test('an open console knows the state, and each of its lines says that it still holds', async () => {
  const { clock, stateAfter, reads, print } = await follow();
  clock.pass(30_000);
  const before = Date.now();
  await print('a line');
  const { state, checkedAt } = await stateAfter(always);
  expect(state).toBe('running');
  expect(checkedAt).toBeGreaterThanOrEqual(before);
  clock.pass(30_000);
  expect((await stateAfter(always)).checkedAt).toBe(checkedAt);
  expect(reads()).toBe(0);
});

test('a console that is silent for more than 35 s says nothing of the state', async () => {
  const { clock, stateAfter, reads, print } = await follow();
  await print('a line');
  clock.pass(35_000);
  await stateAfter(always);
  expect(reads()).toBe(0);
  clock.pass(1);
  await stateAfter(always);
  expect(reads()).toBe(1);
});

test('a gap may hide a status, and the next status counts', async () => {
  const { wings, record, stateAfter, reads } = await follow();
  wings.publish('token expired');
  await until('the gap is reported', () => record.gaps.length === 1);
  await stateAfter(always);
  expect(reads()).toBe(1);
  wings.become('offline');
  await until('the status came', () => record.states.at(-1) === 'offline');
  expect((await stateAfter(always)).state).toBe('offline');
  expect(reads()).toBe(1);
});

test.for([
  ['not sooner', 20_000, 1],
  ['without a read', 20_001, 0],
] as const)('a status from before an action counts if it holds 20 s later: %s', async ([, ms, count]) => {
  const { clock, stateAfter, reads, print } = await follow();
  clock.pass(1000 + ms);
  await print('a line');
  expect((await stateAfter(ms)).state).toBe('running');
  expect(reads()).toBe(count);
});
