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
import { notAvailable } from '../types.ts';
import type { ConsoleEvents, GameState, StateReport } from '../types.ts';
import { parseToken } from './answers.ts';
import type { SocketToken } from './answers.ts';
import type { HandshakeError, NodeSockets } from './sockets.ts';

/** The timings of a panel session, in milliseconds. */
export const defaultTimings = {
  pingMs: 30_000,
  authMs: 15_000,
  /** The delay before a throttled `auth` is repeated. Wings allows one in 5 s. */
  throttleMs: 5500,
  /** The wait for the backlog. Wings does not mark its end; most of it arrives within a round trip. */
  loadMs: 500,
  /** The backlog ends this long after a line, and at the latest after the maximum. */
  loadQuietMs: 300,
  loadMaxMs: 2000,
  statsMs: 3000,
  /** Ignore expiry warnings this long after an `auth`: Wings repeats them, and panels limit tokens. */
  quietMs: 15_000,
  /** The window of the panel's rate limit of tokens. */
  windowMs: 60_000,
};
export type ConsoleTimings = Readonly<typeof defaultTimings>;

/** The panel caches a node's answer this long; polling faster returns the same data. */
export const resourcesMs = 20_000;

/** The wait for a state after the answer to an action, and for the answer to a request for the state. */
const askStateMs = 1000;
/** Statistics of a running server are stale after this time. */
const staleMs = 10_000;
/** A connection is trusted for this long without traffic: one ping, and some time for the pong. */
const silenceMs = 35_000;
/** Handshakes are repeated at least this often, as they cost no token. */
const maxHandshakeMs = 5000;
/** The time limit of a token for an open socket. */
const tokenMs = 10_000;
/** The limit of the lines that wait for the backlog, in characters. */
const maxHeld = 1024 * 1024;

const lostGap = 'the connection to the console was lost';
const unreachableGap = 'the node of the server is not reachable';
const refusedGap = 'the node of the server refuses the connection';
const busyGap = 'the game panel is busy';
const renewalGap = 'the credential of the console had to be renewed';

const WingsMessage = z.object({ event: z.string(), args: z.array(z.string()).nullish() });

/** Panel states that are power states. Others are Docker's, or Pelican's `missing`: an unreachable node. */
export const WingsState = z.enum(['running', 'starting', 'stopping', 'offline'] satisfies GameState[]);

/** Opens a console: fetches a token, opens the socket, and renews the token. */
export function openPanelSession(options: {
  readonly client: ReadClient;
  readonly ref: string;
  readonly sockets: NodeSockets;
  /** Takes a token request from the server's budget. Renewals are free. */
  readonly consume: () => RateLimitResult | Promise<RateLimitResult>;
  readonly timings: ConsoleTimings;
  readonly events: ConsoleEvents;
  /** Do not ask for the backlog again: replayed lines look like new ones. */
  readonly isResumed: boolean;
  readonly leave: () => void;
  readonly log: Logger;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
}) {
  const { client, ref, sockets, consume, timings, events, isResumed, leave, log, now } = options;
  const closing = new AbortController();
  const ended = closing.signal;
  /** `renewing`: the next token is requested; `deferred`: its request failed, and is repeated later. */
  let stage: 'opening' | 'authenticating' | 'live' | 'renewing' | 'deferred' | 'reauthenticating' = 'opening';
  /** Resolved by the answer to `auth`, then by the expiry of the token. */
  let step = Promise.withResolvers<void>();
  let nextStats = Promise.withResolvers<void>();
  let websocket: WebSocket | undefined;
  let current: SocketToken;
  let sentAt = 0;
  let pings: NodeJS.Timeout | undefined;
  let repeats: NodeJS.Timeout | undefined;
  let loading: NodeJS.Timeout | undefined;
  /** The token has expired: Wings drops lines, and the gap is reported. */
  let losesLines = false;
  /** The last statistics. Those of an offline server never become stale. */
  let last: (z.output<typeof WingsStats> & { readonly at: number }) | undefined;
  /** The last status, with the time of its arrival; undefined after a gap, which may have swallowed a newer one. */
  let status: Readonly<{ state: GameState; at: number }> | undefined;
  /** The last request for the state: one after each action. */
  let stateRequest = { at: -Infinity, answer: Promise.resolve() };
  /** Lines since `send logs`, until the backlog is complete, and how many of the first came again. */
  let held: { readonly lines: string[]; characters: number; repeated: number; readonly until: number } | undefined;
  /** The last message or pong from Wings; `date` is in milliseconds since 1970. */
  let traffic = { at: -Infinity, date: 0 };

  /** Sends an event to Wings. A read-only credential is enough for each. */
  const send = (event: 'auth' | 'send logs' | 'send stats', ...args: readonly string[]): void => {
    if (websocket?.readyState === WebSocket.OPEN) websocket.send(JSON.stringify({ event, args }));
  };
  /** Closes the socket without events. */
  const discard = (): void => {
    clearInterval(pings);
    websocket?.removeAllListeners().on('error', () => undefined);
    websocket?.close();
  };
  const end = (reason?: string, retryAfterMs?: number, maxRetryMs?: number): void => {
    if (ended.aborted) return;
    if (reason !== undefined) release();
    closing.abort();
    clearImmediate(starting);
    clearTimeout(loading);
    clearInterval(repeats);
    discard();
    step.resolve();
    nextStats.resolve();
    leave();
    if (reason !== undefined) events.ended(reason, retryAfterMs, maxRetryMs);
  };
  /** Ends permanently. Anything but a server-state refusal means our config is wrong, so log it as an error. */
  const refuse = (reason: string, detail: string, ours: 'error' | 'warn' = 'error'): void => {
    log[reason === notAvailable ? ours : 'info']({ detail }, 'a console was refused');
    end(reason);
  };
  const lose = (detail: string, reason = lostGap, retryAfterMs = 0): void => {
    log.warn({ detail }, 'a console was lost');
    end(reason, retryAfterMs);
  };
  /** Waits for the end of a step. Throws once the session has ended. */
  const waitFor = async (ms: number, onTimeout: () => void = () => undefined): Promise<void> => {
    await withTimeout(step.promise, ms, onTimeout);
    ended.throwIfAborted();
  };

  /** The life of the session. The socket is opened before a token is fetched: a failed handshake costs no token. */
  const run = async (): Promise<void> => {
    const known = sockets.find(ref);
    if (known !== undefined) await connect(known, false);
    const { allowed, waitMs } = await consume();
    if (!allowed) end(busyGap, waitMs);
    ended.throwIfAborted();
    // A socket without a token counts among the few that a node accepts for a server.
    const first = await requestToken(websocket && { timeoutMs: tokenMs });
    if ('detail' in first) return lose(first.detail, busyGap, first.retryAfterMs);
    if (first.url !== known) {
      discard();
      await connect(first.url, true);
    }
    await authenticate('authenticating', first);
    for (;;) {
      await waitFor(toRenewal(sentAt + current.lifeMs - performance.now()));
      const next = await renew();
      if (next.url !== current.url) return lose('the server has moved to another node');
      await authenticate('reauthenticating', next);
    }
  };
  const connect = async (url: string, isFresh: boolean): Promise<void> => {
    const opened = await sockets.open(ref, url, ended).catch((error: HandshakeError) => error);
    if (opened instanceof WebSocket) follow(opened);
    else if (opened.status === 409) refuse('the server is not available', opened.message);
    // The panel's newest address is wrong too.
    else if (opened.status === 404 && isFresh) end(refusedGap, 0);
    else end(opened.status === undefined ? unreachableGap : refusedGap, 0, maxHandshakeMs);
    if (ended.aborted) discard();
    ended.throwIfAborted();
  };
  const onTraffic = (): void => {
    traffic = { at: now(), date: Date.now() };
  };
  /** Handles the events of the open socket, and pings it: proxies close silent connections. */
  const follow = (opened: WebSocket): void => {
    let isAlive = true;
    websocket = opened;
    pings = setInterval(() => {
      if (!isAlive) return opened.terminate();
      isAlive = false;
      opened.ping();
    }, timings.pingMs);
    opened.on('pong', () => {
      isAlive = true;
      onTraffic();
    });
    opened.on('message', (data, isBinary) => {
      const message = isBinary ? undefined : parseJson((data as Buffer).toString('utf8'), WingsMessage);
      if (message) onMessage(message.event, message.args?.[0] ?? '');
      onTraffic();
    });
    opened.on('close', (code) => {
      const detail = `closed with ${code}`;
      // Wings closes the sockets of a suspended server with 4409 or 4400 (pterodactyl/panel#5464).
      if (code === 4409 || code === 4400) refuse('the server is suspended', detail);
      else lose(detail);
    });
  };
  /** Requests a token; returns a failure that a later request may not have. */
  const requestToken = async (limit?: { readonly timeoutMs: number }) => {
    // Not retried: each request takes one of the panel's few tokens.
    const request = client.request('GET', `/servers/${ref}/websocket`, { retry: false, ...limit });
    const reply = await request.catch((error: unknown) => String((error as Error).cause ?? error));
    ended.throwIfAborted();
    if (typeof reply === 'string') return { detail: reply, retryAfterMs: 0 };
    const detail = reply.describe();
    const token = parseToken(reply);
    const isOwn = reply.sender !== 'proxy';
    if (reply.status === 409 && isOwn) refuse('the server is not available', detail);
    // Wrong key, missing permission or unknown server: a retry does not help.
    else if ([401, 403, 404].includes(reply.status) && isOwn) refuse(notAvailable, detail);
    // A warning: the owner of a server can change the permissions of its users.
    else if (typeof token === 'string') refuse(notAvailable, `${detail}, with ${token}`, 'warn');
    ended.throwIfAborted();
    if (typeof token !== 'object') return { detail, retryAfterMs: reply.status === 429 ? readRetryAfterMs(reply) : 0 };
    sockets.remember(ref, token.url, token.issuer);
    return token;
  };
  const authenticate = async (next: 'authenticating' | 'reauthenticating', token: SocketToken): Promise<void> => {
    stage = next;
    current = token;
    sentAt = performance.now();
    step = Promise.withResolvers();
    send('auth', token.token);
    await waitFor(timings.authMs, () => lose('no answer to auth'));
  };
  const onAccepted = (): void => {
    clearInterval(repeats);
    repeats = undefined;
    if (stage === 'authenticating' && !isResumed) {
      held = { lines: [], characters: 0, repeated: 0, until: performance.now() + timings.loadMaxMs };
      send('send logs');
      releaseAfter(timings.loadMs);
    }
    stage = 'live';
    losesLines = false;
    step.resolve();
    step = Promise.withResolvers();
    // Wings pushes statistics only while the server runs.
    send('send stats');
  };
  /** Requests the next token, repeatedly while the current one is valid and no lines are lost. */
  const renew = async (): Promise<SocketToken> => {
    step = Promise.withResolvers();
    for (;;) {
      stage = 'renewing';
      const next = await requestToken();
      if (!('detail' in next)) return next;
      const leftMs = sentAt + current.lifeMs - performance.now();
      if (losesLines || leftMs <= 0) lose(next.detail, lostGap, next.retryAfterMs);
      stage = 'deferred';
      await waitFor(Math.max(next.retryAfterMs, Math.min(leftMs / 4, 15_000), 250));
    }
  };

  /**
   * Holds lines until the backlog is complete. Lines of a busy console come before the backlog, and again at its end; once
   * all of them came again, or other lines follow, the backlog is over.
   */
  const onLine = (text: string): void => {
    const isRepeated = held !== undefined && held.lines[held.repeated] === text;
    if (held && held.repeated > 0 && !isRepeated) release();
    if (!held) return events.line(text);
    held.lines.push(text);
    held.characters += text.length;
    if (isRepeated) held.repeated += 1;
    if (held.characters > maxHeld) release();
    else releaseAfter(Math.max(0, Math.min(timings.loadQuietMs, held.until - performance.now())));
  };
  /** Runs after pending socket reads: Node fires timers before I/O, and a busy process may have lines to read. */
  const releaseAfter = (ms: number): void => {
    clearTimeout(loading);
    const timer = setTimeout(() => setImmediate(() => timer === loading && release()), ms);
    loading = timer;
  };
  /** Emits the held lines, those that came again only once. */
  const release = (): void => {
    if (!held) return;
    const { lines, repeated } = held;
    held = undefined;
    clearTimeout(loading);
    for (const line of lines.slice(repeated)) events.line(line);
    events.loaded();
  };
  const reportLinesLost = (): void => {
    if (losesLines) return;
    release();
    losesLines = true;
    status = undefined;
    events.gap(renewalGap);
  };

  /** Renews the token when Wings warns of its expiry, unless it was sent just now. */
  const onExpiring = (): void => {
    const isQuiet = performance.now() - sentAt < Math.min(timings.quietMs, current.lifeMs / 2);
    if (stage === 'live' && !isQuiet) step.resolve();
  };
  const onExpired = (detail: string): void => {
    if (stage === 'authenticating' || stage === 'deferred') return lose(detail, renewalGap);
    reportLinesLost();
    if (stage === 'live') step.resolve();
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
    const isAuthenticating = stage === 'authenticating' || stage === 'reauthenticating';
    if (event === 'console output' || event === 'daemon message') onLine(text);
    else if (state) {
      status = { state, at: now() };
      events.status(state);
    } else if (event === 'stats') onStats(text);
    else if (event === 'auth success' && isAuthenticating) onAccepted();
    // Until an answer or the timeout: Wings reports only the first `auth` that it drops.
    else if (event === 'throttled' && text === 'auth' && isAuthenticating)
      repeats ??= setInterval(() => send('auth', current.token), timings.throttleMs);
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
    last = { ...stats, at: now() };
    nextStats.resolve();
    nextStats = Promise.withResolvers();
  };
  const currentStats = (): ConsoleStats | undefined => {
    const isCurrent = last && (last.state === 'offline' || now() - last.at < staleMs);
    return isCurrent && !ended.aborted ? last?.stats : undefined;
  };
  // Deferred: the caller must get its return value before the first event.
  const starting = setImmediate(() => {
    run().catch((error: unknown) => {
      if (!ended.aborted) throw error;
    });
  });
  return {
    /** Ends the session with an event; `close` ends it without one. */
    refuse: (reason: string): void => end(reason),
    close: (): void => end(),
    /**
     * Returns the state known from the console after an action: a status from its sending on, statistics from its answer
     * on. A second after the answer, requests the state once: a stop of an offline server has no status.
     */
    async state(after: number, answeredAt: number): Promise<StateReport | undefined> {
      const find = (): GameState | undefined => {
        const isStatusNew = status !== undefined && status.at > after;
        const isNewest = last !== undefined && last.at > answeredAt && !(isStatusNew && status!.at >= last.at);
        if (isNewest && last?.state) return last.state;
        return isStatusNew || traffic.at > answeredAt + resourcesMs ? status?.state : undefined;
      };
      if (!status || now() - traffic.at > silenceMs) return undefined;
      if (!find() && now() - answeredAt > askStateMs) {
        if (stateRequest.at < answeredAt) {
          stateRequest = { at: now(), answer: withTimeout(nextStats.promise, askStateMs, () => undefined) };
          send('send stats');
        }
        await stateRequest.answer;
      }
      const state = ended.aborted ? undefined : find();
      return state && { state, checkedAt: traffic.date };
    },
    async stats(): Promise<ConsoleStats> {
      if (!currentStats() && !ended.aborted) {
        if (stage !== 'opening' && stage !== 'authenticating') send('send stats');
        await withTimeout(nextStats.promise, timings.statsMs, () => undefined);
      }
      return currentStats() ?? unknownStats;
    },
  };
}

/** Computes the delay of a renewal: 2 minutes before the expiry, or half of a short lifetime. */
export function toRenewal(lifeMs: number): number {
  return Math.max(lifeMs > 240_000 ? lifeMs - 120_000 : lifeMs / 2, 250);
}

function readRetryAfterMs({ headers }: Reply): number {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Math.min(Number.isInteger(seconds) && seconds >= 0 ? seconds : 60, 600) * 1000;
}

const bytes = ForeignInt.pipe(z.int().min(0)).nullable().catch(null);

/** Statistics from Wings; missing and malformed values are null. */
const WingsStats = z
  .object({
    cpu_absolute: ForeignNumber.pipe(z.number().min(0)).nullable().catch(null),
    memory_bytes: bytes,
    disk_bytes: bytes,
    network: z.object({ rx_bytes: bytes, tx_bytes: bytes }).catch({ rx_bytes: null, tx_bytes: null }),
    state: WingsState.optional().catch(undefined),
  })
  .transform(({ cpu_absolute: cpu, memory_bytes, disk_bytes, network, state }) => {
    const { rx_bytes: network_rx_bytes, tx_bytes: network_tx_bytes } = network;
    const stats: ConsoleStats = { cpu, memory_bytes, disk_bytes, network_rx_bytes, network_tx_bytes };
    return { stats, state };
  });
