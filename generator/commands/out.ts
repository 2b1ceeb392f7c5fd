import { existsSync } from 'node:fs';

/** Where releases are kept unless a command says otherwise: DIST_DIR, of the environment or .env, as the server has it. */
export function defaultOut(): string {
  if (existsSync('.env')) process.loadEnvFile();
  return process.env.DIST_DIR ?? 'dist';
}
