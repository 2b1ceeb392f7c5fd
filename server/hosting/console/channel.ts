import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ConsoleEvents, ConsoleSource } from '../providers/types.ts';
import { createMachine } from '../state-table.ts';
import type { Machine } from '../state-table.ts';
import type { Cancel, Clock } from './clock.ts';
import { createOutput } from './output.ts';
import type { FrameSink, Subscription } from './output.ts';
import { hasUpstream, idle, toGreeting, toNextState } from './upstream-state.ts';
import type { UpstreamEvent, UpstreamState } from './upstream-state.ts';

/** The console of one server: one upstream shared by all viewers. */
export interface Channel {
  join(sink: FrameSink): Subscription;
  /** The last 150 lines. */
  history(): string[];
  hasUpstream(): boolean;
  close(): void;
}

/** Dependencies of a channel. */
export interface ChannelOptions {
  readonly open: (events: ConsoleEvents) => Promise<ConsoleSource>;
  /** The text of an error for clients. */
  readonly describe: (error: unknown) => string;
  /** Called with the error if the upstream cannot be opened. */
  readonly report: (error: unknown) => void;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called when the channel is closed, also after a time without viewers. */
  readonly closed: () => void;
}

/** Creates the channel of a server. It runs the effects of `toNextState`, which holds all decisions. */
export function createChannel({ open, describe, report, clock, random, closed }: ChannelOptions): Channel {
  const output = createOutput();
  const timers = new Map<string, Cancel>();
  const machine: Machine<UpstreamState, UpstreamEvent> = createMachine(idle, toNextState, {
    async open({ attempt }) {
      try {
        const source = await open(toEvents(attempt, machine.dispatch));
        // Sources emit buffered lines in the next turn of the event loop at the earliest.
        await nextTurn();
        machine.dispatch({ type: 'opened', attempt, source });
      } catch (error) {
        machine.dispatch({ type: 'refused', attempt, error, reason: describe(error), random: random() });
      }
    },
    close: ({ source }) => source.close(),
    wait({ for: type, ms }) {
      timers.get(type)?.();
      const run = () => machine.dispatch({ type });
      timers.set(type, clock.after(ms, run));
    },
    append: ({ event, text }) => output.append(event, text),
    'restart history': () => output.restartHistory(),
    admit: () => output.start(toGreeting(machine.state())),
    report: ({ error }) => report(error),
    release() {
      for (const cancel of timers.values()) cancel();
      output.close();
      closed();
    },
  });

  return {
    join(sink) {
      const subscription = output.subscribe(sink);
      machine.dispatch({ type: 'join' });
      const leave = (): void => {
        subscription.leave();
        machine.dispatch({ type: 'leave' });
      };
      return { ...subscription, leave };
    },
    history: output.history,
    hasUpstream: () => hasUpstream(machine.state()),
    close: () => machine.dispatch({ type: 'close' }),
  };
}

function toEvents(attempt: number, dispatch: (event: UpstreamEvent) => void): ConsoleEvents {
  return {
    line: (text) => dispatch({ type: 'line', attempt, text }),
    status: (status) => dispatch({ type: 'status', attempt, status }),
    gap: (reason) => dispatch({ type: 'gap', attempt, reason }),
    error: (reason) => dispatch({ type: 'error', attempt, reason }),
    ended: (reason) => dispatch({ type: 'ended', attempt, reason }),
  };
}
