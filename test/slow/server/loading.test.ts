import { once } from 'node:events';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { ask } from '../../server/ask.ts';
import { createServable, startProcess } from '../../server/process.ts';

/** Prints the URL of each module to standard error when it is loaded. */
const hook = `import { registerHooks } from 'node:module';
  registerHooks({ load(url, context, next) { process.stderr.write('loads ' + url + '\\n'); return next(url, context); } });`;

test('requests load no module, which a deployment may replace', async () => {
  const { settings } = await createServable();
  const server = startProcess({
    ...settings,
    CHAT_FEEDBACK_WEBHOOK_URL: 'http://127.0.0.1:9/webhook',
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}`,
  });
  const port = await server.listening();
  await ask({ port }, '/health');
  const before = server.stderr();
  expect(before).toContain('start.ts');
  await ask({ port }, '/v1/status');
  await ask({ port }, '/v1/domains/search?domain=example.com');
  await ask({ port }, '/v1/kb/feedback', { method: 'POST', body: '{"helpful":true}' });
  const stream = new WebSocket(`ws://127.0.0.1:${port}/v1/hosting/game/console/none/stream`);
  await once(stream, 'open');
  stream.terminate();
  expect(server.stderr().slice(before.length)).toBe('');
});
