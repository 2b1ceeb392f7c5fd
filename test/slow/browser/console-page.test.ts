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

  const connect = async (page: Page, key: string): Promise<void> => {
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
  };
  /** Waits for a text in the terminal, which uses other space characters. */
  const shows = async (page: Page, text: string): Promise<void> => {
    const rows = async () => (await page.locator('.xterm-rows').innerText()).replaceAll('\u00A0', ' ');
    await expect.poll(rows).toContain(text);
  };
  const type = async (page: Page, line: string): Promise<void> => {
    await page.getByLabel('Command').fill(line);
    await page.getByLabel('Command').press('Enter');
  };
  const showsStatus = async (page: Page, text: string): Promise<void> => {
    await expect.poll(() => page.getByRole('status').innerText()).toBe(text);
  };

  test('the page shows the console and the status, and sends typed commands', async () => {
    const demo = await startPage();
    const page = await open(demo);
    expect(await page.getByLabel('Address of the API').inputValue()).toBe(demo.url);
    // As printed by `npm start`, with surrounding words.
    await connect(page, `Authorization: Bearer ${demo.key}`);
    await shows(page, 'Done! For help');
    await showsStatus(page, 'Connected: the server is running');
    await type(page, 'say typed in a browser');
    await shows(page, '[Server] typed in a browser');
    expect(await page.getByLabel('Command').inputValue()).toBe('');

    await demo.power('stop');
    await showsStatus(page, 'Connected: the server is offline');
    await type(page, 'say too late');
    await shows(page, '-- refused (offline): say too late');

    await expectNothingKept(page);
    await page.getByRole('button', { name: 'Disconnect' }).click();
    await showsStatus(page, 'Not connected');
    expect(await page.getByLabel('API key').inputValue()).toBe('');
  });

  test('the page renews its token', async () => {
    const demo = await startPage({ CONSOLE_TOKEN_TTL_SECONDS: '5' });
    const page = await open(demo);
    let tokens = 0;
    page.on('response', (response) => (tokens += Number(response.url().endsWith('/websocket') && response.ok())));
    await connect(page, demo.key);
    await expect.poll(() => tokens).toBeGreaterThan(3);
    await type(page, 'say still here');
    await shows(page, '[Server] still here');
    expect(await page.locator('.xterm-rows').innerText()).not.toMatch(/expired|closed|jwt/);
  });

  test('the page explains why it cannot connect, and accepts another key', async () => {
    const demo = await startPage();
    const page = await open(demo, { expected: /401/ });
    await connect(page, 'no key');
    await expect.poll(() => page.getByRole('alert').innerText()).toBe('A key begins with hk_.');
    await connect(page, 'hk_nonsense');
    await expect.poll(() => page.getByRole('alert').innerText()).toBe('401: Malformed API key: incomplete or mistyped');
    await connect(page, demo.key);
    await shows(page, 'Done! For help');
  });

  test('the page names the setting if the API does not allow its origin', async () => {
    const demo = await startPage({ CORS_ORIGINS: 'https://other.example' });
    const page = await open(demo, { expected: /CORS|ERR_FAILED/ });
    await connect(page, demo.key);
    const text = `This page cannot read responses from ${demo.url}. Does CORS_ORIGINS there contain ${demo.origin}?`;
    await expect.poll(() => page.getByRole('alert').innerText()).toBe(text);
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
    await connect(page, demo.key);
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
    await connect(page, demo.key);
    await shows(page, 'Done! For help');
    await type(page, 'list');
    await shows(page, 'There are 0');
    expect(await findBarriers(page)).toEqual([]);
  });
});
