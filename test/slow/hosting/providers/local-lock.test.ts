import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createHostingWorld } from '../../../helpers/hosting.ts';
import { temporaryFolder } from '../../../helpers/project.ts';
import { until } from '../../../helpers/upstream.ts';
import { createSupervisor } from '../../../helpers/upstream-process.ts';
import { createServable, startProcess } from '../../../server/process.ts';

/** Starts instances with one `local` provider, one data folder and one game server. */
async function createInstances() {
  const supervisor = await createSupervisor();
  const { root, settings } = await createServable();
  const world = await createHostingWorld(temporaryFolder());
  const providersFile = join(root, 'local.yaml');
  const command = JSON.stringify(supervisor.command('demo'));
  const server = `{ kind: game, command: ${command}, grace_seconds: 2 }`;
  writeFileSync(providersFile, `providers: { here: { type: local, servers: { demo: ${server} } } }\n`);
  await world.store.servers.put({ server: 'game:mine', provider: 'here', ref: 'demo', logFile: null });
  const key = await world.issueKey();
  const start = async () => {
    const instance = startProcess({ ...settings, ...world.settings, PROVIDERS_FILE: providersFile });
    const port = await instance.listening();
    const power = async (action: string): Promise<number> => {
      const url = `http://127.0.0.1:${port}/v1/hosting/game/power/mine/${action}`;
      return (await fetch(url, { method: 'POST', headers: { Authorization: `Bearer ${key}` } })).status;
    };
    return { ...instance, power };
  };
  return { supervisor, first: await start(), second: await start() };
}

test('of two concurrent starts by two instances one succeeds', async () => {
  const { supervisor, first, second } = await createInstances();
  const answers = await Promise.all([first.power('start'), second.power('start')]);
  expect(answers.toSorted()).toEqual([200, 502]);
  await supervisor.started('demo');
  expect(supervisor.programs).toHaveLength(1);
});

test('after a SIGKILL another instance can start the server once the old process has ended', async () => {
  const { supervisor, first, second } = await createInstances();
  expect(await first.power('start')).toBe(200);
  const old = await supervisor.started('demo');
  old.send('spawn-child', 'child');
  const child = await supervisor.started('child');
  const killedAt = performance.now();
  first.child.kill('SIGKILL');
  await first.ended();
  // The guard sends SIGTERM, which the child ignores, and SIGKILL after the grace period.
  for (let status = 502; status !== 200; status = await second.power('start')) {
    expect(supervisor.programs.filter(({ name }) => name === 'demo')).toHaveLength(1);
  }
  expect(performance.now() - killedAt).toBeGreaterThan(2000);
  await until('both are gone', () => old.gone() && child.gone());
  await supervisor.started('demo', 2);
  expect(supervisor.alive('demo')).toHaveLength(1);
});
