import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { startDemo } from '../../helpers/demo.ts';
import { runProgram } from '../../helpers/project.ts';
import { createClientFolder, describeGenerators, generate } from '../contract/clients/generate.ts';

const repository = resolve(import.meta.dirname, '../../..');
const source = readFileSync(join(repository, 'examples/clients/typed/power.ts'), 'utf8');

/** Writes the client and the service's types into a folder. */
async function writeClient(url: string, text = source) {
  const folder = createClientFolder(await (await fetch(`${url}/v1/openapi.json`)).text());
  await generate('types', folder);
  writeFileSync(join(folder, 'power.ts'), text);
  const extend = { extends: join(repository, 'tsconfig.json'), include: ['power.ts'], exclude: [] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(extend));
  const env = { PATH: process.env.PATH };
  const compile = () => runProgram(join(repository, 'node_modules/.bin/tsc'), ['-p', folder], { env });
  return { program: join(folder, 'power.ts'), compile };
}

describeGenerators(() => {
  test("the typed client compiles with the service's types, and controls the demo server", async () => {
    const { url, key } = await startDemo();
    const { program, compile } = await writeClient(url);
    expect(await compile()).toEqual({ status: 0, stdout: '', stderr: '' });
    const run = (args: string[], env = { HOSTING_API_KEY: key }) =>
      runProgram(process.execPath, [program, ...args], { env: { PATH: process.env.PATH, API_URL: url, ...env } });
    const started = await run(['demo', 'start']);
    expect(started).toMatchObject({ status: 0, stderr: '' });
    expect(started.stdout).toMatch(/^Start action sent\n[^]*demo is running\n$/);
    expect((await run(['demo', 'restart'])).stdout).toMatch(/demo is running\n$/);
    expect((await run(['demo', 'stop'])).stdout).toMatch(/^Stop action sent\n[^]*demo is offline\n$/);

    const refused = /^POST http:\S+\/other\/start: 403 \{.*"forbidden"/;
    expect(await run(['other', 'start'])).toMatchObject({ status: 1, stderr: expect.stringMatching(refused) });
    const usage = 'usage: node power.ts SERVER start|stop|restart\n';
    expect(await run(['demo', 'explode'])).toMatchObject({ status: 1, stderr: usage });
    const noKey = 'Set the environment variable HOSTING_API_KEY to your key, hk_...\n';
    expect(await run(['demo', 'start'], { HOSTING_API_KEY: '' })).toMatchObject({ status: 1, stderr: noKey });
  });

  test.each([
    [
      'a path that the service does not have',
      "'/v1/hosting/game/power/{server_id}', parameters",
      "'/v1/hosting/power', {}",
    ],
    ['a method that a path does not have', "call('get', ", "call('post', "],
    ['a parameter of another name', '{ server_id: server }', '{ id: server }'],
    ['a field that the answer does not have', '{ message }', '{ text }'],
    ['a state that does not exist', 'state === wanted', "state === 'asleep'"],
  ])('the compiler rejects %s', async (_, right, wrong) => {
    const { url } = await startDemo();
    expect(source).toContain(right);
    const { compile } = await writeClient(url, source.replace(right, wrong));
    expect(await compile()).toMatchObject({ stdout: expect.stringMatching(/power\.ts\(\d+,\d+\): error TS/) });
  });
});
