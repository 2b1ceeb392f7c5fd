import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { z } from 'zod';
import type { ServerKind } from '#contract/api-keys.ts';
import type { Environment } from '#common/environment.ts';
import type { ConsoleStats } from '#contract/console-stream.ts';
import type { Logger } from '../../log.ts';
import type { CreateBucket } from '../../token-bucket.ts';
import { toRefusal } from '../../upstream/client.ts';
import type { Reply, RequestOptions } from '../../upstream/client.ts';

/** How an action is sent: until when, after which confirmation, and in which trace. */
export type SendOptions = Pick<RequestOptions, 'signal' | 'confirm' | 'trace'>;

export type VpsAction = 'start' | 'stop' | 'reset';
export type GameAction = 'start' | 'stop' | 'restart' | 'kill';
export type PowerAction = VpsAction | GameAction;

/** The states of a game server. */
export type GameState = 'running' | 'starting' | 'stopping' | 'offline';

/** The power states of a server; `unknown` if the upstream reports another one. */
export type PowerState = GameState | 'unknown';

/** A power state, and when the upstream reported it, in milliseconds since 1970. */
export interface StateReport {
  readonly state: PowerState;
  readonly checkedAt: number;
}

/** A provider of servers. An action is one call, confirmed just before it is sent. Throws a {@link ProviderError}. */
export interface ServerProvider<Action extends PowerAction = PowerAction> {
  power(ref: string, action: Action, options?: SendOptions): Promise<void>;
  /** Reads a power state. What the upstream knew more than `maxAgeMs` ago does not count: then it is `unknown`. */
  readonly state: (ref: string, maxAgeMs: number) => Promise<StateReport>;
}

/** A provider of VPS. */
export type VpsProvider = ServerProvider<VpsAction>;

/** The events of a console source; each reason is safe for clients. */
export interface ConsoleEvents {
  /** A line of output, with ANSI codes. */
  line(text: string): void;
  status(state: GameState): void;
  /** The lines that the upstream had buffered were emitted, as far as that can be known. */
  loaded(): void;
  /** Lines may be missing here; the console continues. */
  gap(reason: string): void;
  /** The upstream reported an error; the console continues. */
  error?(reason: string): void;
  /** The source has ended: refused by the upstream, or lost, and to be opened again after `retryAfterMs`. */
  ended(reason: string, retryAfterMs?: number): void;
}

/** What console viewers read when our configuration is wrong. */
export const notAvailable = 'console is not available';

/** An open console, with a read-only credential. */
export interface ConsoleSource {
  /** What the server uses now; null where that is not known. Never rejects. */
  stats(): Promise<ConsoleStats>;
  close(): void;
}

/** A provider of game servers. */
export interface GameProvider extends ServerProvider<GameAction> {
  /** Sends a console command; resolves when the upstream has accepted it. */
  command(ref: string, command: string, options?: SendOptions): Promise<void>;
  /** Reads the end of the newest log file, with ANSI codes; undefined if there is none, or it may not be read. */
  latestLog(ref: string, file: string | null): Promise<string | undefined>;
  /** Follows a console until it ends: the buffered lines unless `isResumed`, then new ones. Failures are events. */
  openConsole(ref: string, events: ConsoleEvents, isResumed?: boolean): ConsoleSource;
}

/** A system that runs servers. */
export interface Provider {
  readonly vps?: VpsProvider;
  readonly game?: GameProvider;
  check(): Promise<CheckResult[]>;
  /** Lists the refs of all servers of the credential by a few requests; undefined if they cannot be listed. */
  readonly listRefs?: () => Promise<ReadonlySet<string> | undefined>;
  /** Called before the process ends, so that servers can start to stop. */
  drain?(): void;
  close(): Promise<void>;
}

/** A type of provider: everything that differs between types. */
export interface ProviderType<Settings, Options = ProviderOptions> {
  /** Creates the schema of the fields of a provider in PROVIDERS_FILE; paths are relative to `folder`. */
  settings(folder: string, environment: Environment): z.ZodObject & z.ZodType<Settings>;
  /** The fields that hold credentials. */
  readonly secrets: readonly (keyof Settings & string)[];
  readonly refs: RefPattern | RefList;
  create(settings: Settings, options: Options): Provider;
}

/** Refs that match a pattern, of one kind of server. `meaning` completes "a ref is ...". */
export interface RefPattern {
  readonly kind: ServerKind;
  readonly pattern: RegExp;
  readonly meaning: string;
}

/** Refs that the settings list with their kinds. `meaning` completes "a ref is ...". */
export interface RefList {
  readonly meaning: string;
  /** Reads the servers from settings without their credentials; undefined if the settings are invalid. */
  list(written: unknown): Readonly<Record<string, { readonly kind: ServerKind }>> | undefined;
}

/** Dependencies of a provider. */
export interface ProviderOptions {
  readonly timeoutMs: number;
  readonly log: Logger;
  /** The name under which calls are published; by default they are not. */
  readonly upstream?: string | undefined;
  readonly clock?: StateClock | undefined;
  readonly createBucket?: CreateBucket | undefined;
}

/** Throws a {@link ProviderError} unless a `ref` matches. */
export function assertRef({ pattern, meaning }: RefPattern, ref: string): void {
  if (!pattern.test(ref)) throw toRefusal(`"${ref}" is not ${meaning}`);
}

/** What the check of a provider found, in sentences without secrets. */
export type CheckResult =
  | { readonly level: 'info'; readonly message: string }
  | {
      /** An `error` is a mistake of our configuration for sure. */
      readonly level: 'warn' | 'error';
      readonly message: string;
      readonly advice: string;
      /** Whether the upstream did not answer, so that the rest could not be checked. */
      readonly isUnreachable?: true;
    };

/** Checks the credential of the setting `name`. `judge` is undefined for a body of another program. Never throws. */
export async function checkCredential(check: {
  readonly name?: string;
  /** The upstream, at the start of a sentence. */
  readonly upstream: string;
  readonly ask: () => Promise<Reply>;
  readonly judge: (text: string) => CheckResult | undefined;
  readonly refusedAdvice: string;
  readonly unreachable: readonly [message: string, advice: string];
}): Promise<[CheckResult]> {
  const { name = 'token', upstream, ask, judge, refusedAdvice, unreachable } = check;
  const reply = await ask().catch(() => undefined);
  if (!reply) return [{ level: 'warn', message: unreachable[0], advice: unreachable[1], isUnreachable: true }];
  const { status, text } = reply;
  // All others say nothing about the credential: 429, 503, or the page of a proxy.
  if (status !== 200 && status !== 401 && status !== 403) {
    const advice = 'see what fails there or in a proxy before it, and that the url of PROVIDERS_FILE is right';
    return [{ level: 'warn', message: `${upstream} answers with status ${status}`, advice, isUnreachable: true }];
  }
  const message = `The ${name} is not accepted: status ${status}`;
  return [(status === 200 ? judge(text) : undefined) ?? { level: 'error', message, advice: refusedAdvice }];
}

/** The clock of reads of states, which tests replace. */
export interface StateClock {
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
}

const systemClock: StateClock = {
  now: () => performance.now(),
  sleep: (ms) => sleep(ms, undefined, { ref: false }),
};

/** How long a question waits for the next read; beyond that the state is `unknown`. */
const maxWaitMs = 6000;
/** How long a failure is shared, and no further read begins. */
const failureMs = 5000;

/** The reads of a group: one at a time. */
interface Group {
  running?: Promise<void> | undefined;
  endedAt: number;
  failure?: { readonly error: unknown } | undefined;
  /** What the last successful read found, and when it began: by the clock, and in milliseconds since 1970. */
  known?: { readonly at: number; readonly date: number; readonly states: ReadonlyMap<string, PowerState> };
}

/**
 * Creates `state` of a provider. All questions about a group, which is an account or one server, share its reads. They
 * are `intervalMs` apart; the upstream may repeat for `lagMs` what it knew before; there is none while the budget has
 * no room.
 */
export function createStateReader(options: {
  readonly refs: RefPattern;
  readonly read: (group: string) => Promise<ReadonlyMap<string, PowerState>>;
  /** The group of a server; default one for all. */
  readonly groupOf?: (ref: string) => string;
  readonly intervalMs: number;
  readonly lagMs: number;
  readonly hasRoom?: () => boolean;
  readonly clock?: StateClock | undefined;
}): ServerProvider['state'] {
  const { refs, read, groupOf = () => '', intervalMs, lagMs, hasRoom = () => true, clock = systemClock } = options;
  const groups = new LRUCache<string, Group>({ maxSize: 10_000, sizeCalculation: () => 1 });

  const begin = async (name: string, group: Group): Promise<void> => {
    const began = { at: clock.now(), date: Date.now() };
    try {
      group.known = { ...began, states: await read(name) };
      group.failure = undefined;
    } catch (error) {
      group.failure = { error };
    }
    group.endedAt = clock.now();
    group.running = undefined;
  };
  return async (ref, maxAgeMs) => {
    assertRef(refs, ref);
    const name = groupOf(ref);
    const group = groups.get(name) ?? { endedAt: -Infinity };
    groups.set(name, group);
    const asked = clock.now();
    // A read counts if it began after this time, so that it does not report a state from before an action.
    const after = asked - maxAgeMs + lagMs;
    for (;;) {
      const { running, endedAt, failure, known } = group;
      const now = clock.now();
      const ageMs = now - endedAt;
      if (known && known.at > after && !failure && ageMs < intervalMs) {
        const state = known.states.get(ref);
        if (state === undefined) throw toRefusal(`the upstream lists no server ${ref}`);
        return { state, checkedAt: known.date };
      }
      // A read that begins at the time of an action may still report the state from before.
      const waitMs = Math.max(failure ? 0 : intervalMs - ageMs, after - now + 1);
      if (running) await running;
      else if (failure && ageMs < failureMs) throw failure.error;
      else if (waitMs > 0) {
        if (now + waitMs > asked + maxWaitMs) return { state: 'unknown', checkedAt: Date.now() };
        await clock.sleep(waitMs);
      } else if (known && !hasRoom()) return { state: 'unknown', checkedAt: known.date };
      else await (group.running = begin(name, group));
    }
  };
}
