import { GameConsoleCommandRequest } from '#contract/game.ts';

/** What a client said, as far as it has the form of a message. */
export interface ClientMessage {
  readonly event: string;
  readonly args: readonly unknown[];
}

/** The longest part of an event's name that is said back. */
const maxEventLength = 64;

/** Parses a text frame; undefined where it is not a message. Clients of panels send `[null]` for no arguments. */
export function parseMessage(text: string): ClientMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { event, args = [] } = value as { event?: unknown; args?: unknown };
  if (typeof event !== 'string' || !Array.isArray(args)) return undefined;
  return { event: event.slice(0, maxEventLength), args };
}

/** The console command of a message; undefined where it is none that may be sent. */
export function toCommand([command, ...more]: readonly unknown[]): string | undefined {
  return more.length === 0 ? GameConsoleCommandRequest.shape.command.safeParse(command).data : undefined;
}
