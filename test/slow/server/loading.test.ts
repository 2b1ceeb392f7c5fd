import { once } from 'node:events';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { ask } from '../../server/ask.ts';
import { createServable, startProcess } from '../../server/process.ts';
import { eventually } from '../../server/shared.ts';

/** Starts a server that runs this code for the `url` of each module that it loads. */
async function startHooked(code: string) {
  const { settings } = await createServable();
  const hook = `import { registerHooks } from 'node:module';
    registerHooks({ load(url, context, next) { ${code}; return next(url, context); } });`;
  return startProcess({
    ...settings,
    CHAT_FEEDBACK_WEBHOOK_URL: 'http://127.0.0.1:9/webhook',
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}`,
  });
}

test.each(['domains/lookup/dns.ts', 'status/monitors.ts', 'feedback/chat.ts', 'console/upgrade.ts', 'doctor/watch.ts'])(
  'a server without %s ends soon after its start, without any request',
  async (file) => {
    const server = await startHooked(`if (url.endsWith('${file}')) throw new Error('the file was replaced')`);
    await server.logged('listening');
    expect(await server.ended()).toBe(1);
    expect(server.stderr()).toContain('the file was replaced');
  },
);

test('requests to a server that has been running for some seconds load no module', async () => {
  const server = await startHooked("process.stderr.write('loads ' + url + '\\n')");
  const port = await server.listening();
  const last = ['watch.ts', 'dns.ts', 'chat.ts', 'monitors.ts', 'upgrade.ts', 'ofetch', 'idn-hostname'];
  const isLoaded = (part: string): boolean => new RegExp(`^loads .*${part}`, 'm').test(server.stderr());
  await expect.poll(() => last.filter((part) => !isLoaded(part)), eventually).toEqual([]);
  await ask({ port }, '/health');
  const before = server.stderr();
  await ask({ port }, '/v1/status');
  await ask({ port }, '/v1/domains/search?domain=example.com');
  await ask({ port }, '/v1/kb/feedback', { method: 'POST', body: '{"helpful":true}' });
  const stream = new WebSocket(`ws://127.0.0.1:${port}/v1/hosting/game/console/none/stream`);
  await once(stream, 'open');
  stream.terminate();
  expect(server.stderr().slice(before.length)).toBe('');
});
