import { describe, expect, test } from 'vitest';
import { initialState, isDue, knownStatus, toNextState } from '../../server/status/status-state.ts';
import type { StatusEvent, StatusState } from '../../server/status/status-state.ts';
import type { PlatformStatus } from '../../server/status/types.ts';

const up: PlatformStatus = { status: 'up' };
const broken: PlatformStatus = { status: 'disrupted', disrupted: ['Panel'] };
const second = 1000;
const minute = 60_000;

const after = (...events: StatusEvent[]): StatusState => events.reduce(toNextState, initialState);
const read = (at: number, status = up): StatusEvent => ({ kind: 'read', status, at });
const failed = (at: number): StatusEvent => ({ kind: 'failed', at });
const undecided = (at: number): StatusEvent => ({ kind: 'undecided', at });
const restored = (at: number, status = broken): StatusEvent => ({ kind: 'restored', status, at });

describe('the known status', () => {
  test.each<[string, StatusState, number, PlatformStatus | undefined]>([
    ['nothing is known before the first read', after(), 0, undefined],
    ['a read status', after(read(0)), 0, up],
    ['a read status, until it is ten minutes old', after(read(0)), 10 * minute, up],
    ['a read status that is older', after(read(0)), 10 * minute + 1, undefined],
    ['the newer status', after(read(0), read(1, broken)), 1, broken],
    ['the last one for 60 s after a failure', after(read(0), failed(20 * second)), 80 * second - 1, up],
    ['nothing after 60 s', after(read(0), failed(20 * second)), 80 * second, undefined],
    [
      'further failures do not prolong it',
      after(read(0), failed(20 * second), failed(70 * second)),
      80 * second,
      undefined,
    ],
    ['a read ends a failure', after(read(0), failed(1), read(2 * minute)), 3 * minute, up],
    ['a failure after ten minutes without a read', after(read(0), failed(11 * minute)), 11 * minute, undefined],
    ['the restored status until the first read', after(restored(0)), 10 * minute, broken],
    ['a restored status of more than ten minutes', after(restored(0)), 10 * minute + 1, undefined],
    ['the restored status while monitors are undecided', after(restored(0), undecided(1)), 5 * minute, broken],
    ['the restored status for 60 s after a failed first read', after(restored(0), failed(1)), minute, broken],
    ['nothing then', after(restored(0), failed(1)), minute + 1, undefined],
    ['the read status, not a restored one', after(read(5), restored(0)), 5, up],
    ['a status of the future: the clock was set back', after(read(hour())), 0, up],
    ['undecided monitors later are a failure', after(read(0), undecided(1)), minute + 1, undefined],
  ])('%s', (_, state, now, expected) => {
    expect(knownStatus(state, now)).toEqual(expected);
  });
});

function hour(): number {
  return 60 * minute;
}

test.each<[string, StatusState, number, boolean]>([
  ['at the start', after(), 0, true],
  ['with a restored status', after(restored(0)), 0, true],
  ['within the cache time', after(read(0)), 14_999, false],
  ['after the cache time', after(read(0)), 15_000, true],
  ['within 2 s of a failure', after(read(0), failed(20_000)), 21_999, false],
  ['2 s after a failure', after(read(0), failed(20_000)), 22_000, true],
  ['within 250 ms while monitors are undecided', after(undecided(0)), 249, false],
  ['250 ms later', after(undecided(0)), 250, true],
  ['after the clock was set back', after(read(1000)), 999, true],
])('a read is due: %s', (_, state, now, expected) => {
  expect(isDue(state, now, 15_000)).toBe(expected);
});
