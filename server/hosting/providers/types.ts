import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import type { ServerKind } from '#contract/api-keys.ts';
import type { Environment } from '#common/environment.ts';
import type { ConsoleStats } from '#contract/console-stream.ts';
import { problems } from '#contract/problem.ts';
import { createLru } from '../../lru.ts';
import type { Logger } from '../../log.ts';
import type { CreateBucket } from '../../token-bucket.ts';
import { ProviderError, describeAnswer, toRefusal, toRetryAfter } from '../../upstream/client.ts';
import type { ActionOptions } from '../../upstream/actions.ts';
import type { Reply } from '../../upstream/client.ts';

/** Deadline, confirmation and trace of an action, and the API key that pays for it. */
export interface SendOptions extends Pick<ActionOptions, 'signal' | 'confirm' | 'trace'> {
  readonly keyId?: string;
  /** Returns a lower bound of the time since the last power action on the server began. */
  readonly sinceLastAction?: () => Promise<number>;
}

export type VpsAction = 'start' | 'stop' | 'reset';
export type GameAction = 'start' | 'stop' | 'restart' | 'kill';
export type PowerAction = VpsAction | GameAction;

/** The states of a game server. */
export type GameState = 'running' | 'starting' | 'stopping' | 'offline';

/** The power states of a server; `unknown` stands for all other states of an upstream. */
export type PowerState = GameState | 'unknown';

/** A power state, and the time of the upstream's report in milliseconds since 1970. */
export interface StateReport {
  readonly state: PowerState;
  readonly checkedAt: number;
}

/** The times in milliseconds since the last action was sent and answered; Infinity without a recent action. */
export interface ActionAge {
  readonly sentMs: number;
  readonly answeredMs: number;
}

/** Controls servers. Actions are sent once, after confirmation. Throws a {@link ProviderError}. */
export interface ServerProvider<Action extends PowerAction = PowerAction> {
  power(ref: string, action: Action, options?: SendOptions): Promise<void>;
  /** Reads a power state; `unknown` if no state is newer than `maxAgeMs`, or proven to follow the last action. */
  readonly state: (ref: string, maxAgeMs: number, action?: ActionAge) => Promise<StateReport>;
}

/** The events of a console source. Reasons are safe for clients. */
export interface ConsoleEvents {
  /** A line of output, with ANSI codes. */
  line(text: string): void;
  status(state: GameState): void;
  /** The upstream has probably replayed its whole backlog. */
  loaded(): void;
  /** Lines may be missing at this point; the console continues. */
  gap(reason: string): void;
  /** The upstream reported an error; the console continues. */
  error?(reason: string): void;
  /** The source has ended: refused, or lost and to be reopened after `retryAfterMs`, at most `maxRetryMs` apart. */
  ended(reason: string, retryAfterMs?: number, maxRetryMs?: number): void;
}

/** Tells console viewers that our configuration is wrong. */
export const notAvailable = 'console is not available';

/** A console that was opened with a read-only credential. */
export interface ConsoleSource {
  /** Reads the current usage of the server; unknown values are null. Never rejects. */
  stats(): Promise<ConsoleStats>;
  close(): void;
}

/** Controls game servers. */
export interface GameProvider extends ServerProvider<GameAction> {
  /** Sends a console command; resolves when the upstream has accepted the command. */
  command(ref: string, command: string, options?: SendOptions): Promise<void>;
  /** Reads the end of the newest log file, with ANSI codes; undefined if missing or unreadable. */
  latestLog(ref: string, file: string | null): Promise<string | undefined>;
  /** Follows a console: the backlog unless `isResumed`, then new lines. Failures are events. */
  openConsole(ref: string, events: ConsoleEvents, isResumed?: boolean): ConsoleSource;
}

/** A system that runs servers of one or both kinds. */
export interface Provider {
  readonly vps?: ServerProvider<VpsAction>;
  readonly game?: GameProvider;
  check(): Promise<CheckResult[]>;
  /** Lists the servers that the credential reaches. */
  readonly listRefs?: () => Promise<ListedRefs>;
  /** Returns true if the credential has access to a server, listed or not. */
  readonly hasRef?: (ref: string) => Promise<boolean>;
  close(): Promise<void>;
}

/** The servers that a credential reaches. */
export interface ListedRefs {
  /** Names by ref. */
  readonly names: ReadonlyMap<string, string>;
  /** Further servers, which the upstream counted but did not list readably. */
  readonly missed: number;
  /** A fault of the credential, as a sentence for operators. */
  readonly warning?: string;
}

/** A type of provider: everything that differs between types. */
export interface ProviderType<Settings, Options = ProviderOptions> {
  /** Creates the schema of the fields of a provider in PROVIDERS_FILE; paths are relative to `folder`. */
  settings(folder: string, environment: Environment): z.ZodObject & z.ZodType<Settings>;
  /** The fields that hold credentials. */
  readonly secrets: readonly (keyof Settings & string)[];
  readonly refs: RefPattern | RefList;
  /** Converts a ref to the form that all refs of a server share. By default each server has one ref. */
  readonly normalizeRef?: (ref: string) => string;
  create(settings: Settings, options: Options): Provider;
}

/** Refs of one kind of server that match a pattern. */
export interface RefPattern {
  readonly kind: ServerKind;
  readonly pattern: RegExp;
  /** Describes a valid ref in messages and docs. */
  readonly meaning: string;
}

/** Refs that the settings list with their kinds. */
export interface RefList {
  readonly meaning: string;
  /** Reads the servers from settings without their credentials; undefined if the settings are invalid. */
  list(written: unknown): Readonly<Record<string, { readonly kind: ServerKind }>> | undefined;
}

/** Dependencies of a provider. */
export interface ProviderOptions {
  readonly timeoutMs: number;
  readonly log: Logger;
  /** The name of the upstream in the metrics. */
  readonly upstream: string;
  readonly clock?: StateClock | undefined;
  readonly createBucket?: CreateBucket | undefined;
}

/** Throws a {@link ProviderError} unless a `ref` matches. */
export function assertRef({ pattern, meaning }: RefPattern, ref: string): void {
  if (!pattern.test(ref)) throw toRefusal(`"${ref}" is not ${meaning}`);
}

/** A result of a provider's check, in sentences without secrets. */
export type CheckResult =
  | { readonly level: 'info'; readonly message: string; readonly advice?: string }
  | {
      /** An `error` is always a mistake in our configuration. */
      readonly level: 'warn' | 'error';
      readonly message: string;
      readonly advice: string;
      /** The upstream did not answer, so nothing else could be checked. */
      readonly isUnreachable?: true;
    };

/** Checks the credential of a setting. Never throws. */
export async function checkCredential(check: {
  readonly name?: string;
  /** The upstream, at the start of a sentence. */
  readonly upstream: string;
  readonly ask: () => Promise<Reply>;
  /** Judges the body of a 200; undefined if another program has answered. */
  readonly judge: (text: string) => CheckResult | undefined;
  /** Explains an error of the upstream; a permanent one is a mistake in a configuration. */
  readonly explain?: (reply: Reply) => { reason: string; advice: string; isPermanent: boolean } | undefined;
  readonly refusedAdvice: string;
  /** Further advice about an upstream that cannot be reached. */
  readonly unreachableAdvice?: string;
}): Promise<[CheckResult]> {
  const { name = 'token', upstream, ask, judge, explain, refusedAdvice, unreachableAdvice = '' } = check;
  const reply = await ask().catch(() => undefined);
  if (!reply) {
    const usual = 'check that this machine resolves the host of its url, may connect to it and trusts its certificate';
    const [message, advice] = [`${upstream} cannot be reached`, usual + unreachableAdvice];
    return [{ level: 'warn', message, advice, isUnreachable: true }];
  }
  const { status, text, sender } = reply;
  // Other statuses (429, 503) and the page of a proxy tell nothing about the credential.
  if (status !== 200 && (sender === 'proxy' || (status !== 401 && status !== 403))) {
    const usual = 'check the upstream, any proxy in front of it, and its url in PROVIDERS_FILE';
    const { reason, advice = usual, isPermanent } = explain?.(reply) ?? {};
    const message = `${upstream} answers with status ${describeAnswer(reply)}${reason === undefined ? '' : `: ${reason}`}`;
    return [
      isPermanent ? { level: 'error', message, advice } : { level: 'warn', message, advice, isUnreachable: true },
    ];
  }
  const message = `The ${name} is not accepted: status ${status}`;
  return [(status === 200 ? judge(text) : undefined) ?? { level: 'error', message, advice: refusedAdvice }];
}

/** The clock of state reads, replaceable in tests. */
export interface StateClock {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
}

const monotonicClock: StateClock = {
  now: () => performance.now(),
  sleep: (ms) => sleep(ms, undefined, { ref: false }),
};

/** Maximum wait for the next read; after that the state is `unknown`. */
const maxWaitMs = 6000;
/** A failure is shared for this long before the next read starts. */
const failureMs = 5000;
/** The maximum age of a state that stands in for a read without a place. */
const maxKnownMs = 60_000;

/** A read that was not sent, because the upstream or the node of the server is busy. */
export class BusyError extends ProviderError {
  constructor(waitMs = 1000) {
    const cause = new Error('the node of the server, or its panel, is slow: the read was not sent');
    super(problems.provider_error.message, { outcome: 'refused', cause, headers: toRetryAfter(waitMs) });
  }
}

/** The reads of a group of servers, one at a time. */
interface ReadGroup {
  running?: Promise<void> | undefined;
  endedAt: number;
  failure?: { readonly error: unknown } | undefined;
  /** When the last read without a place gave up. */
  busyAt: number;
  /** The last successful read, with its start by the clock and in milliseconds since 1970. */
  known?: { readonly at: number; readonly date: number; readonly states: ReadonlyMap<string, PowerState> };
}

/** Creates `state` of a provider. Callers that ask about the same group share one read. */
export function createStateReader(options: {
  readonly refs: RefPattern;
  /** A {@link BusyError} is no failure: callers get the last known state, or `unknown`. */
  readonly read: (group: string) => Promise<ReadonlyMap<string, PowerState>>;
  /** Returns the group of a server: an account or a single server. By default all servers are one group. */
  readonly groupOf?: (ref: string) => string;
  /** The minimum time between two reads of a group. */
  readonly intervalMs: number;
  /** The upstream may return states that are this old. */
  readonly lagMs: number;
  /** Returns false while the upstream's budget has no room for reads. */
  readonly hasRoom?: () => boolean;
  readonly clock?: StateClock | undefined;
}): ServerProvider['state'] {
  const { refs, read, groupOf = () => '', intervalMs, lagMs, hasRoom = () => true, clock = monotonicClock } = options;
  const groups = createLru<string, ReadGroup>(10_000);

  const begin = async (name: string, group: ReadGroup): Promise<void> => {
    const began = { at: clock.now(), date: Date.now() };
    try {
      group.known = { ...began, states: await read(name) };
      group.failure = undefined;
      group.endedAt = clock.now();
    } catch (error) {
      if (error instanceof BusyError) group.busyAt = clock.now();
      else [group.failure, group.endedAt] = [{ error }, clock.now()];
    }
    group.running = undefined;
  };
  return async (ref, maxAgeMs) => {
    assertRef(refs, ref);
    const name = groupOf(ref);
    const group = groups.get(name) ?? { endedAt: -Infinity, busyAt: -Infinity };
    groups.set(name, group);
    const asked = clock.now();
    // Only reads that began later count: earlier ones may report the state before an action.
    const after = asked - maxAgeMs + lagMs;
    for (;;) {
      const { running, endedAt, failure, known, busyAt } = group;
      const now = clock.now();
      const ageMs = now - endedAt;
      const isBusy = busyAt >= asked;
      const isKnown = isBusy ? now - (known?.at ?? -Infinity) <= maxKnownMs : !failure && ageMs < intervalMs;
      if (known && known.at > after && isKnown) {
        const state = known.states.get(ref);
        if (state === undefined) throw toRefusal(`the upstream lists no server ${ref}`);
        return { state, checkedAt: known.date };
      }
      // Strictly later than the action, hence the extra millisecond.
      const waitMs = Math.max(failure ? 0 : intervalMs - ageMs, after - now + 1);
      if (isBusy) return { state: 'unknown', checkedAt: Date.now() };
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
