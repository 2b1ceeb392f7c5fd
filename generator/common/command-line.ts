import { Command, CommanderError } from '@commander-js/extra-typings';
import type { CommandUnknownOpts, OutputConfiguration } from '@commander-js/extra-typings';
import { escapeControls } from './terminal.ts';

/** An error that the user can fix. Only the message is printed; it may be empty if the reason is printed already. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** Returns the value of a required option. Commander's own check would hide a typo such as `--proivder x`. */
export function requireOption<Value>(value: Value | undefined, flag: string): Value {
  if (value === undefined) throw new CommandError(`${flag} is missing`);
  return value;
}

/** Creates a program; `output` redirects stdout and stderr. */
export function createProgram(name: string, description: string, output: OutputConfiguration = {}): Command {
  // `runProgram` prints errors and sets the exit status.
  return new Command(name)
    .description(description)
    .exitOverride()
    .configureOutput({ ...output, outputError: () => undefined });
}

/** Runs a command and returns the exit status. Throws errors that the user cannot fix. */
export async function runProgram(program: CommandUnknownOpts, args: readonly string[]): Promise<number> {
  program.hook('preAction', (_, command) => checkOptions(command, args));
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (!(error instanceof CommanderError || error instanceof CommandError)) throw error;
    // Commander has already printed the help.
    if (error instanceof CommanderError && error.code.startsWith('commander.help')) return error.exitCode;
    const message = error.message.replace(/^error: /, '').replace('\n(Did you mean', ' (Did you mean');
    if (message !== '') program.configureOutput().writeErr?.(`${escapeControls(message)}\n`);
    return 1;
  }
}

/** Rejects two mistakes that commander accepts: `--label --json` (a missing value) and `--label a --label b`. */
function checkOptions(command: CommandUnknownOpts, args: readonly string[]): void {
  for (const option of command.options) {
    const { flags, long, required } = option;
    if (required && args.some((arg, index) => arg === long && args[index + 1]?.startsWith('-'))) {
      command.error(`option '${flags}' argument missing`);
    }
    const uses = args.filter((arg) => arg === long || arg.startsWith(`${long}=`)).length;
    const isRepeatable = Array.isArray(command.getOptionValue(option.attributeName()));
    if (uses > 1 && !isRepeatable) command.error(`option '${flags}' is given twice`);
  }
}
