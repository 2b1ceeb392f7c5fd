import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ReleaseError } from '../../releases/files.ts';
import { openReleases } from '../../releases/service.ts';
import type { Release } from '../../releases/load.ts';
import { toWindows } from '../../status/windows.ts';
import type { Finding, Outcome } from '../finding.ts';
import { fault, hint, ok } from '../finding.ts';

/** A build on the day of a change begins at 00:01 UTC, and takes minutes. */
const graceMs = 3_600_000;

/** Checks whether the build of a scheduled change took place. */
export function checkReleaseAge({ nextChangeAt }: Pick<Release, 'nextChangeAt'>, now: number): Finding {
  const check = 'release age';
  if (nextChangeAt === null) return { check, ...ok('no article is scheduled') };
  const late = now > Date.parse(nextChangeAt) + graceMs;
  if (!late) return { check, ...ok(`the next scheduled article is of ${nextChangeAt}`) };
  const seen = `an article of ${nextChangeAt} is not online: no release was built since`;
  return { check, ...fault(seen, 'run `npm run build`, and see why the timer that builds after midnight UTC did not') };
}

const ignore = (): void => undefined;

/** Loads the current release as the server does, which verifies every file. Undefined if the server would refuse it. */
export async function checkRelease(dist: string): Promise<{ release: Release | undefined; outcome: Outcome }> {
  const options = { cacheBytes: 0, onLoaded: ignore, onRejected: ignore };
  try {
    const releases = await openReleases({
      dist,
      checkStatus: ({ maintenance }) => void toWindows(maintenance),
      ...options,
    });
    releases.stop();
    const release = releases.current();
    return { release, outcome: ok(`${release.id} is whole`) };
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    const advice = 'run `npm run build`, or `npm run releases -- rollback` to the release before';
    return { release: undefined, outcome: fault(error.message, advice) };
  }
}

/** Checks whether another release can be made current at once. */
export async function checkRollback(dist: string): Promise<Outcome> {
  const link = await lstat(join(dist, 'current')).catch(() => undefined);
  if (link && !link.isSymbolicLink()) {
    return fault(
      'DIST_DIR/current is a folder, so that a release cannot be replaced at once',
      'copy releases/ with its folder and then the link: rsync -a keeps it',
    );
  }
  const names = await readdir(join(dist, 'releases')).catch(() => []);
  const others = names.filter((name) => /^[0-9a-f]{16}$/.test(name)).length - 1;
  if (others > 0) return ok(`${others} earlier ${others === 1 ? 'release' : 'releases'} to go back to`);
  return hint(
    'there is no earlier release to go back to',
    'keep some: `npm run releases -- prune --keep 3` leaves three',
  );
}
