import '#common/check-node.js';

const [{ loadEnvFile }, { runCommandLine }] = await Promise.all([import('../env.ts'), import('./run.ts')]);

process.exitCode = await runCommandLine(process.argv.slice(2), {
  out: process.stdout,
  err: process.stderr,
  path: process.env.PATH,
  settings() {
    loadEnvFile();
    return process.env;
  },
});
