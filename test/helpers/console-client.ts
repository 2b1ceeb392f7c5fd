import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { ClientOptions } from 'ws';
import { compareMessage, readLength } from '../server/described-frames.ts';

/** A stream message: event and arguments. */
export type Message = readonly [event: string, ...args: string[]];

/** Parses a stream message. */
export function toMessage(text: string): Message {
  const { event, args } = JSON.parse(text) as { event: string; args: string[] };
  return [event, ...args];
}

/** A client of a console stream. */
export type TestClient = Awaited<ReturnType<typeof openClient>>;

/** Connects to a stream. */
export async function openClient(url: string, options: ClientOptions = {}) {
  const socket = new WebSocket(url, { perMessageDeflate: false, ...options });
  const messages: Message[] = [];
  const waiting: (() => void)[] = [];
  let read = 0;
  const { promise: ended, resolve } = Promise.withResolvers<{ code: number; reason: string }>();
  socket.on('close', (code, reason) => {
    resolve({ code, reason: reason.toString() });
    for (const wake of waiting.splice(0)) wake();
  });
  socket.on('message', (data) => {
    const text = (data as Buffer).toString();
    compareMessage(text);
    messages.push(toMessage(text));
    for (const wake of waiting.splice(0)) wake();
  });
  await once(socket, 'open');
  socket.on('error', () => undefined);

  const next = async (): Promise<Message> => {
    while (read === messages.length) {
      if (socket.readyState !== WebSocket.OPEN) throw new Error('the stream ended');
      // Another waiter may take the message first.
      await new Promise<void>((wake) => waiting.push(wake));
    }
    read += 1;
    return messages[read - 1]!;
  };
  const until = async (event: string): Promise<Message[]> => {
    const found: Message[] = [];
    do found.push(await next());
    while (found.at(-1)![0] !== event);
    return found;
  };
  const send = (event: string, ...args: unknown[]): void => socket.send(JSON.stringify({ event, args }));
  return {
    socket,
    /** All received messages. */
    messages: messages as readonly Message[],
    ended,
    send,
    next,
    /** Reads all messages up to the next with an event, which is included. */
    until,
    /** Sends `auth`, and reads the answer. */
    auth(token: string) {
      send('auth', token);
      return next();
    },
    /** Waits for a pong; all messages that the server sent before are then in `messages`. */
    async roundTrip() {
      const pong = once(socket, 'pong');
      socket.ping();
      await pong;
    },
  };
}

/** Reads the messages of consecutive text frames of a server (RFC 6455 5.2). */
export function readFrames(frames: Buffer): Message[] {
  const messages: Message[] = [];
  for (let at = 0; at < frames.length;) {
    const [head, length] = readLength(frames.subarray(at));
    const end = at + head + length!;
    messages.push(toMessage(frames.toString('utf8', at + head, end)));
    at = end;
  }
  return messages;
}

/** Lists the lines among messages. */
export function linesOf(messages: readonly Message[]): string[] {
  return messages.flatMap(([event, line]) => (event === 'console output' ? [line!] : []));
}

/** The result of a counter. */
export type Count = ReturnType<ReturnType<typeof createCounter>['count']>;

/** Creates a counter of numbered lines and of the missing lines that gaps report. */
export function createCounter() {
  let received = 0;
  let dropped = 0;
  let wrong = 0;
  return {
    see([event, text]: Message) {
      if (event === 'gap') dropped += Number.parseInt(text!, 10);
      if (event !== 'console output') return;
      if (Number.parseInt(text!, 10) !== received + dropped) wrong += 1;
      received += 1;
    },
    /** Returns the number of lines, of those reported as dropped, and of lines with a wrong number. */
    count: () => ({ received, dropped, wrong }),
  };
}
