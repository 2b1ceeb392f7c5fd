import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTestApp } from '../helpers/app.ts';
import { stopTimeouts, stopTimers } from '../helpers/clock.ts';
import { buildProject, createProject, temporaryFolder } from '../helpers/project.ts';
import { createKumaUpstream } from '../helpers/upstream-kuma.ts';
import { createUpstream } from '../helpers/upstream.ts';
import { ask } from '../server/ask.ts';
import { sharedProject } from '../server/shared.ts';

/** A server with a status page. */
async function serve(settings: Record<string, string> = {}) {
  const kuma = await createKumaUpstream();
  const app = await createTestApp({ root: await sharedProject(), settings: { ...kuma.settings, ...settings } });
  return { app, kuma };
}

const disrupted = '{"status":"disrupted","disrupted":["Panel"]}\n';

const unknown = {
  status: 503,
  text: '{"status":"error"}\n',
  headers: { 'cache-control': 'no-store', 'retry-after': '10' },
};

test('a request gets the state of the status page, with caching headers for a CDN', async () => {
  const { app, kuma } = await serve();
  kuma.monitors.set('Panel', 0).set('Backup', 3).set('Mail', 2);
  const answer = await ask(app, '/v1/status');
  expect(answer.status).toBe(200);
  const status = { status: 'disrupted', maintenance: ['Backup'], disrupted: ['Mail', 'Panel'] };
  expect(JSON.parse(answer.text)).toEqual(status);
  expect(answer.headers['cache-control']).toBe('public, max-age=5, stale-while-revalidate=30');
  expect(answer.headers.etag).toMatch(/^"[0-9a-f]{32}"$/);
  const again = await ask(app, '/v1/status', { headers: { 'If-None-Match': answer.headers.etag } });
  expect(again.status).toBe(304);
});

test('100 concurrent visitors cause one read of the status page', async () => {
  const { app, kuma } = await serve();
  const answers = await Promise.all(Array.from({ length: 100 }, () => ask(app, '/v1/status')));
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(['200 {"status":"up"}\n']));
  expect(kuma.seen).toHaveLength(2);
});

test.each(['drop', 'garbage', 'huge', { status: 500 }, { status: 200, body: '<!DOCTYPE html>' }] as const)(
  'a failing status page (%j) is 503, never up',
  async (fault) => {
    const { app, kuma } = await serve();
    kuma.fail(fault);
    expect(await ask(app, '/v1/status')).toMatchObject(unknown);
    expect(await ask(app, '/v1/status', { method: 'HEAD' })).toMatchObject({ ...unknown, text: '' });
    expect((await ask(app, '/health')).status).toBe(200);
  },
);

test("without a status page the catalog's monitors are checked", async () => {
  const site = await createUpstream(() => ({ status: 200, body: 'fine' }));
  const root = createProject({
    'catalog/status.yaml':
      `monitors:\n  - { name: Website, url: "${site.url}/", interval_seconds: 5, failures: 1 }\n` +
      '  - { name: Panel, tcp: "127.0.0.1:9", interval_seconds: 5, failures: 1 }\nmaintenance: []\n',
  });
  await buildProject(root);
  const app = await createTestApp({ root });
  await expect.poll(async () => (await ask(app, '/v1/status')).text).toBe(disrupted);
});

test('a catalog without monitors has no status', async () => {
  const root = createProject({ 'catalog/status.yaml': undefined });
  await buildProject(root);
  const app = await createTestApp({ root });
  expect(await ask(app, '/v1/status')).toMatchObject(unknown);
});

test('after a start with a failing monitor, the first request gets its state', async () => {
  const root = createProject({
    'catalog/status.yaml': 'monitors:\n  - { name: Panel, tcp: "127.0.0.1:9" }\nmaintenance: []\n',
  });
  await buildProject(root);
  const app = await createTestApp({ root });
  expect((await ask(app, '/v1/status')).text).toBe(disrupted);
});

test('after a restart, STATUS_FILE holds the state until the first read succeeds', async () => {
  const kuma = await createKumaUpstream();
  kuma.fail('hang');
  const file = join(temporaryFolder(), 'status.json');
  writeFileSync(file, disrupted.trim());
  const app = await createTestApp({ root: await sharedProject(), settings: { ...kuma.settings, STATUS_FILE: file } });
  // A request that waits for the read never ends.
  stopTimers(5000);
  stopTimeouts();
  expect(await ask(app, '/v1/status')).toMatchObject({ status: 200, text: disrupted });
  expect(readFileSync(file, 'utf8')).toBe(disrupted.trim());
});
