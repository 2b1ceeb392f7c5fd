import { createProgram, runProgram } from '#common/command-line.ts';
import { redactKeys } from '../log.ts';
import { OperatorError, Problem } from '../problem.ts';
import { ProviderError } from '../upstream/client.ts';
import { OutputError, createContext, toPrintable } from './context.ts';
import type { ProcessContext } from './context.ts';
import { addDoctorCommands } from './doctor.ts';
import { addKeysCommands } from './keys.ts';
import { addOperatorsCommands } from './operators.ts';
import { addReportCommands } from './reports.ts';
import { addServersCommands } from './servers.ts';
import { addStoreCommands } from './store.ts';

/** Runs an operator command and returns the exit status: 1 after a printed error. Throws unexpected errors. */
export async function runCommandLine(args: readonly string[], processContext: ProcessContext): Promise<number> {
  const { out, err } = processContext;
  // Without a listener, a failed write would end the process before the command reports its outcome.
  for (const stream of [out, err]) stream.on('error', () => undefined);
  const context = createContext(args[0] ?? '', processContext);
  const { name, printNote } = context;
  const program = createProgram(
    'Manages API keys, servers and the store; shows the audit log and votes; checks the domain search and the installation.',
    { writeOut: (text) => void out.write(name(text)), writeErr: (text) => void err.write(redactKeys(name(text))) },
  );
  const commands = [addKeysCommands, addServersCommands, addOperatorsCommands, addReportCommands, addStoreCommands];
  for (const add of [...commands, addDoctorCommands]) add(program, context);
  try {
    return await runProgram(program, args);
  } catch (error) {
    // A closed pipe is not a failure: its reader may have read enough.
    if (error instanceof OutputError && (error.cause as NodeJS.ErrnoException).code === 'EPIPE') return 0;
    if (error instanceof Problem) printNote(toPrintable(error.message));
    else if (error instanceof OperatorError || error instanceof ProviderError) printNote(error.message);
    else throw error;
    return 1;
  }
}
