import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { environment } from '../../commands/run-command.ts';
import { createTestApp } from '../../helpers/app.ts';
import { createHostingWorld } from '../../helpers/hosting.ts';
import { runProgram, temporaryFolder } from '../../helpers/project.ts';
import type { CommandResult } from '../../helpers/project.ts';
import { openStream } from '../../hosting/instances.ts';
import { askEndpoint } from '../../server/ask.ts';
import { sharedProject } from '../../server/shared.ts';

const program = resolve(import.meta.dirname, '../../../examples/billing/hook.ts');

/** A running server and its billing hooks. */
async function createHost() {
  const world = await createHostingWorld(temporaryFolder());
  // The stand-in has only one server, so give `theirs` another ref: customers must not share a server.
  const theirs = { server: 'game:theirs', provider: 'panel', ref: randomUUID(), logFile: null, shared: 'no' } as const;
  await world.store.servers.put(theirs);
  const app = await createTestApp({ root: await sharedProject(), settings: world.settings });
  // Here the hooks register the servers.
  for (const server of ['game:mine', 'vps:mine'] as const) await world.store.servers.remove(server);
  const env = environment(world.settings);
  const hook = (...args: string[]) => runProgram(process.execPath, [program, ...args], { env });
  /** Runs a hook twice, like a retrying billing system; the second run must change nothing. */
  const twice = async (...args: string[]): Promise<CommandResult[]> => {
    const results = [await hook(...args), await hook(...args)];
    expect(results.map(({ status, stderr }) => (status === 0 ? 0 : stderr))).toEqual([0, 0]);
    return results;
  };
  const create = ['create', '4711', 'game:mine', '--provider', 'panel', '--ref', world.panel.wings.uuid];
  return { world, app, hook, twice, create };
}

test('each hook (create, suspend, resume, terminate) works and may be repeated', async () => {
  const { world, app, hook, twice, create } = await createHost();
  const [first, again] = (await twice(...create)).map(
    ({ stdout }) => JSON.parse(stdout) as { id: string; key: string | null; created: boolean },
  );
  expect(again).toEqual({ ...first, key: null, created: false });
  expect(await world.store.apiKeys.list()).toMatchObject([{ id: first!.id, label: 'service 4711' }]);
  const customer = { ...app, key: first!.key! };
  const statusOf = async () => (await askEndpoint(customer, 'startGameServer')).status;
  expect(await statusOf()).toBe(200);
  const stream = await openStream(customer);

  await twice('suspend', '4711', 'game:mine');
  expect(await statusOf()).toBe(403);
  expect(await Promise.race([stream.ended, sleep(6000, 'open', { ref: false })])).toMatchObject({ code: 4003 });
  // A late repetition of the create hook does not resume the service.
  expect((await hook(...create)).status).toBe(0);
  expect(await statusOf()).toBe(403);
  await twice('resume', '4711', 'game:mine');
  expect(await statusOf()).toBe(200);

  const friend = await world.issueKey({ servers: ['game:mine'] });
  const other = await world.issueKey({ servers: ['game:mine', 'game:theirs'] });
  await twice('terminate', '4711', 'game:mine');
  expect(await statusOf()).toBe(401);
  expect((await askEndpoint({ ...app, key: friend }, 'startGameServer')).status).toBe(401);
  expect((await askEndpoint({ ...app, key: other }, 'startGameServer')).status).toBe(403);
  expect(await world.store.apiKeys.find(other.split('_')[1]!)).toMatchObject({ servers: ['game:theirs'] });
  expect(await world.store.servers.find('game:mine')).toBeUndefined();

  // After the ID is reused, only the new key has access.
  const { stdout } = await hook(...create.with(1, '4712'));
  const { key } = JSON.parse(stdout) as { key: string };
  expect((await askEndpoint({ ...app, key }, 'startGameServer')).status).toBe(200);
  expect(await statusOf()).toBe(401);
  const { stdout: renewed } = await hook(...create);
  expect(JSON.parse(renewed)).toMatchObject({ created: true });
});

test('a failing hook prints the reason and changes nothing', async () => {
  const { world, hook, create } = await createHost();
  const usage = /^usage: hook\.ts create\|suspend\|resume\|terminate SERVICE/;
  for (const [args, message] of [
    [['suspend', '4711', 'game:mine'], /^there is no server game:mine/],
    [['resume', '4711', 'game:mine'], /^there is no server game:mine/],
    [create.with(4, 'nowhere'), /^PROVIDERS_FILE has no provider nowhere/],
    [create.slice(0, 3), usage],
    [['delete', '4711', 'game:mine'], usage],
    [['suspend', '4711'], usage],
    [['suspend', 'a b', 'game:mine'], usage],
    [[], usage],
  ] as const) {
    const { status, stdout, stderr } = await hook(...args);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(message);
  }
  expect(await world.store.apiKeys.list()).toEqual([]);
  expect((await hook('terminate', '4711', 'game:mine')).status).toBe(0);
});
