import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { operationsOf } from '../../contract/document.ts';
import { ownValues, serveSample } from '../../contract/sample-app.ts';
import type { SampleApp } from '../../contract/sample-app.ts';
import { createClientFolder, describeGenerators, generate } from './clients/generate.ts';

const run = promisify(execFile);
const repository = resolve(import.meta.dirname, '../../..');

/** An operation with path and method. */
type Described = ReturnType<typeof operationsOf>[number];

/** A generated client, and the code that calls it. */
interface Client {
  readonly name: string;
  /** The code to generate. */
  readonly kind: Parameters<typeof generate>[0];
  readonly imports: (operations: readonly Described[]) => string;
  /** The expression that calls an operation; its value has `response`. */
  readonly call: (operation: Described) => string;
}

/** Renders the examples of parameters and body as properties of an object literal. */
function examplesOf({ parameters, requestBody }: Described): { params: string; body: string } {
  const places = (['path', 'query'] as const).flatMap((place) => {
    const found = parameters.filter((parameter) => parameter.in === place);
    const values = Object.fromEntries(found.map(({ name, example }) => [name, example ?? ownValues[name]]));
    return found.length > 0 ? [`${place}: ${JSON.stringify(values)}`] : [];
  });
  const body = requestBody?.content['application/json']!.example;
  return { params: places.join(', '), body: requestBody ? `body: ${JSON.stringify(body)}` : '' };
}

const clients: readonly Client[] = [
  {
    name: 'openapi-typescript with openapi-fetch',
    kind: 'types',
    imports: () => `
      import createClient from 'openapi-fetch';
      import type { paths } from './schema.ts';
      const client = createClient<paths>({ baseUrl, headers: { Authorization: \`Bearer \${key}\` } });
    `,
    call(operation) {
      const { params, body } = examplesOf(operation);
      const options = [body, params && `params: { ${params} }`, `parseAs: 'text'`].filter(Boolean).join(', ');
      return `client.${operation.method.toUpperCase()}('${operation.path}', { ${options} })`;
    },
  },
  {
    name: '@hey-api/openapi-ts',
    kind: 'functions',
    imports: (operations) => `
      import { ${operations.map(({ operationId }) => operationId).join(', ')} } from './client/sdk.gen.ts';
      import { client } from './client/client.gen.ts';
      client.setConfig({ baseUrl, auth: key });
    `,
    call(operation) {
      const { params, body } = examplesOf(operation);
      return `${operation.operationId}({ ${[body, params].filter(Boolean).join(', ')} })`;
    },
  },
];

/** Operations that end the key or need the ID of an earlier answer; they are compiled only. */
const compiledOnly = new Set(['revokeChildKey', 'rotateKey', 'revokeKey']);

/** Renders a program that calls all operations with their examples and exports the statuses. */
function writeProgram(folder: string, client: Client, { document, url, key }: SampleApp): void {
  const operations = operationsOf(document);
  const calls = operations.map((operation) => {
    const call = client.call(operation);
    const { operationId: id } = operation;
    return compiledOnly.has(id) ? `  ${id}: () => ${call},` : `  ${id}: (await ${call}).response?.status,`;
  });
  const values = `const baseUrl = ${JSON.stringify(url)};\nconst key = ${JSON.stringify(key)};\n`;
  const program = [values, client.imports(operations), 'export const statuses = {', ...calls, '};', ''];
  writeFileSync(join(folder, 'program.ts'), program.join('\n'));
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'es2024',
    lib: ['es2024', 'dom', 'dom.iterable'],
    module: 'nodenext',
    types: [],
    allowImportingTsExtensions: true,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['program.ts'] }));
}

describeGenerators(() => {
  test.each(clients)('$name compiles in strict mode and calls every operation', async (client) => {
    const app = await serveSample();
    const folder = createClientFolder(JSON.stringify(app.document));
    await generate(client.kind, folder);
    writeProgram(folder, client, app);
    await run(join(repository, 'node_modules/.bin/tsc'), ['-p', folder]).catch((error: { stdout: string }) => {
      throw new Error(error.stdout);
    });
    const { statuses } = (await import(join(folder, 'program.ts'))) as { statuses: Record<string, unknown> };
    const refused = Object.entries(statuses).filter(([id, status]) => status !== 200 && !compiledOnly.has(id));
    expect(refused).toEqual([['createChildKey', 201]]);
  });
});
