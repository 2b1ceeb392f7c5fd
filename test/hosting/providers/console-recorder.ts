import { onTestFinished } from 'vitest';
import { createChannel } from '../../../server/hosting/console/channel.ts';
import type { ConsoleEvents, ConsoleSource, GameProvider } from '../../../server/hosting/providers/types.ts';
import { readFrames } from '../../helpers/console-client.ts';
import { until } from '../../helpers/upstream.ts';

/** Records one connection to a console until the test ends; a lost connection as a gap. */
export function recordConsole(game: GameProvider, ref: string, isResumed = false) {
  return createRecord((record, onLoaded) => {
    const events: ConsoleEvents = {
      line: (text) => record(`line: ${text}`),
      status: (state) => record(`status: ${state}`),
      loaded: onLoaded,
      gap: (reason) => record(`gap: ${reason}`),
      error: (reason) => record(`error: ${reason}`),
      ended: (reason, retryAfterMs) => record(`${retryAfterMs === undefined ? 'ended' : 'gap'}: ${reason}`),
    };
    return game.openConsole(ref, events, isResumed);
  });
}

/** Records one connection to a console, and waits for its first status. */
export async function followConsole(game: GameProvider, ref: string) {
  const record = recordConsole(game, ref);
  await record.ready();
  return record;
}

/** Records the events of a viewer until the test ends; lost connections are reopened after a short time. */
export function recordViewer(game: GameProvider, ref: string, backoff: { firstMs: number; maxMs: number }) {
  return createRecord((record, onLoaded) => {
    const refusals = new Set<string>();
    let source: ConsoleSource | undefined;
    const watch = (events: ConsoleEvents): ConsoleEvents => ({
      ...events,
      loaded() {
        onLoaded();
        events.loaded();
      },
      ended(reason, retryAfterMs) {
        if (retryAfterMs === undefined) refusals.add(reason);
        events.ended(reason, retryAfterMs);
      },
    });
    const channel = createChannel({
      open: async (events, isResumed) => (source = game.openConsole(ref, watch(events), isResumed)),
      describe: String,
      closed: () => undefined,
      backoff,
    });
    const kinds = { 'console output': 'line', status: 'status', gap: 'gap', 'daemon error': 'error' };
    const send = (frames: Buffer): void => {
      for (const [event, text] of readFrames(frames)) {
        const isRefusal = event === 'daemon error' && refusals.has(text!);
        record(`${isRefusal ? 'ended' : kinds[event as keyof typeof kinds]}: ${text}`);
      }
    };
    channel.join({ isReady: () => true, send });
    return { stats: () => source!.stats(), close: () => channel.close() };
  });
}

/** The recorded events of a console, in order. */
function createRecord(open: (record: (event: string) => void, onLoaded: () => void) => ConsoleSource) {
  const events: string[] = [];
  let loads = 0;
  const of = (kind: string): string[] =>
    events.filter((item) => item.startsWith(`${kind}: `)).map((item) => item.slice(kind.length + 2));
  const source = open(
    (event) => events.push(event),
    () => (loads += 1),
  );
  onTestFinished(() => source.close());
  return {
    events,
    get lines() {
      return of('line');
    },
    /** The number of times that the backlog was complete. */
    get loads() {
      return loads;
    },
    get gaps() {
      return of('gap');
    },
    get states() {
      return of('status');
    },
    get ends() {
      return of('ended');
    },
    source,
    /** Waits for the first status, which proves that the console is connected. */
    ready: () => until('the console reports a status', () => of('status').length > 0),
    received: (line: string) => until(`the line ${line} is received`, () => events.includes(`line: ${line}`)),
    async ended() {
      await until('the console has ended', () => of('ended').length > 0);
      return of('ended')[0]!;
    },
  };
}
