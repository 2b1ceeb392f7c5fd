import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { buildProject } from '../helpers/project.ts';
import { readTree } from './tree.ts';

/** Builds a project without problems, and reads the bytes of the release. */
export async function buildAndRead(root: string, options: Parameters<typeof buildProject>[1] = {}) {
  const { release, diagnostics } = await buildProject(root, options);
  expect(diagnostics).toEqual([]);
  return { id: release!.id, tree: readTree(realpathSync(join(options.out ?? join(root, 'dist'), 'current'))) };
}
