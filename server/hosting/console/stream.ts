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
import type { Caller, RawRequest } from '../../http/handle.ts';
import type { Access, CheckAccess, ConsoleClaim } from '../../keys/authorize.ts';
import type { Base } from '../../lifecycle.ts';
import { Problem } from '../../problem.ts';
import type { Store, StreamTokenRecord } from '../../store/types.ts';
import { createTokenBucket } from '../../token-bucket.ts';
import { offline, parseJson } from '../../upstream/client.ts';
import type { Channel } from './channel.ts';
import { toFrame } from './output.ts';

/** A verified claim and its validity, in milliseconds since 1970. */
export type StreamGrant = ConsoleClaim &
  Pick<StreamTokenRecord, 'issuedAt' | 'expiresAt'> & {
    /** The parent of a child key, whose limits they share. */
    readonly parentId: string | null;
  };

/** 256 bits in base64url. */
export const tokenLength = 43;

const isWellFormed = (token: unknown): token is string =>
  typeof token === 'string' && token.length === tokenLength && /^[\w-]+$/.test(token);

/** Creates the tokens of console streams: random texts whose hashes are in the store. */
export function createStreamTokens(store: Store['streamTokens'], ttlSeconds: number) {
  return {
    async issue(claim: ConsoleClaim): Promise<string> {
      const token = randomBytes(32).toString('base64url');
      const issuedAt = Date.now();
      const expiresAt = issuedAt + ttlSeconds * 1000;
      await store.add({ ...claim, tokenHash: hash('sha256', token), issuedAt, expiresAt });
      return token;
    },
    async verify(token: unknown): Promise<StreamGrant | 'expired' | 'invalid'> {
      // Malformed tokens cost no query.
      const found = isWellFormed(token) ? await store.find(hash('sha256', token)) : undefined;
      if (!found) return 'invalid';
      return Date.now() < found.expiresAt ? found : 'expired';
    },
  };
}

/** The request that opened a stream. Rate limits use the key of its client. */
export type StreamRequest = Pick<RawRequest['context'], 'id' | 'client'>;

/** A console command, with the id of the request that opened its stream. */
export interface StreamCommand
  extends Pick<Caller, 'server' | 'keyId' | 'secretHash' | 'requestId' | 'ip'>, Pick<StreamGrant, 'parentId'> {
  readonly command: string;
}

/** Shared dependencies of all streams. */
export interface StreamServices {
  readonly tokens: ReturnType<typeof createStreamTokens>;
  readonly checkAccess: CheckAccess;
  /** Sends a validated command of an authorized key; applies limits and auditing. */
  readonly sendCommand: (command: StreamCommand) => Promise<void>;
  /** Logs a failure of this service or of the provider. */
  readonly report: Base<unknown>['report'];
}

interface StreamOptions extends StreamServices {
  readonly websocket: WebSocket;
  readonly socket: Duplex;
  readonly server: ServerName;
  readonly request: StreamRequest;
  readonly hasRoom: (next: StreamGrant) => boolean;
  readonly join: Channel['join'];
  readonly ended: () => void;
}

/** The console stream of one client. */
export type ConsoleStream = ReturnType<typeof createStream>;

/** The payload of our pings; pongs that echo it do not count as messages of the client. */
export const pingData = Buffer.from('console stream');

/** The rate limit of messages, far above typing and reconnecting. */
const messageRate = { rps: 5, burst: 20 };

/** Close the stream after this many dropped frames or refused tokens. */
const maxRefused = 1000;
const maxBadTokens = 5;
/** The maximum number of waiting messages, each of at most 16 KiB. */
const maxWaiting = 32;
/** The limit of buffered replies, reached only by clients that send but do not read. */
const maxBuffered = 1024 * 1024;
const maxEventLength = 64;

const malformed = 'A message must be a JSON text of the form {"event": "...", "args": ["..."]}';
const noCommand =
  'A command has 1 to 1,024 characters, one of them visible, and no control characters; a reference has 1 to 64';

/** Creates the stream of a new connection. */
export function createStream(options: StreamOptions) {
  const { websocket, socket, server, request, tokens, checkAccess } = options;
  let phase: 'unauthenticated' | 'live' | 'expired' | 'ended' = 'unauthenticated';
  /** The last accepted token. Kept after the end, for the log. */
  let grant: StreamGrant | undefined;
  /** The current access of the key; the token may allow more. */
  let access: Access = 'read_only';
  let viewing: ReturnType<Channel['join']> | undefined;
  /** Refused tokens since the last valid token. */
  let badTokens = 0;
  let historyAt = -Infinity;
  let statsAt = -Infinity;
  let isStatsWanted = false;
  let phaseTimer: NodeJS.Timeout | undefined;
  let statsTimer: NodeJS.Timeout | undefined;

  const isEnded = (): boolean => phase === 'ended';
  const hasOutput = (): boolean => phase === 'live';
  const mayWrite = (): boolean => hasOutput() && grant?.mode === 'read_write' && access === 'ok';
  /** Bypasses ws. Frames never interleave, because ws also writes each frame in one piece. */
  const send = (frames: Buffer): void => {
    if (websocket.readyState === websocket.OPEN && socket.writable) socket.write(frames);
  };
  const reply = <Name extends ServiceEvent>(event: Name, ...args: ArgumentsOf<Name>): void => {
    if (websocket.bufferedAmount > maxBuffered) websocket.terminate();
    else send(toFrame(event, ...args));
  };
  const end = (close?: CloseName, reason?: string): void => {
    if (isEnded()) return;
    phase = 'ended';
    clearTimeout(phaseTimer);
    clearTimeout(statsTimer);
    viewing?.leave();
    options.ended();
    if (close) websocket.close(closeCodes[close].code, reason);
  };
  const revoke = ({ message }: Problem): void => end('revoked', message);
  const waitUntil = (at: number, run: () => void): void => {
    clearTimeout(phaseTimer);
    phaseTimer = setTimeout(run, Math.max(0, at - Date.now())).unref();
  };
  const warn = (): void => {
    reply('token expiring');
    waitUntil(grant!.expiresAt, expire);
  };
  const expire = (): void => {
    phase = 'expired';
    reply('token expired');
    waitUntil(Date.now() + streamLimits.expiredSeconds * 1000, () => end('expired', 'the token expired'));
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
    else if (viewing || options.hasRoom(next)) accept(next, found);
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
  /** Delays early requests instead of refusing them: the timers of clients drift by a few ms. */
  const requestStats = (now: number): void => {
    if (isStatsWanted) return;
    isStatsWanted = true;
    const early = statsAt + streamLimits.statsSeconds * 1000 - now;
    // Not awaited: a slow provider must not delay the renewal of a token.
    if (early > 0) statsTimer = setTimeout(() => void sendStats(), early).unref();
    else void sendStats();
  };
  const sendStats = async (): Promise<void> => {
    const stats = await viewing!.stats();
    isStatsWanted = false;
    if (!hasOutput()) return;
    statsAt = performance.now();
    reply('stats', JSON.stringify(stats));
  };

  /** Refuses a command: by its reference, or in words if it has none. */
  const refuseCommand = (reference: string | undefined, code: CommandRefusal, words?: string): void => {
    if (reference !== undefined) reply('command refused', reference, code);
    else if (words !== undefined) reply('daemon error', words);
  };
  const denyCommand = (reference: string | undefined): void => {
    reply('permission denied', 'send command');
    refuseCommand(reference, 'not_permitted');
  };
  /** Checks the key again before each command: the periodic check may be 2 s old. */
  const runCommand = async (command: string, reference: string | undefined): Promise<void> => {
    if (isEnded()) return;
    try {
      const found = await checkAccess({ ...grant!, mode: 'read_write' });
      if (isEnded()) return;
      if (found instanceof Problem) revoke(found);
      else if (found === 'read_only' || !mayWrite()) denyCommand(reference);
      else {
        const { keyId, parentId, secretHash } = grant!;
        const sender = { keyId, parentId, secretHash, requestId: request.id, ip: request.client.address };
        await options.sendCommand({ server, command, ...sender });
        if (reference !== undefined) reply('command accepted', reference);
      }
    } catch (error) {
      refuseCommand(reference, toRefusalCode(error), describe(error));
    }
  };

  const describe = (error: unknown): string => {
    if (!(error instanceof Problem)) options.report('a console stream failed')(error);
    return toClientText(error);
  };
  const onError = (error: unknown): void => reply('daemon error', describe(error));
  const messages = pLimit(1);
  /** Commands have a queue of their own: a slow provider must not delay the renewal of a token. */
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

  /** Drops a message. A command with a reference always gets an answer. */
  const drop = (message: ClientMessage | undefined, words?: string): void => {
    refuseCommand(message?.type === 'send command' ? message.reference : undefined, 'rate_limited', words);
  };
  const bucket = createTokenBucket(messageRate);
  /** Frames dropped since the bucket was last full. */
  let refused = 0;
  const isWithinRate = (message?: ClientMessage): boolean => {
    const { allowed, left } = bucket.consume('');
    // The bucket was full when this frame arrived.
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
    const message = isBinary ? undefined : parseMessage((data as Buffer).toString(), performance.now());
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
  waitUntil(Date.now() + streamLimits.authSeconds * 1000, () => end('unauthenticated', 'no token came in time'));
  return {
    request,
    /** Returns the last accepted token. */
    grant: (): StreamGrant | undefined => grant,
    /** Applies the current access of the key; `unknown` if the checks failed for too long. */
    onAccess,
    shutDown: (): void => end('restart', 'service restart'),
  };
}

function describeToken(token: unknown): string {
  if (typeof token === 'string' && token.startsWith('hk_'))
    return 'This is an API key: send the token that came with the address';
  return isWellFormed(token) ? 'The token is not known' : 'Malformed token';
}

type ClientMessage =
  | { readonly type: 'auth'; readonly token: unknown }
  | { readonly type: 'send logs' | 'send stats'; readonly now: number }
  /** `command` is undefined if the command or its reference is invalid. `reference` is returned unchanged. */
  | { readonly type: 'send command'; readonly command: string | undefined; readonly reference: string | undefined }
  | { readonly type: 'unknown'; readonly event: string };

/** A client's message; clients of panels send `[null]` for no arguments. */
const Message = z.object({ event: z.string(), args: z.array(z.unknown()).default([]) });

/** Parses a text frame; undefined if malformed. */
export function parseMessage(text: string, now: number): ClientMessage | undefined {
  const message = parseJson(text, Message);
  if (!message) return undefined;
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

/** Returns the message of a {@link Problem}, and a general text for other errors. */
export function toClientText(error: unknown): string {
  return error instanceof Problem ? error.message : problems.internal_error.message;
}

/** Errors of a key that may not send commands to the server. */
const denials = new Set<string>(['unauthorized', 'forbidden', 'insufficient_scope', 'provider_permission_denied']);

function toRefusalCode(error: unknown): CommandRefusal {
  if (!(error instanceof Problem)) return 'failed';
  if (error.message === offline) return 'offline';
  if (error.code === 'rate_limited') return 'rate_limited';
  return denials.has(error.code) ? 'not_permitted' : 'failed';
}
