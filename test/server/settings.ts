import { join } from 'node:path';
import { readEnv } from '../../server/env.ts';
import { EnvError } from '../../server/settings.ts';
import { temporaryFolder, writeFiles } from '../helpers/project.ts';

/** The problems that wrong settings cause. */
export function problemsOf(source: Record<string, string>): string[] {
  try {
    readEnv(source);
  } catch (error) {
    if (error instanceof EnvError) return error.message.split('\n');
    throw error;
  }
  return [];
}

/** A file with the value of a setting. */
export function fileWith(content: string): string {
  const folder = temporaryFolder();
  writeFiles(folder, { setting: content });
  return join(folder, 'setting');
}
