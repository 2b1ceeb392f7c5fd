import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeFiles } from '../../../helpers/project.ts';
import { createServable, startProcess } from '../../../server/process.ts';
import { eventually } from '../../../server/shared.ts';

test('a local server that cannot start is warned of at start with the reason, and the others are not', async () => {
  const { root, settings } = await createServable();
  writeFiles(root, { 'bin/plain': 'text\n', 'bin/good': '#!/bin/sh\n', 'bin/folder/x': '' });
  chmodSync(join(root, 'bin/plain'), 0o644);
  chmodSync(join(root, 'bin/good'), 0o755);
  const servers = {
    onPath: { command: ['sleep', '1'] },
    absolute: { command: [process.execPath] },
    relative: { command: ['./good'], cwd: 'bin' },
    ownPath: { command: ['good'], env: { PATH: join(root, 'bin') } },
    typo: { command: ['slep', '1'] },
    gone: { command: ['/opt/none/run.sh'] },
    plain: { command: ['./plain'], cwd: 'bin' },
    folder: { command: ['./bin/folder'] },
    nowhere: { command: ['sleep', '1'], cwd: 'none' },
    file: { command: ['sleep', '1'], cwd: 'bin/plain' },
  };
  const entries = Object.entries(servers).map(([ref, server]) => [ref, { kind: 'game', ...server }]);
  const providers = { here: { type: 'local', servers: Object.fromEntries(entries) as unknown } };
  writeFiles(root, { 'providers.yaml': JSON.stringify({ providers }) });
  const server = startProcess({
    ...settings,
    DATA_DIR: join(root, 'data'),
    PROVIDERS_FILE: join(root, 'providers.yaml'),
  });
  const readWarnings = () =>
    server
      .stdout()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ level }) => level === 'warn');
  await expect.poll(() => readWarnings().length, eventually).toBe(6);
  expect(
    readWarnings()
      .map(({ check, msg }) => `${String(check)}: ${String(msg)}`)
      .toSorted(),
  ).toEqual(
    [
      'provider here: The server "file" cannot start: its folder bin/plain does not exist',
      'provider here: The server "folder" cannot start: the program ./bin/folder is not a file that this user may run',
      'provider here: The server "gone" cannot start: the program /opt/none/run.sh does not exist',
      'provider here: The server "nowhere" cannot start: its folder none does not exist',
      'provider here: The server "plain" cannot start: the program ./plain is not a file that this user may run',
      'provider here: The server "typo" cannot start: the program slep is in no folder of PATH',
    ].map((line) =>
      line
        .replace('folder bin/plain', `folder ${join(root, 'bin/plain')}`)
        .replace('folder none', `folder ${join(root, 'none')}`),
    ),
  );
});
