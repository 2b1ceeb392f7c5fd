import { resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { startDemo } from '../../helpers/demo.ts';
import { findFreePort } from '../../helpers/free-port.ts';
import { startProgram } from '../../helpers/project.ts';
import { describeChromium, expectNothingKept, findBarriers, openPage, screens } from './chromium.ts';
import type { OpenOptions } from './chromium.ts';

const script = resolve(import.meta.dirname, '../../../examples/clients/browser/serve.ts');

/** Starts the page in a process, for a demo with a running game server. */
async function startPage(changes: Record<string, string> = {}) {
  const port = await findFreePort();
  const origin = `http://localhost:${port}`;
  const demo = await startDemo({ CORS_ORIGINS: origin, ...changes });
  // As in the README. The stream is at 127.0.0.1.
  const url = demo.url.replace('127.0.0.1', 'localhost');
  const env = { PATH: process.env.PATH, PORT: String(port), API_URL: url };
  await startProgram(process.execPath, [script], { env }).prints(/ shows consoles /);
  await demo.power('start');
  return { ...demo, origin, url };
}

describeChromium((browser) => {
  const open = ({ origin, url }: { origin: string; url: string }, options: OpenOptions = {}): Promise<Page> =>
    openPage(browser(), origin, { origins: [url], ...options });

  const enter = async (page: Page, key: string): Promise<void> => {
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
  };
  const shows = async (page: Page, text: string): Promise<void> => {
    await expect.poll(() => page.getByRole('log').innerText()).toContain(text);
  };
  const type = async (page: Page, line: string): Promise<void> => {
    await page.getByLabel('Command').fill(line);
    await page.getByLabel('Command').press('Enter');
  };
  const showsStatus = async (page: Page, text: string): Promise<void> => {
    await expect.poll(() => page.getByRole('status').innerText()).toBe(text);
  };
  const press = (page: Page, name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();

  test('the page shows the console and the status, and sends typed commands', async () => {
    const demo = await startPage();
    const page = await open(demo);
    expect(await page.getByLabel('Address of the API').inputValue()).toBe(demo.url);
    // As printed by `npm start`, with surrounding words.
    await enter(page, `Authorization: Bearer ${demo.key}`);
    await shows(page, 'Done! For help');
    await showsStatus(page, 'running');
    await type(page, 'say typed in a browser');
    await shows(page, '> say typed in a browser\n');
    await shows(page, '[Server] typed in a browser');
    expect(await page.getByLabel('Command').inputValue()).toBe('');

    await press(page, 'Stop');
    await shows(page, '-- stop: Stop action sent');
    await showsStatus(page, 'offline');
    await type(page, 'say too late');
    await shows(page, '-- refused (offline): say too late');
    await page.getByLabel('Command').press('ArrowUp');
    await page.getByLabel('Command').press('ArrowUp');
    expect(await page.getByLabel('Command').inputValue()).toBe('say typed in a browser');
    await page.getByLabel('Command').press('ArrowDown');
    expect(await page.getByLabel('Command').inputValue()).toBe('say too late');
    await press(page, 'Start');
    await showsStatus(page, 'running');
    await press(page, 'Restart');
    await shows(page, '-- restart: Restart action sent');

    await expectNothingKept(page);
    await press(page, 'Disconnect');
    await showsStatus(page, 'not connected');
    await type(page, 'say later');
    await shows(page, '-- not connected: the command was not sent');
    expect(await page.getByLabel('Command').inputValue()).toBe('say later');
    await press(page, 'Connect');
    await showsStatus(page, 'running');
    await press(page, 'Forget the key');
    expect(await page.getByRole('log').count()).toBe(0);
    expect(await page.getByLabel('API key').inputValue()).toBe('');
  });

  test('the page renews its token', async () => {
    const demo = await startPage({ CONSOLE_TOKEN_TTL_SECONDS: '10' });
    const page = await open(demo);
    let tokens = 0;
    page.on('response', (response) => (tokens += Number(response.url().endsWith('/websocket') && response.ok())));
    await enter(page, demo.key);
    await expect.poll(() => tokens).toBeGreaterThan(2);
    await type(page, 'say still here');
    await shows(page, '[Server] still here');
    expect(await page.getByRole('log').innerText()).not.toMatch(/expired|closed|jwt/);
  });

  test('the page explains why it cannot connect, and accepts another key', async () => {
    const demo = await startPage();
    const page = await open(demo, { expected: /401/ });
    await enter(page, 'no key');
    await expect.poll(() => page.getByRole('alert').innerText()).toBe('A key begins with hk_.');
    await enter(page, 'hk_nonsense');
    await expect.poll(() => page.getByRole('alert').innerText()).toBe('401: Malformed API key: incomplete or mistyped');
    await enter(page, demo.key);
    await shows(page, 'Done! For help');
  });

  test('the page names the setting if the API does not allow its origin', async () => {
    const demo = await startPage({ CORS_ORIGINS: 'https://other.example' });
    const page = await open(demo, { expected: /CORS|ERR_FAILED/ });
    await enter(page, demo.key);
    const text = `This page cannot read responses from ${demo.url}. Does CORS_ORIGINS there contain ${demo.origin}?`;
    await expect.poll(() => page.getByRole('alert').innerText()).toBe(text);
  });

  test('the page shows colours and figures, removes control characters, and keeps 2,000 lines', async () => {
    const demo = await startPage({ PUBLIC_URL: 'https://api.example.com' });
    const page = await open(demo);
    const stats = {
      cpu: 250,
      memory_bytes: 3 * 2 ** 20,
      disk_bytes: null,
      network_rx_bytes: null,
      network_tx_bytes: null,
    };
    const lines = [
      '\u001B[0;31;1mred\u001B[0m plain \u001B[38;5;12mblue\u001B[38;2;31;32;33m mixed\u001B[K\u001B]0;title\u0007\u009B2J\u0085',
      ...Array.from({ length: 2100 }, (_, at) => `line ${at}`),
    ];
    let answer = stats as object;
    await page.routeWebSocket(/\/stream$/, (client) => {
      const emit = (event: string, ...args: string[]): void => client.send(JSON.stringify({ event, args }));
      client.onMessage((message) => {
        const { event } = JSON.parse(String(message)) as { event: string };
        if (event === 'auth') emit('auth success');
        if (event === 'send stats') emit('stats', JSON.stringify(answer));
        if (event === 'send logs') emit('console output', lines[0]!);
        if (event === 'send logs')
          emit('console output', '\u001BPq ignored\u001B\\\u001B[38:2::1:3:1mmix \u001B[38:5:3m\u001B[4:3mwavy');
        if (event === 'send logs') emit('console output', '\u001B[32m>10 %\r20 %\r\u001B[K');
        if (event === 'send command') for (const line of lines.slice(1)) emit('console output', line);
      });
    });
    await enter(page, demo.key);
    await shows(page, 'red plain blue mixed');
    // The stream is opened at the address of the form.
    const stream = (origin: string): string => `${origin}/v1/hosting/game/console/demo/stream`;
    const streams = [stream('wss://api.example.com'), stream(demo.url.replace('http', 'ws'))];
    await shows(page, `-- the service names ${streams[0]} (PUBLIC_URL); this page uses ${streams[1]}`);
    const line = page.locator('.line', { hasText: 'red plain' });
    expect(await line.evaluate((element) => element.innerHTML)).toBe(
      '<span class="c1 bold">red</span> plain <span class="c12">blue</span> mixed',
    );
    const odd = page.locator('.line', { hasText: 'wavy' });
    expect(await odd.evaluate((element) => element.innerHTML)).toBe('mix <span class="c3">wavy</span>');
    const progress = page.locator('.line', { hasText: '20 %' });
    expect(await progress.evaluate((element) => element.innerHTML)).toBe('<span class="c2">20 %</span>');
    const figures = page.locator('.figures');
    await expect.poll(() => figures.innerText()).toMatch(/CPU 250 %\s+Memory 3 MiB/);
    await expect.poll(() => page.locator('polyline').first().getAttribute('points')).toBe('30,1');
    answer = { ...stats, cpu: null, memory_bytes: null };
    await expect.poll(() => figures.innerText()).toMatch(/CPU no figures\s+Memory no figures/);
    await type(page, 'many');
    await shows(page, 'line 2099');
    expect(await page.locator('.line').count()).toBe(2000);
    const isAtEnd = (): Promise<boolean> =>
      page.getByRole('log').evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight < 2);
    await expect.poll(isAtEnd).toBe(true);
  });

  test('the page reconnects after a lost connection, and warns of missing lines', async () => {
    const demo = await startPage();
    const page = await open(demo, { expected: /WebSocket connection|ERR_FAILED/ });
    let sockets = 0;
    // The first connection ends like in a restart of the service.
    await page.routeWebSocket(/\/stream$/, (client) => {
      sockets += 1;
      const server = client.connectToServer();
      if (sockets > 1) return;
      server.onMessage((message) => {
        client.send(message);
        if (String(message).includes('logs end')) {
          client.send('{"event":"gap","args":["7 lines were dropped: read too slowly"]}');
          void client.close({ code: 1012, reason: 'restart' });
        }
      });
    });
    await enter(page, demo.key);
    await shows(page, '-- lines may be missing: 7 lines were dropped: read too slowly');
    await shows(page, '-- closed: 1012 restart');
    await shows(page, '-- connected again: lines may be missing here');
    await type(page, 'say again');
    await shows(page, '[Server] again');
    expect(sockets).toBe(2);
  });

  test.each(screens)('the page is accessible before and after it connects: %s', async (_, options) => {
    const demo = await startPage();
    // axe runs as a script in the page.
    const page = await open(demo, { ...options, bypassCSP: true });
    expect(await findBarriers(page)).toEqual([]);
    await enter(page, demo.key);
    await shows(page, 'Done! For help');
    await type(page, 'list');
    await shows(page, 'There are 0');
    expect(await findBarriers(page)).toEqual([]);
  });
});
