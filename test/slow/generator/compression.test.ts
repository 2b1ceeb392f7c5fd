import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Manifest } from '#contract/release.ts';
import { verifyRelease } from '../../../generator/release/publish.ts';
import { runIn } from '../../generator/run-command.ts';
import { readTree } from '../../generator/tree.ts';
import { buildProject, createProject } from '../../helpers/project.ts';

test(
  'another compression level gives another release, and the previous one is unchanged',
  { timeout: 180_000 },
  async () => {
    const root = createProject();
    const build = async (level: string): Promise<Manifest> => {
      expect((await runIn(root, 'build', '--now', '2026-11-20', '--compress', level)).status).toBe(0);
      return verifyRelease(realpathSync(join(root, 'dist/current')));
    };
    const fast = await build('fast');
    const folder = join(root, 'dist/releases', fast.id);
    const before = readTree(folder);
    const best = await build('best');
    expect(best.id).not.toBe(fast.id);
    const isCompressed = (file: string): boolean => /\.(?:br|gz)$/.test(file);
    const plain = ({ files }: Manifest) => Object.entries(files).filter(([file]) => !isCompressed(file));
    expect(plain(best)).toEqual(plain(fast));
    const openApi = 'public/v1/openapi.json.br';
    expect(best.files[openApi]!.bytes).toBeLessThan(fast.files[openApi]!.bytes);
    expect(readTree(folder)).toEqual(before);
    // With its files in the cache or not, the release is the same.
    expect((await buildProject(createProject(), { compression: 'best' })).release).toEqual(best);
    expect(await build('fast')).toEqual(fast);
  },
);
