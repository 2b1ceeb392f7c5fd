import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openRaw } from '../../helpers/app.ts';
import { writeFiles } from '../../helpers/project.ts';
import { findActing, withoutColours } from '../../helpers/terminal.ts';
import { createServable, serveProcess, startProcess } from '../../server/process.ts';
import { eventually } from '../../server/shared.ts';

/** 0x9B is a terminal's CSI in 8 bits; 0x85 is a line break (Node.js refuses DEL). Then, as UTF-8: the same, U+2028 and U+202E. */
const bytes = '\u009B2Jm\u0085x\u0080\u00C2\u009B31m\u00E2\u0080\u00A8\u00E2\u0080\u00AEevil';

/** Sends bytes as they are, and waits for the end of the connection. */
async function send(port: number, request: string): Promise<void> {
  const { socket, closed } = await openRaw(port);
  socket.end(request, 'latin1');
  await closed;
}

test.each(['json', 'pretty'])('no byte of a request reaches a terminal unescaped in the %s log', async (format) => {
  const { settings } = await createServable();
  const server = startProcess({ ...settings, LOG_FORMAT: format });
  await expect.poll(() => server.stdout(), eventually).toMatch(/listening.*\n/);
  const port = Number(/127\.0\.0\.1:(\d+)/.exec(server.stdout())![1]);
  const head = 'Host: x\r\nConnection: close\r\n';
  const requests = [
    `GET /none HTTP/1.1\r\n${head}User-Agent: agent-${bytes}\r\n\r\n`,
    `GET /v1/path-${bytes} HTTP/1.1\r\n${head}\r\n`,
    `GET /v1/blog/article?path=query-${bytes} HTTP/1.1\r\n${head}\r\n`,
    `GET /v1/kb/article?path=%C2%9B31m HTTP/1.1\r\n${head}X-Forwarded-For: ${bytes}\r\nX-Request-Id: ${bytes}\r\n\r\n`,
    `GET /health HTTP/1.1\r\nHost: ${bytes}\r\nConnection: close\r\nAuthorization: Bearer ${bytes}\r\n\r\n`,
    `BREW${bytes} /health HTTP/1.1\r\n${head}\r\n`,
  ];
  for (const request of requests) {
    // Sequential: the log must show each.
    await send(port, request);
  }
  await expect.poll(() => server.stdout(), eventually).toContain('agent-');
  await send(port, `GET /last HTTP/1.1\r\n${head}\r\n`);
  await expect.poll(() => server.stdout(), eventually).toContain('/last');
  const log = server.stdout();
  // The pretty format adds colours.
  expect(findActing(format === 'json' ? log : withoutColours(log))).toEqual([]);
  expect(log).toMatch(/agent-\\+u009b2Jm\\+u0085x\\+u0080/);
  expect(log.split('\n').filter((line) => line.includes('agent-'))).toHaveLength(1);
});

test('a JSON log keeps the text of the client', async () => {
  const server = await serveProcess();
  await send(server.port, `GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\nUser-Agent: ${bytes}\r\n\r\n`);
  expect((await server.logged('request')).agent).toBe(bytes);
});

test('an error at the start has no control characters', async () => {
  const { root, settings } = await createServable();
  writeFiles(root, { 'providers.yaml': 'providers:\n  a: { type: local, servers: {}, "x\u009B2J\u202Ey": 1 }\n' });
  const server = startProcess({
    ...settings,
    DATA_DIR: join(root, 'data'),
    PROVIDERS_FILE: join(root, 'providers.yaml'),
  });
  expect(await server.ended()).toBe(1);
  expect(findActing(server.stderr())).toEqual([]);
  expect(server.stderr()).toContain('x\\u009b2J\\u202ey');
});
