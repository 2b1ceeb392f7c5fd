import { streamLimits } from '#contract/console-stream.ts';
import type { ClientEvent, CommandRefusal, ConsoleStats } from '#contract/console-stream.ts';
import type { Access } from '../../keys/access.ts';
import type { ClientMessage } from './message.ts';
import { reply, revoke } from './session-steps.ts';
import type { Authenticated, Command, Open, RowsOf, SessionEffect, SessionStep } from './session-types.ts';

/** What a client asks for on a stream: lines, statistics and commands. */

const historyMs = streamLimits.historySeconds * 1000;
const statsMs = streamLimits.statsSeconds * 1000;

const noCommand =
  'A command has 1 to 1,024 characters, one of them visible, and no control characters; a reference has 1 to 64';

/** Requests of a stream whose token is missing or expired. */
export const deniedRows: RowsOf<Open> = {
  'send logs': (state, { type }) => [state, deny(type)],
  'send stats': (state, { type }) => [state, deny(type)],
  'send command': (state, { reference }) => [state, ...denyCommand(reference)],
};

/** The results of earlier requests, also for a stream whose token has expired in between. */
export const resultRows: RowsOf<Authenticated> = {
  command: (state, { command }) => [state, { do: 'check command', grant: state.grant, command }],
  'command checked': onCommandChecked,
  'command accepted': (state, { command: { reference } }) =>
    reference === undefined ? [state] : [state, reply('command accepted', reference)],
  'command refused': (state, { command: { reference }, code, reason }) => [
    state,
    refuseCommand(reference, code, reply('daemon error', reason)),
  ],
  'stats due': (state) => [state, { do: 'read stats' }],
  stats: onStats,
};

/** Requests of a stream whose token is valid. */
export const requestRows: RowsOf<Authenticated> = {
  'send logs': onSendLogs,
  'send stats': onSendStats,
  'send command': onSendCommand,
};

/** Whether the stream gets the output of the console. */
export function takesOutput({ at }: { readonly at: string }): boolean {
  return at === 'live' || at === 'expiring';
}

/** The answer to a dropped message, if it is a command with a reference: such a command always has an answer. */
export function refuseDropped(message: ClientMessage): SessionEffect | undefined {
  if (message.type !== 'send command' || message.reference === undefined) return undefined;
  return reply('command refused', message.reference, 'rate_limited');
}

/** The answer to a command that is not sent: by its reference if it has one, else in words. */
function refuseCommand(reference: string | undefined, code: CommandRefusal, words: SessionEffect): SessionEffect {
  return reference === undefined ? words : reply('command refused', reference, code);
}

function deny(event: ClientEvent): SessionEffect {
  return reply('permission denied', event);
}

function denyCommand(reference: string | undefined): SessionEffect[] {
  const denied = deny('send command');
  return reference === undefined ? [denied] : [denied, reply('command refused', reference, 'not_permitted')];
}

function onSendLogs(state: Authenticated, { now }: { now: number }): SessionStep {
  if (now - state.historyAt >= historyMs) return [{ ...state, historyAt: now }, { do: 'send history' }];
  return [state, reply('daemon error', 'The history is sent at most once a second')];
}

/** An early request waits: a client that asks every two seconds is sometimes some milliseconds early. */
function onSendStats(state: Authenticated, { now }: { now: number }): SessionStep {
  if (state.statsRequested) return [state];
  const until = state.statsAt + statsMs;
  const next = { ...state, statsRequested: true };
  return [next, now >= until ? { do: 'read stats' } : { do: 'wait for stats', until }];
}

function onStats(state: Authenticated, { stats, now }: { stats: ConsoleStats; now: number }): SessionStep {
  const next = { ...state, statsRequested: false };
  return takesOutput(state) ? [{ ...next, statsAt: now }, reply('stats', JSON.stringify(stats))] : [next];
}

function onSendCommand(
  state: Authenticated,
  { command: text, reference }: { command: string | undefined; reference: string | undefined },
): SessionStep {
  if (!mayWrite(state)) return [state, ...denyCommand(reference)];
  if (text === undefined) return [state, refuseCommand(reference, 'invalid', reply('daemon error', noCommand))];
  return [state, { do: 'queue command', command: { text, reference } }];
}

/** Each command checks the key again, so a revoked key is rejected at once, not within 2 s. */
function onCommandChecked(
  state: Authenticated,
  { command, access }: { command: Command; access: Access },
): SessionStep {
  if (access === 'denied') return revoke(state);
  if (access === 'read_only' || !mayWrite(state)) return [state, ...denyCommand(command.reference)];
  return [state, { do: 'send command', grant: state.grant, command }];
}

function mayWrite({ at, grant, access }: Authenticated): boolean {
  return at !== 'expired' && grant.mode === 'read_write' && access === 'ok';
}
