import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { readEnv } from '../../server/env.ts';
import { createTestApp } from '../helpers/app.ts';
import { describeInstalled } from '../helpers/installed.ts';
import { runProgram, temporaryFolder } from '../helpers/project.ts';
import { sharedProject } from '../server/shared.ts';
import { parseUnit, parseVariables, readUnitFile } from '../helpers/unit.ts';

const repository = resolve(import.meta.dirname, '../..');
const services = ['hosting-api@.service', 'hosting-api-build.service'];
const hardened = [...services, 'hosting-api-backup.service', 'hosting-api-doctor.service'];
const units = [...hardened, 'hosting-api-build.timer', 'hosting-api-backup.timer', 'hosting-api-doctor.timer'];
const settings = parseVariables(readUnitFile('settings.env'));

describeInstalled({ name: 'systemd', package: 'systemd', commands: ['systemd-analyze'] }, (folder) => {
  /** Runs systemd-analyze on all units, as if they were installed here. Returns only messages about these units. */
  async function run(...args: string[]): Promise<{ status: unknown; output: string; messages: string[] }> {
    const cwd = temporaryFolder();
    for (const name of units) {
      const text = readUnitFile(name).replaceAll('/opt/hosting-api/current', repository);
      writeFileSync(join(cwd, name), text.replaceAll('/usr/local/sbin', join(repository, 'examples/systemd')));
    }
    const env = { ...process.env, SYSTEMD_LOG_LEVEL: 'notice', NO_COLOR: '1', TZ: 'UTC' };
    const { status, stdout, stderr } = await runProgram(join(folder(), 'systemd-analyze'), args, { cwd, env });
    const messages = stderr.split('\n').filter((line) => line.includes('hosting-api'));
    return { status, output: stdout + stderr, messages };
  }

  test.each(units)('%s is valid', async (name) => {
    // Units of other packages are loaded too, and may cause warnings.
    const result = await run('verify', '--man=no', '--recursive-errors=no', `./${name}`);
    expect(result).toMatchObject({ status: 0, messages: [] });
  });

  test.each(hardened)('%s is hardened: its exposure is at most 3.0', async (name) => {
    const threshold = ['--offline=true', '--threshold=30', '--no-pager'];
    const { status, output } = await run('security', ...threshold, `./${name}`);
    expect({ status, output }).toMatchObject({ status: 0 });
    expect(Number(/exposure level for .*: ([\d.]+)/.exec(output)?.[1])).toBeLessThanOrEqual(3);
  });

  test('units that begin as root may hand over to the user of the service', () => {
    // setpriv sets its capabilities, too.
    for (const name of ['hosting-api-backup.service', 'hosting-api-doctor.service']) {
      const unit = parseUnit(readUnitFile(name));
      expect(unit.get('SystemCallFilter')!.at(-1)).toMatch(/^@setuid .*\bcapset$/);
      expect(unit.get('CapabilityBoundingSet')![0]).toMatch(/^CAP_SETUID CAP_SETGID\b/);
    }
  });

  test('the timer builds at 00:01 UTC, or after the next boot', async () => {
    const timer = parseUnit(readUnitFile('hosting-api-build.timer'));
    expect(timer.get('Persistent')).toEqual(['true']);
    const { output } = await run('calendar', '--base-time=2026-11-22 16:00:00 UTC', ...timer.get('OnCalendar')!);
    expect(output).toMatch(/Next elapse: Mon 2026-11-23 00:01:00 UTC/);
  });
});

test.each(['127.0.0.1', '::1', '0.0.0.0', '::'])('runbook.sh and health.js reach a server on %s', async (HOST) => {
  const { port } = await createTestApp({ root: await sharedProject(), settings: { HOST } });
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'current'));
  writeFileSync(join(folder, 'settings.env'), `HOST=${HOST}\nSERVICE_VERSION=1.2.3\n`);
  const env = { PATH: process.env.PATH, APP: folder, ETC: folder, PORTS: String(port) };
  const script = `. ${join(repository, 'examples/systemd/runbook.sh')} && ready $PORTS && versions`;
  const { status, stdout } = await runProgram('bash', ['-c', script], { env });
  expect({ status, stdout }).toEqual({ status: 0, stdout: '{"status":"ready"}\n{"version":"1.2.3"}\n' });
  const health = join(repository, 'examples/container/health.js');
  expect((await runProgram(process.execPath, [health], { env: { HOST, PORT: String(port) } })).status).toBe(0);
});

test('the settings are valid, and use folders that the units create', () => {
  const env = readEnv({ ...settings, PROVIDERS_FILE: undefined });
  const [server, build] = services.map((name) => parseUnit(readUnitFile(name)));
  expect(env.DATA_DIR).toMatch(new RegExp(`^/var/lib/${server!.get('StateDirectory')![0]}/`));
  expect(env.STATUS_FILE).toMatch(new RegExp(`^/var/lib/${server!.get('StateDirectory')![0]}/`));
  expect(env.DIST_DIR).toBe(`/var/lib/${build!.get('StateDirectory')![0]}`);
  expect(settings).not.toHaveProperty('PORT');
});

test("an instance's optional settings are read after the common settings", () => {
  const files = parseUnit(readUnitFile('hosting-api@.service')).get('EnvironmentFile');
  expect(files).toEqual(['/etc/hosting-api/settings.env', '-/etc/hosting-api/%i.env']);
});

test("systemd waits longer than the server's shutdown may take", () => {
  const env = readEnv({ ...settings, PROVIDERS_FILE: undefined });
  const [seconds] = parseUnit(readUnitFile('hosting-api@.service')).get('TimeoutStopSec')!;
  expect(Number(seconds)).toBeGreaterThanOrEqual(env.SHUTDOWN_DELAY_SECONDS + env.SHUTDOWN_GRACE_SECONDS + 5);
});

test('the command runs the doctor for each enabled instance, and a stopped instance is a fault', async () => {
  const folder = temporaryFolder();
  const wants = join(folder, 'wants');
  mkdirSync(wants);
  for (const port of ['2', '3']) symlinkSync('/dev/null', join(wants, `hosting-api@${port}.service`));
  writeFileSync(join(folder, 'settings.env'), `DATA_DIR=${folder}/data\nDIST_DIR=${folder}/dist\n`);
  writeFileSync(join(folder, '3.env'), 'METRICS_PORT=4\n');
  const command = readUnitFile('hosting-api')
    .replaceAll('/opt/hosting-api/current', repository)
    .replaceAll('/etc/hosting-api', folder)
    .replaceAll('/etc/systemd/system/multi-user.target.wants', wants)
    .replaceAll('setpriv --reuid="$user" --regid="$user" --init-groups ', '');
  const run = (...args: string[]) => runProgram('sh', ['-c', command, 'hosting-api', 'doctor', ...args]);
  const { status, stdout, stderr } = await run();
  expect(status).toBe(1);
  expect(stderr.match(/^hosting-api@.*/gm)).toEqual(['hosting-api@2:', 'hosting-api@3:']);
  expect(stdout.match(/^server: .*/gm)).toEqual([
    'server: start the server, and find out why it stopped: journalctl -u hosting-api@2',
    'server: start the server, and find out why it stopped: journalctl -u hosting-api@3',
  ]);
  expect((await run('--before-start')).stdout).toContain('not running (port is free)');
});

describeInstalled({ name: 'age', package: 'age', commands: ['age', 'age-keygen'] }, () => {
  test('settings and credentials are encrypted for the keys of backup.age, and omitted without that file', async () => {
    const [etc, backups, key] = [temporaryFolder(), temporaryFolder(), join(temporaryFolder(), 'key')];
    mkdirSync(join(etc, 'credentials'));
    writeFileSync(join(etc, 'settings.env'), '');
    writeFileSync(join(etc, 'credentials/panel-token'), 'hunter2');
    const env = { ...process.env, APP: repository, ETC: etc, BACKUPS: backups };
    const save = `. ${repository}/examples/systemd/runbook.sh && save_settings`;
    const run = (command: string) => execFileSync('bash', ['-c', command], { env, encoding: 'utf8', stdio: 'pipe' });
    run(save);
    expect(readdirSync(backups)).toEqual([]);
    run(`age-keygen -o ${key} && age-keygen -y ${key} > ${etc}/backup.age`);
    for (let day = 1; day <= 31; day += 1) writeFileSync(join(backups, `etc-2026-01-${day + 10}.tar.age`), '');
    writeFileSync(join(backups, 'hosting-2026-01-01-000000.dump'), '');
    run(save);
    const kept = readdirSync(backups).toSorted();
    expect([kept.length, kept[0], kept.at(-1)]).toEqual([
      31,
      'etc-2026-01-13.tar.age',
      'hosting-2026-01-01-000000.dump',
    ]);
    const file = join(backups, kept.at(-2)!);
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
    expect(readFileSync(file, 'latin1')).not.toContain('hunter2');
    expect(run(`age --decrypt -i ${key} ${file} | tar -xO ./credentials/panel-token`)).toBe('hunter2');
    writeFileSync(join(etc, 'backup.age'), 'none');
    expect(() => run(save)).toThrow('age');
  });
});

test('the installation commands name existing files and scripts', () => {
  const page = readFileSync(join(repository, 'docs/install.md'), 'utf8');
  const commands = [...page.matchAll(/```sh\n([^]*?)```/g)].map(([, block]) => block!).join('');
  const files = [...commands.matchAll(/(?<=\s)examples\/\S+/g)].map(([file]) => file);
  expect(files.length).toBeGreaterThan(5);
  expect(files.filter((file) => globSync(file, { cwd: repository }).length === 0)).toEqual([]);
  // The page and the units use the same users.
  for (const name of services) expect(commands).toContain(` ${parseUnit(readUnitFile(name)).get('User')![0]}\n`);
  expect(commands).toContain('/etc/hosting-api/credentials/database-url');
});
