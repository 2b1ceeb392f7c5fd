import { setImmediate as nextTurn } from 'node:timers/promises';
import { streamLimits, unknownStats } from '#contract/console-stream.ts';
import type { ConsoleStats } from '#contract/console-stream.ts';
import type { ConsoleEvents, ConsoleSource } from '../providers/types.ts';
import { createMachine } from '../state-table.ts';
import type { Machine } from '../state-table.ts';
import type { Cancel, Clock } from './clock.ts';
import { createOutput } from './output.ts';
import type { FrameSink, Subscription } from './output.ts';
import { hasUpstream, idle, toGreeting, toNextState } from './upstream-state.ts';
import type { UpstreamEvent, UpstreamState } from './upstream-state.ts';

/** The part of one viewer in a console. */
export interface Viewing extends Subscription {
  /** What the server uses now; viewers share a read for two seconds. It waits for an upstream that is being opened. */
  stats(): Promise<ConsoleStats>;
}

/** The console of one server: one upstream shared by all viewers. */
export interface Channel {
  join(sink: FrameSink): Viewing;
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
  const readStats = createReadStats(clock);
  const timers = new Map<string, Cancel>();
  /** Called when an upstream is open, or cannot be opened. */
  const waiting: (() => void)[] = [];
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
    'admit history': () => output.admitHistory(),
    admit() {
      output.start(toGreeting(machine.state()));
      for (const wake of waiting.splice(0)) wake();
    },
    report: ({ error }) => report(error),
    release() {
      for (const cancel of timers.values()) cancel();
      output.close();
      for (const wake of waiting.splice(0)) wake();
      closed();
    },
  });
  const stats = async (): Promise<ConsoleStats> => {
    if (machine.state().at === 'opening') await new Promise<void>((wake) => waiting.push(wake));
    const { source } = machine.state();
    return source ? await readStats(source) : unknownStats;
  };

  return {
    join(sink) {
      const subscription = output.subscribe(sink);
      machine.dispatch({ type: 'join' });
      const leave = (): void => {
        subscription.leave();
        machine.dispatch({ type: 'leave' });
      };
      return { ...subscription, stats, leave };
    },
    history: output.history,
    hasUpstream: () => hasUpstream(machine.state()),
    close: () => machine.dispatch({ type: 'close' }),
  };
}

/** Creates the read of statistics that viewers share for two seconds. */
function createReadStats(clock: Clock): (source: ConsoleSource) => Promise<ConsoleStats> {
  let last: { readonly source: ConsoleSource; readonly at: number; readonly stats: Promise<ConsoleStats> } | undefined;
  return (source) => {
    const isFresh = last?.source === source && clock.now() - last.at < streamLimits.statsSeconds * 1000;
    if (!last || !isFresh) last = { source, at: clock.now(), stats: source.stats() };
    return last.stats;
  };
}

function toEvents(attempt: number, dispatch: (event: UpstreamEvent) => void): ConsoleEvents {
  return {
    line: (text) => dispatch({ type: 'line', attempt, text }),
    status: (status) => dispatch({ type: 'status', attempt, status }),
    loaded: () => dispatch({ type: 'loaded', attempt }),
    gap: (reason) => dispatch({ type: 'gap', attempt, reason }),
    error: (reason) => dispatch({ type: 'error', attempt, reason }),
    ended: (reason) => dispatch({ type: 'ended', attempt, reason }),
  };
}
