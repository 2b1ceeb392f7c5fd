import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { startDemo } from '../../helpers/demo.ts';
import { describeChromium, expectNothingKept, findBarriers, openPage, screens } from './chromium.ts';
import type { OpenOptions } from './chromium.ts';

describeChromium((browser) => {
  const open = async (url: string, key: string, options: OpenOptions = {}): Promise<Page> => {
    const page = await openPage(browser(), `${url}/docs/streams.html`, options);
    await page.locator('#console').getByRole('button', { name: 'Use your key' }).click();
    await page.getByLabel('Key', { exact: true }).fill(key);
    await page.getByRole('button', { name: 'Use this key' }).click();
    return page;
  };
  const press = (page: Page, name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();
  const shows = async (page: Page, text: string): Promise<void> => {
    await expect.poll(() => page.getByRole('log').innerText()).toContain(text);
  };

  test('the console of /docs restarts the server, shows its log and figures, and sends commands', async () => {
    const demo = await startDemo();
    // As in the README; the service names 127.0.0.1.
    const page = await open(demo.url.replace('127.0.0.1', 'localhost'), demo.key);
    expect(await page.getByLabel('Game server').innerText()).toBe('demo');
    await press(page, 'Connect');
    await press(page, 'Restart');
    await shows(page, '-- restart: Restart action sent');
    await shows(page, 'Done! For help');
    const state = page.locator('.console .state');
    await expect.poll(() => state.innerText()).toBe('running');
    await page.getByLabel('Command').fill('say typed in /docs');
    await page.getByLabel('Command').press('Enter');
    await shows(page, '[Server] typed in /docs');
    expect(await page.getByRole('log').innerText()).not.toContain('PUBLIC_URL');
    // The style of code in articles indents lines.
    expect(
      await page
        .locator('.console .line')
        .first()
        .evaluate((line) => getComputedStyle(line).paddingLeft),
    ).toBe('0px');
    const figures = page.locator('.console .figures');
    await expect.poll(() => figures.innerText()).toMatch(/CPU \d+ %\s+Memory [1-9]\d* MiB/);
    await expectNothingKept(page);
    // The chip of the key.
    await page.locator('#key').click();
    await press(page, 'Forget the key');
    await page.locator('#console').getByRole('button', { name: 'Use your key' }).waitFor();
    expect(await page.getByRole('log').count()).toBe(0);
  });

  test('the stream is opened at the address of the page, and the console names another PUBLIC_URL', async () => {
    const demo = await startDemo({ PUBLIC_URL: 'https://api.example.com' });
    const page = await open(demo.url, demo.key);
    await press(page, 'Connect');
    const path = '/v1/hosting/game/console/demo/stream';
    const [named, used] = ['wss://api.example.com', demo.url.replace('http', 'ws')].map((origin) => origin + path);
    const log = (): Promise<string> => page.getByRole('log').innerText();
    await expect.poll(log).toContain(`-- the service names ${named} (PUBLIC_URL); this page uses ${used}`);
    await press(page, 'Start');
    await shows(page, 'Done! For help');
  });

  test.each(screens)('the console of /docs is accessible: %s', async (_, options) => {
    const demo = await startDemo();
    // axe runs as a script in the page.
    const page = await open(demo.url, demo.key, { ...options, bypassCSP: true });
    expect(await findBarriers(page)).toEqual([]);
    await press(page, 'Connect');
    await press(page, 'Start');
    await shows(page, 'Done! For help');
    expect(await findBarriers(page)).toEqual([]);
  });
});
