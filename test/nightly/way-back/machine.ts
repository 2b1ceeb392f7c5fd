import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { findFreePort } from '../../helpers/free-port.ts';
import { temporaryFolder, validProject, writeFiles } from '../../helpers/project.ts';
import { serve } from '../../helpers/upstream.ts';
import { migrations } from '../../../server/store/migrations.ts';

const repository = resolve(import.meta.dirname, '../../..');

const read = (name: string): string => readFileSync(join(repository, 'docs', name), 'utf8');

/** A reader's values for the variables in the first lines. */
type Values = Readonly<Record<string, string>>;

/** Reads the command blocks of the runbook, in order, and of the move to PostgreSQL. */
export function readScenes() {
  const [, move = ''] = read('install.md').split(/^(?=## Move to PostgreSQL)/m);
  return `${read('runbook.md')}\n${move}`.split(/^## /m).flatMap((part) => {
    const scene = part.slice(0, part.indexOf('\n'));
    return [...part.matchAll(/^```sh\n(.*?)^```$/gms)].map((match) => ({ scene, text: match[1]! }));
  });
}

/** Replaces the values in the first lines, up to the first empty line. Requires exactly these variables. */
function fillIn(commands: string, values: Values): string {
  const [first = '', ...rest] = /^[A-Z_]+=/.test(commands) ? commands.split(/(?<=\n)\n/) : ['', commands];
  const names = [...first.matchAll(/^([A-Z_]+)=.*$/gm)].map(([, name]) => name!);
  if (names.join() !== Object.keys(values).join()) {
    throw new Error(`the first lines name ${names.join()}, the test ${Object.keys(values).join()}`);
  }
  return first.replace(/^([A-Z_]+)=.*$/gm, (_, name: string) => `${name}='${values[name]}'`) + rest.join('\n');
}

/**
 * Runs each command block from descriptor 3. The status is 1 if the last command fails, or an earlier command without
 * `&&` or `||` after it. A NUL ends the outputs.
 */
const loop = `trap 'status=1' ERR
while IFS= read -r -d '' commands <&3; do
  status=0; eval "$commands"; printf '\\0' >&2; printf '%d\\0' "$status"
done`;

/**
 * Opens a bash for pasted commands until the test ends. Like an interactive shell, it continues after a failed command;
 * `input` is typed at prompts.
 */
function openShell(env: NodeJS.ProcessEnv, input = '') {
  const stdio = ['pipe', 'pipe', 'pipe', 'pipe'] as const;
  // Without a new session, psql would prompt on the terminal of the tests.
  const child = spawn('bash', ['--norc', '-c', loop], { env, detached: true, stdio: [...stdio] });
  const [stdin, stdout, stderr, lists] = child.stdio as unknown as [Writable, Readable, Readable, Writable];
  stdin.end(input);
  let printed = '';
  let errors = '';
  stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const closed = once(child, 'close') as Promise<[number | null]>;
  lists.on('error', () => undefined);
  onTestFinished(async () => {
    lists.end();
    await closed;
  });
  return {
    /** Pastes commands and returns their output. Throws all output if a command fails. */
    async paste(commands: string): Promise<string> {
      [printed, errors] = ['', ''];
      lists.write(`${commands}\0`);
      while (!printed.endsWith('\0') || !errors.endsWith('\0')) {
        const more = Promise.race([once(stdout, 'data'), once(stderr, 'data')]).then(() => undefined);
        const status = await Promise.race([more, closed]);
        if (status) throw new Error(`bash ended with status ${status[0]}:\n${printed}${errors}`);
      }
      const output = printed.slice(0, -2);
      if (printed.at(-2) !== '0') throw new Error(`a command failed:\n${output}${errors.slice(0, -1)}`);
      return output;
    },
  };
}

/** The unit of an instance, named after its port. */
const unitPattern = /^hosting-api@(\d+)$/;

/** Runs the server like the unit: with settings, port, a folder for compiled code, and a file per credential. */
const runUnit = `
set -a; . "$1/settings.env"; PORT=$2; NODE_COMPILE_CACHE=$1/../cache
for file in "$1"/credentials/*; do
  [ ! -e "$file" ] || export "$(basename "$file" | tr a-z- A-Z_)_FILE=$file"
done
exec node_modules/.bin/node --max-semi-space-size=8 server/main.js`;

/** Starts a stand-in for systemd, for the servers and the build timer. A server gets only the settings in `etc`. */
async function createServices({ app, etc, env }: { app: string; etc: string; env: NodeJS.ProcessEnv }) {
  const servers = new Map<string, ChildProcess>();
  let isTimerActive = true;
  let logged = '';
  const start = (port: string): void => {
    const args = ['-c', runUnit, 'bash', etc, port];
    const server = spawn('bash', args, { cwd: join(app, 'current'), env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const output of [server.stdout, server.stderr]) {
      output.on('data', (chunk: Buffer) => (logged += chunk.toString()));
    }
    servers.set(port, server);
  };
  const stop = async (port: string): Promise<void> => {
    const server = servers.get(port);
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'close');
    server.kill('SIGTERM');
    await exited;
  };
  const systemctl = async (verb: string, unit: string): Promise<void> => {
    const [, port] = unitPattern.exec(unit) ?? [];
    if (verb === 'list-timers' || verb === '--no-pager') return;
    if (unit === 'hosting-api-build.timer') isTimerActive = verb === 'start';
    else if (port === undefined) throw new Error(`there is no unit ${unit}`);
    else {
      if (verb !== 'start') await stop(port);
      if (verb !== 'stop') start(port);
    }
  };
  const crash = async (): Promise<void> => {
    for (const [port, server] of servers) {
      const exited = once(server, 'close');
      server.kill('SIGKILL');
      await exited;
      start(port);
    }
  };
  const url = await serve((request, response) => {
    const [verb = '', unit = ''] = new URL(request.url!, 'http://localhost').searchParams.getAll('arg');
    systemctl(verb, unit).then(
      () => response.end(),
      (error: Error) => response.writeHead(400).end(error.message),
    );
  });
  onTestFinished(async () => {
    await Promise.all([...servers.keys()].map(stop));
  });
  return {
    /** URL to which the machine's `systemctl` sends its arguments. */
    url,
    systemctl,
    /** Kills all instances and restarts them, like the unit after a crash. */
    crash,
    /** Tells if the timer unit is started. */
    isTimerActive: () => isTimerActive,
    log: () => logged,
  };
}

/** Versions in the company's repository: the second adds a table, the third removes it. */
const versions = ['v1.0.0', 'v1.1.0', 'v2.0.0'] as const;

/** The installed program with a repository of three versions, and a content repository. */
export type Template = ReturnType<typeof createTemplate>;

/** Creates the repositories and the first installation, the template of each machine. */
export function createTemplate() {
  const root = mkdtempSync(join(tmpdir(), 'hosting-api-way-back-'));
  const [origin, content, app, dist, bin] = ['origin', 'content', 'app', 'dist', 'bin'].map((name) =>
    join(root, name),
  ) as [string, string, string, string, string];
  writePrograms(bin, join(root, 'installed'));
  const env = toEnvironment(bin);
  const run = (cwd: string, ...[program = '', ...args]: string[]) =>
    execFileSync(program, args, { cwd, env: { ...env, ...sourcesOf(content), DIST_DIR: dist }, stdio: 'pipe' });
  writeFiles(content, validProject);
  run(content, 'git', 'init', '-q', '-b', 'main');
  commit(content, 'Write the first articles');
  copySources(origin);
  run(origin, 'git', 'init', '-q', '-b', 'main');
  for (const version of versions) {
    writeVersion(origin, version);
    commit(origin, version);
    run(origin, 'git', 'tag', version);
  }
  const first = join(app, versions[0]);
  mkdirSync(first, { recursive: true });
  run(app, 'git', 'clone', '-q', '--mirror', origin, 'git');
  run(app, 'sh', '-c', `git -C git archive ${versions[0]} | tar -x -C ${versions[0]}`);
  symlinkSync(versions[0], join(app, 'current'));
  run(first, 'npm', 'ci', '--omit=dev');
  run(first, 'npm', 'run', '-s', 'build');
  return { content, app, dist, bin, env, remove: () => rmSync(root, { recursive: true, force: true }) };
}

const sourcesOf = (site: string) => ({ CONTENT_DIR: join(site, 'content'), CATALOG_DIR: join(site, 'catalog') });

/** Copies the files that the program needs. */
function copySources(origin: string): void {
  const filter = (path: string): boolean => basename(path) !== 'node_modules';
  const files = 'docs/customers.md package.json package-lock.json .gitignore .gitattributes COMMIT';
  for (const name of ['generator', 'server', 'examples/clients/browser', 'examples/systemd', ...files.split(' ')]) {
    cpSync(join(repository, name), join(origin, name), { recursive: true, filter });
  }
}

/** Changes the program's version and migrations. */
function writeVersion(folder: string, version: string): void {
  const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as object;
  writeFiles(folder, { 'package.json': JSON.stringify({ ...manifest, version: version.slice(1) }) });
  const file = 'server/store/migrations.ts';
  const end = '\n];\n';
  const [list = '', ...rest] = readFileSync(join(repository, file), 'utf8').split(end);
  const added = [
    `\n  usableFrom(${migrations.length}, ({ integer }) => [\`CREATE TABLE hosting_notes (id \${integer})\`]),`,
    `\n  () => ['DROP TABLE hosting_notes'],`,
  ].slice(
    0,
    versions.findIndex((known) => known === version),
  );
  writeFiles(folder, { [file]: [list + added.join(''), ...rest].join(end) });
}

/** Writes stand-ins for programs that must not really run here. */
function writePrograms(bin: string, installed: string): void {
  const write = (name: string, text: string) => {
    writeFiles(bin, { [name]: `#!/usr/bin/env bash\nset -euo pipefail\n${text}\n` });
    execFileSync('chmod', ['+x', join(bin, name)]);
  };
  write('systemctl', 'curl -fsS --get --data-urlencode "arg=$1" --data-urlencode "arg=$2" "$SYSTEMD"');
  write('journalctl', 'case "$*" in --vacuum-size=200M | *--no-pager) ;; *) exit 1 ;; esac');
  writeFiles(bin, { 'hosting-api': readCommand() });
  execFileSync('chmod', ['+x', join(bin, 'hosting-api')]);
  write('edit', 'exec sed -i -f "$EDITS" "$1"');
  // All versions have the same packages: only the first installation is real, the others are hard links.
  write(
    'npm',
    `PATH=\${PATH#*:}
if [ -e "\${APP:-}/npm-fails" ]; then exit 1; fi
if [ "$1" != ci ]; then exec npm "$@"; fi
if [ ! -d '${installed}' ]; then npm "$@" --prefer-offline --no-audit --no-fund && cp -al node_modules '${installed}'; exit; fi
rm -rf node_modules && cp -al '${installed}' node_modules`,
  );
}

/** Reads the command `hosting-api`; replaces only its folders and the change of user. */
function readCommand(): string {
  const replaced = [
    ['TREE:-/opt/hosting-api/current', 'TREE:-$APP/current'],
    ['/etc/hosting-api', '"$ETC"'],
    ['/etc/systemd/system/multi-user.target.wants', '"$ETC"/wants'],
    ['setpriv --reuid="$user" --regid="$user" --init-groups ', ''],
  ] as const;
  return replaced.reduce(
    (text, [found, by]) => {
      if (!text.includes(found)) throw new Error(`the command hosting-api has no ${found}`);
      return text.replaceAll(found, by);
    },
    readFileSync(join(repository, 'examples/systemd/hosting-api'), 'utf8'),
  );
}

/** Environment of a root shell, plus npm's configuration. */
function toEnvironment(bin: string): NodeJS.ProcessEnv {
  const npm = Object.entries(process.env).filter(([name]) => /^npm_config_/i.test(name));
  const PATH = [bin, dirname(process.execPath), process.env.PATH].join(':');
  return { PATH, HOME: process.env.HOME, TMPDIR: tmpdir(), ...Object.fromEntries(npm) };
}

/** Commits all files of a repository. */
export function commit(folder: string, message: string): void {
  const as = ['-c', 'user.name=Marit', '-c', 'user.email=marit@example.com', '-c', 'commit.gpgsign=false'];
  execFileSync('git', ['add', '--all'], { cwd: folder, stdio: 'pipe' });
  execFileSync('git', [...as, 'commit', '-q', '-m', message], { cwd: folder, stdio: 'pipe' });
}

/** Command blocks that tests pasted, as `scene part`. */
export const pasted = new Set<string>();

/** A machine with the running service. */
export type Machine = Awaited<ReturnType<typeof createMachine>>;

/** Options of a machine. */
export interface MachineOptions {
  readonly instances?: number;
  readonly settings?: Readonly<Record<string, string>>;
  readonly credentials?: Readonly<Record<string, string>>;
  /** Content of PROVIDERS_FILE. */
  readonly providers?: string;
  /** Folders of data and releases. Default: in the machine's folder. */
  readonly disk?: string;
  /** Input for prompts. */
  readonly input?: string;
}

/** Copies the template to a machine and starts its instances. */
export async function createMachine(template: Template, options: MachineOptions = {}) {
  const { instances = 1, settings = {}, credentials = {}, providers = 'providers: {}\n', disk, input } = options;
  const root = temporaryFolder();
  const [app, backups, etc] = [join(root, 'app'), join(root, 'backups'), join(root, 'etc')];
  const [origin, site] = [join(root, 'origin'), join(root, 'site')];
  cpSync(template.content, origin, { recursive: true });
  execFileSync('git', ['clone', '-q', origin, site], { stdio: 'pipe' });
  // Hard links are safe: git and npm replace files instead of writing into them.
  execFileSync('cp', ['-al', template.app, app]);
  const [dist, dataDir] = [join(disk ?? root, 'dist'), join(disk ?? root, 'data')];
  cpSync(template.dist, dist, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  const all = {
    DATA_DIR: dataDir,
    DIST_DIR: dist,
    ...sourcesOf(site),
    PROVIDERS_FILE: join(etc, 'providers.yaml'),
    DNS_SERVERS: 'off',
    RDAP_BOOTSTRAP_URL: 'off',
    LOG_FORMAT: 'json',
    ...settings,
  };
  mkdirSync(backups);
  mkdirSync(join(etc, 'credentials'), { recursive: true });
  writeFiles(etc, {
    'settings.env': Object.entries(all)
      .map(([name, value]) => `${name}='${value}'\n`)
      .join(''),
    'providers.yaml': providers,
    ...Object.fromEntries(Object.entries(credentials).map(([name, value]) => [`credentials/${name}`, `${value}\n`])),
  });

  chmodSync(join(etc, 'providers.yaml'), 0o600);

  const services = await createServices({ app, etc, env: template.env });
  const ports: number[] = [];
  while (ports.length < instances) ports.push(await findFreePort());
  mkdirSync(join(etc, 'wants'));
  for (const port of ports) symlinkSync('/dev/null', join(etc, `wants/hosting-api@${port}.service`));
  const edits = join(root, 'edits');
  const env = { ...template.env, SYSTEMD: services.url, EDITOR: join(template.bin, 'edit'), EDITS: edits };
  const scenes = readScenes();
  const find = (scene: string, part: number): string => {
    const found = scenes.filter((commands) => commands.scene === scene)[part];
    if (!found) throw new Error(`the page has no list ${part} of "${scene}"`);
    return found.text;
  };
  const open = async () => {
    const shell = openShell({ ...env, APP: app, ETC: etc, BACKUPS: backups }, input);
    await shell.paste(fillIn(find('Begin', 0).replace('/opt/hosting-api', app), { PORTS: ports.join(' ') }));
    return shell;
  };
  const shell = await open();
  const paste = async (commands: string): Promise<string> => {
    try {
      return await shell.paste(commands);
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${services.log().slice(-2000)}`, { cause: error });
    }
  };
  await paste('each start');
  return {
    ...services,
    /** Ports of all instances, and of the first. */
    ports,
    port: ports[0]!,
    /** The content repository and its clone on the machine. */
    origin,
    site,
    app,
    dist,
    dataDir,
    backups,
    /** Folder of the settings. */
    etc,
    /** Pastes a command block of a scene with these values; returns the output. */
    async paste(scene: string, part: number, values: Values = {}): Promise<string> {
      pasted.add(`${scene} ${part}`);
      const begun = performance.now();
      const printed = await paste(fillIn(find(scene, part), values));
      console.log(`${scene} ${part}: ${((performance.now() - begun) / 1000).toFixed(1)} s`);
      return printed;
    },
    /** Sets the edit for the next opened editor, as a sed script. */
    willEdit: (script: string) => writeFileSync(edits, script),
    /** Runs a command in a new shell. */
    run: async (commands: string) => (await open()).paste(commands),
  };
}
