import { expect, test } from 'vitest';
import { createCommandLine, damage, refused, succeeded } from './run-command.ts';

test('a server is added, listed, changed and removed', async () => {
  const line = await createCommandLine();
  const add = ['servers', 'add', 'game:survival', '--provider', 'panel-eu', '--ref', '1a7ce997'];
  const added = await line.run(...add, '--log-file', 'logs/my log.log');
  expect(added).toMatchObject({ status: 0, stdout: 'game:survival is added\n' });
  await line.run('servers', 'add', 'vps:42', '--provider=fsn', '--ref=4711');
  expect(await line.json('servers', 'list', '--json')).toEqual([
    { server: 'game:survival', provider: 'panel-eu', ref: '1a7ce997', logFile: 'logs/my log.log', suspended: null },
    { server: 'vps:42', provider: 'fsn', ref: '4711', logFile: null, suspended: null },
  ]);
  expect((await line.run('servers', 'list')).stdout.split('\n')).toEqual([
    'SERVER         PROVIDER  REF       LOG FILE         SUSPENDED',
    'game:survival  panel-eu  1a7ce997  logs/my log.log',
    'vps:42         fsn       4711',
    '',
  ]);
  expect((await line.run(...add, '--replace')).stdout).toMatch(/^game:survival is changed from ref 1a7ce997 of .*\n$/);
  expect(await line.store.servers.find('game:survival')).toEqual({
    server: 'game:survival',
    provider: 'panel-eu',
    ref: '1a7ce997',
    logFile: null,
    suspendedAt: null,
    shared: 'no',
    madeBy: null,
    suspendedBy: null,
  });
  expect((await line.run('servers', 'remove', 'game:survival')).stdout).toBe('game:survival is removed\n');
  expect(await line.run('servers', 'remove', 'game:survival')).toMatchObject(
    refused('there is no server game:survival\n'),
  );
  expect(await line.store.servers.list()).toHaveLength(1);
});

test('a server is suspended and resumed, and a changed record keeps the suspension', async () => {
  const line = await createCommandLine();
  const add = ['servers', 'add', 'game:a', '--provider', 'p', '--ref'];
  await line.run(...add, 'one');
  expect(await line.run('servers', 'suspend', 'game:a')).toEqual(succeeded('game:a is suspended\n'));
  const since = (await line.store.servers.find('game:a'))!.suspendedAt!;
  expect(Math.abs(Date.now() - since)).toBeLessThan(60_000);
  await line.run(...add, 'two', '--replace');
  await line.run('servers', 'suspend', 'game:a');
  const suspended = new Date(since).toISOString();
  expect(await line.json('servers', 'list', '--json')).toMatchObject([{ ref: 'two', suspended }]);
  expect((await line.run('servers', 'list')).stdout.split('\n')[1]).toMatch(new RegExp(`two +${suspended}$`));
  expect(await line.json('servers', 'resume', 'game:a', '--json')).toEqual({ server: 'game:a' });
  expect(await line.json('servers', 'list', '--json')).toMatchObject([{ suspended: null }]);
  const before = await line.store.servers.list();
  for (const name of ['suspend', 'resume', 'remove']) {
    expect(await line.run('servers', name, 'game:b')).toMatchObject(
      refused('there is no server game:b (did you mean "game:a"?)\n'),
    );
  }
  expect(await line.store.servers.list()).toEqual(before);
});

test('add and remove print JSON with --json', async () => {
  const line = await createCommandLine();
  const record = { server: 'game:a', provider: 'p', ref: 'r', logFile: null };
  expect(await line.json('servers', 'add', 'game:a', '--provider', 'p', '--ref', 'r', '--json')).toEqual(record);
  expect(await line.json('servers', 'remove', 'game:a', '--json')).toEqual({ server: 'game:a' });
});

test('a damaged record can be removed and does not affect other records', async () => {
  const line = await createCommandLine();
  await line.run('servers', 'add', 'game:a', '--provider', 'p', '--ref', 'r');
  damage(line, `UPDATE hosting_servers SET provider = ''`);
  expect((await line.run('servers', 'list')).stderr).toBe('the record "game:a" of hosting_servers is corrupted\n');
  expect(await line.run('keys', 'create', '--server', 'game:b', '--scope', 'game-power:read')).toMatchObject({
    status: 0,
    stderr: expect.stringContaining('warning: there is no server game:b; add it with servers add\n'),
  });
  expect((await line.run('servers', 'remove', 'game:b')).stderr).toBe('there is no server game:b\n');
  expect((await line.run('servers', 'remove', 'game:a')).status).toBe(0);
});

test.each([
  ['servers add', "missing required argument 'server'\n"],
  ['servers add survival --provider p --ref r', 'malformed server survival: it must be game:<id> or vps:<id>\n'],
  ['servers add game:a --ref r', '--provider is missing\n'],
  ['servers add game:a --provider p', '--ref is missing\n'],
  ['servers add game:a --proivder p --ref r', "unknown option '--proivder' (Did you mean --provider?)\n"],
  ['servers add game:a --provider p --ref=', '--ref must have 1 to 255 characters, and no control characters\n'],
  ['servers add vps:a --provider p --ref r --log-file x', '--log-file is for game servers\n'],
  ['servers add game:a --provider p --ref r --logFile x', "unknown option '--logFile' (Did you mean --log-file?)\n"],
  ['servers list all', "too many arguments for 'list'. Expected 0 arguments but got 1: all.\n"],
  ['servers remove a', 'malformed server a: it must be game:<id> or vps:<id>\n'],
  ['severs', "unknown command 'severs' (Did you mean servers?)\n"],
  ['servers ad game:a', "unknown command 'ad' (Did you mean add?)\n"],
  ['servers toString', "unknown command 'toString'\n"],
  ['servers --json list', "unknown option '--json'\n"],
])('%s is refused in one line', async (command, stderr) => {
  const line = await createCommandLine();
  expect(await line.run(...command.split(' '))).toEqual(refused(stderr));
  expect(await line.store.servers.list()).toEqual([]);
});
