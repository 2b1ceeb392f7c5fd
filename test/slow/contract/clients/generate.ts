import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';

/** Groups tests that generate clients. The generators are a project of their own, so no installation has them. */
export function describeGenerators(body: () => void): void {
  const isInstalled = existsSync(join(import.meta.dirname, 'node_modules'));
  test('the generators of clients are installed on CI', ({ task }) => {
    if (!isInstalled) task.meta.missing = 'the generators of clients: npm ci --prefix test/slow/contract/clients';
    expect({ CI: process.env.CI, isInstalled }).not.toEqual({ CI: 'true', isInstalled: false });
  });
  describe.skipIf(!isInstalled)('with the generators', () => {
    body();
  });
}

/** Creates a folder for a client with this OpenAPI document, until the test ends. */
export function createClientFolder(document: string): string {
  // Next to the packages that clients import; ignored by TypeScript, the linter and git.
  const generated = join(import.meta.dirname, '.generated');
  mkdirSync(generated, { recursive: true });
  const folder = mkdtempSync(join(generated, 'client-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'openapi.json'), document);
  return folder;
}

/** Generates types for openapi-fetch, or a function per operation, from `openapi.json` in a folder. */
export async function generate(kind: 'types' | 'functions', folder: string): Promise<void> {
  await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'generate.js'), kind, folder]);
}
