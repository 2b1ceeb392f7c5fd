import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { findFreePort } from '../../helpers/free-port.ts';
import { createHostingWorld } from '../../helpers/hosting.ts';
import { parseSeries } from '../../helpers/metrics.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { createServable, startProcess } from '../../server/process.ts';
import { eventually } from '../../server/shared.ts';

const total = 100_000;
const connections = 8;
/** So many requests of a connection are sent before their answers are read. */
const pipelined = 100;

const methods = ['GET', 'GET', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PROPFIND'];
const shapes = [
  (text: string) => `/${text}`,
  (text: string) => `/v1/${text}/${text}`,
  (text: string) => `/v1/blog/article?path=/blog/${text}`,
  (text: string) => `/v1/kb/list?category=${text}`,
  (text: string) => `/v1/plans?${text}=${text}`,
  (text: string) => `/media/${text}.png`,
  (text: string) => `/docs/${text}`,
  (text: string) => `/v1/service-status.${text}.js`,
  (text: string) => `/v1/hosting/game/power/${text}/start`,
  (text: string) => `/v1/hosting/actions/${text}`,
  (text: string) => `/v1/domains/search?domain=${text}.unknown`,
];

/** The bytes of the request with a number: each has another path, address, user agent, request id and credential. */
function toRequest(number: number, key: string): string {
  const text = `x${number.toString(36)}`;
  const method = methods[number % methods.length]!;
  const headers = {
    Host: 'localhost',
    'X-Forwarded-For': `127.${number % 250}.${(number >> 8) % 250}.7`,
    'User-Agent': `agent-${text}`,
    'X-Request-Id': `request-${text}`,
    Origin: `https://${text}.example`,
    ...(number % 5 === 0 && { Authorization: `Bearer ${number % 2 === 0 ? key : `hk_${text}`}` }),
    ...(!['GET', 'HEAD'].includes(method) && { 'Content-Length': '0' }),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${shapes[number % shapes.length]!(text)} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** Sends requests over one connection, and reads an answer to each. */
async function sendAll(port: number, numbers: readonly number[], key: string): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  let answers = 0;
  let rest = '';
  socket.on('data', (chunk) => {
    const parts = (rest + chunk.toString('latin1')).split('HTTP/1.1 ');
    answers += parts.length - 1;
    rest = parts.at(-1)!.slice(-8);
  });
  for (let at = 0; at < numbers.length; at += pipelined) {
    const part = numbers.slice(at, at + pipelined);
    socket.write(part.map((number) => toRequest(number, key)).join(''));
    const isBehind = (): boolean => answers < at + part.length;
    while (isBehind()) await once(socket, 'data');
  }
  socket.destroy();
}

test('100,000 requests to random paths add no series, and leave nothing of a client in the metrics', async () => {
  const world = await createHostingWorld(temporaryFolder());
  const key = await world.issueKey();
  const [port, metricsPort] = [await findFreePort(), await findFreePort()];
  const { settings } = await createServable();
  const ports = { PORT: String(port), METRICS_PORT: String(metricsPort) };
  startProcess({ ...settings, ...world.settings, ...ports, LOG_LEVEL: 'error', TRUSTED_PROXIES: '127.0.0.1' });
  const isUp = () =>
    fetch(`http://127.0.0.1:${port}/health`)
      .then(({ ok }) => ok)
      .catch(() => false);
  await expect.poll(isUp, eventually).toBe(true);
  const scrape = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const numbers = Array.from({ length: total }, (_, number) => number);
  // One of each kind: every method, path, and credential.
  const kinds = methods.length * shapes.length * 10;
  await sendAll(port, numbers.slice(0, kinds), key);
  // The first check of the store comes a second after the start.
  await expect.poll(scrape, eventually).toContain('table="migrations"');
  const before = parseSeries(await scrape());
  const rest = numbers.slice(kinds);
  const shares = Array.from({ length: connections }, (_, index) => rest.filter((one) => one % connections === index));
  await Promise.all(shares.map((share) => sendAll(port, share, key)));

  const after = parseSeries(await scrape());
  expect([...after.keys()].filter((series) => !before.has(series))).toEqual([]);
  expect(after.size).toBe(before.size);
  const counted = [...after].filter(([series]) => series.startsWith('hosting_api_http_requests_total'));
  // One more for each time that the test asked whether the server is up.
  const healthy = after.get('hosting_api_http_requests_total{route="/health",method="GET",status="200"}')!;
  expect(counted.reduce((sum, [, count]) => sum + count, 0)).toBe(total + healthy);
  // Without the values, which may have any digits.
  const names = [...after.keys()].join('\n');
  for (const secret of [key, key.slice(16), 'hk_', '127.', 'agent-', 'request-', '.example', 'x1']) {
    expect(names).not.toContain(secret);
  }
});
