import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { Command, OptionValues } from '@commander-js/extra-typings';
import { createProgram, runProgram } from '../common/command-line.ts';

/** Runs the command of the generator that the arguments name; what a command needs is loaded when it is run. */
export function runGenerator(args: readonly string[]): Promise<number> {
  const program = createProgram('generator', 'Compiles content/ and catalog/ into releases.');
  addBuildCommands(program);
  addDevCommand(program);
  addReleasesCommands(program);
  return runProgram(program, args);
}

function addBuildCommands(program: Command): void {
  addOut(addCheckOptions(program.command('build').description('Builds a release and makes it current.')))
    .option('--no-cache', 'render every article again')
    .addOption(
      new Option('--compress <HOW>', 'how hard to compress').choices(['fast', 'best']).default('fast' as const),
    )
    .action(async (flags) => (await import('./build.ts')).runBuild(flags));
  const check = program.command('check').description('Checks content and catalog, and writes nothing.');
  addOut(addCheckOptions(check)).action(async (flags) => (await import('./build.ts')).runCheck(flags));
}

function addDevCommand(program: Command): void {
  const description = 'Serves content and catalog, and builds what changes as soon as it is saved.';
  addOut(addSourceOptions(program.command('dev').description(description)))
    .option('--no-serve', 'only keep the files up to date')
    .action(async (flags) => (await import('./dev.ts')).runDev(flags));
}

function addReleasesCommands(program: Command): void {
  const releases = program.command('releases').description('Lists, compares, rolls back and prunes releases.');
  addOut(releases.command('list').description('Lists the releases, the last published first.'))
    .option('--json', 'print a JSON array')
    .action(async (flags) => (await import('./releases.ts')).runList(flags));
  addOut(releases.command('rollback').description('Makes an earlier release current again.'))
    .argument('[id]', 'the release, or the beginning of its id; the one before the current if left out')
    .action(async (id, flags) => (await import('./releases.ts')).runRollback(id, flags));
  addOut(releases.command('diff').description('Says which files differ between two releases.'))
    .argument('<from>', 'a release, or the beginning of its id')
    .argument('<to>', 'the release to compare it with')
    .action(async (from, to, flags) => (await import('./releases.ts')).runDiff(from, to, flags));
  addOut(releases.command('prune').description('Removes old releases.'))
    .option('--keep <N>', 'how many releases to keep; the current one stays in any case')
    .action(async (flags) => (await import('./releases.ts')).runPrune(flags));
}

function addCheckOptions(command: Command) {
  return addSourceOptions(command)
    .option('--now <YYYY-MM-DD>', 'the day of the build; today (UTC) if left out')
    .option('--threads <N>', 'threads that render; as many as pay if left out')
    .addOption(
      new Option('--format <FORMAT>', 'how problems are printed')
        .choices(['text', 'json', 'github'])
        .default('text' as const),
    );
}

/** Where sources are, and how strictly they are checked. */
function addSourceOptions(command: Command) {
  return command
    .option('--content <DIR>', 'Markdown and media', parseFolder, 'content')
    .option('--catalog <DIR>', 'plans, domains and monitors', parseFolder, 'catalog')
    .option('--lenient', 'take dead links and missing media for warnings');
}

function addOut<Flags extends OptionValues>(command: Command<[], Flags>) {
  return command.option('--out <DIR>', 'where releases are kept; DIST_DIR or dist if left out', parseFolder);
}

/** An empty path, as `--out=$UNSET` gives it, would be the working directory. */
function parseFolder(path: string): string {
  if (path === '') throw new InvalidArgumentError('It must be a folder.');
  return path;
}
