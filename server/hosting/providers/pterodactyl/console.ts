import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../../upstream/client.ts';
import type { Logger } from '../../../log.ts';
import { readGrant } from './grant.ts';
import type { Grant } from './grant.ts';
import { followSocket, tellGap } from './session.ts';
import type { ConsoleTimings, Following, Memory } from './session.ts';
import { createTokenBucket } from '../../../token-bucket.ts';
import type { TokenBucket } from '../../../token-bucket.ts';
import { notAvailable } from '../../../upstream/reply.ts';
import type { ConsoleEvents, ConsoleSource } from '../types.ts';

/** The consoles of a panel. */
export interface ConsoleDoor {
  /** Follows the console of the server at a path of the panel's API; undefined ends it at once. */
  open(ref: string, path: string | undefined, events: ConsoleEvents): ConsoleSource;
  /** Ends all consoles, and opens none from now on: the credential turned out to be more than read-only. */
  lock(): void;
  /** Ends all consoles without a word. */
  close(): void;
}

const usualTimings: ConsoleTimings = {
  pingMs: 30_000,
  authMs: 15_000,
  throttleMs: 5500,
  backoffMs: 1000,
  longestBackoffMs: 60_000,
  quietMs: 15_000,
  windowMs: 60_000,
};

/** What consoles need. */
export interface ConsoleDoorOptions {
  /** Of the read-only credential, and no other; undefined where there is none. */
  readonly client: Client | undefined;
  readonly origin: string;
  readonly log: Logger;
  readonly timings?: Partial<ConsoleTimings> | undefined;
}

/**
 * A panel gives 5 tokens a minute for a server, to all its users together. Three at once and two more a minute are never
 * more than four in any minute: the fifth is the owner's, or a renewal's. Renewals are not counted: stock tokens need
 * one in 8 minutes, and a panel with shorter ones has other limits too.
 */
const attempts = { burst: 3, perWindow: 2 };

/** Creates the door to a panel's consoles. */
export function createConsoleDoor({ client, origin, log, timings: changes }: ConsoleDoorOptions): ConsoleDoor {
  const timings = { ...usualTimings, ...changes };
  const rps = (attempts.perWindow * 1000) / timings.windowMs;
  const budget = createTokenBucket({ name: 'panel', rps, burst: attempts.burst });
  const open = new Map<AbortController, ConsoleEvents>();
  let locked = false;

  const end = (abort: AbortController, reason: string): void => {
    const events = open.get(abort);
    if (!open.delete(abort)) return;
    abort.abort();
    events?.ended(reason);
  };
  return {
    open(ref, path, events) {
      const abort = new AbortController();
      open.set(abort, events);
      const run = async (): Promise<void> => {
        try {
          const options = { origin, timings, budget, events, signal: abort.signal, log: log.child({ ref }) };
          const ready = !locked && client && path !== undefined;
          end(abort, ready ? await follow({ client, path, ...options }) : notAvailable);
        } catch (error) {
          if (abort.signal.aborted) return;
          log.error({ err: error, ref }, 'a console failed');
          end(abort, notAvailable);
        }
      };
      // Later, as nobody expects an event before this returned.
      setImmediate(() => !abort.signal.aborted && void run());
      return {
        close() {
          open.delete(abort);
          abort.abort();
        },
      };
    },
    lock() {
      locked = true;
      for (const abort of open.keys()) end(abort, notAvailable);
    },
    close() {
      locked = true;
      for (const abort of open.keys()) abort.abort();
      open.clear();
    },
  };
}

/** Follows a console through all its sockets until it is over for good, and answers why. Throws when it is aborted. */
async function follow(following: Following & { readonly budget: TokenBucket }): Promise<string> {
  const { client, path, timings, budget, signal, log } = following;
  const memory: Memory = { gapTold: false, linesAsked: false, failures: 0 };
  let grant: Grant | undefined;
  for (;;) {
    if (!grant) {
      for (let turn = await budget.consume(path); !turn.allowed; turn = await budget.consume(path)) {
        tellGap(following, memory, 'the console has to wait');
        await sleep(turn.waitMs, undefined, { signal });
      }
      grant = await readGrant(client, path);
      signal.throwIfAborted();
    }
    const ending = grant.kind === 'granted' ? await followSocket(following, grant, memory) : grant;
    signal.throwIfAborted();
    if (ending.kind === 'refused') {
      // What is not the server's state is a mistake in our set-up.
      log[ending.reason === notAvailable ? 'error' : 'info']({ detail: ending.detail }, 'a console was refused');
      return ending.reason;
    }
    // At the loss and not at the return: who reads along must not take silence for peace.
    tellGap(following, memory, 'the connection to the console was lost');
    grant = ending.kind === 'moved' ? ending.grant : undefined;
    if (ending.kind === 'moved') continue;
    memory.failures += 1;
    log.warn({ detail: ending.detail, failures: memory.failures }, 'a console was lost');
    const backoff = Math.min(timings.backoffMs * 2 ** (memory.failures - 1), timings.longestBackoffMs);
    // Jitter: when a node restarts, all its consoles are lost in the same second.
    const wait = Math.max(backoff * (0.5 + Math.random() / 2), ending.retryAfterMs);
    await sleep(wait, undefined, { signal });
  }
}
