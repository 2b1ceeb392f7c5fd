import { loadEnvFile } from '../env.ts';
import { runCommandLine } from './run.ts';

process.exitCode = await runCommandLine(process.argv.slice(2), {
  out: process.stdout,
  err: process.stderr,
  settings() {
    loadEnvFile();
    return process.env;
  },
});
