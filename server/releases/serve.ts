import type { Release, Releases } from './service.ts';
import { toStored } from '../http/stored.ts';
import type { Stored } from '../http/stored.ts';

/**
 * Files of which the prepared answers are kept, twice: about 1 MB. To prepare one anew takes a few microseconds; but what
 * outlives young collections makes V8 widen the room between them, and with four times as many a reader of 10,000
 * articles left 60 MB more behind.
 */
const kept = 500;

/**
 * Creates the table of the files that are answered before the app: by the targets that mean them in their usual
 * spellings, with a query value plain or percent-encoded. What was asked for of late is found at the cost of a look-up.
 */
export function createStaticTable(releases: Releases): (target: string) => Stored | undefined {
  let release: Release | undefined;
  let newer = new Map<string, Stored>();
  let older = newer;
  return (target) => {
    if (release !== releases.current()) {
      release = releases.current();
      newer = new Map();
      older = newer;
    }
    const known = newer.get(target);
    if (known) return known;
    const stored = older.get(target) ?? prepare(release, target);
    if (!stored) return undefined;
    if (newer.size >= kept) {
      older = newer;
      newer = new Map();
    }
    newer.set(target, stored);
    return stored;
  };
}

function prepare(release: Release, target: string): Stored | undefined {
  const file = release.find(toPlain(target));
  return file && toStored(file);
}

/** A target with its query value as it is meant, where that is encoded as `encodeURIComponent` does; else as it stands. */
function toPlain(target: string): string {
  const at = target.indexOf('=') + 1;
  if (at === 0 || !target.includes('%', at)) return target;
  try {
    const value = decodeURIComponent(target.slice(at));
    return encodeURIComponent(value) === target.slice(at) ? target.slice(0, at) + value : target;
  } catch {
    return target;
  }
}
