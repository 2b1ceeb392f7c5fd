import { createProgram, runProgram } from '#common/command-line.ts';
import { ProviderError } from '../upstream/error.ts';
import { ReleaseError } from '../releases/files.ts';
import { EnvError } from '../settings.ts';
import { StoreError } from '../store/error.ts';
import { addAuditCommand } from './audit.ts';
import { OutputError, createContext } from './context.ts';
import type { Surroundings } from './context.ts';
import { addDomainsCommands } from './domains.ts';
import { addFeedbackCommands } from './feedback.ts';
import { addKeysCommands } from './keys.ts';
import { addServersCommands } from './servers.ts';
import { redactKeys } from './text.ts';

/**
 * Runs the command of the operator that the arguments name; returns the exit status. An error that the operator can do
 * something about is 1 and its message; any other is thrown.
 */
export async function runCommandLine(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const { out, err } = surroundings;
  // Without a listener a write that fails would end the process before the command could say what came of it.
  for (const stream of [out, err]) stream.on('error', () => undefined);
  const context = createContext(surroundings);
  const program = createProgram(
    'operator',
    'API keys, servers, the audit log, what readers say, and the domain search.',
    { writeOut: (text) => void out.write(text), writeErr: (text) => void err.write(redactKeys(text)) },
  );
  addKeysCommands(program, context);
  addServersCommands(program, context);
  addAuditCommand(program, context);
  addFeedbackCommands(program, context);
  addDomainsCommands(program, context);
  try {
    return await runProgram(program, args);
  } catch (error) {
    // The reader of a pipe may have read enough: that is no failure.
    if (error instanceof OutputError && error.code === 'EPIPE') return 0;
    const expected = [OutputError, StoreError, EnvError, ReleaseError, ProviderError];
    if (!expected.some((kind) => error instanceof kind)) throw error;
    context.explain((error as Error).message);
    return 1;
  }
}
