import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readCurrent } from '../../generator/release/current.ts';
import { verifyRelease } from '../../generator/release/publish.ts';
import { article, buildProject, createProject, validProject, writeFiles } from '../helpers/project.ts';
import { flipBit } from './damage.ts';
import { runIn } from './run-command.ts';
import { readTree } from './tree.ts';

describe('a release that is damaged on the disk', () => {
  test.each<[string, RegExp, (release: string) => void]>([
    [
      'a JSON file has a flipped bit',
      /^public\/v1\/plans\.json has been/,
      (release) => flipBit(join(release, 'public/v1/plans.json')),
    ],
    [
      'a compressed file has a flipped bit',
      /^public\/v1\/kb\/list\.json\.br has been/,
      (release) => flipBit(join(release, 'public/v1/kb/list.json.br')),
    ],
    [
      'an image has a flipped bit',
      /^public\/media\/kb\/map\.svg has been/,
      (release) => flipBit(join(release, 'public/media/kb/map.svg')),
    ],
    [
      'a file is missing',
      /ENOENT.*public\/v1\/blog\/list\.json/,
      (release) => rmSync(join(release, 'public/v1/blog/list.json')),
    ],
    [
      'a file is empty',
      /^private\/status\.json has been/,
      (release) => writeFileSync(join(release, 'private/status.json'), ''),
    ],
    ['the manifest is missing', /ENOENT.*manifest\.json/, (release) => rmSync(join(release, 'manifest.json'))],
    ['the manifest is truncated', /JSON/, (release) => writeFileSync(join(release, 'manifest.json'), '{"id":')],
  ])('is repaired by a build of the same sources if %s', async (_, reason, damage) => {
    const root = createProject();
    const { release } = await buildProject(root);
    const sound = readTree(join(root, 'dist/releases'));
    damage(join(root, 'dist/releases', release!.id));
    await expect(verifyRelease(join(root, 'dist/current'))).rejects.toThrow(reason);
    expect((await buildProject(root)).release).toEqual(release);
    expect(await verifyRelease(join(root, 'dist/current'))).toEqual(release);
    expect(readTree(join(root, 'dist/releases'))).toEqual(sound);
  });
});

test.each([
  ['built again', true],
  ['found unchanged', false],
])('an earlier release that is %s becomes current, and is not written again', async (_, noCache) => {
  const second = 'content/blog/news/second.md';
  const root = createProject();
  const first = await buildProject(root, { noCache });
  writeFiles(root, { [second]: article({}, 'Other.\n') });
  const other = await buildProject(root);
  const before = readTree(join(root, 'dist/releases'));
  writeFiles(root, { [second]: validProject[second] });
  await buildProject(root, { noCache });
  expect(await readCurrent(join(root, 'dist'))).toBe(first.release!.id);
  expect(readTree(join(root, 'dist/releases'))).toEqual(before);
  const { stdout } = await runIn(root, 'releases', 'list', '--json');
  expect((JSON.parse(stdout) as { id: string }[]).map(({ id }) => id)).toEqual([first.release!.id, other.release!.id]);
});
