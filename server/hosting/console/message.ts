import { GameConsoleCommandRequest } from '#contract/game.ts';

/** A message of a client. */
export type ClientMessage =
  | { readonly type: 'auth'; readonly token: unknown }
  | { readonly type: 'send logs'; readonly now: number }
  /** The command is undefined if it is invalid. */
  | { readonly type: 'send command'; readonly command: string | undefined }
  | { readonly type: 'unknown'; readonly event: string };

/** The maximum length of an event name in a reply. */
const maxEventLength = 64;

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
  if (event === 'auth') return { type: event, token: args[0] };
  if (event === 'send logs') return { type: event, now };
  if (event === 'send command') return { type: event, command: args.length === 1 ? toCommand(args[0]) : undefined };
  return { type: 'unknown', event: event.slice(0, maxEventLength) };
}

function toCommand(value: unknown): string | undefined {
  return GameConsoleCommandRequest.shape.command.safeParse(value).data;
}
