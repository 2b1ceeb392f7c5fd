import { defineCommand } from 'citty';
import { CommandError, defineStrictCommand } from '../common/command-line.ts';
import { ReleasesError, diffReleases, listReleases, pruneReleases, rollback } from '../release/releases.ts';
import { outArg } from './arguments.ts';
import { resolveOut } from './out.ts';

const list = defineStrictCommand({
  meta: { name: 'list', description: 'Lists the releases, the last made current first.' },
  args: {
    ...outArg,
    json: { type: 'boolean', default: false, description: 'print a JSON array' },
  },
  async run({ args }) {
    const releases = await listReleases(resolveOut(args.out));
    if (args.json) {
      print(JSON.stringify(releases));
      return;
    }
    for (const { id, madeCurrentAt, current, articles, bytes } of releases) {
      print(
        `${current ? '*' : ' '} ${id}  ${madeCurrentAt.toISOString()}  ${articles} articles  ${(bytes / 1000).toFixed(0)} kB`,
      );
    }
  },
});

const back = defineStrictCommand({
  meta: { name: 'rollback', description: 'Makes an earlier release current again.' },
  args: {
    id: {
      type: 'positional',
      required: false,
      description: 'the release, or the beginning of its id; the one that was current before if left out',
    },
    ...outArg,
  },
  async run({ args }) {
    const id = await refusable(rollback(resolveOut(args.out), args.id));
    print(`release ${id} is current`);
  },
});

const diff = defineStrictCommand({
  meta: { name: 'diff', description: 'Says which files differ between two releases.' },
  args: {
    from: { type: 'positional', required: true, description: 'a release, or the beginning of its id' },
    to: { type: 'positional', required: true, description: 'the release to compare it with' },
    ...outArg,
  },
  async run({ args }) {
    const { added, removed, changed } = await refusable(diffReleases(resolveOut(args.out), args.from, args.to));
    for (const file of added) print(`+ ${file}`);
    for (const file of removed) print(`- ${file}`);
    for (const file of changed) print(`~ ${file}`);
  },
});

const prune = defineStrictCommand({
  meta: { name: 'prune', description: 'Removes old releases.' },
  args: {
    keep: {
      type: 'string',
      required: true,
      valueHint: 'N',
      description: 'how many releases to keep; those of the last hour stay in any case',
    },
    ...outArg,
  },
  async run({ args }) {
    if (!/^[1-9][0-9]*$/.test(args.keep)) throw new CommandError('--keep must be a whole number, at least 1');
    for (const id of await pruneReleases(resolveOut(args.out), Number(args.keep))) print(`removed ${id}`);
  },
});

/** `releases list | rollback | diff | prune`. */
export const releasesCommand = defineCommand({
  meta: { name: 'releases', description: 'Lists, compares, rolls back and prunes releases.' },
  subCommands: { list, rollback: back, diff, prune },
});

async function refusable<Value>(work: Promise<Value>): Promise<Value> {
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
