import type { ConsoleStats } from '#contract/console-stream.ts';
import { toRefusal } from '../../upstream/client.ts';
import type { Reply, RequestOptions } from '../../upstream/client.ts';

/** What the check of a provider found, in sentences without secrets. */
export type CheckResult =
  | { readonly level: 'info'; readonly message: string }
  | {
      /** An `error` is a mistake of our configuration for sure. */
      readonly level: 'warn' | 'error';
      readonly message: string;
      /** What to change. */
      readonly advice: string;
      /** Whether the upstream did not answer, so that the rest could not be checked. */
      readonly isUnreachable?: true;
    };

/** How the credential of an upstream is checked. */
interface CredentialCheck {
  /** The setting with the credential; default `token`. */
  readonly name?: string;
  /** The upstream, at the start of a sentence. */
  readonly upstream: string;
  readonly ask: () => Promise<Reply>;
  /** Judges the body of a 200; undefined if it is none of this upstream. */
  readonly judge: (text: string) => CheckResult | undefined;
  readonly refusedAdvice: string;
  /** What is wrong without an answer, and what to do then. */
  readonly unreachable: readonly [message: string, advice: string];
}

/** Checks whether an upstream accepts a credential. Never throws. */
export async function checkCredential(check: CredentialCheck): Promise<CheckResult> {
  const { name = 'token', upstream, ask, judge, refusedAdvice, unreachable } = check;
  try {
    const { status, text } = await ask();
    // All others say nothing about the credential: 429, 503, or the page of a proxy.
    if (status !== 200 && status !== 401 && status !== 403) {
      const advice = 'see what fails there or in a proxy before it, and that the url of PROVIDERS_FILE is right';
      return { level: 'warn', message: `${upstream} answers with status ${status}`, advice, isUnreachable: true };
    }
    const message = `The ${name} is not accepted: status ${status}`;
    return (status === 200 ? judge(text) : undefined) ?? { level: 'error', message, advice: refusedAdvice };
  } catch {
    const [message, advice] = unreachable;
    return { level: 'warn', message, advice, isUnreachable: true };
  }
}

/** What a `ref` of each type of provider looks like in one sentence, and the kind of servers that it runs. */
export const refs = {
  hetzner: {
    kind: 'vps',
    pattern: /^[1-9]\d{0,15}$/,
    meaning: 'the number of a server of the project',
  },
  proxmox: {
    kind: 'vps',
    pattern: /^[1-9]\d{2,8}$/,
    meaning: 'the number of a VPS (vmid): 100 to 999999999',
  },
  pterodactyl: {
    kind: 'game',
    pattern: /^[\dA-Fa-f]{8}(?:(?:-[\dA-Fa-f]{4}){3}-[\dA-Fa-f]{12})?$/,
    meaning: 'the identifier of a server in the panel: 8 hexadecimal digits, or the whole UUID',
  },
} as const;

/** Throws a {@link ProviderError} unless a `ref` is one of a type of provider. */
export function assertRef(type: keyof typeof refs, ref: string): void {
  if (!refs[type].pattern.test(ref)) throw toRefusal(`"${ref}" is not ${refs[type].meaning}`);
}

/** The time, which tests replace. */
export interface StateClock {
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
}

/** Dependencies of a provider of an upstream. */
export interface ProviderOptions {
  /** For one exchange. */
  readonly timeoutMs: number;
  /** The name under which its calls are published; default they are not. */
  readonly upstream?: string | undefined;
  /** The clock of reads of states; default the system's. */
  readonly clock?: StateClock | undefined;
}

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

/**
 * A provider of servers of one kind. Each action is one upstream call after optional reads, without retries. It is confirmed
 * after all waits, just before it is sent. Throws a {@link ProviderError}, or what `confirm` rejects with.
 */
export interface ServerProvider<Action extends PowerAction = PowerAction> {
  power(ref: string, action: Action, options?: SendOptions): Promise<void>;
  /**
   * Reads the power state of a server. What the upstream knew more than `maxAgeMs` ago does not count: the state is
   * `unknown` if there is soon nothing newer.
   */
  readonly state: (ref: string, maxAgeMs: number) => Promise<StateReport>;
}

/** A provider of VPS. */
export type VpsProvider = ServerProvider<VpsAction>;

/** The events of a console source. */
export interface ConsoleEvents {
  /** A line of output, with ANSI codes. */
  line(text: string): void;
  status(state: GameState): void;
  /** The lines that the upstream had buffered were emitted, as far as that can be known. */
  loaded(): void;
  /** Lines may be missing here; the console continues. The reason is safe for clients. */
  gap(reason: string): void;
  /** The upstream reported an error; the console continues. The reason is safe for clients. */
  error?(reason: string): void;
  /**
   * The source has ended. With `retryAfterMs` its connection was lost, and the console may be opened again after that time;
   * without, the upstream refuses it. The reason is safe for clients.
   */
  ended(reason: string, retryAfterMs?: number): void;
}

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
  /**
   * Reads the end of the newest log file, with ANSI codes. Undefined if there is none, or the credential may not read
   * files.
   */
  latestLog(ref: string, file: string | null): Promise<string | undefined>;
  /**
   * Follows a console until its connection ends: first the lines that the upstream has buffered, unless `isResumed`, then
   * the new ones. It renews credentials before they expire. Never throws; failures are reported as events.
   */
  openConsole(ref: string, events: ConsoleEvents, isResumed?: boolean): ConsoleSource;
}

/** A system that runs servers. */
export interface Provider {
  readonly vps?: VpsProvider;
  readonly game?: GameProvider;
  /** Checks the credentials. Never throws. */
  check(): Promise<CheckResult[]>;
  /** Lists the refs of all servers that the credential reaches, where one request or a few do it; undefined if they cannot be listed. */
  readonly listRefs?: () => Promise<ReadonlySet<string> | undefined>;
  /** Called before the process ends, so that servers can start to stop. */
  drain?(): void;
  /** Stops its servers, and closes its connections. */
  close(): Promise<void>;
}
