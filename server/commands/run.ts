import { stripVTControlCharacters } from 'node:util';
import { renderUsage } from 'citty';
import { EnvError } from '../env.ts';
import { ProviderError } from '../upstream/error.ts';
import { ReleaseError } from '../releases/files.ts';
import { StoreError } from '../store/error.ts';
import { CommandError } from './command.ts';
import type { Command } from './command.ts';
import { OutputError, createContext } from './context.ts';
import type { Surroundings } from './context.ts';
import { operatorCommand } from './index.ts';

/**
 * Runs the command that the arguments name, or prints the usage where `--help` is among them; answers the exit status.
 * An error that the operator can do something about is 1 and its message; any other is thrown.
 */
export async function runCommandLine(rawArgs: readonly string[], surroundings: Surroundings): Promise<number> {
  const { out, err } = surroundings;
  // Without a listener a write that fails would end the process before the command could say what came of it.
  for (const stream of [out, err]) stream.on('error', () => undefined);
  const context = createContext(surroundings);
  try {
    if (rawArgs.includes('--help') || rawArgs.includes('-h')) {
      const usage = await usageOf(operatorCommand, rawArgs);
      await context.print(out.isTTY ? usage : stripVTControlCharacters(usage));
    } else await operatorCommand.run(rawArgs, context);
    return 0;
  } catch (error) {
    // The reader of a pipe may have read enough: that is no failure.
    if (error instanceof OutputError && error.reason === 'EPIPE') return 0;
    if (
      ![CommandError, OutputError, StoreError, EnvError, ReleaseError, ProviderError].some(
        (kind) => error instanceof kind,
      )
    )
      throw error;
    context.explain((error as Error).message);
    return 1;
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
