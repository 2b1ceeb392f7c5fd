import { hash } from 'node:crypto';
import { cp, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { compileStatusWidget } from '../../generator/static-files.ts';
import { temporaryFolder } from '../helpers/project.ts';

const repository = resolve(import.meta.dirname, '../..');

test('the widget is one classic ASCII script of at most 3 KB gzipped that declares no globals', async () => {
  const { script, embed } = await compileStatusWidget();
  expect(embed.integrity).toBe(`sha384-${hash('sha384', script, 'base64')}`);
  expect(embed.path).toBe(`/v1/service-status.${hash('sha256', script).slice(0, 16)}.js`);
  expect(script).toMatch(/^[\t\n -~]+$/);
  expect(gzipSync(script, { level: 6 }).length).toBeLessThanOrEqual(3 * 1024);
  const context = createContext({});
  // Without a page, the script fails immediately, but its declarations exist already.
  expect(() => runInContext(script, context) as unknown).toThrow('window is not defined');
  expect(Object.getOwnPropertyNames(context)).toEqual([]);
});

test('the widget has the same bytes in another folder', async () => {
  const folder = join(temporaryFolder(), 'élan');
  for (const name of ['generator', 'package.json']) {
    await cp(join(repository, name), join(folder, name), { recursive: true });
  }
  await symlink(join(repository, 'node_modules'), join(folder, 'node_modules'));
  const copy = (await import(join(folder, 'generator/static-files.ts'))) as {
    compileStatusWidget: typeof compileStatusWidget;
  };
  const { embed } = await compileStatusWidget();
  expect((await copy.compileStatusWidget()).embed).toEqual(embed);
});
