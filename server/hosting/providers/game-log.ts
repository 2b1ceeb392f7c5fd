const maxLogBytes = 1024 * 1024;

/** How much of a log a provider returns: of a coloured log, ANSI codes are often a fifth, and rarely more than half. */
export const providerLogBytes = 2 * maxLogBytes;

const maxCodeBytes = 1024;

/** The last bytes of a log as text, from the start of a line, unless a single line is longer. */
export function toLogEnd(bytes: Buffer, count: number = providerLogBytes): string {
  if (bytes.length <= count) return bytes.toString('utf8');
  let start = bytes.length - count;
  // Includes the byte before, since a line may start exactly here.
  const line = bytes.indexOf('\n', start - 1) + 1;
  if (line > 0 && bytes.subarray(line).some((byte) => byte !== 0x0a)) return bytes.toString('utf8', line);
  // The cut may be inside an ANSI code, whose rest would look like text. So the text before the next code is dropped.
  const escape = bytes.indexOf(0x1b, start);
  if (escape !== -1 && escape - start < maxCodeBytes) start = escape;
  while (start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start += 1;
  return bytes.toString('utf8', start);
}

/**
 * ANSI codes (ECMA-48, ISO 2022): control sequences such as colours, strings such as titles, and short codes such as
 * character sets. An incomplete code is removed up to the end of its line. 8-bit codes are kept: in UTF-8 they are
 * text that was encoded twice.
 */
const ansi =
  // oxlint-disable-next-line no-control-regex
  /\u001B(?:\[[0-?]*[ -/]*[@-~]?|[\]PX^_][^\u0007\u001B\r\n]*(?:\u0007|\u001B\\)?|[ -/]*[0-~]?)/g;

/** Converts the end of a log to plain text. */
export function toLogText(log: string): string {
  const text = log.replace(ansi, '').replace(/\r+\n?/g, '\n');
  return toLogEnd(Buffer.from(text), maxLogBytes);
}
