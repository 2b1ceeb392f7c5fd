import { CommandError, requireOptions } from '../common/command-line.ts';
import { diffReleases, diffUrls, listReleases, pruneReleases, rollback } from '../release/releases.ts';
import { resolveFolder } from './settings.ts';
import type { OutFlag } from './settings.ts';

const print = (lines: readonly string[]): void => lines.forEach((line) => process.stdout.write(`${line}\n`));

export async function runList({ out, json }: OutFlag & { json?: true }): Promise<void> {
  const releases = await listReleases(resolveFolder('DIST_DIR', out));
  if (json) return print([JSON.stringify(releases)]);
  return print(
    releases.map(({ id, madeCurrentAt, current, articles, bytes }) => {
      const size = `${articles} articles  ${(bytes / 1000).toFixed(0)} kB`;
      return `${current ? '*' : ' '} ${id}  ${madeCurrentAt.toISOString()}  ${size}`;
    }),
  );
}

export async function runRollback(idPrefix: string | undefined, { out }: OutFlag): Promise<void> {
  const id = await rollback(resolveFolder('DIST_DIR', out), idPrefix);
  print([`release ${id} is current`]);
}

export async function runDiff(from: string, to: string, { out, urls }: OutFlag & { urls?: true }): Promise<void> {
  const folder = resolveFolder('DIST_DIR', out);
  if (urls) return print(await diffUrls(folder, from, to));
  const { added, removed, changed } = await diffReleases(folder, from, to);
  print(added.map((file) => `+ ${file}`));
  print(removed.map((file) => `- ${file}`));
  return print(changed.map((file) => `~ ${file}`));
}

export async function runPrune({ out, ...flags }: OutFlag & { keep?: string }): Promise<void> {
  const { keep } = requireOptions({ keep: flags.keep });
  if (!/^[1-9][0-9]*$/.test(keep)) throw new CommandError('--keep must be a whole number, at least 1');
  const ids = await pruneReleases(resolveFolder('DIST_DIR', out), Number(keep));
  print(ids.map((id) => `removed ${id}`));
}
