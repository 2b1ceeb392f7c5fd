import { describe, expect, test } from 'vitest';
import { toNextState, unchecked } from '../../server/status/monitor-state.ts';

const minute = { failures: 2, intervalMs: 60_000, inMaintenance: false };

/** The visible state after each check, for a monitor with a long uptime; `+` is a pass, `-` a failure. */
function seenAfter(checks: string, rule = minute, from = '+'.repeat(100)): boolean[] {
  let state = unchecked;
  const seen = Array.from(from + checks, (check) => {
    state = toNextState(state, check === '+', rule);
    return state.up!;
  });
  return seen.slice(from.length);
}

/** The number of visible changes, starting from up. */
function countChanges(seen: readonly boolean[]): number {
  return seen.filter((up, index) => up !== (seen[index - 1] ?? true)).length;
}

describe('a monitor that flaps 50 times changes at most twice', () => {
  const phases = [1, 2, 3, 4].flatMap((passes) => [1, 2, 3, 7].map((failures) => [passes, failures] as const));
  const counts = [1, 2, 3].flatMap((failures) => phases.map((phase) => [failures, ...phase] as const));
  test.each(counts)('with a threshold of %i failures, %i passes and %i failures in turn', (failures, up, down) => {
    const flapping = ('-'.repeat(down) + '+'.repeat(up)).repeat(50);
    expect(countChanges(seenAfter(flapping + '+'.repeat(100), { ...minute, failures }))).toBeLessThanOrEqual(2);
  });

  test('mostly also when it flaps at random', () => {
    // A linear congruential generator gives the same sequence in each run.
    let seed = 1;
    const chance = (): number => (seed = (seed * 1_664_525 + 1_013_904_223) % 2 ** 32) / 2 ** 32;
    const counted = Array.from({ length: 1000 }, () => {
      const flapping = Array.from({ length: 200 }, () => (chance() < 0.5 ? '-' : '+')).join('');
      return countChanges(seenAfter(flapping + '+'.repeat(100)));
    });
    expect(counted.filter((changes) => changes > 2).length).toBeLessThan(40);
    expect(Math.max(...counted)).toBeLessThanOrEqual(6);
  });

  test('except for outages that are minutes apart: the first few are visible', () => {
    expect(countChanges(seenAfter('-----+++++'.repeat(50) + '+'.repeat(100)))).toBe(4);
    expect(countChanges(seenAfter(('-'.repeat(15) + '+'.repeat(15)).repeat(50) + '+'.repeat(100)))).toBe(6);
  });
});

test('one failure is ignored, and two in a row count', () => {
  expect(seenAfter('-+-+--')).toEqual([true, true, true, true, true, false]);
});

test('after an outage five passes in a row are needed, or ten if it was unsteady before', () => {
  expect(seenAfter('---+++++').lastIndexOf(false)).toBe(6);
  expect(seenAfter('---+++++').at(-1)).toBe(true);
  expect(seenAfter('-+---+++++++++').at(-1)).toBe(false);
  expect(seenAfter('-+---++++++++++').at(-1)).toBe(true);
});

test('a relapse needs ten passes, and five again after an hour without failures', () => {
  const relapse = '--+++++--';
  expect(seenAfter(`${relapse}${'+'.repeat(9)}`).at(-1)).toBe(false);
  expect(seenAfter(`${relapse}${'+'.repeat(10)}`).at(-1)).toBe(true);
  expect(seenAfter(`--${'+'.repeat(60)}--+++++`).at(-1)).toBe(true);
});

test('with hours between checks it does not stay down for days after its recovery', () => {
  expect(seenAfter('--++', { ...minute, intervalMs: 86_400_000 }).at(-1)).toBe(true);
  expect(seenAfter('-+', { ...minute, failures: 1, intervalMs: 86_400_000 }).at(-1)).toBe(true);
});

test('at first one pass decides, or the threshold of failures', () => {
  expect(seenAfter('+', minute, '')).toEqual([true]);
  expect(seenAfter('--', minute, '')).toEqual([undefined, false]);
  expect(seenAfter('-+', minute, '')).toEqual([undefined, true]);
});

test('recovery during maintenance shows at once, and a new outage after it counts', () => {
  const planned = { ...minute, inMaintenance: true };
  const back = toNextState({ up: false, decided: true, streak: -9, damping: 2 }, true, planned);
  expect(back).toMatchObject({ up: true, damping: 0 });
  const one = toNextState(back, false, planned);
  expect(one.up).toBe(true);
  expect(toNextState(one, false, planned).up).toBe(false);
});
