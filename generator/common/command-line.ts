import { Command, CommanderError } from '@commander-js/extra-typings';
import type { CommandUnknownOpts, OutputConfiguration } from '@commander-js/extra-typings';
import { escapeControls } from './terminal.ts';

/** A command that cannot be carried out as asked; the message says why and is all that is printed. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/**
 * Returns the value of an option that a command needs. commander's `requiredOption` is checked before unknown options, so
 * `--proivder x` would only hear that --provider is missing.
 */
export function requireOption<Value>(value: Value | undefined, flag: string): Value {
  if (value === undefined) throw new CommandError(`${flag} is missing`);
  return value;
}

/** Creates a program whose commands are added with `command()`; it prints to the process, unless `output` says where. */
export function createProgram(name: string, description: string, output: OutputConfiguration = {}): Command {
  // `runProgram` prints errors and picks the exit status, so commander must do neither.
  return new Command(name)
    .description(description)
    .exitOverride()
    .configureOutput({ ...output, outputError: () => undefined });
}

/**
 * Runs the command that the arguments name, and returns the exit status. An error that the user can do something about
 * is one line on stderr and status 1; any other error is thrown.
 */
export async function runProgram(program: CommandUnknownOpts, args: readonly string[]): Promise<number> {
  program.hook('preAction', (_, command) => checkOptions(command, args));
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (!(error instanceof CommanderError || error instanceof CommandError)) throw error;
    // Commander has printed the help, because it was asked for or because no command was named.
    if (error instanceof CommanderError && error.code.startsWith('commander.help')) return error.exitCode;
    const message = error.message.replace(/^error: /, '').replace('\n(Did you mean', ' (Did you mean');
    program.configureOutput().writeErr?.(`${escapeControls(message)}\n`);
    return 1;
  }
}

/** Refuses what commander accepts: `--label --json` as a label of "--json", and the last one of `--label a --label b`. */
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
