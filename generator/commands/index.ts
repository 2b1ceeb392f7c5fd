import { createProgram, runProgram } from '../common/command-line.ts';
import { addBuildOptions, addCheckOptions, addDevOptions, addNewOptions, addOut } from './settings.ts';

/** Runs the generator command that the arguments name. Each command imports its modules when it runs. */
export function runGenerator(args: readonly string[]): Promise<number> {
  const program = createProgram('generator', 'Compiles content/ and catalog/ into releases.');
  addBuildOptions(program.command('build').description('Builds a release and makes it current.')).action(
    async (flags) => (await import('./build.ts')).runBuild(flags),
  );
  addCheckOptions(program.command('check').description('Checks content and catalog without writing.')).action(
    async (flags) => (await import('./build.ts')).runBuild(flags, true),
  );
  const watch = 'Serves content and catalog with a preview at /preview, and rebuilds after each change.';
  addDevOptions(program.command('dev').description(watch)).action(async (flags) =>
    (await import('./dev.ts')).runDev(flags),
  );
  addNewOptions(program.command('new').description('Creates a draft with its front matter, and prints its path.'))
    .argument('<kind>', 'blog, or knowledgebase (short: kb)')
    .argument('<title...>', 'the title of the article')
    .action(async (kind, title, flags) => (await import('./new.ts')).runNew(kind, title, flags));
  const releases = program.command('releases').description('Lists, compares, rolls back and prunes releases.');
  addOut(releases.command('list').description('Lists the releases, the most recently current first.'))
    .option('--json', 'print a JSON array')
    .action(async (flags) => (await import('./releases.ts')).runList(flags));
  addOut(releases.command('rollback').description('Makes an earlier release current again.'))
    .argument('[id]', 'a release ID or a unique prefix of it; default: the release before the current one')
    .action(async (id, flags) => (await import('./releases.ts')).runRollback(id, flags));
  addOut(releases.command('diff').description('Lists the files that differ between two releases.'))
    .argument('<from>', 'a release ID or a unique prefix of it')
    .argument('<to>', 'the release to compare it with')
    .option('--urls', 'the paths whose answers differ, one a line, to purge them from a CDN')
    .action(async (from, to, flags) => (await import('./releases.ts')).runDiff(from, to, flags));
  addOut(releases.command('prune').description('Removes old releases.'))
    .option('--keep <N>', 'the number of releases to keep; the current one always stays')
    .action(async (flags) => (await import('./releases.ts')).runPrune(flags));
  return runProgram(program, args);
}
