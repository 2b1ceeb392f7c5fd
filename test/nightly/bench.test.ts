import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { runProgram } from '../helpers/project.ts';

test('npm run bench measures every part, and compares the figures with the targets', async () => {
  const args = ['run', 'bench', '--', '--quick', '--rows', 'ours, raw'];
  const { status, stdout, stderr } = await runProgram('npm', args, { cwd: resolve(import.meta.dirname, '../..') });
  expect(status, stderr).toBe(0);
  const measured = Array.from(stdout.matchAll(/^\| ([^|]+?) +\| +[\d.]/gm), ([, row]) => row);
  expect(measured).toEqual(
    expect.arrayContaining([
      'ours, cold',
      'dev: ours, article and lists',
      'gzip: ours',
      'start: ours, corpus',
      'a new release is loaded: ours',
      '304: ours: CPU / 304: raw node:http, by the least',
    ]),
  );
});
