import { z } from 'zod';
import type { Scope } from '#contract/api-keys.ts';

/** The times and limits of a stream. */
export const streamLimits = {
  authSeconds: 10,
  expiringSeconds: 60,
  expiredSeconds: 30,
  historyLines: 150,
  historySeconds: 1,
  statsSeconds: 2,
  messageBytes: 16 * 1024,
  referenceLength: 64,
  streamsOfKey: 2000,
} as const;

const bytes = z.int().min(0).nullable();

/** The current resource usage of a game server; values that its provider does not report are null. */
export const ConsoleStats = z.strictObject({
  cpu: z.number().min(0).nullable().describe('CPU in percent of one core: 250 is two and a half cores.'),
  memory_bytes: bytes.describe('Memory in use.'),
  disk_bytes: bytes.describe('Disk space in use.'),
  network_rx_bytes: bytes.describe('Bytes received since the server was started.'),
  network_tx_bytes: bytes.describe('Bytes sent since the server was started.'),
});
export type ConsoleStats = z.infer<typeof ConsoleStats>;

/** Statistics without a known value. */
export const unknownStats = Object.fromEntries(
  Object.keys(ConsoleStats.shape).map((name) => [name, null]),
) as unknown as ConsoleStats;

/** The reference of a command, chosen by the client and repeated in the answer. */
export const CommandReference = z
  .string()
  // oxlint-disable-next-line no-control-regex
  .regex(/^[^\u0000-\u001f\u007f-\u009f\ud800-\udfff]{1,64}$/u);

/** One argument of an event; all arguments are texts. */
interface Argument {
  readonly name: string;
  readonly description: string;
  readonly example: string;
  readonly optional?: true;
  /** The meaning of each allowed value. */
  readonly values?: Readonly<Record<string, string>>;
  /** The shape of a JSON text. */
  readonly json?: z.ZodObject;
}
const argument = <More>(name: string, description: string, example: string, more?: More & Partial<Argument>) =>
  ({ name, description, example, ...more }) as Argument & More;
const reason = (example: string) => argument('reason', 'A human-readable reason.', example);
const reference = argument('reference', 'The reference of the command, unchanged.', 'cmd-17');

/** Describes an event from clients, with the scope that their key needs. */
const client = <Args extends readonly Argument[]>(scope: Scope | null, description: string, ...args: Args) => {
  return { from: 'client' as const, description, scope, args };
};
/** Describes an event from the service. */
const service = <Args extends readonly Argument[]>(description: string, ...args: Args) => {
  return { from: 'service' as const, description, scope: null, args };
};

/** All events of a console stream. A message is a JSON text frame `{"event": "...", "args": ["..."]}`. */
export const streamEvents = {
  auth: client(
    null,
    `Opens the stream, or renews its token on the same socket. The first auth must arrive within ${streamLimits.authSeconds} seconds. The answer is auth success or jwt error.`,
    argument(
      'token',
      'The token that came with the address of the stream.',
      'tHt7xeqzoN2sxJz4lJQZ5cVqGC4lQ0XlN4Jd2mYbE1s',
    ),
  ),
  'send logs': client(
    'game-console:read',
    `Requests the last ${streamLimits.historyLines} lines, at most once a second: earlier requests are answered with daemon error. The lines arrive as console output, followed by logs end.`,
  ),
  'send stats': client(
    'game-console:read',
    `Requests the current resource usage. The answer is stats, at most once in ${streamLimits.statsSeconds} seconds: earlier requests wait, and all waiting requests get one answer.`,
  ),
  'send command': client(
    'game-console:read_write',
    'Sends one command, after the commands sent before it. With a reference, the answer is command accepted or command refused. Without a reference, only a refused command is answered, with permission denied or daemon error.',
    argument(
      'command',
      'The command: 1 to 1,024 characters, at least one visible, no control characters.',
      'say Hello',
    ),
    argument(
      'reference',
      `Any text of 1 to ${streamLimits.referenceLength} characters without control characters. The answer repeats it.`,
      'cmd-17',
      { optional: true },
    ),
  ),
  'auth success': service('The token was accepted; console output follows.'),
  'console output': service(
    'A line of the console, with its ANSI colour codes.',
    argument(
      'line',
      'The line, of at most 64 Ki characters.',
      '[12:00:00] [Server thread/INFO]: Done (4.2s)! For help, type "help"',
    ),
  ),
  'logs end': service('The end of the lines requested by send logs. Later lines are new.'),
  status: service(
    'The state of the server: after auth success, as soon as it is known, and at each change.',
    argument('status', 'The state.', 'running', {
      values: {
        running: 'The server is running.',
        starting: 'The server is starting.',
        stopping: 'The server is stopping.',
        offline: 'The server is not running.',
      },
    }),
  ),
  stats: service(
    'The answer to send stats. Unknown values are null; all are null while the console is not available.',
    argument(
      'stats',
      'A JSON text.',
      '{"cpu":37.5,"memory_bytes":1610612736,"disk_bytes":5368709120,"network_rx_bytes":81920,"network_tx_bytes":245760}',
      { json: ConsoleStats },
    ),
  ),
  'command accepted': service('The command was passed to the server. Its output follows as console output.', reference),
  'command refused': service(
    'The command was not passed to the server; only with the code failed, it may have been.',
    reference,
    argument('code', 'A machine-readable reason.', 'offline', {
      values: {
        offline: 'The server must be online to receive commands.',
        rate_limited: 'Too many commands or messages: wait before you retry.',
        not_permitted: 'The token or the key is read-only or expired, or the server accepts no commands.',
        invalid: 'The command or its reference is invalid.',
        failed:
          'The command failed, or its outcome is unknown: it may have been run. Check the console before you retry.',
      },
    }),
  ),
  'token expiring': service(
    `The token expires in ${streamLimits.expiringSeconds} seconds, or in a quarter of its lifetime if that is shorter: fetch a new token, and send auth again.`,
  ),
  'token expired': service(
    `The token has expired: no output follows until a new auth, and the stream is closed after ${streamLimits.expiredSeconds} seconds.`,
  ),
  'jwt error': service(
    'The token was refused. The fifth refusal in a row closes the stream.',
    reason('The token has expired'),
  ),
  'permission denied': service(
    'The stream may not send this event, or the event does not exist.',
    argument('event', 'The event, cut to 64 characters.', 'send command'),
  ),
  gap: service(
    'Lines may be missing here: the client read too slowly, or the connection to the console was lost for a while.',
    reason('12 lines were dropped: read too slowly'),
  ),
  'daemon error': service(
    'A message or the console failed. The stream stays open.',
    reason('The history is sent at most once a second'),
  ),
};

type Events = typeof streamEvents;
/** An event with any arguments. */
export type EventRow = ReturnType<typeof client | typeof service>;
type From<Side extends EventRow['from']> = {
  [Name in keyof Events]: Events[Name]['from'] extends Side ? Name : never;
}[keyof Events];

/** The events that clients send. */
export type ClientEvent = From<'client'>;
/** The events that the service sends. */
export type ServiceEvent = From<'service'>;

type TextOf<Arg> = Arg extends { readonly values: infer Values } ? keyof Values & string : string;
type TextsOf<Args extends readonly Argument[]> = { readonly [At in keyof Args]: TextOf<Args[At]> };

/** The arguments of an event of the service. */
export type ArgumentsOf<Name extends ServiceEvent> = TextsOf<Events[Name]['args']>;

/** The code of a refused command. */
export type CommandRefusal = ArgumentsOf<'command refused'>[1];

const correct = 'Fix the client before you reconnect.';

/** All close codes of a stream, with advice for clients. Codes from 4000 on are our own. */
export const closeCodes = {
  protocol: { code: 1002, meaning: 'The client violated the websocket protocol.', client: correct },
  lost: {
    code: 1006,
    meaning: 'The connection was lost without a close frame: the network failed, or the client did not answer a ping.',
    client: 'Reconnect with a new token, and wait longer after each failure.',
  },
  encoding: { code: 1007, meaning: 'A text message was not UTF-8.', client: correct },
  abuse: { code: 1008, meaning: 'The client sent far too many messages.', client: correct },
  size: { code: 1009, meaning: `A message was larger than ${streamLimits.messageBytes / 1024} KiB.`, client: correct },
  restart: {
    code: 1012,
    meaning: 'The service is restarting.',
    client: 'Reconnect with a new token, after a random delay of up to 5 seconds.',
  },
  overload: {
    code: 1013,
    meaning: 'The key has too many streams, or its access cannot be checked now.',
    client: 'Reconnect after 30 seconds, and close streams that you do not need.',
  },
  unauthenticated: {
    code: 4000,
    meaning: `No valid token arrived within ${streamLimits.authSeconds} seconds, or five were refused in a row.`,
    client: 'Fetch a new token, and reconnect.',
  },
  expired: {
    code: 4001,
    meaning: `The token expired, and no new token arrived within ${streamLimits.expiredSeconds} seconds.`,
    client: 'Fetch a new token, and reconnect.',
  },
  revoked: {
    code: 4003,
    meaning: 'Access was revoked: the key or its secret is no longer valid, or the server is suspended.',
    client: 'Do not reconnect with this key.',
  },
} as const;

/** The name of a close code. */
export type CloseName = keyof typeof closeCodes;
