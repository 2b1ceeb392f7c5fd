import { z } from 'zod';
import { CommandError } from '#common/command-line.ts';
import { findRecordProblem, readProviders } from '../hosting/records.ts';
import { EnvError, readSettings } from '../settings.ts';
import type { Environment } from '#common/environment.ts';
import type { ServerRecord } from '../store/types.ts';
import { toPrintable } from './text.ts';

/** A server's record that is to be added. */
type NewRecord = Omit<ServerRecord, 'suspendedAt'>;

const ProvidersSetting = z.object({ PROVIDERS_FILE: z.string().optional() });

/**
 * Checks the provider and the ref of a record by PROVIDERS_FILE; throws a {@link CommandError} if they cannot be right.
 * Returns false if PROVIDERS_FILE is not set.
 */
export function checkRecord(record: NewRecord, settings: Environment): boolean {
  const { PROVIDERS_FILE: file } = readSettings(ProvidersSetting, settings);
  if (file === undefined) return false;
  const providers = readProviders(file);
  if (!providers) throw new EnvError('PROVIDERS_FILE: the file cannot be read, or is not YAML with providers');
  const problem = findRecordProblem(record, providers);
  if (problem !== undefined) throw new CommandError(toPrintable(problem));
  return true;
}

/** Whether two records name the same server of the same provider. */
export function isSameRecord(one: NewRecord, other: NewRecord): boolean {
  return one.provider === other.provider && one.ref === other.ref && one.logFile === other.logFile;
}

/** Says where a record leads. */
export function describeRecord({ provider, ref, logFile }: NewRecord): string {
  const log = logFile === null ? '' : `, with the log file ${logFile}`;
  return toPrintable(`${ref} of the provider ${provider}${log}`);
}
