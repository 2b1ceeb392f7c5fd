import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { ServerName } from '#contract/api-keys.ts';
import type { Access, CheckAccess } from '../../keys/access.ts';
import { createMachine } from '../state-table.ts';
import type { Machine } from '../state-table.ts';
import type { Cancel, Clock } from './clock.ts';
import type { Viewing } from './channel.ts';
import { toRefusalCode } from './client-error.ts';
import { toFrames } from './frame.ts';
import { parseMessage } from './message.ts';
import type { FrameSink } from './output.ts';
import { takesOutput } from './session-requests.ts';
import { authDeadlineMs, toNextState, initial } from './session-state.ts';
import type { Command, SessionEvent, SessionState } from './session-types.ts';
import type { StreamGrant, StreamTokens } from './token.ts';
import { createTokenBucket } from '../../token-bucket.ts';

/** An authenticated stream. */
export interface Viewer {
  readonly keyId: string;
  /** The last accepted token. */
  readonly grant: () => StreamGrant;
  /** Called with the current access of the key; `unknown` if it could not be checked for too long. */
  readonly onAccess: (access: Access | 'unknown') => void;
  readonly sink: FrameSink;
}

/** Dependencies of a session. */
export interface SessionOptions {
  readonly websocket: WebSocket;
  /** The connection of the websocket. */
  readonly socket: Duplex;
  readonly server: ServerName;
  readonly clock: Clock;
  readonly tokens: StreamTokens;
  readonly checkAccess: CheckAccess;
  /** Whether a key may open another stream. */
  readonly hasRoom: (keyId: string) => boolean;
  readonly enter: (viewer: Viewer) => Viewing;
  /** Called once, when the session has ended. */
  readonly leave: () => void;
  readonly sendCommand: (grant: StreamGrant, command: string) => Promise<void>;
  /** The text of an error for the client. */
  readonly describe: (error: unknown) => string;
}

/** One client's stream. */
export interface Session {
  shutDown(): void;
  /** The id of the API key, if the session is authenticated. */
  keyId(): string | undefined;
}

/** The payload of our pings, so that their pongs do not count as messages of the client. */
export const pingData = Buffer.from('console stream');

/** The rate limit of messages, far above typing and the messages after a reconnect. */
const messageRate = { name: 'messages', rps: 5, burst: 20 };

/** The limit of buffered replies, which only a client reaches that sends messages and does not read. */
const maxBuffered = 1024 * 1024;

/** Creates the session of a new connection. It runs the effects of `toNextState`, which holds all decisions. */
export function createSession(options: SessionOptions): Session {
  const { websocket, socket, clock } = options;
  const timers = new Map<'timer' | 'stats due', Cancel>();
  let viewing: Viewing | undefined;

  const dispatch = async (event: SessionEvent): Promise<void> => void (await Promise.all(machine.dispatch(event)));
  const wait = (type: 'timer' | 'stats due', until: number): void => {
    timers.get(type)?.();
    const run = (): void => void dispatch({ type, now: clock.now() });
    timers.set(type, clock.after(Math.max(0, until - clock.now()), run));
  };
  const readStats = async (): Promise<void> => {
    const stats = await viewing!.stats();
    await dispatch({ type: 'stats', stats, now: clock.now() });
  };
  const machine: Machine<SessionState, SessionEvent> = createMachine(initial, toNextState, {
    reply: ({ message }) => reply(options, message),
    wait: ({ until }) => wait('timer', until),
    'wait for stats': ({ until }) => wait('stats due', until),
    queue: ({ message }) => messages.push(message),
    'queue command': ({ command }) => commands.push({ type: 'command', command }),
    verify: async ({ token }) => dispatch(await verify(options, token)),
    'check grant': async ({ grant }) => dispatch(await checkGrant(options, grant)),
    'check command': async ({ grant, command }) => dispatch(await checkCommand(options, grant, command)),
    'send command': async ({ grant, command }) => dispatch(await sendCommand(options, grant, command)),
    enter({ keyId }) {
      viewing = options.enter({ keyId, ...viewer });
    },
    resume: () => viewing?.pump(),
    'send history': () => viewing?.sendHistory(),
    // Not awaited, so that a slow provider does not delay the renewal of a token.
    'read stats': () => void readStats(),
    release() {
      for (const cancel of timers.values()) cancel();
      options.leave();
    },
    close: ({ code, reason }) => websocket.close(code, reason),
  });
  const countRefused = createRateCheck(clock);
  const messages = createQueue(dispatch, options.describe);
  const commands = createQueue(dispatch, options.describe);
  const viewer: Omit<Viewer, 'keyId'> = {
    grant: () => machine.state().grant!,
    onAccess: (access) => void dispatch({ type: 'access changed', access }),
    sink: {
      isReady: () => takesOutput(machine.state()) && !socket.writableNeedDrain,
      send: (frames) => send(options, frames),
    },
  };
  wait('timer', clock.now() + authDeadlineMs);

  socket.on('drain', () => viewing?.pump());
  websocket.on('message', (data, isBinary) => {
    const refused = countRefused();
    const message = isBinary ? undefined : parseMessage((data as Buffer).toString(), clock.now());
    if (refused > 0) void dispatch({ type: 'flood', message, refused });
    else void dispatch({ type: 'frame', message, waiting: messages.length() + commands.length() });
  });
  const countControlFrame = (): void => {
    const refused = countRefused();
    if (refused > 0) void dispatch({ type: 'flood', message: undefined, refused });
  };
  websocket.on('ping', countControlFrame);
  websocket.on('pong', (data) => data.equals(pingData) || countControlFrame());
  websocket.on('close', () => void dispatch({ type: 'gone' }));
  return { shutDown: () => void dispatch({ type: 'shut down' }), keyId: () => machine.state().grant?.keyId };
}

type Dispatch = (event: SessionEvent) => Promise<void>;

/** Creates the rate limit of frames. It returns 0 within it, else the number of refusals since the bucket was last full. */
function createRateCheck(clock: Clock): () => number {
  const bucket = createTokenBucket(messageRate, () => clock.now());
  let refused = 0;
  return () => {
    const { allowed, left } = bucket.consume('');
    // The bucket was full before this frame.
    if (left === messageRate.burst - 1) refused = 0;
    return allowed ? 0 : (refused += 1);
  };
}

/**
 * Writes output directly to the connection, bypassing ws: whole frames, and only while ws is open. ws writes its own frames
 * in one piece too, so frames never interleave.
 */
function send({ websocket, socket }: SessionOptions, frames: Buffer): void {
  if (websocket.readyState === websocket.OPEN && socket.writable) socket.write(frames);
}

function reply(options: SessionOptions, message: string): void {
  if (options.websocket.bufferedAmount > maxBuffered) options.websocket.terminate();
  else send(options, toFrames([message]));
}

async function verify({ tokens, server }: SessionOptions, token: unknown): Promise<SessionEvent> {
  const verified = typeof token === 'string' ? await tokens.verify(token) : 'invalid';
  if (verified === 'invalid') return { type: 'token refused', reason: 'The token is not valid' };
  if (verified === 'expired') return { type: 'token refused', reason: 'The token has expired' };
  if (verified.server !== server) return { type: 'token refused', reason: 'The token is for another server' };
  return { type: 'token verified', grant: verified };
}

async function checkGrant({ checkAccess, hasRoom }: SessionOptions, grant: StreamGrant): Promise<SessionEvent> {
  const access = await checkAccess(grant);
  return { type: 'grant checked', grant, access, hasRoom: hasRoom(grant.keyId) };
}

async function checkCommand(options: SessionOptions, grant: StreamGrant, command: Command): Promise<SessionEvent> {
  try {
    const access = await options.checkAccess({ ...grant, mode: 'read_write' });
    return { type: 'command checked', command, access };
  } catch (error) {
    return toRefusal(options, command, error);
  }
}

async function sendCommand(options: SessionOptions, grant: StreamGrant, command: Command): Promise<SessionEvent> {
  try {
    await options.sendCommand(grant, command.text);
    return { type: 'command accepted', command };
  } catch (error) {
    return toRefusal(options, command, error);
  }
}

function toRefusal({ describe }: SessionOptions, command: Command, error: unknown): SessionEvent {
  return { type: 'command refused', command, code: toRefusalCode(error), reason: describe(error) };
}

/** Creates a queue that handles events sequentially, each with all its effects. */
function createQueue(dispatch: Dispatch, describe: SessionOptions['describe']) {
  let length = 0;
  let last = Promise.resolve();
  return {
    push(event: SessionEvent): void {
      length += 1;
      last = last
        .then(() => dispatch(event))
        .catch((error: unknown) => dispatch({ type: 'failed', reason: describe(error) }))
        .finally(() => (length -= 1));
    },
    length: () => length,
  };
}
