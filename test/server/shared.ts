import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { createTestApp } from '../helpers/app.ts';
import type { TestApp } from '../helpers/app.ts';
import { buildProject, soundProject, temporaryFolder, writeFiles } from '../helpers/project.ts';

/** For what will be so in a moment; the time only ends a test that went wrong. */
export const eventually = { timeout: 20_000, interval: 10 };

let built: Promise<string> | undefined;

afterAll(async () => {
  if (built) rmSync(await built, { recursive: true, force: true });
});

/** The sound project, built once for all tests of a file that only read it. */
export function sharedProject(): Promise<string> {
  return (built ??= buildShared());
}

async function buildShared(): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), 'hosting-api-'));
  writeFiles(root, soundProject);
  await buildProject(root);
  return root;
}

/** A copy of the shared project, for a test that changes it. */
export async function copyProject(): Promise<string> {
  const root = join(temporaryFolder(), 'project');
  cpSync(await sharedProject(), root, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  return root;
}

/** Starts the server on the shared project. */
export async function serveShared(settings: Record<string, string> = {}): Promise<TestApp> {
  return createTestApp({ root: await sharedProject(), settings });
}
