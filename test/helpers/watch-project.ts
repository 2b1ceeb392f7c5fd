import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { BuildResult } from '../../generator/compile.ts';
import { watchAndBuild } from '../../generator/dev.ts';

/**
 * Builds a project folder and builds it again after each change, until the test ends. `results` has the first build too;
 * `failures` are the unexpected errors.
 */
export async function watchProject(root: string, { lenient = false }: { lenient?: boolean } = {}) {
  const results: BuildResult[] = [];
  const failures: unknown[] = [];
  const close = await watchAndBuild({
    content: join(root, 'content'),
    catalog: join(root, 'catalog'),
    out: join(root, 'dist'),
    lenient,
    withUnpublished: false,
    report: ({ result }) => results.push(result),
    fail: (error) => failures.push(error),
  });
  onTestFinished(close);
  return { results, failures, close };
}
