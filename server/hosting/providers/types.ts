/** What the operator should know of a provider at start. */
export interface Finding {
  readonly level: 'info' | 'warn' | 'error';
  /** One sentence without secrets. */
  readonly message: string;
}

export type VpsAction = 'start' | 'stop' | 'reset';
export type GameAction = 'start' | 'stop' | 'restart' | 'kill';

/** Who runs VPS. Every method makes one upstream call (a look-up that changes nothing may come before it) and never repeats it. Throws a {@link ProviderError}. */
export interface VpsProvider {
  power(ref: string, action: VpsAction, deadline?: AbortSignal): Promise<void>;
}

/** The states of a game server that clients know. */
export type GameState = 'running' | 'starting' | 'stopping' | 'offline';

/** What a console source tells. */
export interface ConsoleEvents {
  /** A line of output, ANSI codes kept. */
  line(text: string): void;
  status(state: GameState): void;
  /** The source cannot say what happened from here on, until it reconnected: lines may be missing. */
  gap(reason: string): void;
  /** The upstream reports an error of its own; the reason is ours, and fit for clients. The console goes on. */
  error?(reason: string): void;
  /** The source is closed for good and will not come back; the reason is fit for clients. */
  ended(reason: string): void;
}

/** A console that is being followed, by a credential that cannot write. */
export interface ConsoleSource {
  close(): void;
}

/** Who runs game servers. Each action makes one upstream call and never repeats it. Throws a {@link ProviderError}. */
export interface GameProvider {
  power(ref: string, action: GameAction, deadline?: AbortSignal): Promise<void>;
  /** Sends a console command; the provider acknowledges it. */
  command(ref: string, command: string, deadline?: AbortSignal): Promise<void>;
  /**
   * The end of the newest log file, ANSI codes kept: more of it than a client is answered. Undefined where the credential
   * may not read files or there is none.
   */
  latestLog(ref: string, file: string | null): Promise<string | undefined>;
  /**
   * Follows a console: first the lines that the upstream still has, then the new ones. It reconnects by itself with
   * backoff, and renews what expires before it does. Never throws; what fails is told by the events.
   */
  openConsole(ref: string, events: ConsoleEvents): ConsoleSource;
}

/** An outside system that runs servers. */
export interface Provider {
  readonly vps?: VpsProvider;
  readonly game?: GameProvider;
  /** Looks at the credentials once, at start; answers what the operator should know. Never throws. */
  check(): Promise<Finding[]>;
  /** Told that this process is about to end: what it runs may begin to end as well. */
  drain?(): void;
  /** Ends what it runs or holds open. */
  close(): Promise<void>;
}
