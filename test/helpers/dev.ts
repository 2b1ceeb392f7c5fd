import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { createProject } from './project.ts';
import type { Files } from './project.ts';
import type { BuildResult } from '../../generator/compile.ts';
import { watchAndBuild } from '../../generator/dev.ts';

const main = resolve(import.meta.dirname, '../../generator/main.js');

/** Starts `dev` in a project, and waits until it watches. */
export async function startDev(files: Files = {}, args: readonly string[] = ['--no-serve'], env = {}) {
  const root = createProject(files);
  const child = spawn(process.execPath, [main, 'dev', ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await closed;
  });
  await expect
    .poll(() => printed, { timeout: 120_000, interval: 10 })
    .toContain('watching content and catalog; press Ctrl-C to stop\n');
  return {
    root,
    printed: () => printed,
    /** The text of a file of the preview; empty if the file does not exist. */
    read: (file: string): string => {
      const path = join(root, 'dist/.dev/current', file);
      return existsSync(path) ? readFileSync(path, 'utf8') : '';
    },
    /** Sends SIGINT; returns the exit status, or the signal that ended it. */
    end: async (): Promise<number | string> => {
      child.kill('SIGINT');
      const [status, signal] = await closed;
      return status ?? signal!;
    },
  };
}

/**
 * Builds a project folder and builds it again after each change, until the test ends. `results` has the first build too;
 * `failures` are the unexpected errors.
 */
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
