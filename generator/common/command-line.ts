import { Command, CommanderError } from '@commander-js/extra-typings';
import type { CommandUnknownOpts, OutputConfiguration } from '@commander-js/extra-typings';
import { escapeControls } from './terminal.ts';

/** A command cannot run as requested. Only the message is printed; it is empty if the output already says why. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** The value of a required option. Of the typo `--proivder x` commander would only say "--provider is missing". */
export function requireOption<Value>(value: Value | undefined, flag: string): Value {
  if (value === undefined) throw new CommandError(`${flag} is missing`);
  return value;
}

/** Creates a program; add commands with `command()`. It prints to stdout and stderr unless `output` redirects it. */
export function createProgram(name: string, description: string, output: OutputConfiguration = {}): Command {
  // `runProgram` prints errors and sets the exit status, so commander must do neither.
  return new Command(name)
    .description(description)
    .exitOverride()
    .configureOutput({ ...output, outputError: () => undefined });
}

/** Runs a command and returns the exit status: 1 after a printed error that the user can fix. Throws any other error. */
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

/** Rejects what commander accepts: `--label --json` as the label "--json", and `--label a --label b` as the label "b". */
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
