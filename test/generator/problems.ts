import { join, relative } from 'node:path';
import { build } from '../../generator/build.ts';
import type { BuildOptions } from '../../generator/build-options.ts';
import { formatDiagnostic } from '../../generator/source/diagnostics.ts';

/** Checks a project; returns its problems, one a line as `check` prints them, with paths relative to the project. */
export async function problemsOf(
  root: string,
  options: Partial<Pick<BuildOptions, 'lenient' | 'now' | 'allowEmpty'>> = {},
): Promise<string[]> {
  const { diagnostics } = await build({
    content: join(root, 'content'),
    catalog: join(root, 'catalog'),
    out: join(root, 'dist'),
    checkOnly: true,
    now: '2026-11-20',
    lenient: false,
    noCache: true,
    compression: 'fast',
    ...options,
  });
  const prefix = `${relative(process.cwd(), root)}/`;
  return diagnostics.map((diagnostic) => formatDiagnostic(diagnostic, 'text').replaceAll(prefix, ''));
}
