import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createClient } from '@hey-api/openapi-ts';
import generate, { astToString } from 'openapi-typescript';
import { onTestFinished } from 'vitest';

/** Creates a folder for a client with this OpenAPI document, until the test ends. */
export function createClientFolder(document: string): string {
  // Inside the project, where imports resolve; ignored by TypeScript, the linter and git.
  const generated = join(import.meta.dirname, '.generated');
  mkdirSync(generated, { recursive: true });
  const folder = mkdtempSync(join(generated, 'client-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'openapi.json'), document);
  return folder;
}

/** Generates types for openapi-fetch from `openapi.json` in a folder. */
export async function generateTypes(folder: string): Promise<void> {
  const types = await generate(pathToFileURL(join(folder, 'openapi.json')));
  writeFileSync(join(folder, 'schema.ts'), astToString(types));
}

/** Generates a function per operation from `openapi.json` in a folder. */
export async function generateFunctions(folder: string): Promise<void> {
  const output = { path: join(folder, 'client'), module: { extension: '.ts' } };
  await createClient({ input: join(folder, 'openapi.json'), output, logs: { level: 'silent', file: false } });
}
