import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Outcome } from '../finding.ts';
import { fault, ok, skipped } from '../finding.ts';
import { createVisit } from '../visit/client.ts';

const hourMs = 3_600_000;
/** Instances may differ by this much (docs/operating.md), and their database takes part in it. */
const databaseSkewMs = 2000;
/** A Date header has whole seconds, and may come from a cache. */
const headerSkewMs = 30_000;

const advice = 'set the clock by NTP (timedatectl set-ntp true), and see that it starts with the machine';

/** Checks the clock against the time at which the release was written: a machine without a battery starts in the past. */
export async function checkClock(dist: string, now: () => number = Date.now): Promise<Outcome> {
  const built = await stat(join(dist, 'current', 'manifest.json')).catch(() => undefined);
  if (!built) return skipped('there is no release whose time could be compared');
  const lateMs = built.mtimeMs - now();
  if (lateMs <= hourMs) return ok('after the release was built');
  return fault(`it is ${Math.round(lateMs / hourMs)} h before the release was built`, advice);
}

/** Compares a time that was read elsewhere with the middle of asking for it. */
export function compareClocks(whose: string, asked: number, answered: number, theirs: number): Outcome {
  const maximum = databaseSkewMs + (answered - asked) / 2;
  return judge(whose, theirs - (asked + answered) / 2, maximum);
}

function judge(whose: string, skewMs: number, maximumMs: number): Outcome {
  if (Math.abs(skewMs) <= maximumMs) return ok(`agrees with ${whose} within ${Math.ceil(maximumMs / 1000)} s`);
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  return fault(`${whose} is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} this machine`, advice);
}

/** Compares the clock with the Date header of the first upstream that answers. The request has no credential. */
export async function checkUpstreamClock(urls: readonly string[], now: () => number = Date.now): Promise<Outcome> {
  for (const url of urls) {
    const asked = now();
    // oxlint-disable-next-line no-await-in-loop
    const date = await createVisit(new URL(url))('/').then(
      ({ header }) => Date.parse(header('date')),
      () => Number.NaN,
    );
    if (!Number.isNaN(date)) return judge('an upstream', date - (asked + now()) / 2, headerSkewMs);
  }
  return skipped(urls.length === 0 ? 'no upstream is configured' : 'no upstream answers with the time');
}
