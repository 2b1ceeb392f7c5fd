import { z } from 'zod';
import type { Scope } from '#contract/api-keys.ts';

/** The times, in seconds, and the limits of a stream. */
export const streamLimits = {
  authSeconds: 10,
  expiringSeconds: 60,
  expiredSeconds: 30,
  historyLines: 150,
  historySeconds: 1,
  statsSeconds: 2,
  messageBytes: 16 * 1024,
  referenceLength: 64,
} as const;

const bytes = z.int().min(0).nullable();

/** What a game server uses now. A value that its provider does not know is null. */
export const ConsoleStats = z.strictObject({
  cpu: z.number().min(0).nullable().describe('CPU in percent of one core: 250 is two and a half cores.'),
  memory_bytes: bytes.describe('Memory in use.'),
  disk_bytes: bytes.describe('Disk space in use.'),
  network_rx_bytes: bytes.describe('Bytes received since the server was started.'),
  network_tx_bytes: bytes.describe('Bytes sent since the server was started.'),
});
export type ConsoleStats = z.infer<typeof ConsoleStats>;

/** The statistics of a server of which nothing is known. */
export const unknownStats: ConsoleStats = {
  cpu: null,
  memory_bytes: null,
  disk_bytes: null,
  network_rx_bytes: null,
  network_tx_bytes: null,
};

/** The reference of a command: what the client chooses, to find its answer. */
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
  /** The meaning of each value, if there are only some. */
  readonly values?: Readonly<Record<string, string>>;
  /** The shape, if the text is JSON. */
  readonly json?: z.ZodObject;
}
const argument = <More>(name: string, description: string, example: string, more?: More & Partial<Argument>) =>
  ({ name, description, example, ...more }) as Argument & More;
const reason = (example: string) => argument('reason', 'The reason, in a sentence for people.', example);
const reference = argument('reference', 'The reference of the command, unchanged.', 'cmd-17');

/** An event that clients send, with the scope that the key of the stream needs. */
const client = <Args extends readonly Argument[]>(scope: Scope | null, description: string, ...args: Args) => {
  return { from: 'client' as const, description, scope, args };
};
const service = <Args extends readonly Argument[]>(description: string, ...args: Args) => {
  return { from: 'service' as const, description, scope: null, args };
};

/** All events of a console stream. A message is a JSON text frame `{"event": "...", "args": ["..."]}`. */
export const streamEvents = {
  auth: client(
    null,
    `Opens the stream, or renews its token on the same socket. The first one must come within ${streamLimits.authSeconds} seconds. The answer is auth success or jwt error.`,
    argument(
      'token',
      'The token that came with the address of the stream.',
      'tHt7xeqzoN2sxJz4lJQZ5cVqGC4lQ0XlN4Jd2mYbE1s',
    ),
  ),
  'send logs': client(
    'game-console:read',
    `Asks for the last ${streamLimits.historyLines} lines, at most once a second: an earlier request is answered with daemon error. They come as console output, and logs end follows.`,
  ),
  'send stats': client(
    'game-console:read',
    `Asks for what the server uses now. The answer is stats, at most one in ${streamLimits.statsSeconds} seconds: an earlier request waits, and several that wait have one answer.`,
  ),
  'send command': client(
    'game-console:read_write',
    'Sends one command, after the commands sent before it. With a reference, the answer is command accepted or command refused. Without one, nothing follows if it is accepted, and permission denied or daemon error if not.',
    argument(
      'command',
      'The command, of 1 to 1,024 characters; at least one is visible, and none is a control character.',
      'say Hello',
    ),
    argument(
      'reference',
      `Any text of 1 to ${streamLimits.referenceLength} characters without control characters, by which you find the answer.`,
      'cmd-17',
      { optional: true },
    ),
  ),
  'auth success': service('The token is accepted: the output of the console follows.'),
  'console output': service(
    'A line of the console, with its ANSI colour codes.',
    argument(
      'line',
      'The line, of at most 64 Ki characters.',
      '[12:00:00] [Server thread/INFO]: Done (4.2s)! For help, type "help"',
    ),
  ),
  'logs end': service('The lines that send logs asked for are complete; what follows is new.'),
  status: service(
    'The state of the server: after auth success, as soon as it is known, and at each change.',
    argument('status', 'The state.', 'running', {
      values: {
        running: 'The server runs.',
        starting: 'The server starts.',
        stopping: 'The server stops.',
        offline: 'The server does not run.',
      },
    }),
  ),
  stats: service(
    'The answer to send stats. A value that the system behind the server does not know is null; if the console cannot be read now, all are.',
    argument(
      'stats',
      'A JSON text.',
      '{"cpu":37.5,"memory_bytes":1610612736,"disk_bytes":5368709120,"network_rx_bytes":81920,"network_tx_bytes":245760}',
      { json: ConsoleStats },
    ),
  ),
  'command accepted': service(
    'The command was handed to the server. What it prints comes as console output.',
    reference,
  ),
  'command refused': service(
    'The command was not handed to the server. Only if the code is failed, it may have been.',
    reference,
    argument('code', 'The reason, for programs.', 'offline', {
      values: {
        offline: 'The server must be online to receive commands.',
        rate_limited: 'Too many commands or messages: wait before you send it again.',
        not_permitted: 'The token or the key is read-only or expired, or the server takes no commands.',
        invalid: 'The command or its reference is not valid.',
        failed:
          'It failed on the way, or its outcome is unknown: it may have been run. Look at the console before you send it again.',
      },
    }),
  ),
  'token expiring': service(
    `The token ends in ${streamLimits.expiringSeconds} seconds, or in a quarter of its life if that is shorter: fetch a new one, and send auth again.`,
  ),
  'token expired': service(
    `The token has ended: no output follows until a new auth, and the stream is closed after ${streamLimits.expiredSeconds} seconds.`,
  ),
  'jwt error': service(
    'The token of auth is refused. The fifth one in a row closes the stream.',
    reason('The token has expired'),
  ),
  'permission denied': service(
    'The stream may not send this event, or there is no such event.',
    argument('event', 'The event, cut to 64 characters.', 'send command'),
  ),
  gap: service(
    'Lines may be missing here: the client read too slowly, or the console was lost for a time and opened again.',
    reason('12 lines were dropped: read too slowly'),
  ),
  'daemon error': service(
    'Something failed: a message, or the console. The stream stays open.',
    reason('The history is sent at most once a second'),
  ),
};

type Events = typeof streamEvents;
type Event = ReturnType<typeof client | typeof service>;
type From<Side extends Event['from']> = {
  [Name in keyof Events]: Events[Name]['from'] extends Side ? Name : never;
}[keyof Events];

/** The events that clients send. */
export type ClientEvent = From<'client'>;
/** The events that the service sends. */
export type ServiceEvent = From<'service'>;

type TextOf<One> = One extends { readonly values: infer Values } ? keyof Values & string : string;
type TextsOf<All extends readonly Argument[]> = { readonly [At in keyof All]: TextOf<All[At]> };

/** The arguments of an event of the service. */
export type ArgumentsOf<Name extends ServiceEvent> = TextsOf<Events[Name]['args']>;

/** Why a command was refused. */
export type CommandRefusal = ArgumentsOf<'command refused'>[1];

const correct = 'Correct the client; do not connect again before.';

/** All close codes of a stream, and what the client does then. Those from 4000 on belong to this service. */
export const closeCodes = {
  protocol: { code: 1002, meaning: 'The client broke the websocket protocol.', client: correct },
  lost: {
    code: 1006,
    meaning: 'The connection was lost without a close frame: by the network, or as the client answered no ping.',
    client: 'Connect again with a new token, and wait longer after each failure.',
  },
  encoding: { code: 1007, meaning: 'A text message was not UTF-8.', client: correct },
  abuse: { code: 1008, meaning: 'The client sent far too many messages.', client: correct },
  size: { code: 1009, meaning: `A message was larger than ${streamLimits.messageBytes / 1024} KiB.`, client: correct },
  restart: {
    code: 1012,
    meaning: 'The service restarts.',
    client: 'Connect again with a new token, after a random wait of up to 5 seconds.',
  },
  overload: {
    code: 1013,
    meaning: 'The key has too many streams, or its access cannot be checked now.',
    client: 'Connect again after 30 seconds, and close streams that you do not need.',
  },
  unauthenticated: {
    code: 4000,
    meaning: `No valid token came within ${streamLimits.authSeconds} seconds, or five were refused in a row.`,
    client: 'Fetch a new token, and connect again.',
  },
  expired: {
    code: 4001,
    meaning: `The token expired, and no new one came within ${streamLimits.expiredSeconds} seconds.`,
    client: 'Fetch a new token, and connect again.',
  },
  revoked: {
    code: 4003,
    meaning: 'Access was revoked: the key or its secret has ended, or the server is suspended.',
    client: 'Do not connect again with this key.',
  },
} as const;

/** The name of a close code. */
export type CloseName = keyof typeof closeCodes;

/** The stream in a paragraph, for the OpenAPI document, which has no websockets. */
export function summarizeStream(): string {
  const rows = Object.entries<Event>(streamEvents);
  const names = (side: Event['from']): string =>
    rows.flatMap(([name, { from }]) => (from === side ? [`\`${name}\``] : [])).join(', ');
  const codes = Object.values(closeCodes).map(({ code, meaning }) => `${code}: ${meaning}`);
  return [
    'Each message of the stream is a JSON text `{"event":"...","args":["..."]}`; the first one is `auth` with the token.',
    `Clients send ${names('client')}. The service sends ${names('service')}.`,
    `The close codes are: ${codes.join(' ')}`,
    'The page /docs/streams.html describes each event with its arguments.',
  ].join(' ');
}

/** The tables as plain data, for pages. */
export function describeStream() {
  const events = Object.entries<Event>(streamEvents).map(([event, { args, ...rest }]) => ({
    event,
    ...rest,
    example: args.map(({ example }) => example),
    args: args.map(({ name, description, optional = false, values = {}, json }) => ({
      name,
      description,
      optional,
      values: Object.entries(values).map(([value, meaning]) => ({ value, meaning })),
      fields: Object.entries<z.ZodType>(json?.shape ?? {}).map(([field, schema]) => ({
        name: field,
        description: schema.description ?? '',
      })),
    })),
  }));
  return { events, closeCodes: Object.values(closeCodes) };
}
