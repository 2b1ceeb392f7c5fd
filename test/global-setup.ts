import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs';

/** Maximum size of builds, stores and databases of all workers in a run. */
const neededBytes = 2 * 1024 ** 3;

/** Variables that tests inherit. Any other variable, such as a setting, NODE_OPTIONS or PGHOST, could change a result. */
const inherited =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|TMPDIR|TZ|CI|VITEST\w*|npm_config_\w+|NODE_EXTRA_CA_CERTS|(?:https?|all)_proxy|OUTAGE_SECONDS|FAILOVER|DUPLICATE_KEY_INPUTS)$/i;

let folder: string | undefined;

/** Removes the user's settings of this process, whose children run the tests. */
function isolate(): void {
  for (const name of Object.keys(process.env)) if (!inherited.test(name)) delete process.env[name];
  const configuration = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1', PSQLRC: '/dev/null' };
  const direct = 'localhost,127.0.0.1,::1';
  Object.assign(process.env, configuration, { NODE_ENV: 'test', NO_PROXY: direct, no_proxy: direct });
  process.umask(0o022);
}

/**
 * Isolates the tests from the environment, and puts their temporary folders into memory: removing 40 builds from a disk
 * can take 19 s. Without a memory file system of this size the folders stay on the disk, and a line says so.
 */
export function setup(): void {
  isolate();
  try {
    accessSync('/dev/shm', constants.W_OK);
    const { bavail, bsize } = statfsSync('/dev/shm');
    if (bavail * bsize < neededBytes) throw new Error('less than 2 GiB are free');
  } catch (error) {
    process.stderr.write(`the temporary folders of the tests are on the disk: /dev/shm: ${(error as Error).message}\n`);
    return;
  }
  folder = mkdtempSync('/dev/shm/hosting-api-tests-');
  // PostgreSQL runs as another user, who must reach the folder.
  chmodSync(folder, 0o711);
  process.env.TMPDIR = folder;
}

/** Removes the temporary folder of a run. */
export function teardown(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}
