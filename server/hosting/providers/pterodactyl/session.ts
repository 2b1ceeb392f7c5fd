import { WebSocket } from 'ws';
import { z } from 'zod';
import { unknownStats } from '#contract/console-stream.ts';
import type { ConsoleStats } from '#contract/console-stream.ts';
import type { Logger } from '../../../log.ts';
import { withTimeout } from '../../../timeout.ts';
import type { RateLimitResult } from '../../../token-bucket.ts';
import type { Reply } from '../../../upstream/client.ts';
import { ForeignInt, ForeignNumber, parseJson } from '../../../upstream/client.ts';
import type { ReadClient } from '../../../upstream/reads.ts';
import { isLoopback } from '../../../upstream/address.ts';
import { notAvailable } from '../types.ts';
import { Permissions, canWrite } from './answers.ts';
import type { ConsoleEvents, GameState, StateReport } from '../types.ts';

/** The timings of a panel session, in milliseconds. */
export const defaultTimings = {
  pingMs: 30_000,
  authMs: 15_000,
  /** The delay before a throttled `auth` is repeated. Wings allows one in 5 s. */
  throttleMs: 5500,
  /** The wait for the backlog. Wings does not mark its end; most of it arrives within a round trip. */
  loadMs: 500,
  statsMs: 3000,
  /** Ignore expiry warnings this long after an `auth`: Wings repeats them, and panels limit tokens. */
  quietMs: 15_000,
  /** The window of the panel's rate limit of tokens. */
  windowMs: 60_000,
};
export type ConsoleTimings = Readonly<typeof defaultTimings>;

/** The panel caches a node's answer this long; polling faster returns the same data. */
export const resourcesMs = 20_000;

/** One connection to the console of a server in a panel. */
export type PanelSession = ReturnType<typeof openPanelSession>;

/** A token of the panel, and the address of the socket. */
interface SocketToken {
  readonly url: string;
  readonly token: string;
  readonly lifeMs: number;
}

/** Events sent to Wings. A read-only credential is enough for all of them. */
type WingsRequest = 'auth' | 'send logs' | 'send stats';

type Timer = 'auth' | 'throttle' | 'renewal' | 'load';

/** Statistics of a running server are stale after this time. */
const staleMs = 10_000;
/** A connection is trusted for this long without traffic: one ping, and some time for the pong. */
const silenceMs = 35_000;
/** Wings truncates lines at 64 KiB (system/utils.go); in JSON, a byte takes at most six. */
const maxPayload = 1024 * 1024;

const lostGap = 'the connection to the console was lost';
const renewalGap = 'the credential of the console had to be renewed';

const WingsMessage = z.object({ event: z.string(), args: z.array(z.string()).nullish() });

/** Panel states that are power states. Others are Docker's, or Pelican's `missing`: an unreachable node. */
export const WingsState = z.enum(['running', 'starting', 'stopping', 'offline'] satisfies GameState[]);

/** Opens a console: fetches a token, opens the socket, and renews the token. */
export function openPanelSession(options: {
  readonly client: ReadClient;
  readonly path: string;
  /** Takes a token request from the server's budget. Renewals are free. */
  readonly consume: () => RateLimitResult | Promise<RateLimitResult>;
  readonly origin: string;
  readonly timings: ConsoleTimings;
  readonly events: ConsoleEvents;
  /** Do not ask for the backlog again: replayed lines look like new ones. */
  readonly isResumed: boolean;
  readonly leave: () => void;
  readonly log: Logger;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
}) {
  const { client, path, consume, origin, timings, events, isResumed, leave, log, now } = options;
  const timers = new Map<string, NodeJS.Timeout>();
  let nextStats = Promise.withResolvers<void>();
  /** After `live`, the next token is requested (`renewing`), awaits a retry (`deferred`), or is sent. */
  let stage: 'opening' | 'authenticating' | 'live' | 'renewing' | 'deferred' | 'reauthenticating' | 'ended' = 'opening';
  let websocket: WebSocket | undefined;
  let current: SocketToken;
  let sentAt = 0;
  /** The token has expired: Wings drops lines, and the gap is reported. */
  let losesLines = false;
  /** The last statistics. Those of an offline server never become stale. */
  let last: (z.output<typeof WingsStats> & { readonly at: number }) | undefined;
  /** The last status; undefined after a gap, which may have swallowed a newer one. */
  let status: { readonly state: GameState; readonly changedAt: number } | undefined;
  /** The last message or pong from Wings; `date` is in milliseconds since 1970. */
  let traffic = { at: -Infinity, date: 0 };

  const isEnded = (): boolean => stage === 'ended';
  const isAuthenticating = (): boolean => stage === 'authenticating' || stage === 'reauthenticating';
  const clearTimer = (timer: Timer): void => {
    clearTimeout(timers.get(timer));
    timers.delete(timer);
  };
  /** Runs after pending socket reads: Node fires timers before I/O, so a busy loop would time out arrived data. */
  const setTimer = (timer: Timer, ms: number, run: () => void): void => {
    clearTimer(timer);
    const runIfCurrent = (): void => {
      if (timers.get(timer) === started) run();
    };
    const started = setTimeout(() => setImmediate(runIfCurrent), ms);
    timers.set(timer, started);
  };
  const send = (event: WingsRequest, ...args: readonly string[]): void => {
    if (websocket?.readyState === WebSocket.OPEN) websocket.send(JSON.stringify({ event, args }));
  };
  const end = (reason?: string, retryAfterMs?: number): void => {
    if (isEnded()) return;
    stage = 'ended';
    clearImmediate(starting);
    for (const timer of timers.values()) clearTimeout(timer);
    timers.clear();
    const closing = websocket?.removeAllListeners().on('error', () => undefined);
    closing?.close();
    setTimeout(() => closing?.terminate(), 1000).unref();
    nextStats.resolve();
    leave();
    if (reason !== undefined) events.ended(reason, retryAfterMs);
  };
  /** Ends permanently. Anything but a server-state refusal means our config is wrong, so log it as an error. */
  const refuse = (reason: string, detail: string): void => {
    log[reason === notAvailable ? 'error' : 'info']({ detail }, 'a console was refused');
    end(reason);
  };
  const lose = (detail: string, reason = lostGap, retryAfterMs = 0): void => {
    log.warn({ detail }, 'a console was lost');
    end(reason, retryAfterMs);
  };

  /** Requests a token. Calls `onFailure` if a retry may help, and ends the session if not. */
  const requestToken = async (onFailure: (detail: string, retryAfterMs: number) => void) => {
    // Not retried: each request takes one of the panel's few tokens.
    const request = client.request('GET', `${path}/websocket`, { retry: false });
    const reply = await request.catch((error: unknown) => String((error as Error).cause ?? error));
    if (isEnded()) return undefined;
    if (typeof reply === 'string') {
      onFailure(reply, 0);
      return undefined;
    }
    const detail = reply.describe();
    const answer = reply.status === 200 ? parseJson(reply.text, TokenReply)?.data : undefined;
    const isOwn = reply.sender !== 'proxy';
    if (reply.status === 409 && isOwn) refuse('the server is not available', detail);
    // Wrong key, missing permission or unknown server: a retry does not help.
    else if ([401, 403, 404].includes(reply.status) && isOwn) refuse(notAvailable, detail);
    else if (!answer) onFailure(detail, reply.status === 429 ? toRetryAfter(reply) : 0);
    else {
      const payload = Buffer.from(answer.token.split('.')[1] ?? '', 'base64url').toString('utf8');
      const claims = parseJson(payload, TokenClaims);
      if (!claims || canWrite(claims.permissions)) {
        refuse(notAvailable, `${detail}, with a token that may do more than read, or whose permissions are unreadable`);
      } else if (!isSocketUrl(answer.socket)) refuse(notAvailable, `${detail}, with a socket that is not wss://`);
      else return { url: answer.socket, token: answer.token, lifeMs: toLife(claims, Date.now()) };
    }
    return undefined;
  };
  const onTraffic = (): void => {
    traffic = { at: now(), date: Date.now() };
  };
  const start = async (): Promise<void> => {
    const { allowed, waitMs } = await consume();
    if (isEnded()) return;
    if (!allowed) return end('the console has to wait', waitMs);
    const first = await requestToken((detail, retryAfterMs) => lose(detail, lostGap, retryAfterMs));
    if (first) connect(first);
  };
  /** Opens the socket, and pings it: proxies close silent connections. */
  const connect = (first: SocketToken): void => {
    const limits = { maxPayload, perMessageDeflate: false, handshakeTimeout: 10_000, followRedirects: false };
    // Wings requires the Origin of the panel.
    const opened = new WebSocket(first.url, { origin, ...limits });
    let isAlive = true;
    let answered: number | undefined;
    websocket = opened;
    timers.set(
      'ping',
      setInterval(() => {
        if (!isAlive) opened.terminate();
        else if (opened.readyState === WebSocket.OPEN) {
          isAlive = false;
          opened.ping();
        }
      }, timings.pingMs),
    );
    opened.on('open', () => authenticate('authenticating', first));
    opened.on('pong', () => {
      isAlive = true;
      onTraffic();
    });
    opened.on('unexpected-response', (_, response) => {
      answered = response.statusCode;
      opened.terminate();
    });
    opened.on('message', (data, isBinary) => {
      const message = isBinary ? undefined : parseJson((data as Buffer).toString('utf8'), WingsMessage);
      if (message) onMessage(message.event, message.args?.[0] ?? '');
      onTraffic();
    });
    opened.on('close', (code) => onClose(code, answered));
    // `close` always follows.
    opened.on('error', () => undefined);
  };
  const authenticate = (next: 'authenticating' | 'reauthenticating', token: SocketToken): void => {
    stage = next;
    current = token;
    sentAt = performance.now();
    setTimer('auth', timings.authMs, () => lose('no answer to auth'));
    send('auth', token.token);
  };
  /** Repeats `auth` until an answer or a timeout: Wings reports only the first `auth` that it drops. */
  const awaitThrottle = (): void =>
    setTimer('throttle', timings.throttleMs, () => {
      awaitThrottle();
      send('auth', current.token);
    });
  const onAccepted = (): void => {
    const isFirst = stage === 'authenticating';
    stage = 'live';
    losesLines = false;
    clearTimer('auth');
    clearTimer('throttle');
    setTimer('renewal', toRenewal(sentAt + current.lifeMs - performance.now()), () => void renew());
    if (isFirst && !isResumed) {
      send('send logs');
      setTimer('load', timings.loadMs, () => events.loaded());
    }
    // Wings pushes statistics only while the server runs.
    send('send stats');
  };

  const renew = async (): Promise<void> => {
    stage = 'renewing';
    clearTimer('renewal');
    const next = await requestToken(deferRenewal);
    if (next?.url === current.url) authenticate('reauthenticating', next);
    else if (next) lose('the server has moved to another node');
  };
  /** Retries a failed renewal while the current token is valid and no lines are lost. */
  const deferRenewal = (detail: string, retryAfterMs: number): void => {
    const leftMs = sentAt + current.lifeMs - performance.now();
    if (losesLines || leftMs <= 0) return lose(detail, lostGap, retryAfterMs);
    stage = 'deferred';
    setTimer('renewal', Math.max(retryAfterMs, Math.min(leftMs / 4, 15_000), 250), () => void renew());
  };
  const reportLinesLost = (): void => {
    if (losesLines) return;
    losesLines = true;
    status = undefined;
    events.gap(renewalGap);
  };
  /** Renews the token when Wings warns of its expiry, unless it was sent just now. */
  const onExpiring = (): void => {
    const isQuiet = performance.now() - sentAt < Math.min(timings.quietMs, current.lifeMs / 2);
    if (stage === 'live' && !isQuiet) void renew();
  };
  const onExpired = (detail: string): void => {
    if (stage === 'authenticating' || stage === 'deferred') return lose(detail, renewalGap);
    reportLinesLost();
    if (stage === 'live') void renew();
  };
  /** Handles a `jwt error`: the answer to `auth`, or a replacement for each line after the expiry. */
  const onTokenError = (detail: string): void => {
    if (detail.includes('connect permission')) {
      reportLinesLost();
      refuse(notAvailable, detail);
    } else if (!detail.includes('Error Event') && /exp|^$/.test(detail)) onExpired(detail);
    else lose(detail, renewalGap);
  };
  const onMessage = (event: string, text: string): void => {
    const { data: state } = event === 'status' ? WingsState.safeParse(text) : {};
    if (event === 'console output' || event === 'daemon message') events.line(text);
    else if (state) {
      status = { state, changedAt: now() };
      events.status(state);
    } else if (event === 'stats') onStats(text);
    else if (event === 'auth success' && isAuthenticating()) onAccepted();
    else if (event === 'throttled' && text === 'auth' && isAuthenticating()) awaitThrottle();
    else if (event === 'token expiring') onExpiring();
    else if (event === 'token expired') onExpired(event);
    else if (event === 'jwt error') onTokenError(text);
    else if (event === 'deleted') refuse('the server was deleted', event);
    // Wings answers a token with a bad signature like this, not with a jwt error.
    else if (event === 'daemon error' && stage === 'authenticating') lose(event);
    else if (event === 'daemon error') events.error?.('the game panel reported an error');
  };
  const onStats = (text: string): void => {
    const stats = parseJson(text, WingsStats);
    if (!stats) return;
    last = { ...stats, at: performance.now() };
    nextStats.resolve();
    nextStats = Promise.withResolvers();
  };
  const onClose = (code: number, answered: number | undefined): void => {
    const detail = answered === undefined ? `closed with ${code}` : `the handshake was answered with ${answered}`;
    // Wings closes the sockets of a suspended server with 4409 or 4400 (pterodactyl/panel#5464).
    if (code === 4409 || code === 4400) refuse('the server is suspended', detail);
    else if (answered === 409) refuse('the server is not available', detail);
    // Wings does not allow the Origin.
    else if (answered === 403) refuse(notAvailable, detail);
    else lose(detail);
  };
  const currentStats = (): ConsoleStats | undefined => {
    const isCurrent = last && (last.isOffline || performance.now() - last.at < staleMs);
    return isCurrent && !isEnded() ? last?.stats : undefined;
  };

  // Deferred: the caller must get its return value before the first event.
  const starting = setImmediate(() => void start());
  return {
    /** Ends the session with an event; `close` ends it without one. */
    refuse: (reason: string): void => end(reason),
    close: (): void => end(),
    /** State known from the console: changed after `after`, or confirmed since. */
    state(after: number): StateReport | undefined {
      if (!status || now() - traffic.at > silenceMs) return undefined;
      const counts = status.changedAt > after || traffic.at > after + resourcesMs;
      return counts ? { state: status.state, checkedAt: traffic.date } : undefined;
    },
    async stats(): Promise<ConsoleStats> {
      if (!currentStats() && !isEnded()) {
        if (stage !== 'opening' && stage !== 'authenticating') send('send stats');
        await withTimeout(nextStats.promise, timings.statsMs, () => undefined);
      }
      return currentStats() ?? unknownStats;
    },
  };
}

const TokenReply = z.object({ data: z.object({ token: z.string().min(1), socket: z.string() }) });
const TokenClaims = z.object({
  exp: ForeignNumber.optional().catch(undefined),
  iat: ForeignNumber.optional().catch(undefined),
  permissions: Permissions,
});

/** The lifetime of a token, fixed in the code of panels. */
const defaultLifeMs = 600_000;

/** Computes the remaining lifetime of a new token. */
function toLife({ exp, iat }: Pick<z.infer<typeof TokenClaims>, 'exp' | 'iat'>, now: number): number {
  if (exp === undefined) return defaultLifeMs;
  if (iat === undefined) return exp * 1000 > now ? exp * 1000 - now : defaultLifeMs;
  const age = now - iat * 1000;
  // An implausible age means that the clocks differ.
  return (exp - iat) * 1000 - (age > 0 && age < 5000 ? age : 0);
}

/** Computes the delay of a renewal: 2 minutes before the expiry, or half of a short lifetime. */
export function toRenewal(lifeMs: number): number {
  return Math.max(lifeMs > 240_000 ? lifeMs - 120_000 : lifeMs / 2, 250);
}

function toRetryAfter({ headers }: Reply): number {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Math.min(Number.isInteger(seconds) && seconds >= 0 ? seconds : 60, 600) * 1000;
}

function isSocketUrl(text: string): boolean {
  const url = URL.parse(text);
  if (!url || url.username || url.password || url.hash) return false;
  return url.protocol === 'wss:' || (url.protocol === 'ws:' && isLoopback(url.hostname));
}

const bytes = ForeignInt.pipe(z.int().min(0)).nullable().catch(null);

/** Statistics from Wings; missing and malformed values are null. */
const WingsStats = z
  .object({
    cpu_absolute: ForeignNumber.pipe(z.number().min(0)).nullable().catch(null),
    memory_bytes: bytes,
    disk_bytes: bytes,
    network: z.object({ rx_bytes: bytes, tx_bytes: bytes }).catch({ rx_bytes: null, tx_bytes: null }),
    state: z.string().optional().catch(undefined),
  })
  .transform(({ cpu_absolute: cpu, memory_bytes, disk_bytes, network, state }) => {
    const { rx_bytes: network_rx_bytes, tx_bytes: network_tx_bytes } = network;
    const stats: ConsoleStats = { cpu, memory_bytes, disk_bytes, network_rx_bytes, network_tx_bytes };
    return { stats, isOffline: state === 'offline' };
  });
