import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { examine } from '../../server/doctor/visit.ts';
import { runHere } from '../commands/run-command.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { createUpstream } from '../helpers/upstream.ts';
import { findFreePort } from '../helpers/free-port.ts';
import { sharedApp } from '../server/shared.ts';

/** A file with a text. */
function fileWith(text: string): string {
  const file = join(temporaryFolder(), 'key');
  writeFileSync(file, text);
  return file;
}

test('a service without a proxy has no fault, and the table says what was seen', async () => {
  const { url, key } = await sharedApp();
  const { status, stdout, stderr } = await runHere(['doctor', '--url', url, '--key-file', fileWith(`${key}\n`)], {});
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const [heading, ...rows] = stdout.trimEnd().split('\n');
  expect(heading).toMatch(/^CHECK +RESULT +SEEN$/);
  expect(rows).toHaveLength(24);
  expect(rows.filter((row) => !/ {2}(?:ok|skipped) {2}/.test(row))).toEqual([]);
  expect(stdout).not.toContain(key);
});

test('a service that is not there is one fault, with status 1', async () => {
  const url = `http://127.0.0.1:${await findFreePort()}`;
  const { status, stdout, stderr } = await runHere(['doctor', '--url', url, '--json'], {});
  expect({ status, stderr }).toEqual({ status: 1, stderr: '1 of 1 checks found a fault\n' });
  expect(JSON.parse(stdout)).toEqual([
    {
      check: 'answers',
      state: 'fault',
      seen: 'the request failed: ECONNREFUSED',
      advice: 'see that the proxy listens there and does not cut the connection, and read its error log',
    },
  ]);
});

test('a service whose store does not answer is not ready', async () => {
  const upstream = await createUpstream(({ path }) =>
    path === '/health' ? { status: 200, body: '{"status":"healthy"}' } : { status: 503, body: '{"status":"unready"}' },
  );
  const [finding] = await examine(new URL(upstream.url));
  expect(finding).toMatchObject({ check: 'answers', state: 'fault', seen: '/ready answers 503 unready' });
});

test('a service below a path is looked at there', async () => {
  const seen: string[] = [];
  const upstream = await createUpstream(({ path }) => {
    seen.push(path);
    return { status: 200, body: '{"status":"healthy"}' };
  });
  await examine(new URL(`${upstream.url}/api/`));
  expect(seen).toEqual(['/api/health', '/api/ready']);
});

const noAddress = '--url must be an address such as https://api.example.com, without a query';

test.each([
  ['--key-file', 'key', '--key-file needs --url'],
  ['--url', 'api.example.com', noAddress],
  ['--url', 'ftp://a.example', noAddress],
  ['--url', 'https://a.example/?x', noAddress],
  ['--url', 'https://u:p@a.example', noAddress],
])('%s %s is refused', async (option, value, message) => {
  expect(await runHere(['doctor', option, value], {})).toEqual({ status: 1, stdout: '', stderr: `${message}\n` });
});

test('a key file that holds no key is refused, without its text', async () => {
  const file = fileWith('hk_secret');
  const use = (path: string) => runHere(['doctor', '--url', 'http://127.0.0.1:1', '--key-file', path], {});
  const stderr = `${file} must contain one API key, as \`keys create\` prints it\n`;
  expect(await use(file)).toMatchObject({ status: 1, stderr });
  expect((await use(`${file}-x`)).stderr).toBe(`${file}-x cannot be read: ENOENT\n`);
});
