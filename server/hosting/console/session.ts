import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { ServerName } from '#contract/api-keys.ts';
import type { Access, CheckAccess } from '../../keys/access.ts';
import { createMachine } from '../state-table.ts';
import type { Machine } from '../state-table.ts';
import type { Cancel, Clock } from './clock.ts';
import { toFrames } from './frame.ts';
import { parseMessage } from './message.ts';
import type { FrameSink, Subscription } from './output.ts';
import { authDeadlineMs, takesOutput, toNextState, unproved } from './session-state.ts';
import type { SessionEvent, SessionState } from './session-state.ts';
import type { StreamGrant, StreamMode, StreamTokens } from './token.ts';
import { createTokenBucket } from '../../token-bucket.ts';

/** A stream whose key was proved. */
export interface Viewer {
  readonly keyId: string;
  readonly mode: () => StreamMode;
  /** What the key may do now; `unknown` where it could not be found out for too long. */
  readonly onAccess: (access: Access | 'unknown') => void;
  readonly sink: FrameSink;
}

/** What a session is made of. */
export interface SessionOptions {
  readonly websocket: WebSocket;
  /** The connection below it. */
  readonly socket: Duplex;
  readonly server: ServerName;
  readonly clock: Clock;
  readonly tokens: StreamTokens;
  readonly checkAccess: CheckAccess;
  /** Whether a key may have one more stream. */
  readonly hasRoom: (keyId: string) => boolean;
  readonly enter: (viewer: Viewer) => Subscription;
  /** Called once, when the session is over. */
  readonly leave: () => void;
  readonly sendCommand: (keyId: string, command: string) => Promise<void>;
  /** What the client reads of a failure. */
  readonly describe: (error: unknown) => string;
}

/** One client's stream. */
export interface Session {
  shutDown(): void;
  /** The API key, once it was proved. */
  keyId(): string | undefined;
}

/** What our own pings carry, so that their answers do not count as messages of the client. */
export const pingData = Buffer.from('console stream');

/** What people type, and what clients send when they come back, fits many times. */
const messageRate = { name: 'messages', rps: 5, burst: 20 };

/** Output stops far below: only answers to a client that writes and never reads come to this. */
const maxBuffered = 1024 * 1024;

/** Creates the session of a connection that was just opened: it does what `toNextState` says, and decides nothing. */
export function createSession(options: SessionOptions): Session {
  const { websocket, socket, clock } = options;
  let timer: Cancel | undefined;
  let subscription: Subscription | undefined;

  const dispatch = async (event: SessionEvent): Promise<void> => void (await Promise.all(machine.dispatch(event)));
  const wait = (until: number): void => {
    timer?.();
    const run = (): void => void dispatch({ type: 'timer', now: clock.now() });
    timer = clock.after(Math.max(0, until - clock.now()), run);
  };
  const machine: Machine<SessionState, SessionEvent> = createMachine(unproved, toNextState, {
    reply: ({ message }) => reply(options, message),
    wait: ({ until }) => wait(until),
    queue: ({ message }) => messages.push(message),
    'queue command': ({ command }) => commands.push({ type: 'command', command }),
    verify: async ({ token }) => dispatch(await verify(options, token)),
    'check grant': async ({ grant }) => dispatch(await checkGrant(options, grant)),
    'check command': async ({ keyId, command }) => dispatch(await checkCommand(options, keyId, command)),
    'send command': ({ keyId, command }) => options.sendCommand(keyId, command),
    enter({ keyId }) {
      subscription = options.enter({ keyId, ...viewer });
    },
    resume: () => subscription?.pump(),
    'send history': () => subscription?.sendHistory(),
    release() {
      timer?.();
      options.leave();
    },
    close: ({ code, reason }) => websocket.close(code, reason),
  });
  const isWithinRate = createRateCheck(clock, dispatch);
  const messages = createQueue(dispatch, options.describe);
  const commands = createQueue(dispatch, options.describe);
  const viewer: Omit<Viewer, 'keyId'> = {
    mode: () => machine.state().grant!.mode,
    onAccess: (access) => void dispatch({ type: 'access changed', access }),
    sink: {
      isReady: () => takesOutput(machine.state()) && !socket.writableNeedDrain,
      send: (frames) => send(options, frames),
    },
  };
  wait(clock.now() + authDeadlineMs);

  socket.on('drain', () => subscription?.pump());
  websocket.on('message', (data, isBinary) => {
    if (!isWithinRate()) return;
    const message = isBinary ? undefined : parseMessage((data as Buffer).toString(), clock.now());
    void dispatch({ type: 'frame', message, waiting: messages.length() + commands.length() });
  });
  websocket.on('ping', () => isWithinRate());
  websocket.on('pong', (data) => data.equals(pingData) || isWithinRate());
  websocket.on('close', () => void dispatch({ type: 'gone' }));
  return { shutDown: () => void dispatch({ type: 'shut down' }), keyId: () => machine.state().grant?.keyId };
}

type Dispatch = (event: SessionEvent) => Promise<void>;

/** Counts what comes in; says so to the session, with how many were refused since the bucket was last full. */
function createRateCheck(clock: Clock, dispatch: Dispatch): () => boolean {
  const bucket = createTokenBucket(messageRate, () => clock.now());
  let refused = 0;
  return () => {
    const { allowed, left } = bucket.consume('');
    // The bucket was full before this one.
    if (left === messageRate.burst - 1) refused = 0;
    if (!allowed) void dispatch({ type: 'flood', refused: (refused += 1) });
    return allowed;
  };
}

/**
 * Output is written past ws, to the connection itself: whole frames, and only while ws has not begun to close. ws
 * does the same with its own frames, each in one piece, so that they never mix.
 */
function send({ websocket, socket }: SessionOptions, frames: Buffer): void {
  if (websocket.readyState === websocket.OPEN && socket.writable) socket.write(frames);
}

function reply(options: SessionOptions, message: string): void {
  if (options.websocket.bufferedAmount > maxBuffered) options.websocket.terminate();
  else send(options, toFrames([message]));
}

async function verify({ tokens, server }: SessionOptions, token: unknown): Promise<SessionEvent> {
  const proved = typeof token === 'string' ? await tokens.verify(token) : 'invalid';
  if (proved === 'invalid') return { type: 'token refused', reason: 'The token is not valid' };
  if (proved === 'expired') return { type: 'token refused', reason: 'The token has expired' };
  if (proved.server !== server) return { type: 'token refused', reason: 'The token is for another server' };
  return { type: 'token proved', grant: proved };
}

async function checkGrant({ checkAccess, server, hasRoom }: SessionOptions, grant: StreamGrant): Promise<SessionEvent> {
  const access = await checkAccess(grant.keyId, server, grant.mode);
  return { type: 'grant checked', grant, access, hasRoom: hasRoom(grant.keyId) };
}

async function checkCommand(options: SessionOptions, keyId: string, command: string): Promise<SessionEvent> {
  const access = await options.checkAccess(keyId, options.server, 'read_write');
  return { type: 'command checked', command, access };
}

/** Creates a queue whose events are handled one after the other, each with all that follows from it. */
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
