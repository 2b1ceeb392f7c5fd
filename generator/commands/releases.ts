import { CommandError, requireOption } from '../common/command-line.ts';
import { ReleasesError, diffReleases, diffUrls, listReleases, pruneReleases, rollback } from '../release/releases.ts';
import { resolveFolder } from './settings.ts';
import type { OutFlag } from './settings.ts';

/** Runs `releases list`. */
export async function runList({ out, json }: OutFlag & { json?: true }): Promise<void> {
  const releases = await listReleases(resolveFolder('DIST_DIR', out));
  if (json) {
    print(JSON.stringify(releases));
    return;
  }
  for (const { id, madeCurrentAt, current, articles, bytes } of releases) {
    print(
      `${current ? '*' : ' '} ${id}  ${madeCurrentAt.toISOString()}  ${articles} articles  ${(bytes / 1000).toFixed(0)} kB`,
    );
  }
}

/** Runs `releases rollback`. */
export async function runRollback(idPrefix: string | undefined, { out }: OutFlag): Promise<void> {
  const id = await withCommandErrors(rollback(resolveFolder('DIST_DIR', out), idPrefix));
  print(`release ${id} is current`);
}

/** Runs `releases diff`. */
export async function runDiff(from: string, to: string, { out, urls }: OutFlag & { urls?: true }): Promise<void> {
  if (urls) {
    for (const url of await withCommandErrors(diffUrls(resolveFolder('DIST_DIR', out), from, to))) print(url);
    return;
  }
  const { added, removed, changed } = await withCommandErrors(diffReleases(resolveFolder('DIST_DIR', out), from, to));
  for (const file of added) print(`+ ${file}`);
  for (const file of removed) print(`- ${file}`);
  for (const file of changed) print(`~ ${file}`);
}

/** Runs `releases prune`. */
export async function runPrune({ out, ...flags }: OutFlag & { keep?: string }): Promise<void> {
  const keep = requireOption(flags.keep, '--keep');
  if (!/^[1-9][0-9]*$/.test(keep)) throw new CommandError('--keep must be a whole number, at least 1');
  for (const id of await pruneReleases(resolveFolder('DIST_DIR', out), Number(keep))) print(`removed ${id}`);
}

/** Converts a ReleasesError to a CommandError. */
async function withCommandErrors<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ReleasesError) throw new CommandError(error.message);
    throw error;
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
