import type { ServerName } from '#contract/api-keys.ts';
import type { CheckAccess } from '../../keys/access.ts';
import type { AccessWatch, WatchedStream } from './access.ts';
import type { Outlet, Seat } from './channel.ts';
import type { Cancel, Clock } from './clock.ts';
import { toFrames, toMessage } from './frame.ts';
import type { StreamEvent } from './frame.ts';
import { parseMessage, toCommand } from './message.ts';
import type { ClientMessage } from './message.ts';
import { closeCodes } from './socket.ts';
import type { ClientSocket } from './socket.ts';
import type { StreamGrant, StreamTokens } from './token.ts';
import { createTokenBucket } from '../../token-bucket.ts';

/** What a session is made of. */
export interface SessionOptions {
  readonly socket: ClientSocket;
  readonly server: ServerName;
  readonly clock: Clock;
  readonly tokens: StreamTokens;
  readonly checkAccess: CheckAccess;
  readonly watch: AccessWatch;
  readonly join: (outlet: Outlet) => Seat;
  /** Takes a place among the streams of a key; false where it has too many. */
  readonly admit: (keyId: string) => boolean;
  /** Called once, when the session is over; with its key, if it was admitted. */
  readonly left: (keyId: string | undefined) => void;
  readonly sendCommand: (keyId: string, command: string) => Promise<void>;
  /** What the client is told of a failure. */
  readonly describe: (error: unknown) => string;
}

/** One client's stream. */
export interface Session {
  /** A frame came in; undefined stands for a binary one. */
  message(text: string | undefined): void;
  /** A ping or pong came in. */
  control(): void;
  /** The connection takes more again. */
  drained(): void;
  /** The connection is gone. */
  closed(): void;
  end(code: number, reason: string): void;
  /** The API key, once it was proved. */
  keyId(): string | undefined;
}

const authDeadlineMs = 10_000;
const maxBadTokens = 5;
const expiringMs = 60_000;
const expiredMs = 30_000;
const historyIntervalMs = 1000;

/** What people type, and what clients send when they come back, fits many times. */
const messageRate = { name: 'messages', rps: 5, burst: 20 };

/** Whoever is refused this often goes on regardless, and costs more than a connection is worth. */
const maxRefused = 1000;

/** Messages that may wait for a slow store or provider, each of at most 16 KiB. */
const maxWaiting = 32;

/** Output stops far below: only answers to a client that writes and never reads come to this. */
const maxBuffered = 1024 * 1024;

/** Creates the session of a connection that was just opened. */
export function createSession(options: SessionOptions): Session {
  const { socket, server, clock, tokens, checkAccess, watch, join, admit, left, sendCommand, describe } = options;
  const bucket = createTokenBucket(messageRate, () => clock.now());
  let refused = 0;
  let grant: StreamGrant | undefined;
  let seat: Seat | undefined;
  let watched: WatchedStream | undefined;
  let access: 'ok' | 'read_only' = 'ok';
  let expired = false;
  let ended = false;
  let badTokens = 0;
  let waiting = 0;
  let historyAt = Number.NEGATIVE_INFINITY;
  let timer: Cancel = clock.after(authDeadlineMs, () => end(closeCodes.unauthenticated, 'no token came in time'));

  const reply = (event: StreamEvent, ...args: string[]): void => {
    if (ended) return;
    if (socket.bufferedAmount() > maxBuffered) socket.terminate();
    else socket.send(toFrames([toMessage(event, ...args)]));
  };
  const release = (): void => {
    ended = true;
    timer();
    seat?.leave();
    if (watched) watch.remove(watched);
    left(watched?.keyId);
  };
  const end = (code: number, reason: string): void => {
    if (ended) return;
    release();
    socket.close(code, reason);
  };
  const waitUntil = (at: number, run: () => void): void => {
    timer();
    timer = clock.after(Math.max(0, at - clock.now()), run);
  };

  /** Runs jobs one after the other; what they throw is told to the client. */
  const createLane = (): ((job: () => Promise<void> | void) => void) => {
    let last = Promise.resolve();
    return (job) => {
      waiting += 1;
      last = last
        .then(() => (ended ? undefined : job()))
        .catch((error: unknown) => reply('daemon error', describe(error)))
        .finally(() => (waiting -= 1));
    };
  };
  const messages = createLane();
  // Apart from the messages, so that a provider that is slow to take a command does not hold up a renewal.
  const commands = createLane();

  const refuseToken = (reason: string): void => {
    badTokens += 1;
    reply('jwt error', reason);
    if (badTokens >= maxBadTokens) end(closeCodes.unauthenticated, 'too many tokens were refused');
  };
  const authenticate = async (token: unknown): Promise<void> => {
    const proved = typeof token === 'string' ? await tokens.verify(token) : 'invalid';
    if (proved === 'invalid') return refuseToken('The token is not valid');
    if (proved === 'expired') return refuseToken('The token has expired');
    if (proved.server !== server) return refuseToken('The token is for another server');
    if (grant && proved.keyId !== grant.keyId) return refuseToken('The token is for another API key');
    const allowed = await checkAccess(proved.keyId, server, proved.mode);
    if (ended) return;
    if (allowed === 'denied') return end(closeCodes.revoked, 'access was revoked');
    if (!watched && !admit(proved.keyId)) {
      reply('daemon error', 'This API key has too many open console streams');
      return end(closeCodes.overload, 'too many streams');
    }
    access = allowed;
    accept(proved);
  };
  const accept = (proved: StreamGrant): void => {
    const { keyId, issuedAt, expiresAt } = proved;
    grant = proved;
    expired = false;
    badTokens = 0;
    waitUntil(Math.max(expiresAt - expiringMs, issuedAt + (expiresAt - issuedAt) * 0.75), () => {
      reply('token expiring');
      waitUntil(expiresAt, expire);
    });
    reply('auth success');
    if (!watched) {
      watched = {
        keyId,
        server,
        mode: () => grant!.mode,
        allow: (now) => (access = now),
        deny: () => end(closeCodes.revoked, 'access was revoked'),
        lapse: () => end(closeCodes.overload, 'access could not be checked'),
      };
      watch.add(watched);
    }
    if (seat) seat.pump();
    else seat = join({ ready: () => !ended && !expired && !socket.isFull(), send: (frames) => socket.send(frames) });
  };
  const expire = (): void => {
    expired = true;
    reply('token expired');
    waitUntil(clock.now() + expiredMs, () => end(closeCodes.expired, 'the token expired'));
  };

  const sendHistory = (): void => {
    const now = clock.now();
    if (now - historyAt < historyIntervalMs) {
      reply('daemon error', 'The history is sent at most once a second');
      return;
    }
    historyAt = now;
    seat?.sendHistory();
  };
  const mayWrite = (): boolean => grant?.mode === 'read_write' && access === 'ok' && !expired;
  const run = async (command: string): Promise<void> => {
    // A command counts as a request: a key that was revoked a moment ago is refused, not in 2 s.
    const allowed = await checkAccess(grant!.keyId, server, 'read_write');
    if (ended) return;
    if (allowed === 'denied') end(closeCodes.revoked, 'access was revoked');
    else if (allowed === 'read_only' || !mayWrite()) reply('permission denied', 'send command');
    else await sendCommand(grant!.keyId, command);
  };
  const handle = ({ event, args }: ClientMessage): Promise<void> | void => {
    if (event === 'auth') return authenticate(args[0]);
    if (event === 'send logs' && grant && !expired) return sendHistory();
    if (event !== 'send command' || !mayWrite()) return reply('permission denied', event);
    const command = toCommand(args);
    if (command === undefined) reply('daemon error', 'A command has 1 to 1,024 characters and no control characters');
    else commands(() => run(command));
  };

  /** Whether what came in is within the rate; what is over it is dropped, and the client told so once. */
  const isWithinRate = (): boolean => {
    const verdict = bucket.consume('');
    // The bucket was full before this one.
    if (verdict.left === messageRate.burst - 1) refused = 0;
    if (verdict.allowed) return true;
    refused += 1;
    if (refused === 1) reply('daemon error', 'Too many messages: some were dropped');
    if (refused > maxRefused) end(closeCodes.abuse, 'too many messages');
    return false;
  };
  return {
    message(text) {
      if (ended || !isWithinRate()) return;
      const message = text === undefined ? undefined : parseMessage(text);
      if (!message)
        reply('daemon error', 'A message must be a JSON text of the form {"event": "...", "args": ["..."]}');
      else if (waiting >= maxWaiting) reply('daemon error', 'Too many messages are waiting: one was dropped');
      else messages(() => handle(message));
    },
    control() {
      if (!ended) isWithinRate();
    },
    drained: () => seat?.pump(),
    closed() {
      if (!ended) release();
    },
    end,
    keyId: () => watched?.keyId,
  };
}
