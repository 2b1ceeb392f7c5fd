import { WebSocket } from 'ws';
import { z } from 'zod';
import { unknownStats } from '#contract/console-stream.ts';
import type { ConsoleStats } from '#contract/console-stream.ts';
import type { Logger } from '../../../log.ts';
import { withTimeout } from '../../../timeout.ts';
import type { RateLimitResult } from '../../../token-bucket.ts';
import type { Client, Reply } from '../../../upstream/client.ts';
import { parseJson } from '../../../upstream/client.ts';
import { isLoopback } from '../../../upstream/address.ts';
import { notAvailable } from '../types.ts';
import type { ConsoleEvents, GameState, StateReport } from '../types.ts';

/** The timings of a session, in milliseconds. */
export const defaultTimings = {
  pingMs: 30_000,
  authMs: 15_000,
  /** The wait before a throttled `auth` is repeated; Wings allows one in 5 s. */
  throttleMs: 5500,
  /** How long the lines after `send logs` take: Wings does not mark their end, but most arrive within a round trip. */
  loadMs: 500,
  statsMs: 3000,
  /** How long after an `auth` expiry warnings are ignored: Wings repeats them, and a panel issues few tokens. */
  quietMs: 15_000,
  /** The window of the panel's rate limit for tokens. */
  windowMs: 60_000,
};
export type ConsoleTimings = Readonly<typeof defaultTimings>;

/** For how long a panel repeats the answer of a node, so that a read sooner would report nothing new. */
export const resourcesMs = 20_000;

interface SessionOptions {
  readonly client: Client;
  readonly path: string;
  /** Consumes one of the tokens that the panel issues for the server. Renewals do not ask. */
  readonly consume: () => RateLimitResult | Promise<RateLimitResult>;
  readonly origin: string;
  readonly timings: ConsoleTimings;
  readonly events: ConsoleEvents;
  /** Whether buffered lines are not requested, since they cannot be distinguished from new ones. */
  readonly isResumed: boolean;
  readonly leave: () => void;
  readonly log: Logger;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

/** One connection to the console of a server. */
export type Session = ReturnType<typeof openSession>;

/** A token of the panel, and the socket that it opens. */
interface Grant {
  readonly url: string;
  readonly token: string;
  readonly lifeMs: number;
}

/** What is sent to Wings: nothing that needs more than a read-only credential. */
type WingsRequest = 'auth' | 'send logs' | 'send stats';

type Timer = 'auth' | 'throttle' | 'renewal' | 'load';

/** Statistics of a running server are not sent on after this time. */
const staleMs = 10_000;
/** How long a silent connection is trusted: one ping, and some time for its answer. */
const silenceMs = 35_000;
/** Wings truncates lines at 64 KiB (system/utils.go), and JSON may encode a byte as six. */
const maxPayload = 1024 * 1024;

const lostGap = 'the connection to the console was lost';
const renewalGap = 'the credential of the console had to be renewed';

const Message = z.object({ event: z.string(), args: z.array(z.string()).nullish() });

/** The states of a panel that are power states too. Pelican's `missing` is a node that does not answer; others are Docker's. */
export const WingsState = z.enum(['running', 'starting', 'stopping', 'offline'] satisfies GameState[]);

/** Opens a session: a token, a socket, further tokens before each expires, and one end. It emits nothing at once. */
export function openSession(options: SessionOptions) {
  const { client, path, consume, origin, timings, events, isResumed, leave, log, now } = options;
  const timers = new Map<string, NodeJS.Timeout>();
  let nextStats = Promise.withResolvers<void>();
  /** After `live` the next token is requested (`renewing`), requested later after a failure (`deferred`), or sent. */
  let stage: 'opening' | 'authenticating' | 'live' | 'renewing' | 'deferred' | 'reauthenticating' | 'ended' = 'opening';
  let websocket: WebSocket | undefined;
  let grant: Grant;
  let sentAt = 0;
  /** Whether the token has expired, so that lines are lost, and the gap is reported. */
  let losesLines = false;
  /** The last statistics; they stay true if the server does not run. */
  let last: (z.output<typeof WingsStats> & { readonly at: number }) | undefined;
  /** The state of the server: undefined until the first status, and after a gap, since a status may be missing too. */
  let status: { readonly state: GameState; readonly changedAt: number } | undefined;
  /** The last sign of life of Wings, also in milliseconds since 1970. */
  let heard = { at: -Infinity, date: 0 };

  const isEnded = (): boolean => stage === 'ended';
  const isAuthenticating = (): boolean => stage === 'authenticating' || stage === 'reauthenticating';
  const clearTimer = (timer: Timer): void => {
    clearTimeout(timers.get(timer));
    timers.delete(timer);
  };
  /** What arrived in time is read before it runs, also in a busy process, whose timers run before sockets. */
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
  /** Ends it for good. A refusal that is not due to the server's state is our configuration error. */
  const refuse = (reason: string, detail: string): void => {
    log[reason === notAvailable ? 'error' : 'info']({ detail }, 'a console was refused');
    end(reason);
  };
  const lose = (detail: string, reason = lostGap, retryAfterMs = 0): void => {
    log.warn({ detail }, 'a console was lost');
    end(reason, retryAfterMs);
  };

  /** Requests a token; undefined if the session has ended, or if `onFailure` was called as a retry may help. */
  const requestGrant = async (onFailure: (detail: string, retryAfterMs: number) => void) => {
    const request = client.request('GET', `${path}/websocket`);
    const reply = await request.catch((error: unknown) => String((error as Error).cause ?? error));
    if (isEnded()) return undefined;
    if (typeof reply === 'string') {
      onFailure(reply, 0);
      return undefined;
    }
    const detail = reply.describe();
    const answer = reply.status === 200 ? parseJson(reply.text, Answer)?.data : undefined;
    if (reply.status === 409) refuse('the server is not available', detail);
    // A wrong key, a missing permission or an unknown server: retrying does not help.
    else if ([401, 403, 404].includes(reply.status)) refuse(notAvailable, detail);
    else if (!answer) onFailure(detail, reply.status === 429 ? toRetryAfter(reply) : 0);
    else {
      const payload = Buffer.from(answer.token.split('.')[1] ?? '', 'base64url').toString('utf8');
      const claims = parseJson(payload, Claims) ?? {};
      if (canWrite(claims.permissions ?? [])) {
        refuse(notAvailable, `${detail}, with a token that may do more than read`);
      } else if (!isSocketUrl(answer.socket)) refuse(notAvailable, `${detail}, with a socket that is not wss://`);
      else return { url: answer.socket, token: answer.token, lifeMs: toLife(claims, Date.now()) };
    }
    return undefined;
  };
  const onHeard = (): void => {
    heard = { at: now(), date: Date.now() };
  };
  const start = async (): Promise<void> => {
    const { allowed, waitMs } = await consume();
    if (isEnded()) return;
    if (!allowed) return end('the console has to wait', waitMs);
    const first = await requestGrant((detail, retryAfterMs) => lose(detail, lostGap, retryAfterMs));
    if (first) connect(first);
  };
  /** Opens the socket. Wings requires the Origin of the panel; proxies close a connection that is silent for long. */
  const connect = (first: Grant): void => {
    const limits = { maxPayload, perMessageDeflate: false, handshakeTimeout: 10_000, followRedirects: false };
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
      onHeard();
    });
    opened.on('unexpected-response', (_, response) => {
      answered = response.statusCode;
      opened.terminate();
    });
    opened.on('message', (data, isBinary) => {
      const message = isBinary ? undefined : parseJson((data as Buffer).toString('utf8'), Message);
      if (message) onMessage(message.event, message.args?.[0] ?? '');
      onHeard();
    });
    opened.on('close', (code) => onClose(code, answered));
    // Always followed by `close`.
    opened.on('error', () => undefined);
  };
  const authenticate = (next: 'authenticating' | 'reauthenticating', token: Grant): void => {
    stage = next;
    grant = token;
    sentAt = performance.now();
    setTimer('auth', timings.authMs, () => lose('no answer to auth'));
    send('auth', token.token);
  };
  /** Wings reports only the first of several dropped `auth`, so it is repeated until an answer or a timeout. */
  const awaitThrottle = (): void =>
    setTimer('throttle', timings.throttleMs, () => {
      awaitThrottle();
      send('auth', grant.token);
    });
  const onAccepted = (): void => {
    const isFirst = stage === 'authenticating';
    stage = 'live';
    losesLines = false;
    clearTimer('auth');
    clearTimer('throttle');
    setTimer('renewal', toRenewal(sentAt + grant.lifeMs - performance.now()), () => void renew());
    if (isFirst && !isResumed) {
      send('send logs');
      setTimer('load', timings.loadMs, () => events.loaded());
    }
    // Wings sends statistics by itself only while the server runs.
    send('send stats');
  };

  const renew = async (): Promise<void> => {
    stage = 'renewing';
    clearTimer('renewal');
    const next = await requestGrant(deferRenewal);
    if (next?.url === grant.url) authenticate('reauthenticating', next);
    else if (next) lose('the server has moved to another node');
  };
  /** Retries a failed renewal while the token is valid. A connection that already loses lines is closed. */
  const deferRenewal = (detail: string, retryAfterMs: number): void => {
    const leftMs = sentAt + grant.lifeMs - performance.now();
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
  /** Renews the token when Wings warns that it expires, unless it was just sent. */
  const onExpiring = (): void => {
    const isQuiet = performance.now() - sentAt < Math.min(timings.quietMs, grant.lifeMs / 2);
    if (stage === 'live' && !isQuiet) void renew();
  };
  const onExpired = (detail: string): void => {
    if (stage === 'authenticating' || stage === 'deferred') return lose(detail, renewalGap);
    reportLinesLost();
    if (stage === 'live') void renew();
  };
  /** Wings sends a jwt error after `auth`, or instead of each line after the token has expired. */
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
    // Also sent for a token with a bad signature, instead of a jwt error.
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
  /** Wings closes with 4409 or 4400 if the server is suspended (pterodactyl/panel#5464). */
  const onClose = (code: number, answered: number | undefined): void => {
    const detail = answered === undefined ? `closed with ${code}` : `the handshake was answered with ${answered}`;
    if (code === 4409 || code === 4400) refuse('the server is suspended', detail);
    else if (answered === 409) refuse('the server is not available', detail);
    // The Origin is not allowed.
    else if (answered === 403) refuse(notAvailable, detail);
    else lose(detail);
  };
  const currentStats = (): ConsoleStats | undefined => {
    const isCurrent = last && (last.isOffline || performance.now() - last.at < staleMs);
    return isCurrent && !isEnded() ? last?.stats : undefined;
  };

  // Deferred, since the caller expects no event before this function returns.
  const starting = setImmediate(() => void start());
  return {
    /** Ends it for good, and says so; `close` ends it without an event. */
    refuse: (reason: string): void => end(reason),
    close: (): void => end(),
    /** The state that the console proves: it followed an action at `after`, or holds when no older one is repeated. */
    state(after: number): StateReport | undefined {
      if (!status || now() - heard.at > silenceMs) return undefined;
      const counts = status.changedAt > after || heard.at > after + resourcesMs;
      return counts ? { state: status.state, checkedAt: heard.date } : undefined;
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

const Answer = z.object({ data: z.object({ token: z.string().min(1), socket: z.string() }) });
const Claims = z.object({
  exp: z.number().optional(),
  iat: z.number().optional(),
  permissions: z.array(z.string()).optional(),
});

/** The lifetime of a Wings token, which is fixed in its code. */
const defaultLifeMs = 600_000;

/** Whether permissions of a panel allow writing to a console. */
export function canWrite(permissions: readonly string[]): boolean {
  return permissions.some((permission) => permission === '*' || permission.startsWith('control.'));
}

/** The remaining lifetime of a new token. If its age is not 0 to 5 s, the clocks differ, and ours is ignored. */
function toLife({ exp, iat }: z.infer<typeof Claims>, now: number): number {
  if (exp === undefined) return defaultLifeMs;
  if (iat === undefined) return exp * 1000 > now ? exp * 1000 - now : defaultLifeMs;
  const age = now - iat * 1000;
  return (exp - iat) * 1000 - (age > 0 && age < 5000 ? age : 0);
}

/** When to renew a token: 2 minutes before it expires, or after half of a short lifetime. */
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

const bytes = z.int().min(0).nullable().catch(null);

/** The statistics of Wings; a value that is missing or of another type is null. */
const WingsStats = z
  .object({
    cpu_absolute: z.number().min(0).nullable().catch(null),
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
