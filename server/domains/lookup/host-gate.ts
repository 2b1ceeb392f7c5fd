import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { LimitFunction } from 'p-limit';
import { createTokenBucket } from '../../token-bucket.ts';
import type { TokenBucket } from '../../token-bucket.ts';
import type { Deadline } from './deadline.ts';
import type { Rate, RegistryLimits } from './limits.ts';

/** What work answers that is worth a second turn, as it found the host away. */
export const again = Symbol('again');

/** The turns at hosts that many want to ask at once. */
export interface HostGate {
  /**
   * Does a piece of work when it is its turn at a host, and once more where it answers {@link again}. Undefined where
   * the turn cannot come before the deadline, the host is left alone, or it was away both times.
   */
  run<Result>(
    host: string,
    deadline: Deadline,
    work: () => Promise<Result | typeof again>,
  ): Promise<Result | undefined>;
  /** Leaves a host alone for a while: those who wait for it are sent away, and so are those who come. */
  cool(host: string, ms: number): void;
}

/** What servers are asked with. */
export interface Asking {
  readonly gate: HostGate;
  readonly limits: RegistryLimits;
  /** Is given, for the operator, what a host answered that it should not; never which name was asked for. */
  readonly noticed: (host: string, what: string) => void;
}

/** What the gate needs. */
export interface HostGateOptions {
  /** How many are asked at once, for each host. */
  readonly concurrency: number;
  /** The pace of a host: the same object for all hosts that are alike. */
  readonly rateOf: (host: string) => Rate;
  /** In milliseconds. */
  readonly now: () => number;
}

interface Turns {
  readonly places: LimitFunction;
  coolUntil: number;
  /** Aborts when the host is to be left alone. */
  cooling: AbortController;
}

/** What has less time than this left is not begun: the host would be asked for nothing. */
const shortestMs = 50;

/** Past this many hosts, those that are not asked and not left alone are forgotten. */
const rememberedHosts = 500;

/** Creates the gate. A turn is a place among those that are asked at once, and then a token of the host's bucket. */
export function createHostGate({ concurrency, rateOf, now }: HostGateOptions): HostGate {
  const hosts = new Map<string, Turns>();
  const buckets = new Map<Rate, TokenBucket>();
  const turnsOf = (host: string): Turns => {
    let turns = hosts.get(host);
    if (!turns) {
      if (hosts.size >= rememberedHosts) forgetIdle(hosts, now());
      turns = { places: pLimit(concurrency), coolUntil: 0, cooling: new AbortController() };
      hosts.set(host, turns);
    }
    return turns;
  };
  const bucketOf = (rate: Rate): TokenBucket => {
    let bucket = buckets.get(rate);
    if (!bucket) buckets.set(rate, (bucket = createTokenBucket({ name: 'registry', ...rate }, now)));
    return bucket;
  };

  /** Waits for a token of a host; false where none can come in time. */
  const takeToken = async (host: string, turns: Turns, deadline: Deadline): Promise<boolean> => {
    const { signal } = turns.cooling;
    for (;;) {
      if (now() < turns.coolUntil || deadline.remainingMs() < shortestMs) return false;
      const { allowed, waitMs } = await bucketOf(rateOf(host)).consume(host);
      if (allowed || waitMs >= deadline.remainingMs()) return allowed;
      await sleep(waitMs, undefined, { signal: AbortSignal.any([deadline.signal, signal]) }).catch(() => undefined);
      if (deadline.signal.aborted) return false;
    }
  };

  return {
    async run(host, deadline, work) {
      const turns = turnsOf(host);
      const turn = async () => {
        // Who cannot begin in time is sent away at once: no more wait than the rate lets begin in one deadline.
        const mostWaiting = (rateOf(host).rps * deadline.remainingMs()) / 1000;
        if (turns.places.pendingCount >= mostWaiting) return undefined;
        return await turns.places(async () => ((await takeToken(host, turns, deadline)) ? await work() : undefined));
      };
      const first = await turn();
      const result = first === again ? await turn() : first;
      return result === again ? undefined : result;
    },
    cool(host, ms) {
      const turns = turnsOf(host);
      turns.coolUntil = Math.max(turns.coolUntil, now() + ms);
      turns.cooling.abort();
      turns.cooling = new AbortController();
    },
  };
}

function forgetIdle(hosts: Map<string, Turns>, at: number): void {
  for (const [host, { places, coolUntil }] of hosts) {
    if (places.activeCount + places.pendingCount === 0 && at >= coolUntil) hosts.delete(host);
  }
}
