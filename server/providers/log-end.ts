/** The longest log that a provider hands out. */
export const maxLogBytes = 1024 * 1024;

/** The last bytes of a log as text, from the first whole character on. */
export function toLogEnd(bytes: Buffer, count: number = maxLogBytes): string {
  let start = Math.max(bytes.length - count, 0);
  while (start > 0 && start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start += 1;
  return bytes.subarray(start).toString('utf8');
}
