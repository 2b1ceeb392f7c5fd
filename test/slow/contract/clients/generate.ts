import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createClient } from '@hey-api/openapi-ts';
import generate, { astToString } from 'openapi-typescript';

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
