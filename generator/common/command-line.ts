import { Command, CommanderError } from '@commander-js/extra-typings';
import type { CommandUnknownOpts, OutputConfiguration } from '@commander-js/extra-typings';
import { createPaint, escapeControls, wrapFor } from './terminal.ts';

/** An error that the user can fix. Only the message is printed; it may be empty if the reason is printed already. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** Returns required options by name; names all that are missing. Commander's own check would hide `--proivder x`. */
export function requireOptions<Options extends Readonly<Record<string, unknown>>>(options: Options) {
  const missing = Object.keys(options).filter((name) => [options[name] ?? ''].flat().every((value) => value === ''));
  const message = missing.map((name) => `--${name} is missing`).join('; ');
  if (message !== '') throw new CommanderError(1, 'missing', message);
  return options as { [Name in keyof Options]: NonNullable<Options[Name]> };
}

/** Describes how people type a command: `npm run keys -- create [options]`. */
function usageOf(command: CommandUnknownOpts): string {
  const names = [command.usage()];
  let at = command;
  for (; at.parent?.parent; at = at.parent) names.unshift(at.name());
  return `npm run ${at.name() || '<command>'} -- ${names.join(' ')}`;
}

/** Creates a program; `output` redirects stdout and stderr. */
export function createProgram(description: string, output: OutputConfiguration = {}): Command {
  const paint = createPaint(1);
  // `runProgram` prints errors and sets the exit status.
  return new Command()
    .description(description)
    .configureHelp({ commandUsage: usageOf, styleTitle: (title) => paint('bold', title), minWidthToWrap: 30 })
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
    const output = program.configureOutput();
    if (message !== '') output.writeErr?.(wrapFor(2, `${escapeControls(message)}\n`));
    let command = program;
    for (const arg of args) command = command.commands.find((one) => one.name() === arg) ?? command;
    const usage = `usage: ${usageOf(command)}  (--help lists the options)\n`;
    if (error instanceof CommanderError && process.stderr.isTTY) output.writeErr?.(wrapFor(2, usage));
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
