const maxLogBytes = 1024 * 1024;

/** Twice the limit of clients: ANSI codes rarely make up more than half of a log. */
export const providerLogBytes = 2 * maxLogBytes;

/** Returns the last bytes of a log as text, cut at a line start if possible. */
export function toLogEnd(bytes: Buffer, count: number = providerLogBytes): string {
  if (bytes.length <= count) return bytes.toString('utf8');
  let start = bytes.length - count;
  // From the byte before: a line may start exactly at the cut.
  const line = bytes.indexOf('\n', start - 1) + 1;
  if (line > 0 && bytes.subarray(line).some((byte) => byte !== 0x0a)) return bytes.toString('utf8', line);
  while (start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start += 1;
  return bytes.toString('utf8', start);
}

/**
 * ANSI codes (ECMA-48, ISO 2022): control sequences (colours), strings (titles) and short codes (character sets). An
 * incomplete code is removed up to the end of its line. 8-bit codes are kept: in UTF-8 they are double-encoded text.
 */
const ansi =
  // oxlint-disable-next-line no-control-regex
  /\u001B(?:\[[0-?]*[ -/]*[@-~]?|[\]PX^_][^\u0007\u001B\r\n]*(?:\u0007|\u001B\\)?|[ -/]*[0-~]?)/g;

/** Converts the end of a log to plain text. */
export function toLogText(log: string): string {
  const text = log.replace(ansi, '').replace(/\r+\n?/g, '\n');
  return toLogEnd(Buffer.from(text), maxLogBytes);
}
