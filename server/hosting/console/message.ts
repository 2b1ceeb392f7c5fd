import { CommandReference } from '#contract/console-stream.ts';
import type { ClientEvent } from '#contract/console-stream.ts';
import { GameConsoleCommandRequest } from '#contract/game.ts';

/** A message of a client. */
export type ClientMessage =
  | { readonly type: 'auth'; readonly token: unknown }
  | { readonly type: 'send logs'; readonly now: number }
  | { readonly type: 'send stats'; readonly now: number }
  /** The command is undefined if it or its reference is invalid. A reference is answered as it came, also an invalid one. */
  | { readonly type: 'send command'; readonly command: string | undefined; readonly reference: string | undefined }
  | { readonly type: 'unknown'; readonly event: string };

/** The maximum length of an event name in a reply. */
const maxEventLength = 64;

const parsers: {
  readonly [Type in ClientEvent]: (args: readonly unknown[], now: number) => Extract<ClientMessage, { type: Type }>;
} = {
  auth: ([token]) => ({ type: 'auth', token }),
  'send logs': (_, now) => ({ type: 'send logs', now }),
  'send stats': (_, now) => ({ type: 'send stats', now }),
  'send command': toCommand,
};

/** Parses a text frame; undefined if it is not a message. Clients of panels send `[null]` for no arguments. */
export function parseMessage(text: string, now: number): ClientMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { event, args = [] } = value as { event?: unknown; args?: unknown };
  if (typeof event !== 'string' || !Array.isArray(args)) return undefined;
  if (Object.hasOwn(parsers, event)) return parsers[event as ClientEvent](args, now);
  return { type: 'unknown', event: event.slice(0, maxEventLength) };
}

function toCommand(args: readonly unknown[]): Extract<ClientMessage, { type: 'send command' }> {
  const [text, reference] = args;
  const { data: command } = GameConsoleCommandRequest.shape.command.safeParse(text);
  const isValid = args.length === 1 || (args.length === 2 && CommandReference.safeParse(reference).success);
  return {
    type: 'send command',
    command: isValid ? command : undefined,
    reference: typeof reference === 'string' ? reference : undefined,
  };
}
