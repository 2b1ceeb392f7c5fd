import { hash, randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import pLimit from 'p-limit';
import type { WebSocket } from 'ws';
import { z } from 'zod';
import type { ServerName } from '#contract/api-keys.ts';
import { CommandReference, closeCodes, streamLimits } from '#contract/console-stream.ts';
import type { ArgumentsOf, ClientEvent, CloseName, CommandRefusal, ServiceEvent } from '#contract/console-stream.ts';
import { GameConsoleCommandRequest } from '#contract/hosting.ts';
import { problems } from '#contract/problem.ts';
import type { Caller } from '../../http/handle.ts';
import type { Access, CheckAccess, ConsoleClaim } from '../../keys/authorize.ts';
import { Problem } from '../../problem.ts';
import type { Store, StreamTokenRecord } from '../../store/types.ts';
import { createTokenBucket } from '../../token-bucket.ts';
import { offline } from '../../upstream/client.ts';
import type { Cancel, Clock, Viewing } from './channel.ts';
import { toFrame } from './output.ts';
import type { FrameSink } from './output.ts';

/** A verified claim with its validity in milliseconds since 1970. */
export type StreamGrant = ConsoleClaim & Pick<StreamTokenRecord, 'issuedAt' | 'expiresAt'>;

/** The length of a token: 256 bits in base64url. */
export const tokenLength = 43;

const isWholeToken = (token: unknown): token is string =>
  typeof token === 'string' && token.length === tokenLength && /^[\w-]+$/.test(token);

/** Issues and verifies the tokens of console streams. */
export type StreamTokens = ReturnType<typeof createStreamTokens>;

/** Creates {@link StreamTokens}: random texts, of which only a hash is stored, for all instances. */
export function createStreamTokens(options: {
  readonly store: Store['streamTokens'];
  readonly ttlSeconds: number;
  readonly clock?: Pick<Clock, 'now'>;
}) {
  const { store, ttlSeconds, clock = Date } = options;
  return {
    async issue(claim: ConsoleClaim): Promise<string> {
      const token = randomBytes(32).toString('base64url');
      const issuedAt = clock.now();
      const expiresAt = issuedAt + ttlSeconds * 1000;
      await store.add({ ...claim, tokenHash: hash('sha256', token), issuedAt, expiresAt });
      return token;
    },
    /** Verifies a token; `expired` means that it was once valid. */
    async verify(token: unknown): Promise<StreamGrant | 'expired' | 'invalid'> {
      // Anything else is refused without a query.
      const found = isWholeToken(token) ? await store.find(hash('sha256', token)) : undefined;
      if (!found) return 'invalid';
      return clock.now() < found.expiresAt ? found : 'expired';
    },
  };
}

/** The request that opened a stream; rate limits count by the key of its client. */
export interface StreamRequest {
  readonly id: string;
  readonly client: { readonly address: string; readonly key: string };
}

/** A console command from a stream, with the id of the request that opened it. */
export interface StreamCommand extends Pick<Caller, 'server' | 'keyId' | 'secretHash' | 'requestId' | 'ip'> {
  readonly command: string;
}

/** What all streams use. */
export interface StreamServices {
  readonly tokens: StreamTokens;
  readonly checkAccess: CheckAccess;
  /** Sends a validated command of a key whose access was just checked; applies limits and auditing. */
  readonly sendCommand: (command: StreamCommand) => Promise<void>;
  /** Called with failures of ours or the provider's, for the log. */
  readonly onFailure: (message: string, error: unknown) => void;
}

interface SessionOptions extends StreamServices {
  readonly websocket: WebSocket;
  readonly socket: Duplex;
  readonly server: ServerName;
  readonly request: StreamRequest;
  readonly clock: Clock;
  readonly hasRoom: (keyId: string) => boolean;
  /** Follows the console. */
  readonly join: (sink: FrameSink) => Viewing;
  readonly ended: () => void;
}

/** One client's stream. */
export type Session = ReturnType<typeof createSession>;

/** The payload of our pings, so that their pongs do not count as messages of the client. */
export const pingData = Buffer.from('console stream');

/** The rate limit of messages, far above typing and the messages after a reconnect. */
const messageRate = { rps: 5, burst: 20 };

/** The frames beyond the rate limit after which the stream is closed, and the refused tokens. */
const maxRefused = 1000;
const maxBadTokens = 5;
/** The maximum number of queued messages, each of at most 16 KiB. */
const maxWaiting = 32;
/** The limit of buffered replies, which only a client reaches that sends messages and does not read. */
const maxBuffered = 1024 * 1024;
const maxEventLength = 64;

const malformed = 'A message must be a JSON text of the form {"event": "...", "args": ["..."]}';
const noCommand =
  'A command has 1 to 1,024 characters, one of them visible, and no control characters; a reference has 1 to 64';

/** Creates the session of a new connection, which lasts until its client leaves or it is ended with a close code. */
export function createSession(options: SessionOptions) {
  const { websocket, socket, server, request, clock, tokens, checkAccess } = options;
  let phase: 'unauthenticated' | 'live' | 'expired' | 'ended' = 'unauthenticated';
  /** The last accepted token, also after the end. */
  let grant: StreamGrant | undefined;
  /** The current access of the key, which may be less than that of the token. */
  let access: Access = 'read_only';
  let viewing: Viewing | undefined;
  /** Refused tokens since the last valid one. */
  let badTokens = 0;
  let historyAt = -Infinity;
  let statsAt = -Infinity;
  let isStatsWanted = false;
  let cancelPhase: Cancel | undefined;
  let cancelStats: Cancel | undefined;

  const isEnded = (): boolean => phase === 'ended';
  const hasOutput = (): boolean => phase === 'live';
  const mayWrite = (): boolean => hasOutput() && grant?.mode === 'read_write' && access === 'ok';
  /** Bypasses ws, which writes its own frames in one piece too, so that frames never interleave. */
  const send = (frames: Buffer): void => {
    if (websocket.readyState === websocket.OPEN && socket.writable) socket.write(frames);
  };
  const reply = <Event extends ServiceEvent>(event: Event, ...args: ArgumentsOf<Event>): void => {
    if (websocket.bufferedAmount > maxBuffered) websocket.terminate();
    else send(toFrame(event, ...args));
  };
  const end = (close?: CloseName, reason?: string): void => {
    if (isEnded()) return;
    phase = 'ended';
    cancelPhase?.();
    cancelStats?.();
    viewing?.leave();
    options.ended();
    if (close) websocket.close(closeCodes[close].code, reason);
  };
  const revoke = ({ message }: Problem): void => end('revoked', message);
  const waitUntil = (at: number, run: () => void): void => {
    cancelPhase?.();
    cancelPhase = clock.after(Math.max(0, at - clock.now()), run);
  };
  const warn = (): void => {
    reply('token expiring');
    waitUntil(grant!.expiresAt, expire);
  };
  const expire = (): void => {
    phase = 'expired';
    reply('token expired');
    waitUntil(clock.now() + streamLimits.expiredSeconds * 1000, () => end('expired', 'the token expired'));
  };

  const authenticate = async (token: unknown): Promise<void> => {
    const verified = await tokens.verify(token);
    if (isEnded()) return;
    if (verified === 'invalid') refuseToken(describeToken(token));
    else if (verified === 'expired') refuseToken('The token has expired');
    else if (verified.server !== server) refuseToken('The token is for another server');
    else if (grant && verified.keyId !== grant.keyId) refuseToken('The token is for another API key');
    else await admit(verified);
  };
  const refuseToken = (reason: string): void => {
    badTokens += 1;
    reply('jwt error', reason);
    if (badTokens >= maxBadTokens) end('unauthenticated', 'too many tokens were refused');
  };
  const admit = async (next: StreamGrant): Promise<void> => {
    const found = await checkAccess(next);
    if (isEnded()) return;
    if (found instanceof Problem) revoke(found);
    else if (viewing || options.hasRoom(next.keyId)) accept(next, found);
    else {
      reply('daemon error', 'This API key has too many open console streams');
      end('overload', 'too many streams');
    }
  };
  const accept = (next: StreamGrant, found: Access): void => {
    const { issuedAt, expiresAt } = next;
    phase = 'live';
    grant = next;
    access = found;
    badTokens = 0;
    const expiringMs = Math.min(streamLimits.expiringSeconds * 1000, (expiresAt - issuedAt) / 4);
    waitUntil(expiresAt - expiringMs, warn);
    reply('auth success');
    if (viewing) viewing.pump();
    else viewing = options.join({ isReady: () => hasOutput() && !socket.writableNeedDrain, send });
  };
  const onAccess = (next: Access | 'unknown'): void => {
    if (next instanceof Problem) revoke(next);
    else if (next === 'unknown') end('overload', 'access could not be checked');
    else access = next;
  };

  const sendHistory = (now: number): void => {
    if (now - historyAt < streamLimits.historySeconds * 1000) {
      return reply('daemon error', 'The history is sent at most once a second');
    }
    historyAt = now;
    viewing!.sendHistory();
  };
  /** An early request waits: a client that asks every two seconds is sometimes some milliseconds early. */
  const requestStats = (now: number): void => {
    if (isStatsWanted) return;
    isStatsWanted = true;
    const early = statsAt + streamLimits.statsSeconds * 1000 - now;
    // Not awaited, so that a slow provider does not delay the renewal of a token.
    if (early > 0) cancelStats = clock.after(early, () => void sendStats());
    else void sendStats();
  };
  const sendStats = async (): Promise<void> => {
    const stats = await viewing!.stats();
    isStatsWanted = false;
    if (!hasOutput()) return;
    statsAt = clock.now();
    reply('stats', JSON.stringify(stats));
  };

  /** Answers a command that is not sent: by its reference if it has one, else in words. */
  const refuseCommand = (reference: string | undefined, code: CommandRefusal, words?: string): void => {
    if (reference !== undefined) reply('command refused', reference, code);
    else if (words !== undefined) reply('daemon error', words);
  };
  const denyCommand = (reference: string | undefined): void => {
    reply('permission denied', 'send command');
    refuseCommand(reference, 'not_permitted');
  };
  /** Each command checks the key again, so a revoked key is rejected at once, not within 2 s. */
  const runCommand = async (command: string, reference: string | undefined): Promise<void> => {
    if (isEnded()) return;
    try {
      const found = await checkAccess({ ...grant!, mode: 'read_write' });
      if (isEnded()) return;
      if (found instanceof Problem) revoke(found);
      else if (found === 'read_only' || !mayWrite()) denyCommand(reference);
      else {
        const { keyId, secretHash } = grant!;
        const sender = { keyId, secretHash, requestId: request.id, ip: request.client.address };
        await options.sendCommand({ server, command, ...sender });
        if (reference !== undefined) reply('command accepted', reference);
      }
    } catch (error) {
      refuseCommand(reference, toRefusalCode(error), describe(error));
    }
  };

  const describe = (error: unknown): string => {
    if (!(error instanceof Problem)) options.onFailure('a console stream failed', error);
    return toClientText(error);
  };
  const onError = (error: unknown): void => reply('daemon error', describe(error));
  const messages = pLimit(1);
  /** Commands wait in their own queue, so that a slow provider does not delay the renewal of a token. */
  const commands = pLimit(1);
  const countWaiting = (): number =>
    messages.pendingCount + messages.activeCount + commands.pendingCount + commands.activeCount;
  const handle = async (message: ClientMessage): Promise<void> => {
    if (isEnded()) return;
    if (message.type === 'auth') await authenticate(message.token);
    else if (message.type === 'unknown') reply('permission denied', message.event);
    else if (message.type === 'send command') {
      const { command, reference } = message;
      if (!mayWrite()) denyCommand(reference);
      else if (command === undefined) refuseCommand(reference, 'invalid', noCommand);
      else void commands(() => runCommand(command, reference)).catch(onError);
    } else if (!hasOutput()) reply('permission denied', message.type);
    else if (message.type === 'send logs') sendHistory(message.now);
    else requestStats(message.now);
  };

  /** Says that a message was dropped. A command with a reference always has an answer by it. */
  const drop = (message: ClientMessage | undefined, words?: string): void => {
    refuseCommand(message?.type === 'send command' ? message.reference : undefined, 'rate_limited', words);
  };
  const bucket = createTokenBucket(messageRate, () => clock.now());
  /** Frames beyond the rate limit since the bucket was last full. */
  let refused = 0;
  const isWithinRate = (message?: ClientMessage): boolean => {
    const { allowed, left } = bucket.consume('');
    // The bucket was full before this frame.
    if (left === messageRate.burst - 1) refused = 0;
    if (allowed) return true;
    refused += 1;
    if (refused > maxRefused) end('abuse', 'too many messages');
    else {
      if (refused === 1) reply('daemon error', 'Too many messages: some were dropped');
      drop(message);
    }
    return false;
  };
  websocket.on('message', (data, isBinary) => {
    const message = isBinary ? undefined : parseMessage((data as Buffer).toString(), clock.now());
    if (!isWithinRate(message) || isEnded()) return;
    if (!message) reply('daemon error', malformed);
    else if (countWaiting() < maxWaiting) void messages(() => handle(message)).catch(onError);
    else drop(message, 'Too many messages are waiting: one was dropped');
  });
  websocket.on('ping', () => isWithinRate());
  websocket.on('pong', (data) => {
    if (!data.equals(pingData)) isWithinRate();
  });
  websocket.on('close', () => end());
  socket.on('drain', () => viewing?.pump());
  waitUntil(clock.now() + streamLimits.authSeconds * 1000, () => end('unauthenticated', 'no token came in time'));
  return {
    request,
    /** The last accepted token; undefined before the first one. */
    grant: (): StreamGrant | undefined => grant,
    /** Called with the current access of the key; `unknown` if it could not be checked for too long. */
    onAccess,
    shutDown: (): void => end('restart', 'service restart'),
  };
}

function describeToken(token: unknown): string {
  if (typeof token === 'string' && token.startsWith('hk_'))
    return 'This is an API key: send the token that came with the address';
  return isWholeToken(token) ? 'The token is not known' : 'This is not a whole token';
}

type ClientMessage =
  | { readonly type: 'auth'; readonly token: unknown }
  | { readonly type: 'send logs' | 'send stats'; readonly now: number }
  /** The command is undefined if it or its reference is invalid. Any reference is answered as it came. */
  | { readonly type: 'send command'; readonly command: string | undefined; readonly reference: string | undefined }
  | { readonly type: 'unknown'; readonly event: string };

const Message = z.object({ event: z.string(), args: z.array(z.unknown()).default([]) });

/** Parses a text frame; undefined if it is not a message. Clients of panels send `[null]` for no arguments. */
export function parseMessage(text: string, now: number): ClientMessage | undefined {
  let message: z.output<typeof Message>;
  try {
    message = Message.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
  const { event, args } = message;
  const type = event as ClientEvent;
  if (type === 'auth') return { type, token: args[0] };
  if (type === 'send logs' || type === 'send stats') return { type, now };
  if (type === 'send command') return { type, ...toCommand(args) };
  return { type: 'unknown', event: event.slice(0, maxEventLength) };
}

function toCommand(args: readonly unknown[]) {
  const [text, reference] = args;
  const { data } = GameConsoleCommandRequest.shape.command.safeParse(text);
  const isValid = args.length === 1 || (args.length === 2 && CommandReference.safeParse(reference).success);
  return { command: isValid ? data : undefined, reference: typeof reference === 'string' ? reference : undefined };
}

/** The text of an error for clients: only that of a {@link Problem} was written for them. */
export function toClientText(error: unknown): string {
  return error instanceof Problem ? error.message : problems.internal_error.message;
}

/** Errors of a key or server that may not send commands. */
const denials = new Set<string>(['unauthorized', 'forbidden', 'insufficient_scope', 'provider_permission_denied']);

function toRefusalCode(error: unknown): CommandRefusal {
  if (!(error instanceof Problem)) return 'failed';
  if (error.message === offline) return 'offline';
  if (error.code === 'rate_limited') return 'rate_limited';
  return denials.has(error.code) ? 'not_permitted' : 'failed';
}
