import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { findFreePort } from '../../helpers/free-port.ts';
import { skipWithout } from '../../helpers/permitted.ts';
import { describePostgres } from '../../helpers/postgres.ts';
import { runProgram, sharedFolder, startProgram, temporaryFolder, writeFiles } from '../../helpers/project.ts';
import { parseUnit, parseVariables, readUnitFile } from '../../helpers/unit.ts';
import type { Unit } from '../../helpers/unit.ts';
import { ask } from '../../server/ask.ts';

/** The project's root. */
const repository = resolve(import.meta.dirname, '../../..');

const ignored = readFileSync(join(repository, '.gitignore'), 'utf8').split('\n');
const left = new Set(['.git', ...ignored.filter((line) => line !== '').map((line) => basename(line))]);

/** The machine's PATH, without folders that npm added in front. */
const folders = process.env.PATH!.split(delimiter).filter((folder) => !folder.includes('node_modules'));

/** A login environment, without variables of the npm that runs the tests. */
const login = { PATH: folders.join(delimiter), HOME: process.env.HOME ?? tmpdir() };

/** Copies the project's git files into a folder that is removed after the test file. */
function checkOut(): string {
  const folder = sharedFolder();
  cpSync(repository, folder, { recursive: true, filter: (file) => !left.has(basename(file)) });
  return folder;
}

/** Starts a server and waits until it is ready. */
async function startReady(port: number, ...command: Parameters<typeof startProgram>) {
  const server = startProgram(...command);
  const ready = () => ask({ port }, '/ready').then(({ status }) => status, server.output);
  await expect.poll(ready).toBe(200);
  /** Sends SIGTERM and expects a clean shutdown. */
  const stop = async (): Promise<void> => {
    server.child.kill('SIGTERM');
    expect([await server.ended(), server.output()]).toEqual([0, expect.any(String)]);
  };
  return { output: server.output, stop };
}

const { dependencies, scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as Record<
  'dependencies' | 'scripts',
  Record<string, string>
>;

/** Settings for commands and server that keep all traffic on this machine. */
const settings = { ...login, PORT: '0', DNS_SERVERS: 'off', RDAP_BOOTSTRAP_URL: 'off', DATA_DIR: 'data' };

let checkout = '';

/** Runs a script of package.json. */
const npm = (script: string, ...args: string[]) =>
  runProgram('npm', ['run', '--silent', script, '--', ...args], { cwd: checkout, env: settings });

beforeAll(async () => {
  checkout = checkOut();
  const args = ['ci', '--omit=dev', '--prefer-offline', '--no-audit', '--no-fund'];
  const { status, stderr } = await runProgram('npm', args, { cwd: checkout, env: login });
  if (status !== 0) throw new Error(`npm ci: ${stderr}`);
});

describe('without development packages', () => {
  test("operators' commands run", async () => {
    expect(await npm('build')).toMatchObject({ status: 0, stderr: expect.stringMatching(/^release \w+ in dist: /) });
    writeFileSync(join(checkout, 'providers.yaml'), 'providers: { cloud: { type: hetzner, token: x } }\n');
    expect(await npm('servers', 'add', 'vps:1', '--provider', 'cloud', '--ref', '4711')).toMatchObject({ status: 0 });
    const key = await npm('keys', 'create', '--server', 'vps:1', '--scope', 'vps-power:read');
    expect(key).toMatchObject({ status: 0, stdout: expect.stringMatching(/^hk_/) });
    for (const [script, ...args] of [
      ['check'],
      ['keys', 'list'],
      ['audit'],
      ['feedback', 'report'],
      ['store', 'migrate'],
      ['store', 'backup', 'backup.sqlite'],
      ['releases', 'list'],
      ['releases', 'prune', '--keep', '1'],
      ['domains', '--help'],
      ['new', 'blog', 'Hello', '--category', 'company-news', '--author', 'Marit'],
    ] as const) {
      expect([script, await npm(script, ...args)]).toMatchObject([script, { status: 0 }]);
    }
  });

  test('npm run cms says how to get the CMS, which is not installed', async () => {
    const stderr = 'the CMS is not installed; run "npm ci" without --omit=dev\n';
    expect(await npm('cms', '--out', 'cms')).toMatchObject({ status: 1, stderr: expect.stringContaining(stderr) });
    expect(globSync('node_modules/@{sveltia,fontsource}', { cwd: checkout })).toEqual([]);
  });

  test('the server answers, passes the doctor, and ends on a signal', async () => {
    const port = await findFreePort();
    const env = { ...settings, PORT: String(port) };
    const server = await startReady(port, 'npm', ['run', '--silent', 'serve'], { cwd: checkout, env });
    expect(await ask({ port }, '/v1/blog/list')).toMatchObject({ status: 200 });
    expect(await npm('doctor', '--url', `http://127.0.0.1:${port}`)).toMatchObject({ stderr: '' });
    await server.stop();
  });

  test.each(Object.entries(scripts).filter(([, script]) => script.startsWith('node ')))(
    'npm run %s says which Node.js it needs',
    async (_, script) => {
      // The machine's Node.js may be new enough to run the program.
      const { stdout } = await runProgram('node', ['--version'], { cwd: checkout, env: login });
      const isOld = Number.parseInt(stdout.slice(1), 10) < 24;
      const pretend = 'data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.20.2"})';
      const args = [...(isOld ? [] : ['--import', pretend]), ...script.split(' ').slice(1)];
      const result = await runProgram('node', args, { cwd: checkout, env: settings });
      expect(result).toEqual({
        status: 1,
        stdout: '',
        stderr: expect.stringMatching(/^hosting-api requires Node\.js 24, but this is Node\.js \d+\.\d+\.\d+; .*\n$/),
      });
    },
  );
});

/** Two unprivileged users like those of the units; without root, the current user. */
const users =
  process.getuid?.() === 0 ? { server: { uid: 64_001, gid: 64_001 }, build: { uid: 64_002, gid: 64_002 } } : {};
type User = keyof Required<typeof users>;

/** A machine with the units' folders below a temporary folder. */
function createMachine() {
  const root = temporaryFolder();
  chmodSync(root, 0o755);
  chmodSync(checkout, 0o755);
  /** Replaces the units' folders. */
  const place = (text: string): string =>
    text
      .replaceAll(/(?<![\w/.])\/(?:etc|var|run)\/[\w./@-]*/g, (path) => root + path)
      .replaceAll('/opt/hosting-api/current', checkout);
  const createFolder = (path: string, mode: number, user: User): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    mkdirSync(join(root, path), { mode });
    const owner = users[user];
    if (owner) chownSync(join(root, path), owner.uid, owner.gid);
  };
  return {
    root,
    place,
    /** Prepares folders and credentials like systemd, and returns a unit's commands and environment. */
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
        return [program!, args, { cwd, env: environment, ...users[user] }] as const;
      });
    },
  };
}

/** Lists the files of a folder with their times. */
function listFiles(folder: string): string[] {
  return globSync('{*,node_modules/.cache/**}', { cwd: folder }).map(
    (file) => `${file} ${statSync(join(folder, file)).mtimeMs}`,
  );
}

describe('with the units of examples/systemd', () => {
  describePostgres((database) => {
    test('the build and the server run as separate users, and write only to their own folders', async () => {
      const machine = createMachine();
      const port = await findFreePort();
      const before = listFiles(checkout);
      const extra = 'DNS_SERVERS=off\nRDAP_BOOTSTRAP_URL=off\nSHUTDOWN_DELAY_SECONDS=0\n';
      writeFiles(machine.root, {
        'etc/hosting-api/settings.env': readUnitFile('settings.env').replace(/^SHUTDOWN_DELAY.*\n/m, '') + extra,
        'etc/hosting-api/providers.yaml': readUnitFile('providers.yaml'),
        [`run/credentials/hosting-api@${port}.service/database-url`]: `${await database().createDatabase()}\n`,
      });
      for (const build of machine.open('hosting-api-build.service', 'build')) {
        expect(await runProgram(...build)).toMatchObject({ status: 0 });
      }
      const [command] = machine.open('hosting-api@.service', 'server', String(port));
      const server = await startReady(port, ...command!);
      expect(await ask({ port }, '/v1/blog/list')).toMatchObject({ status: 200 });
      await server.stop();

      // On a busy machine, slow rate limits may be logged, too.
      const errors = server
        .output()
        .split('\n')
        .filter((line) => line.includes('"level":"error"'));
      expect(errors.filter((line) => !line.includes('database too slow for rate limits'))).toEqual([]);
      expect(globSync('*/*', { cwd: machine.place('/var/cache/hosting-api-server') })).not.toEqual([]);
      expect(listFiles(checkout)).toEqual(before);
    });
  });
});

/** Instructions of the Dockerfile's last stage, in order, with continuation lines joined. */
function readStage(): { name: string; text: string }[] {
  const file = readFileSync(join(repository, 'examples/container/Dockerfile'), 'utf8');
  const lines = file
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n/g, ' ')
    .split('\n');
  const stage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));
  return stage.filter(Boolean).map((line) => ({ name: line.split(' ')[0]!, text: line.slice(line.indexOf(' ') + 1) }));
}

/** Makes the disk read-only except for one folder, and runs a program without capabilities as the image's user. */
const contain = `
mount --make-rprivate /
mount --bind "$WRITABLE" "$WRITABLE"
[ -z "$READ_ONLY" ] || mount -o remount,bind,ro /
exec setpriv --reuid=10001 --regid=10001 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$@"`;

/** Gives a process a separate mount namespace. */
const container = 'unshare';

/** Makes the disk read-only for a process. */
const freeze = [container, '--mount', 'sh', '-ec', 'mount --make-rprivate / && mount -o remount,bind,ro /'] as const;

test('the image starts on a read-only disk, without capabilities, with compiled code', async (context) => {
  skipWithout(context, freeze);
  const [root, image] = [temporaryFolder(), temporaryFolder()];
  for (const folder of [root, image]) chmodSync(folder, 0o755);
  const listed = readFileSync(join(repository, '.dockerignore'), 'utf8').matchAll(/^!(.+)$/gm);
  for (const [, name] of listed) cpSync(join(checkout, name!), join(image, name!), { recursive: true });
  execFileSync('cp', ['-al', 'node_modules', image], { cwd: checkout });
  rmSync(join(image, 'node_modules/.cache'), { recursive: true, force: true });
  const place = (text: string): string =>
    text.replaceAll(/(?<![\w/.])\/(?:data|dist|tmp)\b/g, (path) => root + path).replaceAll('/opt/hosting-api', image);
  const stage = readStage();
  const environment = place(stage.find(({ name }) => name === 'ENV')!.text);
  const variables = environment.split(' ').map((variable) => variable.split('='));
  const port = await findFreePort();
  const own = { PORT: String(port), HOST: '127.0.0.1', DNS_SERVERS: 'off', RDAP_BOOTSTRAP_URL: 'off' };
  const env: Record<string, string> = { ...(Object.fromEntries(variables) as Record<string, string>), ...own };
  env['PATH'] = env['PATH']!.replace('$PATH', '/usr/bin:/bin');
  const command = (args: readonly string[], readOnly: boolean): string[] => {
    const places = [`WRITABLE=${root}`, `READ_ONLY=${readOnly ? 'yes' : ''}`];
    return ['--mount', 'env', ...places, 'sh', '-ec', contain, 'sh', ...args];
  };
  const options = { cwd: image, env };
  const run = (args: readonly string[], readOnly: boolean) => runProgram(container, command(args, readOnly), options);

  mkdirSync(join(root, 'tmp'));
  chmodSync(join(root, 'tmp'), 0o1777);
  const user = stage.findIndex(({ name }) => name === 'USER');
  for (const [index, { name, text }] of stage.entries()) {
    if (name !== 'RUN') continue;
    const shell = ['-c', place(text)];
    const result = await (index < user ? runProgram('sh', shell, options) : run(['sh', ...shell], false));
    expect([text, result]).toMatchObject([text, { status: 0 }]);
  }
  // An error of the samples does not fail the image.
  const wrong = join(image, 'content/blog/company-news/wrong.md');
  writeFileSync(wrong, 'no front matter\n');
  const compile = stage.findLast(({ name }) => name === 'RUN')!.text;
  expect(await run(['sh', '-c', place(compile)], false)).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('the samples have errors'),
  });
  rmSync(wrong);
  const compiled = () => globSync('node_modules/.cache/hosting-api/*-10001/*', { cwd: image }).toSorted();
  const before = compiled();
  expect(before.length).toBeGreaterThan(100);

  const list = (name: string): string[] =>
    JSON.parse(stage.find((one) => one.name === name)!.text.replace(/^.*?CMD /, '')) as string[];
  const health = () => run(list('HEALTHCHECK'), true);
  expect(await run(['node', 'generator/main.js', 'build'], true)).toMatchObject({ status: 0 });
  const server = await startReady(port, container, command(list('CMD'), true), options);
  expect(await health()).toEqual({ status: 0, stdout: '', stderr: '' });
  await server.stop();
  expect(server.output()).not.toMatch(/"level":"(?:warn|error)"|Warning/);
  expect(await health()).toEqual({ status: 1, stdout: '', stderr: '' });
  expect(compiled()).toEqual(before);
});

test('every import of the programs is a dependency, dynamic imports included', () => {
  const sources = globSync(['server/**/*.{ts,js}', 'generator/**/*.{ts,js}', 'examples/clients/*.ts'], {
    cwd: repository,
  });
  const missing = sources.flatMap((file) => {
    const text = readFileSync(join(repository, file), 'utf8').replaceAll(/^import type [^;]*;/gm, '');
    const names = [...text.matchAll(/(?:\bfrom |\bimport |\bimport\()'((?:@[^/']+\/)?[^./#'][^/']*)[^']*'/g)];
    return names
      .map(([, name]) => name!)
      .filter((name) => !name.startsWith('node:') && !builtinModules.includes(name) && !(name in dependencies))
      .map((name) => `${file}: ${name}`);
  });
  expect(missing).toEqual([]);
});
