import { randomBytes } from 'node:crypto';
import { openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createFilePack } from '../../server/releases/pack.ts';
import { temporaryFolder } from '../helpers/project.ts';

const content = randomBytes(100_000);

/** A pack of random bytes in a file, with memory for 8,000 of them in eight parts. */
function openPack() {
  const path = join(temporaryFolder(), 'pack');
  writeFileSync(path, content);
  const pack = createFilePack(openSync(path, 'r'), 8000);
  onTestFinished(pack.close);
  return (offset: number, size: number) => pack.reader({ offset, size, version: '' });
}

test.each([
  ['what is larger than a part of the memory', 50_000],
  ['what is in a part of the memory that others have long overtaken', 900],
])('%s is read once for all that it is being sent to', (_, size) => {
  const reader = openPack();
  const lend = reader(0, size);
  const first = lend();
  for (let offset = 50_000; offset < 90_000; offset += 500) {
    const other = reader(offset, 500)();
    expect(other.bytes.equals(content.subarray(offset, offset + 500))).toBe(true);
    other.lender.loans -= 1;
  }
  expect(lend().bytes).toBe(first.bytes);
  expect(first.bytes.equals(content.subarray(0, size))).toBe(true);
});

test('what nobody is being sent gives way to others, and is read again', () => {
  const reader = openPack();
  const lenders = Array.from({ length: 50 }, (_, number) => reader(number * 900, 900));
  const memories = new Set<ArrayBufferLike>();
  for (let round = 0; round < 3; round += 1) {
    for (const [number, lend] of lenders.entries()) {
      const { bytes, lender } = lend();
      expect(bytes.equals(content.subarray(number * 900, number * 900 + 900))).toBe(true);
      memories.add(bytes.buffer);
      lender.loans -= 1;
    }
  }
  expect(memories.size).toBe(8);
});
