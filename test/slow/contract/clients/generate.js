// Generates a client from `openapi.json` in a folder: node generate.js types|functions FOLDER
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createClient } from '@hey-api/openapi-ts';
import generate, { astToString } from 'openapi-typescript';

const [kind, folder] = process.argv.slice(2);
const input = join(folder, 'openapi.json');
if (kind === 'types') {
  writeFileSync(join(folder, 'schema.ts'), astToString(await generate(pathToFileURL(input))));
} else {
  const output = { path: join(folder, 'client'), module: { extension: '.ts' } };
  await createClient({ input, output, logs: { level: 'silent', file: false } });
}
