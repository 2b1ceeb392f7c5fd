import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { skipWithout } from '../../helpers/permitted.ts';
import { runProgram, temporaryFolder } from '../../helpers/project.ts';
import { createCertificates } from '../../helpers/upstream-tls.ts';

const visit = resolve(import.meta.dirname, '../../../server/doctor/visit.ts');

/** Examines a stand-in for the service on port 443, next to port 80 with these statuses, and prints the finding. */
const program = `
import { createServer } from 'node:http';
import { createServer as createSecure } from 'node:https';
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { examine } from '${visit}';
const [folder, plain, keyed] = process.argv.slice(1);
const read = (name) => readFileSync(folder + '/' + name);
const secure = createSecure({ key: read('key'), cert: read('cert') }, ({ url }, response) =>
  response.end(url === '/ready' ? '{"status":"ready"}' : '{"status":"healthy"}'));
const port80 = createServer(({ headers }, response) => response.writeHead(headers.authorization ? keyed : plain).end());
await once(secure.listen(443, '127.0.0.1'), 'listening');
if (plain) await once(port80.listen(80, '127.0.0.1'), 'listening');
console.log(JSON.stringify((await examine(new URL('https://127.0.0.1'))).find(({ check }) => check === 'port 80')));
process.exit();
`;

/** Gives a process a network with a loopback interface only, where it may listen on any port. */
const isolate = ['unshare', '--net', 'sh', '-ec', 'ip link set lo up; [ -z "$1" ] || exec "$@"', 'sh'] as const;

test.for<[statuses: string[], finding: object]>([
  [['308', '403'], { state: 'ok', seen: '308, and 403 for a request with a key' }],
  [['301', '403'], { state: 'ok', seen: 'requests without a key are answered 301', advice: expect.anything() }],
  [['301', '301'], { state: 'fault', seen: 'a request with a key in plain text is answered 301' }],
  [['401', '401'], { state: 'fault', seen: 'a request with a key in plain text is answered 401' }],
  [[], { state: 'ok', seen: 'does not respond (ECONNREFUSED)' }],
])('port 80 that answers %j, without and with a key, is a finding', async ([statuses, finding], context) => {
  skipWithout(context, [...isolate, '']);
  const folder = temporaryFolder();
  const { ca, key, cert } = createCertificates();
  for (const [name, text] of Object.entries({ ca, key, cert })) writeFileSync(join(folder, name), text);
  const [command, ...args] = [...isolate, process.execPath, '--input-type=module', '-e', program, folder, ...statuses];
  const { status, stdout, stderr } = await runProgram(command, args, {
    cwd: resolve(visit, '../../..'),
    env: { PATH: process.env.PATH, NODE_EXTRA_CA_CERTS: join(folder, 'ca') },
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(JSON.parse(stdout)).toMatchObject({ check: 'port 80', ...finding });
});
