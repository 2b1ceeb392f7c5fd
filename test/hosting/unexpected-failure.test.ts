import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { renderProblem } from '#contract/problem.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { ask, askEndpoint } from '../server/ask.ts';
import { createServable, startProcess } from '../server/process.ts';
import type { SharedApp } from '../server/shared.ts';

/** Preloaded before the server: the guard shell of local servers fails to start, after the local server has started. */
const fault = `
import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
const { spawn } = childProcess;
childProcess.spawn = (file, ...rest) => {
  if (file === '/bin/sh') throw new RangeError('an unexpected error');
  return spawn(file, ...rest);
};
syncBuiltinESMExports();
`;

test('after an action failed unexpectedly, its outcome is unknown, and its Idempotency-Key is kept', async () => {
  const folder = temporaryFolder();
  const world = await createHostingWorld(folder);
  await world.store.servers.put({ server: 'vps:mine', provider: 'local', ref: 'mine', logFile: null });
  const started = join(folder, 'started');
  const program = `require('fs').appendFileSync(${JSON.stringify(started)}, 'x')`;
  const vps = { kind: 'vps', command: [process.execPath, '-e', program] };
  // JSON is valid YAML.
  const providers = { local: { type: 'local', servers: { mine: vps } } };
  writeFileSync(world.settings.PROVIDERS_FILE!, JSON.stringify({ providers }));
  const { settings } = await createServable();
  const preload = `--import=data:text/javascript,${encodeURIComponent(fault)}`;
  const server = startProcess({ ...settings, ...world.settings, NODE_OPTIONS: preload });
  const app = { port: await server.listening(), key: await world.issueKey() } as SharedApp;
  const headers = { 'Idempotency-Key': 'order-4711' };

  const first = await askEndpoint(app, 'startVps', { headers });
  expect(first).toMatchObject({ status: 500, text: renderProblem('json', 'internal_error') });
  expect(first.headers).not.toHaveProperty('idempotent-replayed');
  await expect.poll(() => existsSync(started) && readFileSync(started, 'utf8')).toBe('x');
  expect(first.headers['action-outcome']).toBe('unknown');
  const message = `The power action may have been done; see /v1/hosting/actions/${String(first.headers['x-request-id'])}`;
  for (let time = 0; time < 3; time += 1) {
    const replayed = await askEndpoint(app, 'startVps', { headers });
    expect(replayed).toMatchObject({ status: 502, text: renderProblem('json', 'provider_error', message) });
    expect(replayed.headers).toMatchObject({ 'idempotent-replayed': 'true', 'action-outcome': 'unknown' });
  }
  expect(readFileSync(started, 'utf8')).toBe('x');
  const sent = (await Array.fromAsync(world.store.audit.entries({}))).filter(({ phase }) => phase === 'requested');
  expect(sent).toHaveLength(1);
  const { text } = await ask(app, `/v1/hosting/actions/${String(first.headers['x-request-id'])}`, {
    headers: { Authorization: `Bearer ${app.key}` },
  });
  expect(JSON.parse(text)).toMatchObject({ action: 'start', server: 'vps:mine', status: 'unknown' });
});
