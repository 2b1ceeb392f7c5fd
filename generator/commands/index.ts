import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { Command, OptionValues } from '@commander-js/extra-typings';
import { createProgram, runProgram } from '../common/command-line.ts';

/** Runs the generator command that the arguments name. Each command imports its modules when it runs. */
export function runGenerator(args: readonly string[]): Promise<number> {
  const program = createProgram('generator', 'Compiles content/ and catalog/ into releases.');
  addOut(addCheckOptions(program.command('build').description('Builds a release and makes it current.')))
    .option('--no-cache', 'render every article again')
    .addOption(new Option('--compress <LEVEL>', 'compression level').choices(['fast', 'best']).default('fast' as const))
    .action(async (flags) => (await import('./build.ts')).runBuild(flags));
  const check = program.command('check').description('Checks content and catalog without writing.');
  addOut(addCheckOptions(check)).action(async (flags) => (await import('./build.ts')).runBuild(flags, true));

  const watch = 'Serves content and catalog with a preview at /preview, and rebuilds after each change.';
  addOut(addSourceOptions(program.command('dev').description(watch)))
    .option('--no-serve', 'only build')
    .option('--no-drafts', 'without drafts and scheduled articles')
    .option('--now <YYYY-MM-DD>', 'the day of the builds; default: today (UTC)')
    .action(async (flags) => (await import('./dev.ts')).runDev(flags));

  const create = program.command('new').description('Creates a draft with its front matter, and prints its path.');
  create
    .argument('<kind>', 'blog, or knowledgebase (short: kb)')
    .argument('<title...>', 'the title of the article')
    .option('--category <NAME>', 'the folder of its category')
    .option('--new-category', 'create the category')
    .option('--slug <NAME>', 'the last part of its address; default: made from the title')
    .option('--author <NAME>', 'default: user.name of git')
    .option('--content <DIR>', 'Markdown and media; default: CONTENT_DIR or content', parseFolder)
    .action(async (kind, title, flags) => (await import('./new.ts')).runNew(kind, title, flags));

  addReleasesCommands(program.command('releases').description('Lists, compares, rolls back and prunes releases.'));
  return runProgram(program, args);
}

function addReleasesCommands(releases: Command): void {
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
}

function addCheckOptions(command: Command) {
  const formats = new Option('--format <FORMAT>', 'output format of problems').choices(['text', 'json', 'github']);
  return addSourceOptions(command)
    .option('--against <DIR|URL>', 'what is online: an output folder or a service; default: --out', parsePlace)
    .option('--now <YYYY-MM-DD>', 'the day of the build; default: today (UTC)')
    .option('--allow-empty', 'allow that a list that is online becomes empty; the plans never may')
    .option('--threads <N>', 'the number of render threads; default: automatic')
    .addOption(formats.default('text' as const));
}

/** Adds the options for the source folders and for the strictness of checks. */
function addSourceOptions(command: Command) {
  return command
    .option('--content <DIR>', 'Markdown and media; default: CONTENT_DIR or content', parseFolder)
    .option('--catalog <DIR>', 'plans, domains and monitors; default: CATALOG_DIR or catalog', parseFolder)
    .addOption(new Option('--lenient', 'report dead links and missing media as warnings').conflicts('strict'))
    .option('--strict', 'report warnings as errors');
}

function addOut<Flags extends OptionValues>(command: Command<[], Flags>) {
  return command.option('--out <DIR>', 'the folder of releases; default: DIST_DIR or dist', parseFolder);
}

function parsePlace(place: string): string {
  if (place === '') throw new InvalidArgumentError('It must be a folder or a URL.');
  return place;
}

/** Rejects an empty path, as in `--out=$UNSET`, which would mean the working directory. */
function parseFolder(path: string): string {
  if (path === '') throw new InvalidArgumentError('It must be a folder.');
  return path;
}
