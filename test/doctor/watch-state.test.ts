import { expect, test } from 'vitest';
import { toFirstState, toNextState as toNextClock, toOutcome } from '../../server/doctor/clock-state.ts';
import type { Finding } from '../../server/doctor/finding.ts';
import { noFaults, toNextState } from '../../server/doctor/watch-state.ts';

const full = (seen: string): Finding => ({ check: 'disk', state: 'fault', seen, advice: 'make room' });
const fine: Finding = { check: 'disk', state: 'ok', seen: '9 GiB left' };
const other: Finding = { check: 'other', state: 'fault', seen: 'x', advice: 'y' };
const unknown: Finding = { check: 'disk', state: 'skipped', seen: 'no answer' };

/** The lines of looks at these minutes. */
function linesOf(...looks: readonly (readonly [minute: number, ...findings: Finding[]])[]): string[] {
  let state = noFaults;
  return looks.flatMap(([minute, ...findings]) => {
    const next = toNextState(state, { at: minute * 60_000, findings });
    ({ state } = next);
    return next.lines.map(
      ({ type, finding, seconds }) => `${minute} ${type} ${finding.check}: ${finding.seen} ${seconds}`,
    );
  });
}

test.each([
  ['nothing is wrong', [[0, fine]], []],
  [
    'a fault begins once',
    [
      [0, full('1'), other],
      [1, full('2')],
    ],
    ['0 begins disk: 1 0', '0 begins other: x 0'],
  ],
  [
    'a fault ends',
    [
      [0, full('1')],
      [1, fine],
      [2, fine],
    ],
    ['0 begins disk: 1 0', '1 ends disk: 1 60'],
  ],
  [
    'a fault comes back',
    [
      [0, full('1')],
      [1, fine],
      [2, full('2')],
    ],
    ['0 begins disk: 1 0', '1 ends disk: 1 60', '2 begins disk: 2 0'],
  ],
  [
    'one reminder an hour',
    [
      [0, full('1')],
      [59, full('2')],
      [60, full('3')],
      [61, full('4')],
      [120, full('5')],
    ],
    ['0 begins disk: 1 0', '60 lasts disk: 3 3600', '120 lasts disk: 5 7200'],
  ],
  [
    'other checks say nothing about it',
    [
      [0, full('1')],
      [1, other],
      [2, fine],
    ],
    ['0 begins disk: 1 0', '1 begins other: x 0', '2 ends disk: 1 120'],
  ],
  [
    'a check that found nothing out leaves it',
    [
      [0, full('1')],
      [1, unknown],
      [2, fine],
    ],
    ['0 begins disk: 1 0', '2 ends disk: 1 120'],
  ],
  [
    'two faults of one check',
    [
      [0, full('1'), { ...full('2'), advice: 'else' }],
      [1, full('3')],
    ],
    ['0 begins disk: 1 0', '0 begins disk: 2 0', '1 ends disk: 2 60'],
  ],
] as const)('%s', (_name, looks, lines) => {
  expect(linesOf(...looks)).toEqual(lines);
});

/** What is said of the clock at these readings, in seconds. */
function clockAt(...readings: readonly (readonly [monotonic: number, wall: number])[]): (string | undefined)[] {
  const [first, ...rest] = readings.map(([monotonic, wall]) => ({ monotonic: monotonic * 1000, wall: wall * 1000 }));
  let state = toFirstState(first!);
  return rest.map((reading) => {
    state = toNextClock(state, reading);
    const { state: result, seen } = toOutcome(state);
    return result === 'fault' ? /by (-?\d+) s/.exec(seen)![1] : undefined;
  });
}

test.each([
  [
    'a steady clock',
    [
      [0, 100],
      [60, 160],
      [120, 220],
    ],
    [undefined, undefined],
  ],
  [
    'NTP that slews it',
    [
      [0, 100],
      [60, 164],
      [120, 228],
    ],
    [undefined, undefined],
  ],
  [
    'a jump ahead, which counts for ten minutes',
    [
      [0, 100],
      [60, 260],
      [120, 320],
      [659, 859],
      [660, 860],
    ],
    ['100', '100', '100', undefined],
  ],
  [
    'a jump back',
    [
      [0, 100],
      [60, 60],
    ],
    ['-100'],
  ],
  [
    'a second jump',
    [
      [0, 100],
      [60, 260],
      [600, 700],
      [1190, 1290],
      [1200, 1300],
    ],
    ['100', '-100', '-100', undefined],
  ],
] as const)('%s', (_name, readings, jumps) => {
  expect(clockAt(...readings)).toEqual(jumps);
});
