import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { ask } from '../../server/ask.ts';
import { checkOut, login, repository, runProgram } from './checkout.ts';
import { testImage } from './image.ts';
import { testUnits } from './units.ts';

const { dependencies } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>;
};

/** The settings of the commands and the server: nothing leaves the machine. */
const settings = { ...login, PORT: '0', DNS_SERVERS: 'off', RDAP_BOOTSTRAP_URL: 'off', DATA_DIR: 'data' };

let checkout = '';

/** Runs a script of package.json. */
const npm = (script: string, ...args: string[]) =>
  runProgram(['npm', 'run', '--silent', script, '--', ...args], { cwd: checkout, env: settings });

beforeAll(async () => {
  checkout = checkOut();
  const { status, stderr } = await runProgram(
    ['npm', 'ci', '--omit=dev', '--prefer-offline', '--no-audit', '--no-fund'],
    {
      cwd: checkout,
    },
  );
  if (status !== 0) throw new Error(`npm ci: ${stderr}`);
});

describe('without the packages of development', () => {
  test('the commands of an operator run', async () => {
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

  test('the server answers, is found in order by doctor, and ends on a signal', async () => {
    const server = spawn('npm', ['run', '--silent', 'serve'], { cwd: checkout, env: settings });
    onTestFinished(() => void server.kill('SIGKILL'));
    const ended = once(server, 'close');
    let url: string | undefined;
    for await (const line of createInterface(server.stdout)) {
      url = (JSON.parse(line) as { url?: string }).url;
      if (url) break;
    }
    server.stdout.resume();
    const port = Number(new URL(url!).port);
    expect(await ask({ port }, '/v1/blog/list')).toMatchObject({ status: 200 });
    expect(await npm('doctor', '--url', url!)).toMatchObject({ stderr: '' });
    server.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  test.each(['server/main.js', 'generator/main.js'])('%s says which Node.js it needs', async (main) => {
    // The Node.js of the machine may be new: then it says so in its place.
    const { stdout } = await runProgram(['node', '--version'], { cwd: checkout });
    const isOld = Number.parseInt(stdout.slice(1), 10) < 24;
    const pretend = 'data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.20.2"})';
    const args = isOld ? [main] : ['--import', pretend, main];
    const result = await runProgram(['node', ...args], { cwd: checkout, env: settings });
    expect(result).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^hosting-api needs Node\.js 24, and this is Node\.js \d+\.\d+\.\d+; .*\n$/),
    });
  });
});

describe('by the units of examples/systemd', () => {
  testUnits(() => checkout);
});

describe('by the Dockerfile', () => {
  testImage(() => checkout);
});

test('what the programs import is a dependency, also where they load it late', () => {
  const sources = globSync(['server/**/*.{ts,js}', 'generator/**/*.{ts,js}', 'examples/{billing,clients}/*.ts'], {
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
