import { expect, test } from 'vitest';
import { createCommandLine } from './run-command.ts';

test('a server is added, listed, changed and removed', async () => {
  const line = await createCommandLine();
  const add = ['servers', 'add', 'game:survival', '--provider', 'panel-eu', '--ref', '1a7ce997'];
  expect(await line.run(...add, '--log-file', 'logs/my log.log')).toEqual({
    status: 0,
    stdout: 'game:survival is added\n',
    stderr: '',
  });
  await line.run('servers', 'add', 'vps:42', '--provider=fsn', '--ref=4711');
  expect(await line.json('servers', 'list', '--json')).toEqual([
    { server: 'game:survival', provider: 'panel-eu', ref: '1a7ce997', logFile: 'logs/my log.log' },
    { server: 'vps:42', provider: 'fsn', ref: '4711', logFile: null },
  ]);
  expect((await line.run('servers', 'list')).stdout.split('\n')).toEqual([
    'SERVER         PROVIDER  REF       LOG FILE',
    'game:survival  panel-eu  1a7ce997  logs/my log.log',
    'vps:42         fsn       4711',
    '',
  ]);
  expect((await line.run(...add)).stdout).toBe('game:survival is changed\n');
  expect(await line.store.servers.find('game:survival')).toEqual({
    server: 'game:survival',
    provider: 'panel-eu',
    ref: '1a7ce997',
    logFile: null,
  });
  expect((await line.run('servers', 'remove', 'game:survival')).stdout).toBe('game:survival is removed\n');
  expect(await line.run('servers', 'remove', 'game:survival')).toMatchObject({
    status: 1,
    stdout: '',
    stderr: 'no server game:survival is known\n',
  });
  expect(await line.store.servers.list()).toHaveLength(1);
});

test('a mistyped server is not removed, and the nearest is named', async () => {
  const line = await createCommandLine();
  await line.run('servers', 'add', 'game:survival', '--provider', 'p', '--ref', 'r');
  expect(await line.run('servers', 'remove', 'game:survivla')).toMatchObject({
    status: 1,
    stderr: 'no server game:survivla is known (did you mean game:survival?)\n',
  });
  expect(await line.store.servers.list()).toHaveLength(1);
});

test.each([
  [['servers', 'add'], 'SERVER is missing\n'],
  [
    ['servers', 'add', 'survival', '--provider', 'p', '--ref', 'r'],
    'malformed server survival: it must be game:<id> or vps:<id>\n',
  ],
  [['servers', 'add', 'game:a', '--ref', 'r'], '--provider is missing\n'],
  [['servers', 'add', 'game:a', '--provider', 'p'], '--ref is missing\n'],
  [
    ['servers', 'add', 'game:a', '--proivder', 'p', '--ref', 'r'],
    'unknown option --proivder (did you mean --provider?)\n',
  ],
  [
    ['servers', 'add', 'game:a', '--provider', 'p', '--ref='],
    '--ref must have 1 to 255 characters, and no control characters\n',
  ],
  [['servers', 'add', 'vps:a', '--provider', 'p', '--ref', 'r', '--log-file', 'x'], '--log-file is for game servers\n'],
  [
    ['servers', 'add', 'game:a', '--provider', 'p', '--ref', 'r', '--logFile', 'x'],
    'unknown option --logFile (did you mean --log-file?)\n',
  ],
  [['servers', 'list', 'all'], 'unexpected argument all\n'],
  [['servers', 'remove', 'a'], 'malformed server a: it must be game:<id> or vps:<id>\n'],
  [['servers', 'ad', 'game:a'], 'unknown command ad (did you mean add?)\n'],
  [['servers', 'toString'], 'unknown command toString\n'],
  [['servers'], 'which servers command? add, list, remove\n'],
])('%j is refused in one line', async (args, stderr) => {
  const line = await createCommandLine();
  expect(await line.run(...args)).toEqual({ status: 1, stdout: '', stderr });
  expect(await line.store.servers.list()).toEqual([]);
});
