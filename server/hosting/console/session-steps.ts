import { closeCodes } from '#contract/console-stream.ts';
import type { ArgumentsOf, CloseName, ServiceEvent } from '#contract/console-stream.ts';
import { toMessage } from './frame.ts';
import type { Open, SessionEffect, SessionStep } from './session-types.ts';

/** Sends a message to the client. */
export function reply<Event extends ServiceEvent>(event: Event, ...args: ArgumentsOf<Event>): SessionEffect {
  return { do: 'reply', message: toMessage(event, ...args) };
}

/** Ends a stream with a close code. */
export function end({ grant }: Open, close: CloseName, reason: string, ...answers: SessionEffect[]): SessionStep {
  const { code } = closeCodes[close];
  return [{ at: 'ended', grant }, ...answers, { do: 'release' }, { do: 'close', code, reason }];
}

/** Ends a stream whose key has lost its access. */
export function revoke(state: Open): SessionStep {
  return end(state, 'revoked', 'access was revoked');
}
