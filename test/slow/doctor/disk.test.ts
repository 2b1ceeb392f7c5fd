import { execFileSync } from 'node:child_process';
import { cpSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkDisks } from '../../../server/doctor/local.ts';
import { createInstallation } from '../../doctor/installation.ts';
import { createTestApp } from '../../helpers/app.ts';
import { mountSmall } from '../../helpers/permitted.ts';
import { eventually, sharedProject } from '../../server/shared.ts';

test('a nearly full disk is a fault for the doctor and at the start, until space is freed', async (context) => {
  const folder = mountSmall(context, 'size=16m');
  const ballast = join(folder, 'ballast');
  const installation = await createInstallation();
  const STATUS_FILE = join(folder, 'status.json');
  expect((await installation.examine({ STATUS_FILE })).faults).toEqual([]);
  writeFileSync(ballast, Buffer.alloc(15 * 1024 * 1024));
  const { status, faults } = await installation.examine({ STATUS_FILE });
  expect(status).toBe(1);
  expect(faults).toEqual([
    {
      check: 'disk of STATUS_FILE',
      state: 'fault',
      seen: expect.stringMatching(/^[01] MiB of 16 MiB left$/),
      advice: expect.stringMatching(/releases -- prune/),
    },
  ]);
  const app = await createTestApp({
    root: await sharedProject(),
    settings: { DATA_DIR: installation.root, STATUS_FILE },
  });
  const warnings = () => app.log().filter(({ check }) => check === 'disk of STATUS_FILE');
  await expect.poll(() => warnings().length, eventually).toBe(1);
  expect(warnings()).toMatchObject([{ level: 'warn', msg: faults[0]!.seen, advice: faults[0]!.advice }]);
  rmSync(ballast);
  expect((await installation.examine({ STATUS_FILE })).faults).toEqual([]);
});

test('a database on a read-only disk is a single fault', async (context) => {
  const DATA_DIR = mountSmall(context, 'size=16m');
  const installation = await createInstallation();
  cpSync(installation.settings['DATA_DIR']!, DATA_DIR, { recursive: true });
  expect((await installation.examine({ DATA_DIR })).faults).toEqual([]);
  execFileSync('mount', ['-o', 'remount,ro', DATA_DIR]);
  expect((await installation.examine({ DATA_DIR })).faults).toMatchObject([
    { check: 'store', seen: `this user cannot write to ${DATA_DIR}`, advice: expect.stringContaining('not read-only') },
  ]);
});

test('a disk without free inodes is a fault', async (context) => {
  const folder = mountSmall(context, 'size=64m,nr_inodes=50');
  for (let file = 0; file < 47; file += 1) writeFileSync(join(folder, String(file)), '');
  const found = await checkDisks({ DATA_DIR: folder, DIST_DIR: folder, STATUS_FILE: undefined });
  expect(found).toMatchObject([{ check: 'disk of DATA_DIR, DIST_DIR', state: 'fault' }]);
  expect(found[0]!.seen).toBe(`${statfsSync(folder).ffree} of 50 inodes left`);
});
