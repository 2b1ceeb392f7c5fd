import { readFileSync, writeFileSync } from 'node:fs';

/** Flips one bit in the middle of a file, as a failing disk does. */
export function flipBit(file: string): void {
  const bytes = readFileSync(file);
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(file, bytes);
}
