import { renderUsage } from 'citty';
import { StoreError } from '../store/error.ts';
import type { Command } from './command.ts';
import { CommandError } from './command.ts';
import { explain, forOutput, print } from './output.ts';

/**
 * Runs the command that the arguments name, or prints the usage where `--help` is among them. An error that the
 * operator can do something about ends it with status 1 and its message.
 */
export async function runCommandLine(root: Command, rawArgs: readonly string[]): Promise<void> {
  // The reader of a pipe may have read enough: that is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  try {
    if (rawArgs.includes('--help') || rawArgs.includes('-h')) {
      print(forOutput(await usageOf(root, rawArgs)));
      return;
    }
    await root.run(rawArgs);
  } catch (error) {
    if (!(error instanceof CommandError || error instanceof StoreError)) throw error;
    explain(error.message);
    process.exitCode = 1;
  }
}

function usageOf(root: Command, rawArgs: readonly string[]): Promise<string> {
  let command = root;
  let parent: Command | undefined;
  for (const name of rawArgs) {
    if (!command.commands || !Object.hasOwn(command.commands, name)) break;
    parent = command === root ? undefined : command;
    command = command.commands[name]!;
  }
  return renderUsage(command.definition, parent?.definition);
}
