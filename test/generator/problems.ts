import { join, relative } from 'node:path';
import { build } from '../../generator/build.ts';
import type { BuildOptions } from '../../generator/build-options.ts';
import { formatDiagnostic } from '../../generator/source/diagnostics.ts';

/** What is wrong with a project: a line each, as a check prints them, with paths that begin at the project's folder. */
export async function problemsOf(
  root: string,
  options: Partial<Pick<BuildOptions, 'lenient' | 'now'>> = {},
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
