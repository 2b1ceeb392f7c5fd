import { expect, test } from 'vitest';
import {
  nothingFollowed,
  toNextState,
  toReport,
} from '../../../server/hosting/providers/pterodactyl/followed-state.ts';
import type { FollowedEvent } from '../../../server/hosting/providers/pterodactyl/followed-state.ts';
import type { GameState, StateReport } from '../../../server/hosting/providers/types.ts';

const status = (state: GameState, at: number): FollowedEvent => ({ type: 'status', state, at });
const heard = (at: number): FollowedEvent => ({ type: 'heard', at, date: 1_000_000 + at });
const lost: FollowedEvent = { type: 'lost' };
const report = (state: GameState, at: number): StateReport => ({ state, checkedAt: 1_000_000 + at });

const never = Number.NEGATIVE_INFINITY;
const rows: [name: string, events: FollowedEvent[], now: number, after: number, expected: StateReport | undefined][] = [
  ['nothing is known at first', [], 0, never, undefined],
  ['a connection without a status says nothing', [heard(1)], 2, never, undefined],
  ['a status is known', [status('running', 1), heard(1)], 2, never, report('running', 1)],
  ['each sign of life confirms it', [status('running', 1), heard(1), heard(900)], 901, never, report('running', 900)],
  [
    'the newest one counts',
    [status('running', 1), heard(1), status('offline', 2), heard(2)],
    3,
    never,
    report('offline', 2),
  ],
  [
    'it is known while the connection may be silent',
    [status('offline', 1), heard(1)],
    35_001,
    never,
    report('offline', 1),
  ],
  ['a connection that is silent for longer says nothing', [status('offline', 1), heard(1)], 35_002, never, undefined],
  ['a gap may hide a status', [status('running', 1), heard(1), lost, heard(2)], 3, never, undefined],
  [
    'a status after a gap counts',
    [status('running', 1), lost, status('offline', 2), heard(2)],
    3,
    never,
    report('offline', 2),
  ],
  ['a status from before an action does not count', [status('running', 1), heard(1), heard(900)], 901, 500, undefined],
  ['one in the same moment does not count', [status('running', 500), heard(500)], 901, 500, undefined],
  [
    'a status that follows an action counts',
    [status('running', 1), status('stopping', 501), heard(501)],
    901,
    500,
    report('stopping', 501),
  ],
  [
    'so does one that still holds 20 s later',
    [status('running', 1), heard(20_501)],
    20_502,
    500,
    report('running', 20_501),
  ],
];

test.each(rows)('%s', (_, events, now, after, expected) => {
  const followed = events.reduce(toNextState, nothingFollowed);
  expect(toReport(followed, { now, after, lagMs: 20_000 })).toEqual(expected);
});
