import { loadEnvFile } from '../env.ts';
import { runCommandLine } from './run.ts';

process.exitCode = await runCommandLine(process.argv.slice(2), {
  out: process.stdout,
  err: process.stderr,
  settings() {
    loadEnvFile();
    // oxlint-disable-next-line node/no-process-env -- An entry of its own, which reads the settings once and passes them down.
    return process.env;
  },
});
