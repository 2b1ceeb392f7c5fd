import { randomUUID } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ReleaseError } from './load.ts';
import type { Span } from './load.ts';

/** Bytes that stay as they are until their lender's count of loans, which was raised, is lowered again. */
export interface Loan {
  readonly bytes: Buffer;
  readonly lender: { loans: number };
}

/** The bytes of a release. */
export interface Pack {
  /** Creates the function that lends the bytes of a span, and does not read them before. */
  readonly reader: (span: Span) => () => Loan;
  readonly close: () => void;
}

/** A pack in memory. */
export function createMemoryPack(memory: ArrayBuffer): Pack {
  const lender = { loans: 0 };
  return {
    reader({ offset, size }) {
      const loan = { bytes: Buffer.from(memory, offset, size), lender };
      return () => {
        lender.loans += 1;
        return loan;
      };
    },
    close: () => undefined,
  };
}

/** Opens an empty file without a name: it is gone with the process, however that ends. Throws a {@link ReleaseError}. */
export function openSpool(folder: string): number {
  const path = join(folder, `release-${randomUUID()}`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const file = openSync(path, 'wx+', 0o600);
    unlinkSync(path);
    return file;
  } catch (error) {
    throw new ReleaseError(`${path}: a release cannot be kept there`, { cause: error });
  }
}

/** Memory that holds bytes one after the other, and is overwritten as a whole. */
interface Slab {
  readonly memory: Buffer;
  used: number;
  /** Raised when it is overwritten: what was known of its bytes is no longer so. */
  turn: number;
  loans: number;
  /** What it can lend, which is known for as long as its bytes are. */
  lent: SlabLoan[];
}

interface SlabLoan extends Loan {
  readonly lender: Slab;
  /** The turn of the lender in which these bytes are the ones. */
  readonly turn: number;
}

const slabs = 8;

/**
 * A pack in a file that is open. What was read of late is kept, in `cacheBytes` of memory that is used again and again,
 * the oldest first: buffers that are left to the garbage collector would swell the process to many times that. What is
 * still being sent stays as well, and whoever asks for the same shares it: of no bytes are there two copies.
 */
export function createFilePack(file: number, cacheBytes: number): Pack {
  const slabBytes = Math.floor(cacheBytes / slabs);
  const ring: Slab[] = [];
  let at = 0;
  const findRoom = (size: number): Slab => {
    if (size > slabBytes) return createSlab(size);
    const current = ring[at];
    if (current && current.used + size <= slabBytes) return current;
    at = (at + 1) % slabs;
    const next = ring[at];
    if (!next || next.loans > 0) return (ring[at] = createSlab(slabBytes));
    next.turn += 1;
    next.used = 0;
    next.lent = [];
    return next;
  };
  const read = ({ offset, size }: Span): SlabLoan => {
    const lender = findRoom(size);
    const bytes = lender.memory.subarray(lender.used, lender.used + size);
    if (readSync(file, bytes, 0, size, offset) !== size) throw new Error('the release was cut on disk');
    lender.used += size;
    const loan = { bytes, lender, turn: lender.turn };
    lender.lent.push(loan);
    return loan;
  };
  return {
    reader(span) {
      // Weak, since what prepares answers outlives the memory.
      let known: WeakRef<SlabLoan> | undefined;
      return () => {
        let loan = known?.deref();
        if (!loan || loan.turn !== loan.lender.turn) {
          loan = read(span);
          known = new WeakRef(loan);
        }
        loan.lender.loans += 1;
        return loan;
      };
    },
    close: () => closeSync(file),
  };
}

function createSlab(bytes: number): Slab {
  return { memory: Buffer.allocUnsafeSlow(bytes), used: 0, turn: 0, loans: 0, lent: [] };
}
