import { LRUCache } from 'lru-cache';
import type { ServerRecord } from '../store/types.ts';
import { toLogText } from './providers/game-log.ts';
import type { GameProvider } from './providers/types.ts';

/** Reads the latest log of a server as plain text; undefined if the provider has none. Throws a ProviderError. */
export type ReadLatestLog = (record: ServerRecord, game: GameProvider) => Promise<string | undefined>;

/** How long a read is shared: a failed one too, since it uses the upstream's budget as well. */
const shareMs = 3000;

/** The maximum number and length of the logs in memory. */
const maxLogs = 1000;
const maxCharacters = 32 * 1024 * 1024;

type Outcome = { readonly text: string | undefined } | { readonly error: unknown };

/** Creates {@link ReadLatestLog}. Concurrent readers of a log share one read, and its result is shared for 3 s. */
export function createReadLatestLog(now: () => number = () => performance.now()): ReadLatestLog {
  const outcomes = new LRUCache<string, Outcome, { readonly record: ServerRecord; readonly game: GameProvider }>({
    max: maxLogs,
    maxSize: maxCharacters,
    sizeCalculation: (outcome) => 1 + (('text' in outcome && outcome.text?.length) || 0),
    ttl: shareMs,
    ttlResolution: 0,
    perf: { now },
    ignoreFetchAbort: true,
    fetchMethod: async (_key, _stale, { context: { record, game } }): Promise<Outcome> => {
      try {
        const log = await game.latestLog(record.ref, record.logFile);
        return { text: log === undefined ? undefined : toLogText(log) };
      } catch (error) {
        return { error };
      }
    },
  });
  return async (record, game) => {
    const key = JSON.stringify([record.provider, record.ref, record.logFile]);
    const outcome = (await outcomes.fetch(key, { context: { record, game } }))!;
    if ('error' in outcome) throw outcome.error;
    return outcome.text;
  };
}
