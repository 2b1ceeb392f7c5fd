import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { unlimited } from '../../helpers/app.ts';
import { listen } from '../../helpers/free-port.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { ask, askJson } from '../../server/ask.ts';
import { createServable, startProcess } from '../../server/process.ts';
import type { ServerProcess } from '../../server/process.ts';

const keyPattern = /^ {2}echo 'Authorization: Bearer (hk_\w+)' > \.key$/m;

async function createSettings(): Promise<Record<string, string>> {
  const { settings } = await createServable();
  const reads = { READ_RATELIMIT_RPS: '1000', READ_RATELIMIT_BURST: '1000' };
  const powers = { POWER_RATELIMIT_RPS: '1000', POWER_RATELIMIT_BURST: '1000' };
  return { ...settings, ...unlimited, ...reads, ...powers, DATA_DIR: join(temporaryFolder(), 'data') };
}

function startDemo(settings: Record<string, string>): ServerProcess {
  return startProcess(settings, { args: ['--demo'] });
}

async function shownKey(server: ServerProcess): Promise<string> {
  await expect.poll(() => keyPattern.test(server.stdout())).toBe(true);
  return keyPattern.exec(server.stdout())![1]!;
}

test('the demo servers support all actions of their kinds', async () => {
  const settings = await createSettings();
  const server = startDemo(settings);
  const port = await server.listening();
  const key = await shownKey(server);
  const game = '/v1/hosting/game';
  const post = (target: string, body?: string) => ask({ port }, target, { method: 'POST', key, body });
  const log = async (): Promise<string> => {
    const { json } = await askJson<{ content: string }>({ port }, `${game}/logs/demo/latest`, { key });
    return json.content;
  };
  const power = async (action: string, status = 200) =>
    expect(await post(`${game}/power/demo/${action}`)).toMatchObject({ status });
  const say = (command: string) => post(`${game}/console/demo/command`, JSON.stringify({ command }));
  const answers = async (status: number) => {
    await expect.poll(async () => (await say('list')).status).toBe(status);
  };
  const online = () => answers(200);
  const offline = () => answers(502);

  await offline();
  await power('start');
  await online();
  await say('help');
  await say('say hello');
  await say('constructor');
  await expect
    .poll(log)
    .toMatch(
      /Done! For help[^]*players online[^]*Commands: help, list, say, stop[^]*\[Server\] hello\n[^]*Unknown command/,
    );
  await power('restart');
  await online();
  await power('stop');
  await offline();
  await expect.poll(log).toMatch(/Saving the world[^\n]*\n$/);
  await power('start');
  await online();
  await power('kill', 400);
  await power('kill?force=true');
  await offline();
  await power('start');
  await online();
  await say('stop');
  await offline();

  const vps = '/v1/hosting/cloud/vps-custom/demo';
  const vpsLog = (): string => readFileSync(join(settings.DATA_DIR!, 'local/demo/vps-demo.log'), 'utf8');
  expect(await post(`${vps}/start`)).toMatchObject({ status: 200 });
  await expect.poll(vpsLog).toContain('Done!');
  expect(vpsLog().match(/Starting/g)).toHaveLength(1);
  expect(await post(`${vps}/reset?force=true`, '{"force":true}')).toMatchObject({ status: 200 });
  await expect.poll(() => vpsLog().match(/Done!/g)).toHaveLength(2);
  expect(await post(`${vps}/stop`)).toMatchObject({ status: 200 });
  await expect.poll(vpsLog).toContain('Saving the world');
  server.child.kill('SIGTERM');
  expect(await server.ended()).toBe(0);
});

test('a failed first start does not use up the key', async () => {
  const other = createServer();
  const port = await listen(other);
  onTestFinished(() => void other.close());
  const settings = await createSettings();
  const failed = startDemo({ ...settings, PORT: String(port) });
  expect(await failed.ended()).toBe(1);
  expect(failed.stdout()).not.toContain('hk_');
  await expect(shownKey(startDemo(settings))).resolves.toMatch(/^hk_/);
});

test.each<[string, Record<string, string>]>([
  ['in production', { NODE_ENV: 'production' }],
  ['with a providers file', { PROVIDERS_FILE: 'providers.yaml' }],
])('--demo starts no demo %s', async (_, settings) => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'providers.yaml'), 'providers: {}\n');
  const server = startProcess({ ...(await createSettings()), ...settings }, { cwd, args: ['--demo'] });
  await server.listening();
  server.child.kill('SIGTERM');
  await server.ended();
  expect(server.stdout()).not.toMatch(/hk_|demo/i);
});
