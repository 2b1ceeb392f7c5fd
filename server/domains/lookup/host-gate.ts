/** How often a host may be asked: so many times a second in the long run, and at once after a pause. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** How long a piece of work may take. */
export interface Deadline {
  /** Aborts when the time is up. */
  readonly signal: AbortSignal;
  remainingMs(): number;
}

/** The turns at hosts that many want to ask at once. */
export interface HostGate {
  /**
   * Does a piece of work when it is its turn at a host. Undefined, and the work not begun, where the turn cannot come
   * before the deadline or the host is left alone.
   */
  run<Result>(host: string, rate: Rate, deadline: Deadline, work: () => Promise<Result>): Promise<Result | undefined>;
  /** Leaves a host alone for a while: those who wait for it are sent away, and so are those who come. */
  cool(host: string, ms: number): void;
}

interface Waiting {
  readonly deadline: Deadline;
  /** Ends the wait, and tells whether it is their turn. */
  end(go: boolean): void;
}

interface Turns {
  rate: Rate;
  /** How many may begin at once now. */
  tokens: number;
  /** When the tokens were counted last. */
  countedAt: number;
  running: number;
  coolUntil: number;
  /** Those who wait, in their order. */
  readonly waiting: Set<Waiting>;
  timer: NodeJS.Timeout | undefined;
}

/** What has less time than this left is not begun: the host would be asked for nothing. */
const shortestMs = 50;

/** Past this many hosts, those that nobody asks any more are forgotten. */
const rememberedHosts = 500;

/** Creates the gate, with so many asked at once for each host; `now` is in milliseconds. */
export function createHostGate(concurrency: number, now: () => number): HostGate {
  const hosts = new Map<string, Turns>();
  const turnsOf = (host: string, rate: Rate): Turns => {
    let turns = hosts.get(host);
    if (!turns) {
      if (hosts.size >= rememberedHosts) forgetIdle(hosts, now());
      turns = {
        rate,
        tokens: rate.burst,
        countedAt: now(),
        running: 0,
        coolUntil: 0,
        waiting: new Set(),
        timer: undefined,
      };
      hosts.set(host, turns);
    }
    turns.rate = rate;
    return turns;
  };

  /** Begins what may begin, and comes back when the next token is due. */
  const advance = (turns: Turns): void => {
    count(turns, now());
    clearTimeout(turns.timer);
    for (const waiting of turns.waiting) {
      if (turns.running >= concurrency) return;
      if (waiting.deadline.remainingMs() < shortestMs) {
        waiting.end(false);
        continue;
      }
      if (turns.tokens < 1) {
        turns.timer = setTimeout(advance, Math.ceil(msUntil(1, turns)), turns);
        return;
      }
      turns.tokens -= 1;
      turns.running += 1;
      waiting.end(true);
    }
  };

  /** Waits for the turn; answers whether it came. */
  const wait = (turns: Turns, deadline: Deadline): Promise<boolean> =>
    new Promise((resolve) => {
      const waiting: Waiting = {
        deadline,
        end(go) {
          turns.waiting.delete(waiting);
          deadline.signal.removeEventListener('abort', giveUp);
          resolve(go);
        },
      };
      const giveUp = (): void => waiting.end(false);
      deadline.signal.addEventListener('abort', giveUp);
      turns.waiting.add(waiting);
      advance(turns);
    });

  return {
    async run(host, rate, deadline, work) {
      const turns = turnsOf(host, rate);
      count(turns, now());
      // Whoever cannot begin in time is sent away at once: so no more wait than the rate lets begin in one deadline.
      const tooLate = msUntil(turns.waiting.size + 1, turns) >= deadline.remainingMs();
      if (tooLate || deadline.signal.aborted || now() < turns.coolUntil) return undefined;
      if (!(await wait(turns, deadline))) return undefined;
      try {
        return await work();
      } finally {
        turns.running -= 1;
        advance(turns);
      }
    },
    cool(host, ms) {
      const turns = hosts.get(host);
      if (!turns) return;
      turns.coolUntil = Math.max(turns.coolUntil, now() + ms);
      for (const waiting of turns.waiting) waiting.end(false);
    },
  };
}

function count(turns: Turns, at: number): void {
  const earned = ((at - turns.countedAt) / 1000) * turns.rate.perSecond;
  turns.tokens = Math.min(turns.rate.burst, turns.tokens + earned);
  turns.countedAt = at;
}

/** How long it takes until there are so many tokens. */
function msUntil(tokens: number, turns: Turns): number {
  return Math.max(0, ((tokens - turns.tokens) / turns.rate.perSecond) * 1000);
}

function forgetIdle(hosts: Map<string, Turns>, at: number): void {
  for (const [host, turns] of hosts) {
    count(turns, at);
    const busy = turns.running > 0 || turns.waiting.size > 0 || turns.tokens < turns.rate.burst;
    if (!busy && at >= turns.coolUntil) hosts.delete(host);
  }
}
