import { spawn } from 'node:child_process';
import { chmodSync, globSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findFreePort } from '../../helpers/free-port.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { skipWithout } from '../../helpers/permitted.ts';
import { repository, runProgram } from './checkout.ts';
import { expectReady } from './serving.ts';

/** The instructions of the last stage of the Dockerfile, in order, with their continuation lines. */
function readStage(): { name: string; text: string }[] {
  const file = readFileSync(join(repository, 'examples/container/Dockerfile'), 'utf8');
  const lines = file
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n/g, ' ')
    .split('\n');
  const stage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));
  return stage.filter(Boolean).map((line) => ({ name: line.split(' ')[0]!, text: line.slice(line.indexOf(' ') + 1) }));
}

/** Makes all of the disk read-only but one folder, and runs a program without rights as the user of the image. */
const contain = `
mount --make-rprivate /
mount --bind "$WRITABLE" "$WRITABLE"
[ -z "$READ_ONLY" ] || mount -o remount,bind,ro /
exec setpriv --reuid=10001 --regid=10001 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$@"`;

/** Makes the disk read-only for a process. */
const freeze = ['unshare', '--mount', 'sh', '-ec', 'mount --make-rprivate / && mount -o remount,bind,ro /'] as const;

/** Registers the test that runs the last stage of the Dockerfile on an installed checkout, and starts its command. */
export function testImage(checkout: () => string): void {
  test('the image starts on a read-only disk, without rights, with compiled code', async (context) => {
    skipWithout(context, freeze);
    const root = temporaryFolder();
    for (const folder of [root, checkout()]) chmodSync(folder, 0o755);
    // Other tests ran here as root; the image is made without that.
    rmSync(join(checkout(), 'node_modules/.cache'), { recursive: true, force: true });
    const place = (text: string): string =>
      text
        .replaceAll(/(?<![\w/.])\/(?:data|dist|tmp)\b/g, (path) => root + path)
        .replaceAll('/opt/hosting-api', checkout());
    const stage = readStage();
    const [environment] = stage.filter(({ name }) => name === 'ENV');
    const variables = place(environment!.text)
      .split(' ')
      .map((variable) => variable.split('='));
    const port = await findFreePort();
    const settings = { PORT: String(port), HOST: '127.0.0.1', DNS_SERVERS: 'off', RDAP_BOOTSTRAP_URL: 'off' };
    const env: Record<string, string> = { ...(Object.fromEntries(variables) as Record<string, string>), ...settings };
    env['PATH'] = env['PATH']!.replace('$PATH', '/usr/bin:/bin');
    const command = (args: readonly string[], readOnly: boolean): [string, ...string[]] => [
      'unshare',
      '--mount',
      'env',
      `WRITABLE=${root}`,
      `READ_ONLY=${readOnly ? 'yes' : ''}`,
      'sh',
      '-ec',
      contain,
      'sh',
      ...args,
    ];
    const options = { cwd: checkout(), env };

    expect(await runProgram(['install', '-d', '-m', '1777', join(root, 'tmp')], options)).toMatchObject({
      status: 0,
    });
    const user = stage.findIndex(({ name }) => name === 'USER');
    for (const [index, { name, text }] of stage.entries()) {
      if (name !== 'RUN') continue;
      const shell = ['sh', '-c', place(text)] as const;
      const result = await runProgram(index < user ? [...shell] : command(shell, false), options);
      expect([text, result]).toMatchObject([text, { status: 0 }]);
    }
    const compiled = () => globSync('node_modules/.cache/hosting-api/*-10001/*', { cwd: checkout() }).toSorted();
    const before = compiled();
    expect(before.length).toBeGreaterThan(100);

    const list = (name: string): string[] =>
      JSON.parse(stage.find((one) => one.name === name)!.text.replace(/^.*?CMD /, '')) as string[];
    const health = () => runProgram(command(list('HEALTHCHECK'), true), options);
    expect(await runProgram(command(['node', 'generator/main.js', 'build'], true), options)).toMatchObject({
      status: 0,
    });
    const [program, ...args] = command(list('CMD'), true);
    const server = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    const { ended, log } = await expectReady(server, port);
    expect(await health()).toEqual({ status: 0, stdout: '', stderr: '' });
    server.kill('SIGTERM');
    expect([await ended, log()]).toEqual([[0, null], expect.not.stringMatching(/"level":"(?:warn|error)"|Warning/)]);
    expect(await health()).toEqual({ status: 1, stdout: '', stderr: '' });
    expect(compiled()).toEqual(before);
  });
}
