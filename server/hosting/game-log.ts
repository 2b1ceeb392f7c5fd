/** The longest log that a client is answered. */
const answeredLogBytes = 1024 * 1024;

/**
 * How much of a log a provider hands over: twice what a client is answered, as ANSI codes are taken out of it before
 * it is cut to that. They are often a fifth of a coloured log, and hardly ever more than half.
 */
export const handedLogBytes = 2 * answeredLogBytes;

/** No ANSI code is longer. */
const codeBytes = 1024;

/** The last bytes of a log as text, from a line start on; of a single line that is longer, the end. */
export function toLogEnd(bytes: Buffer, count: number = handedLogBytes): string {
  if (bytes.length <= count) return bytes.toString('utf8');
  let start = bytes.length - count;
  // The byte before counts too: a line may start just here.
  const line = bytes.indexOf('\n', start - 1) + 1;
  if (line > 0 && bytes.subarray(line).some((byte) => byte !== 0x0a)) return bytes.toString('utf8', line);
  // The cut may have gone through an ANSI code, whose rest would look like text; what comes before the next is not missed.
  const escape = bytes.indexOf(0x1b, start);
  if (escape !== -1 && escape - start < codeBytes) start = escape;
  while (start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start += 1;
  return bytes.toString('utf8', start);
}

/**
 * The codes of terminals (ECMA-48, ISO 2022): first control sequences, such as colours; then strings, such as titles;
 * then those of one or a few characters, such as the choice of a character set. One that was not written to its end is
 * taken out as far as it goes, but never beyond its line. The forms of 8 bits are left: in UTF-8 they are no codes, but
 * text that was encoded twice.
 */
const ansi =
  // oxlint-disable-next-line no-control-regex
  /\u001B(?:\[[0-?]*[ -/]*[@-~]?|[\]PX^_][^\u0007\u001B\r\n]*(?:\u0007|\u001B\\)?|[ -/]*[0-~]?)/g;

/** The newest lines of a log as plain text. */
export function toLogText(log: string): string {
  const text = log.replace(ansi, '').replace(/\r+\n?/g, '\n');
  return toLogEnd(Buffer.from(text), answeredLogBytes);
}
