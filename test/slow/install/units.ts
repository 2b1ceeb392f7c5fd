import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { findFreePort } from '../../helpers/free-port.ts';
import { describePostgres } from '../../helpers/postgres.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { parseUnit, parseVariables, readUnitFile } from '../../helpers/unit.ts';
import type { Unit } from '../../helpers/unit.ts';
import { ask } from '../../server/ask.ts';
import { expectReady } from './serving.ts';

/** Two users without rights, as the units have them; of a test that is not run by root, itself. */
const users =
  process.getuid?.() === 0 ? { server: { uid: 64_001, gid: 64_001 }, build: { uid: 64_002, gid: 64_002 } } : {};
type User = keyof Required<typeof users>;

/** A machine with the folders of the units, which are in a folder of the test. */
function createMachine(checkout: string) {
  const root = temporaryFolder();
  chmodSync(root, 0o755);
  chmodSync(checkout, 0o755);
  /** Replaces the folders of the units. */
  const place = (text: string): string =>
    text
      .replaceAll(/(?<![\w/.])\/(?:etc|var|run)\/[\w./@-]*/g, (path) => root + path)
      .replaceAll('/opt/hosting-api', checkout);
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const createFolder = (path: string, mode: number, user: User): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    mkdirSync(join(root, path), { mode });
    const owner = users[user];
    if (owner) chownSync(join(root, path), owner.uid, owner.gid);
  };
  return {
    place,
    write,
    /** Prepares what systemd prepares, and returns the commands and the environment of a unit. */
    open(file: string, user: User, instance = '') {
      const name = file.replace('@', `@${instance}`);
      const specifiers = { i: instance, S: '/var/lib', C: '/var/cache', d: `/run/credentials/${name}` };
      const unit: Unit = parseUnit(readUnitFile(file), specifiers);
      createFolder(`/var/lib/${unit.get('StateDirectory')![0]}`, 0o755, user);
      createFolder(`/var/cache/${unit.get('CacheDirectory')![0]}`, 0o700, user);
      const variables = [
        readFileSync(place('/etc/hosting-api/settings.env'), 'utf8'),
        ...(unit.get('Environment') ?? []),
      ];
      const environment = { PATH: '/usr/bin:/bin', ...parseVariables(place(variables.toReversed().join('\n'))) };
      const cwd = place(unit.get('WorkingDirectory')![0]!);
      return unit.get('ExecStart')!.map((line) => {
        const [program, ...args] = place(line).split(' ');
        return () =>
          spawn(program!, args, { cwd, env: environment, ...users[user], stdio: ['ignore', 'pipe', 'pipe'] });
      });
    },
  };
}

/** The files of a folder with their times. */
function listFiles(folder: string): string[] {
  return globSync('{*,node_modules/.cache/**}', { cwd: folder }).map(
    (file) => `${file} ${statSync(join(folder, file)).mtimeMs}`,
  );
}

/** Registers the tests that run the commands of examples/systemd as its units do. */
export function testUnits(checkout: () => string): void {
  describePostgres((database) => {
    test('the build and the server run as other users, and write only to their own folders', async () => {
      const machine = createMachine(checkout());
      const port = await findFreePort();
      const before = listFiles(checkout());
      const extra = 'DNS_SERVERS=off\nRDAP_BOOTSTRAP_URL=off\nSHUTDOWN_DELAY_SECONDS=0\n';
      machine.write(
        '/etc/hosting-api/settings.env',
        readUnitFile('settings.env').replace(/^SHUTDOWN_DELAY.*\n/m, '') + extra,
      );
      machine.write('/etc/hosting-api/providers.yaml', readUnitFile('providers.yaml'));
      machine.write(
        `/run/credentials/hosting-api@${port}.service/database-url`,
        `${await database().createDatabase()}\n`,
      );

      for (const start of machine.open('hosting-api-build.service', 'build')) {
        const child = start();
        let errors = '';
        child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
        child.stdout.resume();
        expect([await once(child, 'close'), errors]).toEqual([[0, null], expect.any(String)]);
      }

      const [start] = machine.open('hosting-api@.service', 'server', String(port));
      const server = start!();
      const { ended, log } = await expectReady(server, port);
      expect(await ask({ port }, '/v1/blog/list')).toMatchObject({ status: 200 });
      server.kill('SIGTERM');
      expect([await ended, log()]).toEqual([[0, null], expect.any(String)]);

      expect(log()).not.toContain('"level":"error"');
      expect(globSync('*/*', { cwd: machine.place('/var/cache/hosting-api-server') })).not.toEqual([]);
      expect(listFiles(checkout())).toEqual(before);
    });
  });
}
