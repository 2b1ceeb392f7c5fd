import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findFreePort } from '../../helpers/free-port.ts';
import { createHostingWorld } from '../../helpers/hosting.ts';
import { describeInstalled } from '../../helpers/installed.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { ask, send } from '../../server/ask.ts';
import { eventually, serveHosting } from '../../server/shared.ts';

const example = resolve(import.meta.dirname, '../../../examples/haproxy/haproxy.cfg');
const target = '/v1/hosting/servers';

/** Starts a server whose store can be taken away. */
async function start() {
  const folder = temporaryFolder();
  const { app } = await serveHosting({ TRUSTED_PROXIES: '127.0.0.1' }, { world: await createHostingWorld(folder) });
  const loseStore = async () => {
    for (const end of ['', '-wal', '-shm']) rmSync(join(folder, 'data', `hosting.sqlite${end}`));
    await expect.poll(async () => (await ask(app, '/ready')).status, eventually).toBe(503);
  };
  return { app, loseStore };
}

describeInstalled({ name: 'HAProxy', package: 'haproxy', commands: ['haproxy'] }, (commands) => {
  test('hosting goes to ready instances, else to one that is alive, whose 500 is JSON', async () => {
    const [one, two] = [await start(), await start()];
    const port = await findFreePort();
    const ports: Readonly<Record<string, number>> = { 3000: one.app.port, 3001: two.app.port };
    const file = join(temporaryFolder(), 'haproxy.cfg');
    const text = readFileSync(example, 'utf8').replace('bind :8080', `bind 127.0.0.1:${port}`);
    writeFileSync(
      file,
      text.replaceAll(/127\.0\.0\.1:(300\d)/g, (_, given: string) => `127.0.0.1:${ports[given]}`),
    );
    const child = spawn(join(commands(), 'haproxy'), ['-f', file], { stdio: 'ignore' });
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    });
    // Each instance knows only its own key.
    const hosting = async () => (await send(port, target, { key: one.app.key }).catch(() => undefined))?.status;
    await expect.poll(hosting, eventually).toBeDefined();
    await two.loseStore();
    const statuses = async () => Promise.all(Array.from({ length: 8 }, hosting));
    await expect.poll(statuses, eventually).toEqual(Array.from({ length: 8 }, () => 200));
    expect((await send(port, '/v1/plans', {})).status).toBe(200);
    await one.loseStore();
    await expect.poll(statuses, eventually).toEqual(Array.from({ length: 8 }, () => 500));
    const { headers, text: body } = await send(port, target, { key: one.app.key });
    expect({ type: headers['content-type'], retryAfter: headers['retry-after'] }).toEqual({
      type: 'application/json',
      retryAfter: '5',
    });
    expect(JSON.parse(body)).toMatchObject({ error: 'internal_error' });
    expect((await send(port, '/v1/plans', {})).status).toBe(200);
  });
});
