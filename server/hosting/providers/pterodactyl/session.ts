import type { Client } from '../../../upstream/client.ts';
import type { Logger } from '../../../log.ts';
import { readGrant, toRenewal } from './grant.ts';
import type { Grant } from './grant.ts';
import { openSocket } from './socket.ts';
import type { SocketEnd } from './socket.ts';
import { notAvailable } from '../../../upstream/reply.ts';
import type { ConsoleEvents, GameState } from '../types.ts';

/** How long things take; the defaults are for Wings. */
export interface ConsoleTimings {
  readonly pingMs: number;
  /** The answer to `auth`. */
  readonly authMs: number;
  /** Until an `auth` that Wings throttled, as it takes one in 5 s, is sent again. */
  readonly throttleMs: number;
  /** The first wait before a new attempt; it doubles up to the longest. */
  readonly backoffMs: number;
  readonly longestBackoffMs: number;
  /**
   * How long after an `auth` a hint that the token is about to end is passed over: Wings gives it again and again for a
   * token that lives short, or where its clock is ahead, and each would cost one of the panel's few tokens.
   */
  readonly quietMs: number;
  /** The window of the panel's limit of tokens. */
  readonly windowMs: number;
}

/** A console that is being followed. */
export interface Following {
  readonly client: Client;
  readonly path: string;
  readonly origin: string;
  readonly timings: ConsoleTimings;
  readonly events: ConsoleEvents;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

type Granted = Extract<Grant, { kind: 'granted' }>;

/** Why a session is over: for good, for now, or as the server is on another node now. */
export type SessionEnd = Exclude<Grant, Granted> | { readonly kind: 'moved'; readonly grant: Granted };

/** What outlives a session. */
export interface Memory {
  /** Whether the reader knows that lines may be missing, and has got none since. */
  gapTold: boolean;
  /** Whether the lines from before were asked for: once, as they cannot be told from those that came since. */
  linesAsked: boolean;
  /** Sessions in a row that came to nothing. */
  failures: number;
}

/** Says that lines may be missing, unless that was said and none has come since. */
export function tellGap({ events }: Following, memory: Memory, reason: string): void {
  if (!memory.gapTold) events.gap(reason);
  memory.gapTold = true;
}

const states = new Set<string>(['running', 'starting', 'stopping', 'offline'] satisfies GameState[]);

/** Follows a console through one socket, with as many tokens as it takes. Never throws. */
export function followSocket(following: Following, first: Granted, memory: Memory): Promise<SessionEnd> {
  const { client, path, origin, timings, events, signal } = following;
  const { promise, resolve } = Promise.withResolvers<SessionEnd>();
  const timers: Partial<Record<'auth' | 'again' | 'renewal', NodeJS.Timeout | undefined>> = {};
  /** The token that was sent and not yet accepted. */
  let pending: Granted | undefined;
  let accepted = false;
  /** Whether a new token is asked for, or must not be asked for yet. */
  let renewal: 'idle' | 'asking' | 'waiting' = 'idle';
  let validUntil = 0;
  /** Until then a hint to renew is not heeded. */
  let quietUntil = 0;
  let over = false;

  const finish = (end: SessionEnd): void => {
    if (over) return;
    over = true;
    for (const timer of Object.values(timers)) clearTimeout(timer);
    signal.removeEventListener('abort', abort);
    socket.end();
    resolve(end);
  };
  const abort = (): void => finish(lost('closed'));
  const authenticate = (grant: Granted): void => {
    pending = grant;
    validUntil = performance.now() + grant.lifeMs;
    quietUntil = performance.now() + Math.min(timings.quietMs, grant.lifeMs / 2);
    timers.auth = setTimeout(() => finish(lost('no answer to auth')), timings.authMs);
    socket.send('auth', [grant.token]);
  };
  /** Until it is answered or given up: Wings tells only the first in a row of the `auth` that it drops. */
  const authenticateAgain = (): void => {
    timers.again ??= setTimeout(() => {
      timers.again = undefined;
      if (!pending) return;
      socket.send('auth', [pending.token]);
      authenticateAgain();
    }, timings.throttleMs);
  };
  const accept = (): void => {
    if (!pending) return;
    pending = undefined;
    accepted = true;
    clearTimeout(timers.auth);
    clearTimeout(timers.again);
    timers.again = undefined;
    memory.gapTold = false;
    memory.failures = 0;
    if (!memory.linesAsked) socket.send('send logs', []);
    memory.linesAsked = true;
    timers.renewal = setTimeout(() => void renew(), toRenewal(validUntil - performance.now()));
  };
  const renew = async (): Promise<void> => {
    if (renewal !== 'idle' || pending || over) return;
    renewal = 'asking';
    clearTimeout(timers.renewal);
    const grant = await readGrant(client, path);
    if (over) return;
    renewal = 'idle';
    const left = validUntil - performance.now();
    if (grant.kind === 'granted' && grant.url === first.url) authenticate(grant);
    else if (grant.kind === 'granted') finish({ kind: 'moved', grant });
    else if (grant.kind === 'refused' || memory.gapTold || left <= 0) finish(grant);
    else {
      renewal = 'waiting';
      const wait = Math.max(grant.retryAfterMs, Math.min(left / 4, 15_000), 250);
      timers.renewal = setTimeout(() => {
        renewal = 'idle';
        void renew();
      }, wait);
    }
  };
  /** An answer to `auth`, or what Wings sends in the place of a line once the token is over. */
  const refuse = (reason: string): void => {
    tellGap(following, memory, 'the credential of the console had to be renewed');
    const isOver = accepted && !reason.includes('Error Event') && /exp|^$/.test(reason);
    if (reason.includes('connect permission')) finish({ kind: 'refused', reason: notAvailable, detail: reason });
    // While a renewal has to wait too: the panel is asked again by the rules of a lost connection, not of each line.
    else if (!isOver || renewal === 'waiting') finish(lost(reason));
    else void renew();
  };
  const hear = (event: string, args: readonly string[]): void => {
    const [text = ''] = args;
    switch (event) {
      case 'auth success':
        return accept();
      case 'console output':
      case 'daemon message':
        return events.line(text);
      case 'status':
        return states.has(text) ? events.status(text as GameState) : undefined;
      case 'token expiring':
        if (performance.now() >= quietUntil) void renew();
        return;
      case 'token expired':
        return refuse('');
      case 'jwt error':
        return refuse(text);
      case 'daemon error':
        // The answer to a token with a bad signature too, which has no jwt error.
        return accepted ? events.error?.('the game panel reported an error') : finish(lost(event));
      case 'deleted':
        return finish({ kind: 'refused', reason: 'the server was deleted', detail: event });
      case 'throttled':
        if (pending && text === 'auth') authenticateAgain();
    }
  };
  const socket = openSocket(first.url, origin, timings.pingMs, {
    opened: () => authenticate(first),
    message: (event, args) => over || hear(event, args),
    closed: (end) => finish(toSessionEnd(end)),
  });
  signal.addEventListener('abort', abort);
  return promise;
}

function lost(detail: string): SessionEnd {
  return { kind: 'failed', retryAfterMs: 0, detail };
}

/** Wings closes with 4409 on a suspended server, and keeps 4400 for the like (pterodactyl/panel#5464). */
function toSessionEnd({ code, status }: SocketEnd): SessionEnd {
  const detail = status === undefined ? `closed with ${code}` : `the handshake was answered with ${status}`;
  if (code === 4409 || code === 4400) return { kind: 'refused', reason: 'the server is suspended', detail };
  if (status === 409) return { kind: 'refused', reason: 'the server is not available', detail };
  // An Origin that Wings does not know.
  if (status === 403) return { kind: 'refused', reason: notAvailable, detail };
  return lost(detail);
}
