import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { runProgram, temporaryFolder } from '../../helpers/project.ts';
import { serveOperators } from '../../operators/operators.ts';

const page = readFileSync(resolve(import.meta.dirname, '../../../docs/operators-api.md'), 'utf8');

/** Replaces times, and the IDs and texts of keys. */
const toStable = (text: string): unknown =>
  JSON.parse(text.replaceAll(/"[^"]*\d\dT\d\d:[^"]*"/g, '"time"').replaceAll(/"(?:hk_\w+|[A-Za-z0-9]{12})"/g, '"key"'));

test('each call of docs/operators-api.md succeeds in this order, with the answer that the page shows', async () => {
  const { port, token } = await serveOperators();
  const folder = temporaryFolder();
  writeFileSync(join(folder, '.token'), `Authorization: Bearer ${token}\n`);

  const blocks = [...page.matchAll(/^```sh\n([^]*?)^```(?:\n\n```json\n([^]*?)^```)?/gm)];
  const calls = new Set<string>();
  for (const [, block, answer] of blocks) {
    const script = `set -e; curl() { command curl -sS --fail-with-body "$@"; echo; }\n${block!.replaceAll(':3080', `:${port}`)}`;
    const { status, stdout, stderr } = await runProgram('sh', ['-c', script], { cwd: folder });
    expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: '' });
    if (answer !== undefined) expect(toStable(stdout)).toEqual(toStable(answer));
    for (const line of block!.replaceAll('\\\n', '').split('\n').filter(Boolean)) {
      const [, method = 'GET'] = /-X (\w+)/.exec(line) ?? [];
      calls.add(`${method} ${/:3080([^'?\s]+)/.exec(line)![1]!.replace(/(servers|keys)\/[^/]+/, '$1/*')}`);
    }
  }
  // Every row of the table has an example.
  expect([...calls].toSorted()).toEqual([
    'DELETE /v1/operator/keys/*',
    'DELETE /v1/operator/servers/*',
    'GET /v1/operator',
    'GET /v1/operator/keys',
    'GET /v1/operator/servers',
    'GET /v1/operator/servers/*',
    'POST /v1/operator/keys/*/rotate',
    'POST /v1/operator/servers/*/resume',
    'POST /v1/operator/servers/*/suspend',
    'PUT /v1/operator/keys/*',
    'PUT /v1/operator/servers/*',
  ]);
});
