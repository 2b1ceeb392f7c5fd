import { createProgram, runProgram } from '../common/command-line.ts';
import { addBuildOptions, addCheckOptions, addCmsOptions, addDevOptions, addNewOptions, addOut } from './settings.ts';

/** Runs the generator command in the arguments. Modules are imported on demand. */
export function runGenerator(args: readonly string[]): Promise<number> {
  const program = createProgram('Compiles content/ and catalog/ into releases.');
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
  addCmsOptions(
    program.command('cms').description('Writes a folder with Sveltia CMS, an editor in the browser.'),
  ).action(async (flags) => (await import('./cms.ts')).runCms(flags));
  const releases = program.command('releases').description('Lists, compares, rolls back and prunes releases.');
  addOut(releases.command('list').description('Lists the releases, most recently current first.'))
    .option('--json', 'print a JSON array')
    .action(async (flags) => (await import('./releases.ts')).runList(flags));
  addOut(releases.command('rollback').description('Makes another release current.'))
    .argument('[id]', 'a release ID or a unique prefix; default: the previous release')
    .action(async (id, flags) => (await import('./releases.ts')).runRollback(id, flags));
  addOut(releases.command('diff').description('Lists the files that differ between two releases.'))
    .argument('<from>', 'a release ID or a unique prefix')
    .argument('<to>', 'the release to compare with')
    .option('--urls', 'print the paths to purge from a CDN, one per line')
    .action(async (from, to, flags) => (await import('./releases.ts')).runDiff(from, to, flags));
  addOut(releases.command('prune').description('Removes old releases.'))
    .option('--keep <N>', 'the number of releases to keep; the current release is always kept')
    .action(async (flags) => (await import('./releases.ts')).runPrune(flags));
  return runProgram(program, args);
}
