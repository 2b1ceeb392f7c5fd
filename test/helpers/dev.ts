import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { createProject, startProgram } from './project.ts';
import type { Files } from './project.ts';
import type { BuildResult } from '../../generator/compile.ts';
import { watchAndBuild } from '../../generator/dev.ts';

const main = resolve(import.meta.dirname, '../../generator/main.js');

/** Starts `dev` in a project, and waits until it is watching. */
export async function startDev(files: Files = {}, args: readonly string[] = ['--no-serve'], env = {}) {
  const root = createProject(files);
  const dev = startProgram(process.execPath, [main, 'dev', ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, ...env },
  });
  await dev.prints(/watching content and catalog; press Ctrl-C to stop\n/);
  return {
    root,
    printed: dev.output,
    /** Reads a file of the preview; returns an empty text if it is missing. */
    read: (file: string): string => {
      const path = join(root, 'dist/.dev/current', file);
      return existsSync(path) ? readFileSync(path, 'utf8') : '';
    },
    /** Sends SIGINT; returns the exit status or the signal. */
    end: () => {
      dev.child.kill('SIGINT');
      return dev.ended();
    },
  };
}

/** Builds a project now and after each change, until the test ends. `failures` are unexpected errors. */
export async function watchProject(root: string, { lenient = false }: { lenient?: boolean } = {}) {
  const results: BuildResult[] = [];
  const failures: unknown[] = [];
  const stop = await watchAndBuild({
    content: join(root, 'content'),
    catalog: join(root, 'catalog'),
    out: join(root, 'dist'),
    lenient,
    withUnpublished: false,
    report: ({ result }) => results.push(result),
    fail: (error) => failures.push(error),
  });
  onTestFinished(stop);
  return { results, failures };
}
