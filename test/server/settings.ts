import { join } from 'node:path';
import { readEnv } from '../../server/env.ts';
import { EnvError } from '../../server/settings.ts';
import { temporaryFolder, writeFiles } from '../helpers/project.ts';

/** What is said of settings that are wrong. */
export function problemsOf(source: Record<string, string>): string[] {
  try {
    readEnv(source);
  } catch (error) {
    if (error instanceof EnvError) return error.message.split('\n');
    throw error;
  }
  return [];
}

/** A file that holds a setting. */
export function fileWith(content: string): string {
  const folder = temporaryFolder();
  writeFiles(folder, { setting: content });
  return join(folder, 'setting');
}
