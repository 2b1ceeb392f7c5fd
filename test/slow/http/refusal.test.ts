import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder, writeFiles } from '../../helpers/project.ts';
import { askJson } from '../../server/ask.ts';
import { createServable, startProcess } from '../../server/process.ts';

/** The error output of a server that refuses to start with status 1; standard output must be empty. */
async function refusalOf(settings: Readonly<Record<string, string>>, cwd = temporaryFolder()): Promise<string> {
  const server = startProcess(settings, { cwd });
  const started = server.logged('listening').catch(() => server.ended());
  expect(await Promise.race([server.ended(), started])).toBe(1);
  expect(server.stdout()).toBe('');
  return server.stderr();
}

/** Reads the refusal of a server with a release. */
const refusalWith = async (settings: Readonly<Record<string, string>>): Promise<string> =>
  refusalOf({ ...(await createServable()).settings, ...settings });

test('a port in use is named in one line, and the server exits', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const refusal = await refusalWith({ PORT: String(port) });
  expect(refusal).toBe(`PORT: port ${port} of 127.0.0.1 is in use; choose another\n`);
  const metrics = await refusalWith({ METRICS_PORT: String(port) });
  expect(metrics).toBe(`METRICS_PORT: port ${port} of 127.0.0.1 is in use; choose another\n`);
});

test.each(['0', '3001'])('a foreign HOST is named, with port %s', async (port) => {
  const refusal = await refusalWith({ PORT: port, HOST: '192.0.2.1' });
  expect(refusal).toBe(
    'HOST: 192.0.2.1 is not an address of this machine; use 127.0.0.1 or the address of an interface\n',
  );
});

test('a HOST that cannot be resolved is named', async () => {
  const refusal = await refusalWith({ HOST: 'nowhere.invalid' });
  expect(refusal).toMatch(/^HOST: the name nowhere\.invalid cannot be resolved \((?:ENOTFOUND|EAI_AGAIN)\)\n$/);
});

test('the default folder without a release is named', async () => {
  expect(await refusalOf({ PORT: '0' })).toMatch(
    /^DIST_DIR: there is no release at \/.*\/dist\/current; build one first\n$/,
  );
});

/** Places where no file can be created, also by root. Node's recursive mkdir never returns below /proc. */
const unusable = ['/proc/x', '/proc/x/y', '/proc', '/dev/null', '/dev/null/x', import.meta.filename];

test.each(unusable)('an unusable DATA_DIR is named in one line: %s', async (folder) => {
  const refusal = await refusalWith({ DATA_DIR: folder });
  expect(refusal).toMatch(/^DATA_DIR: [^\n]*\((?:ENOENT|ENOTDIR|EEXIST|EACCES)\)\n$/);
});

test.each(unusable)('an unusable folder of STATUS_FILE is named in one line: %s', async (folder) => {
  const refusal = await refusalWith({ STATUS_FILE: join(folder, 'status.json') });
  expect(refusal).toMatch(/^STATUS_FILE: [^\n]*\((?:ENOENT|ENOTDIR|EEXIST|EACCES)\)\n$/);
});

test('a STATUS_FILE in a missing folder is named in one line, and the folder is not created', async () => {
  const folder = join(temporaryFolder(), 'mistyped');
  expect(await refusalWith({ STATUS_FILE: join(folder, 'status.json') })).toBe(
    'STATUS_FILE: files cannot be created in this folder (ENOENT)\n',
  );
  expect(existsSync(folder)).toBe(false);
});

test('a folder as STATUS_FILE is named in one line', async () => {
  expect(await refusalWith({ STATUS_FILE: temporaryFolder() })).toBe('STATUS_FILE: not a regular file\n');
});

test.each(unusable)('an unusable DIST_DIR is named in one line: %s', async (folder) => {
  expect(await refusalOf({ PORT: '0', DIST_DIR: folder })).toMatch(/^DIST_DIR: [^\n]*\n$/);
});

test('.env sets variables that the environment lacks', async () => {
  const { settings } = await createServable();
  const cwd = temporaryFolder();
  writeFiles(cwd, { '.env': `SERVICE_VERSION=from-file\nDIST_DIR=${settings.DIST_DIR}\nPORT=nonsense\n` });
  const server = startProcess({ PORT: '0' }, { cwd });
  const { json } = await askJson({ port: await server.listening() }, '/v1/info');
  expect(json).toEqual({ version: 'from-file' });
});

test('an unreadable .env is named in one line', async () => {
  const { settings } = await createServable();
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, '.env'));
  expect(await refusalOf(settings, cwd)).toMatch(/^[^\n]*\.env[^\n]*\n$/);
});
