import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'vitest';
import { createHostingWorld } from '../../helpers/hosting.ts';
import { describePostgres } from '../../helpers/postgres.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { createUpstream } from '../../helpers/upstream.ts';
import { startProcess } from '../../server/process.ts';
import { sharedProject } from '../../server/shared.ts';

describePostgres((postgres) => {
  test.each(['SIGKILL', 'SIGSTOP'])('gone by %s', { timeout: 200_000 }, async (how) => {
    const databaseUrl = await postgres().createDatabase();
    const world = await createHostingWorld(temporaryFolder(), { databaseUrl });
    const chat = await createUpstream(() => ({ status: 200, body: '{}' }));
    const key = await world.issueKey();
    const server = startProcess({
      ...world.settings,
      PORT: '0',
      DATA_DIR: temporaryFolder(),
      DIST_DIR: join(await sharedProject(), 'dist'),
      DNS_SERVERS: 'off',
      RDAP_BOOTSTRAP_URL: 'off',
      FEEDBACK_RATELIMIT_BURST: '1000',
      DOMAIN_RATELIMIT_BURST: '1000',
      CHAT_FEEDBACK_WEBHOOK_URL: `${chat.url}/api/webhooks/1/x`,
    });
    const port = await server.listening();
    const one = async (what: string, path: string, init: RequestInit = {}) => {
      const t = performance.now();
      const r = await fetch(`http://127.0.0.1:${port}${path}`, init);
      await r.text();
      return `${what} ${r.status} ${Math.round(performance.now() - t)} ms`;
    };
    const all = () =>
      Promise.all([
        one('power', '/v1/hosting/game/power/mine/start', {
          method: 'POST',
          headers: { authorization: `Bearer ${key}` },
        }),
        one('feedback', '/v1/kb/feedback', { method: 'POST', body: '{"helpful":true}' }),
        one('search', '/v1/domains/search?domain=example.com'),
        one('article', '/v1/blog/article?path=/blog/news/first'),
        one('health', '/health'),
        one('ready', '/ready'),
      ]);
    const out = [`before: ${(await all()).join(', ')}`];
    if (how === 'SIGKILL') await postgres().end('SIGKILL');
    else execFileSync('pkill', ['-STOP', 'postgres']);
    const t0 = Date.now();
    for (const at of [0, 2, 5, 9, 12, 15, 30]) {
      await sleep(Math.max(0, at * 1000 - (Date.now() - t0)));
      out.push(`${how} after ${Math.round((Date.now() - t0) / 1000)} s: ${(await all()).join(', ')}`);
    }
    if (how === 'SIGKILL') await postgres().start();
    else execFileSync('pkill', ['-CONT', 'postgres']);
    await sleep(3000);
    out.push(`back: ${(await all()).join(', ')}`);
    console.log(out.join('\n'));
  });
});
