import { WebSocket } from 'ws';
import { z } from 'zod';
import { unknownStats } from '#contract/console-stream.ts';
import type { ConsoleStats } from '#contract/console-stream.ts';
import type { Logger } from '../../../log.ts';
import type { RateLimitResult } from '../../../token-bucket.ts';
import type { Client, Reply } from '../../../upstream/client.ts';
import { notAvailable, parseJson } from '../../../upstream/client.ts';
import { isLoopback } from '../../../upstream/address.ts';
import type { ConsoleEvents, GameState, StateReport } from '../types.ts';

/** The timings of a session. */
export const defaultTimings = {
  pingMs: 30_000,
  /** The timeout of `auth`. */
  authMs: 15_000,
  /** The wait before a throttled `auth` is repeated; Wings allows one in 5 s. */
  throttleMs: 5500,
  /**
   * How long after `send logs` the buffered lines arrive. Wings does not mark their end; it reads them from a file, so most
   * arrive within a round trip.
   */
  loadMs: 500,
  /** How long a request for statistics waits for Wings. */
  statsMs: 3000,
  /**
   * How long after an `auth` the expiry warnings of Wings are ignored. Wings repeats them for short-lived tokens and if
   * its clock is ahead, and each renewal would use one of the panel's few tokens.
   */
  quietMs: 15_000,
  /** The window of the panel's rate limit for tokens. */
  windowMs: 60_000,
};
export type ConsoleTimings = Readonly<typeof defaultTimings>;

/** Dependencies of a session. */
interface SessionOptions {
  readonly client: Client;
  /** The path of the server in the panel's API. */
  readonly path: string;
  /** Consumes one of the tokens that the panel issues for the server. Renewals do not ask. */
  readonly consume: () => RateLimitResult | Promise<RateLimitResult>;
  readonly origin: string;
  readonly timings: ConsoleTimings;
  readonly events: ConsoleEvents;
  /** Whether buffered lines are not requested, since they cannot be distinguished from new ones. */
  readonly isResumed: boolean;
  /** Called once, when it has ended for whatever reason. */
  readonly leave: () => void;
  readonly log: Logger;
  /** How long after an action a state from before may still be reported. */
  readonly lagMs: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

/** One connection to the console of a server. */
export type Session = ReturnType<typeof openSession>;

type Timer = 'auth' | 'throttle' | 'renewal' | 'load';

/** What is sent to Wings: nothing that needs more than a read-only credential. */
type WingsRequest = 'auth' | 'send logs' | 'send stats';

/** Statistics of a running server are not sent on after this time. */
const staleMs = 10_000;

const lostGap = 'the connection to the console was lost';
const renewalGap = 'the credential of the console had to be renewed';

const states = new Set<string>(['running', 'starting', 'stopping', 'offline'] satisfies GameState[]);

/** How long a silent connection is trusted: one ping, and some time for its answer. */
const silenceMs = 35_000;

/** Opens a session: one token, one socket, further tokens before each expires, and one end. It emits nothing at once. */
export function openSession(options: SessionOptions) {
  const { client, path, consume, origin, timings, events, isResumed, leave, log, lagMs, now } = options;
  const timers = new Map<Timer, NodeJS.Timeout>();
  /** Called when statistics arrive. */
  const waiting = new Set<() => void>();
  /**
   * The first token is sent (`authenticating`) or accepted (`live`). Then the next one is requested (`renewing`), requested
   * later after a failure (`deferred`), or sent (`reauthenticating`).
   */
  let stage: 'opening' | 'authenticating' | 'live' | 'renewing' | 'deferred' | 'reauthenticating' | 'ended' = 'opening';
  let socket: ReturnType<typeof openSocket> | undefined;
  /** The last token, and when it was sent. */
  let grant: Granted;
  let sentAt = 0;
  /** Whether the token has expired, so that lines are lost, and the gap is reported. */
  let losesLines = false;
  /** The last statistics; they stay true if the server does not run. */
  let last: (WingsStats & { readonly at: number }) | undefined;
  /** The state of the server: undefined until the first status, and after a gap, since a status may be missing too. */
  let status: { readonly state: GameState; readonly changedAt: number } | undefined;
  /** The last sign of life of Wings, also in milliseconds since 1970. */
  let heard = { at: Number.NEGATIVE_INFINITY, date: 0 };

  const isEnded = (): boolean => stage === 'ended';
  const isAuthenticating = (): boolean => stage === 'authenticating' || stage === 'reauthenticating';
  const setTimer = (timer: Timer, ms: number, run: () => void): void => {
    clearTimeout(timers.get(timer));
    timers.set(timer, setTimeout(run, ms));
  };
  const end = (reason?: string, retryAfterMs?: number): void => {
    if (isEnded()) return;
    stage = 'ended';
    clearImmediate(starting);
    for (const timer of timers.values()) clearTimeout(timer);
    socket?.end();
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

  const start = async (): Promise<void> => {
    const { allowed, waitMs } = await consume();
    if (isEnded()) return;
    if (!allowed) return end('the console has to wait', waitMs);
    const answer = await readGrant(client, path);
    if (isEnded()) return;
    if (answer.type === 'refused') refuse(answer.reason, answer.detail);
    else if (answer.type === 'failed') lose(answer.detail, lostGap, answer.retryAfterMs);
    else {
      const onOpen = (): void => authenticate('authenticating', answer);
      const onHeard = (): void => void (heard = { at: now(), date: Date.now() });
      socket = openSocket(answer.url, { origin, pingMs: timings.pingMs, onOpen, onMessage, onClose, onHeard });
    }
  };
  const authenticate = (next: 'authenticating' | 'reauthenticating', token: Granted): void => {
    stage = next;
    grant = token;
    sentAt = performance.now();
    setTimer('auth', timings.authMs, () => lose('no answer to auth'));
    socket!.send('auth', token.token);
  };
  /** Wings reports only the first of several dropped `auth`, so `auth` is repeated until there is an answer or a timeout. */
  const awaitThrottle = (): void =>
    setTimer('throttle', timings.throttleMs, () => {
      awaitThrottle();
      socket!.send('auth', grant.token);
    });
  const onAccepted = (): void => {
    const isFirst = stage === 'authenticating';
    stage = 'live';
    losesLines = false;
    clearTimeout(timers.get('auth'));
    clearTimeout(timers.get('throttle'));
    setTimer('renewal', toRenewal(sentAt + grant.lifeMs - performance.now()), () => void renew());
    if (isFirst && !isResumed) {
      socket!.send('send logs');
      setTimer('load', timings.loadMs, () => events.loaded());
    }
    // Wings sends statistics by itself only while the server runs.
    socket!.send('send stats');
  };

  const renew = async (): Promise<void> => {
    stage = 'renewing';
    clearTimeout(timers.get('renewal'));
    const answer = await readGrant(client, path);
    if (isEnded()) return;
    if (answer.type === 'refused') refuse(answer.reason, answer.detail);
    else if (answer.type === 'failed') deferRenewal(answer.detail, answer.retryAfterMs);
    else if (answer.url === grant.url) authenticate('reauthenticating', answer);
    else lose('the server has moved to another node');
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
    if (event === 'console output' || event === 'daemon message') events.line(text);
    else if (event === 'status' && states.has(text)) onStatus(text as GameState);
    else if (event === 'stats') onStats(text);
    else if (event === 'auth success' && isAuthenticating()) onAccepted();
    else if (event === 'throttled' && text === 'auth' && isAuthenticating()) awaitThrottle();
    else if (event === 'token expiring') onExpiring();
    else if (event === 'token expired') onExpired(event);
    else if (event === 'jwt error') onTokenError(text);
    else if (event === 'deleted') refuse('the server was deleted', event);
    else if (event === 'daemon error') {
      // Also sent for a token with a bad signature, instead of a jwt error.
      if (stage === 'authenticating') lose(event);
      else events.error?.('the game panel reported an error');
    }
  };
  const onStatus = (state: GameState): void => {
    status = { state, changedAt: now() };
    events.status(state);
  };
  const onStats = (text: string): void => {
    const stats = toStats(text);
    if (!stats) return;
    last = { ...stats, at: performance.now() };
    for (const wake of waiting) wake();
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
    /**
     * The state that the console proves; undefined if it proves none. After an action at `after`, this is the status that
     * followed it, or the one that still holds `lagMs` later.
     */
    state(after: number): StateReport | undefined {
      if (!status || now() - heard.at > silenceMs) return undefined;
      const counts = status.changedAt > after || heard.at > after + lagMs;
      return counts ? { state: status.state, checkedAt: heard.date } : undefined;
    },
    async stats(): Promise<ConsoleStats> {
      if (!currentStats() && !isEnded()) {
        if (stage !== 'opening' && stage !== 'authenticating') socket?.send('send stats');
        const { promise, resolve } = Promise.withResolvers<void>();
        const timer = setTimeout(resolve, timings.statsMs).unref();
        waiting.add(resolve);
        await promise;
        waiting.delete(resolve);
        clearTimeout(timer);
      }
      return currentStats() ?? unknownStats;
    },
  };
}

/** The panel's answer to a request for a console. */
type Grant =
  | { readonly type: 'granted'; readonly url: string; readonly token: string; readonly lifeMs: number }
  /** Permanent; the reason is safe for clients, the detail is for the log. */
  | { readonly type: 'refused'; readonly reason: string; readonly detail: string }
  /** Temporary. */
  | { readonly type: 'failed'; readonly retryAfterMs: number; readonly detail: string };
type Granted = Extract<Grant, { type: 'granted' }>;

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

/** Requests a console token from the panel. Never throws. */
async function readGrant(client: Client, path: string): Promise<Grant> {
  let reply: Reply;
  try {
    reply = await client.request('GET', `${path}/websocket`);
  } catch (error) {
    return { type: 'failed', retryAfterMs: 0, detail: String((error as Error).cause ?? error) };
  }
  const detail = reply.describe();
  const refuse = (reason: string, more = ''): Grant => ({ type: 'refused', reason, detail: detail + more });
  if (reply.status === 409) return refuse('the server is not available');
  // A wrong key, a missing permission or an unknown server: retrying does not help.
  if ([401, 403, 404].includes(reply.status)) return refuse(notAvailable);
  if (reply.status === 429) return { type: 'failed', retryAfterMs: toRetryAfter(reply), detail };
  const answer = reply.status === 200 ? parseJson(reply.text, Answer)?.data : undefined;
  if (!answer) return { type: 'failed', retryAfterMs: 0, detail };

  const payload = Buffer.from(answer.token.split('.')[1] ?? '', 'base64url').toString('utf8');
  const claims = parseJson(payload, Claims) ?? {};
  if (canWrite(claims.permissions ?? [])) return refuse(notAvailable, ', with a token that may do more than read');
  if (!isSocketUrl(answer.socket)) return refuse(notAvailable, ', with a socket that is not wss://');
  return { type: 'granted', url: answer.socket, token: answer.token, lifeMs: toLife(claims, Date.now()) };
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
const Stats = z.object({
  cpu_absolute: z.number().min(0).nullable().catch(null),
  memory_bytes: bytes,
  disk_bytes: bytes,
  network: z.object({ rx_bytes: bytes, tx_bytes: bytes }).catch({ rx_bytes: null, tx_bytes: null }),
  state: z.string().optional().catch(undefined),
});

interface WingsStats {
  readonly stats: ConsoleStats;
  readonly isOffline: boolean;
}

/** Converts the statistics of Wings; a value that is missing or of another type is null. */
function toStats(text: string): WingsStats | undefined {
  const read = parseJson(text, Stats);
  if (!read) return undefined;
  const { cpu_absolute: cpu, memory_bytes, disk_bytes, network, state } = read;
  const { rx_bytes: network_rx_bytes, tx_bytes: network_tx_bytes } = network;
  return {
    stats: { cpu, memory_bytes, disk_bytes, network_rx_bytes, network_tx_bytes },
    isOffline: state === 'offline',
  };
}

interface SocketOptions {
  readonly origin: string;
  readonly pingMs: number;
  readonly onOpen: () => void;
  readonly onMessage: (event: string, text: string) => void;
  /** Called once, with the close code, and the status if the handshake was refused. */
  readonly onClose: (code: number, status: number | undefined) => void;
  /** Called with each sign of life of Wings, after its message was handled. */
  readonly onHeard: () => void;
}

/** Wings truncates lines at 64 KiB (system/utils.go), and JSON may encode a byte as six. */
const maxPayload = 1024 * 1024;

const Message = z.object({ event: z.string(), args: z.array(z.string()).nullish() });

/**
 * Opens a socket to Wings. The Origin is the panel's: Wings compares it as text, and rejects a handshake without it. The
 * socket sends pings, since proxies close idle connections and an offline server sends nothing for hours.
 */
function openSocket(url: string, { origin, pingMs, onOpen, onMessage, onClose, onHeard }: SocketOptions) {
  const limits = { maxPayload, perMessageDeflate: false, handshakeTimeout: 10_000, followRedirects: false };
  const ws = new WebSocket(url, { origin, ...limits });
  let isAlive = true;
  let status: number | undefined;
  const ping = setInterval(() => {
    if (!isAlive) ws.terminate();
    else if (ws.readyState === WebSocket.OPEN) {
      isAlive = false;
      ws.ping();
    }
  }, pingMs);
  ws.on('open', onOpen);
  ws.on('pong', () => {
    isAlive = true;
    onHeard();
  });
  ws.on('unexpected-response', (_, response) => {
    status = response.statusCode;
    ws.terminate();
  });
  ws.on('close', (code) => {
    clearInterval(ping);
    onClose(code, status);
  });
  ws.on('message', (data, isBinary) => {
    const message = isBinary ? undefined : parseJson((data as Buffer).toString('utf8'), Message);
    if (message) onMessage(message.event, message.args?.[0] ?? '');
    onHeard();
  });
  // Always followed by `close`, which is handled above.
  ws.on('error', () => undefined);
  return {
    send(event: WingsRequest, ...args: readonly string[]): void {
      if (ws.readyState === WebSocket.OPEN) ws.send(JSON.stringify({ event, args }));
    },
    /** Closes the socket; no calls follow. */
    end(): void {
      clearInterval(ping);
      ws.removeAllListeners().on('error', () => undefined);
      ws.close();
      setTimeout(() => ws.terminate(), 1000).unref();
    },
  };
}
