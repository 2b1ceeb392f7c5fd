import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../helpers/project.ts';
import { createUpstream, json } from '../helpers/upstream.ts';
import { createCommandLine, readAudit, refused } from './run-command.ts';

interface Listed {
  readonly identifier: string;
  readonly name: string;
}

/** Creates a command line with a panel that lists these servers in pages. */
async function createWithPanel(listed: readonly Listed[], { total = listed.length, admin = false } = {}) {
  const panel = await createUpstream(({ path }) => {
    if (path.endsWith('/account')) return json(200, { attributes: { id: 1, admin } });
    const page = Number(new URLSearchParams(path.split('?')[1]).get('page'));
    const data = listed.slice((page - 1) * 50, page * 50).map((attributes) => ({ attributes }));
    return json(200, { data, meta: { pagination: { total } } });
  });
  const file = join(temporaryFolder(), 'providers.yaml');
  writeFileSync(
    file,
    `providers: { panel: { type: pterodactyl, url: "${panel.url}", token: x }, here: { type: local, servers: { one: { kind: game, command: [x] } } } }\n`,
  );
  const line = await createCommandLine({ PROVIDERS_FILE: file });
  const list = (...args: string[]) => line.run('servers', 'import', '--provider', 'panel', ...args);
  const states = async (...args: string[]) => {
    const rows = JSON.parse((await list('--json', ...args)).stdout) as Record<string, string | null>[];
    return rows.map(({ server, ref, name, state }) => [state, server, ref, name]);
  };
  return { ...line, list, states };
}

test('1,203 servers are added once with --yes, one audited entry each, and a second run adds nothing', async () => {
  const listed = Array.from({ length: 1203 }, (_, at) => ({
    identifier: (0x10000000 + at).toString(16),
    name: `s ${at}`,
  }));
  const line = await createWithPanel(listed);
  const count = async (...args: string[]) => Object.groupBy(await line.states(...args), ([state]) => state!);
  expect((await count()).new).toHaveLength(1203);
  expect(await line.store.servers.list()).toEqual([]);
  expect((await count('--yes')).new).toHaveLength(1203);
  expect(await line.store.servers.list()).toHaveLength(1203);
  expect(await line.store.servers.find('game:10000000')).toMatchObject({ provider: 'panel', ref: '10000000' });
  expect(Object.keys(await count('--yes'))).toEqual(['known']);
  expect(await readAudit(line, '--changes')).toHaveLength(2 * 1203);
});

test('names become IDs, twins and names without letters are left out, and removed servers are named', async () => {
  const line = await createWithPanel([
    { identifier: '1a7ce901', name: 'My Server' },
    { identifier: '1a7ce902', name: 'twin' },
    { identifier: '1a7ce903', name: 'twin' },
    { identifier: '1a7ce904', name: '⛏' },
    { identifier: '1a7ce905', name: 'taken' },
    { identifier: '1a7ce906', name: 'old' },
  ]);
  const add = ['servers', 'add', '--provider', 'panel', '--ref'];
  await line.run(...add, '1a7ce9ff', 'game:mc-taken');
  await line.run(...add, '1A7CE906-259b-452e-8b4e-cecc464142ca', 'game:kept');
  const expected = [
    ['new', 'game:mc-My-Server', '1a7ce901', 'My Server'],
    ['the ID is taken', 'game:mc-twin', '1a7ce902', 'twin'],
    ['the ID is taken', 'game:mc-twin', '1a7ce903', 'twin'],
    ['no ID', null, '1a7ce904', '⛏'],
    ['the ID is taken', 'game:mc-taken', '1a7ce905', 'taken'],
    ['known', 'game:kept', '1a7ce906', 'old'],
    ['gone there', 'game:mc-taken', '1a7ce9ff', null],
  ];
  const named = ['--id', 'name', '--prefix', 'mc-'];
  expect(await line.states(...named, '--yes')).toEqual(expected);
  const { status, stderr, stdout } = await line.list(...named);
  expect({ status, stderr }).toEqual({ status: 1, stderr: '4 servers cannot be added: see their states\n' });
  expect(stdout.split('\n')[1]).toMatch(/^known +game:mc-My-Server +1a7ce901 +My Server$/);
  expect((await line.store.servers.list()).map(({ server }) => server)).toEqual([
    'game:kept',
    'game:mc-My-Server',
    'game:mc-taken',
  ]);
});

test('a list that is not whole is an error, and names no server as gone', async () => {
  const line = await createWithPanel([{ identifier: '1a7ce901', name: 'a' }], { total: 3, admin: true });
  await line.run('servers', 'add', 'game:b', '--provider', 'panel', '--ref', '1a7ce902');
  const { status, stdout, stderr } = await line.list();
  expect({ status, gone: stdout.includes('gone there') }).toEqual({ status: 1, gone: false });
  expect(stderr).toContain('belongs to an administrator');
  expect(stderr).toContain('warning: 2 more servers are not listed; import again\n');
});

test.each([
  [['--provider', 'none'], 'PROVIDERS_FILE has no provider none\n'],
  [['--provider', 'here'], 'the provider here does not list its servers: add them with servers add\n'],
  [['--provider', 'panel', '--id', 'uuid'], '--id must be ref or name\n'],
  [[], '--provider is missing\n'],
])('%j is refused', async (args, stderr) => {
  const line = await createWithPanel([]);
  expect(await line.run('servers', 'import', ...args)).toEqual(refused(stderr));
});
