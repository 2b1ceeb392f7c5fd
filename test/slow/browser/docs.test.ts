import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import type { OpenApi } from '#contract/openapi.ts';
import { operationsOf } from '../../contract/document.ts';
import { startDemo } from '../../helpers/demo.ts';
import {
  buildProject,
  createProject,
  runProgram,
  sharedFolder,
  startProgram,
  temporaryFolder,
} from '../../helpers/project.ts';
import { describeChromium, expectNothingKept, findBarriers, newPage, openPage, screens } from './chromium.ts';

const pages = ['scopes', 'servers', 'clients', 'streams', 'errors', 'limits', 'changes'].map(
  (name) => `/docs/${name}.html`,
);
pages.unshift('/docs');

/**
 * How to run the examples of each client. The server accepts commands only while running; an earlier call waits for
 * that.
 */
const clients = [
  { title: 'curl', file: 'calls.sh', program: 'bash', answer: '"state":"running"' },
  { title: 'TypeScript', file: 'calls.mts', program: process.execPath, answer: "status: 'sent'" },
  { title: 'Python', file: 'calls.py', program: 'python3', answer: "'status': 'sent'" },
];

let built: Promise<string> | undefined;

/** Starts the demo on a release built like `npm start`, without PUBLIC_URL: the pages show their own address. */
async function startLocalDemo() {
  built ??= (async () => {
    const root = createProject({}, sharedFolder());
    await buildProject(root);
    return join(root, 'dist');
  })();
  return startDemo({ DIST_DIR: await built });
}

describeChromium((browser) => {
  // A policy violation is a console message too; so is each 401, which some tests expect.
  const open = (address: string, options: BrowserContextOptions = {}): Promise<Page> =>
    openPage(browser(), address, { expected: /status of 401/, ...options });

  /** Opens an operation of the reference. */
  const openOperation = async (page: Page, operationId: string): Promise<Locator> => {
    const operation = page.locator(`.opblock[id$="-${operationId}"]`);
    await operation.locator('.opblock-summary-control').click();
    return operation;
  };

  /** Sends the prepared request, and returns the status and the body of the response. */
  const execute = async (operation: Locator): Promise<{ status: string; body: string }> => {
    const answer = operation.locator('.live-responses-table tbody');
    const clear = operation.locator('.btn-clear');
    // The previous response would still be visible for a moment.
    if (await clear.isVisible()) await clear.click();
    await answer.waitFor({ state: 'detached' });
    await operation.locator('.execute').click();
    await answer.waitFor();
    const status = await answer.locator('.response-col_status').first().innerText();
    return { status: status.trim(), body: await answer.locator('.highlight-code pre').first().innerText() };
  };

  /** Opens the dialog for the key. */
  const openDialog = async (page: Page): Promise<Locator> => {
    await page.locator('.btn.authorize').click();
    return page.getByRole('dialog', { name: 'API key' });
  };

  const authorize = async (page: Page, key: string): Promise<void> => {
    const dialog = await openDialog(page);
    await dialog.getByLabel('Key', { exact: true }).fill(key);
    await dialog.getByRole('button', { name: 'Use this key' }).click();
    await dialog.waitFor({ state: 'hidden' });
  };

  describe('the reference', () => {
    test('is the target of /, and shows every operation of the OpenAPI document', async () => {
      const { url } = await startLocalDemo();
      const page = await open(url);
      expect(page.url()).toBe(`${url}/docs`);
      await page.locator('.opblock').first().waitFor();
      const shown = await page.locator('.opblock .opblock-summary-control').allInnerTexts();
      const description = (await (await fetch(`${url}/v1/openapi.json`)).json()) as OpenApi;
      const described = operationsOf(description).map(
        ({ method, path, summary }) => `${method.toUpperCase()} ${path} ${summary}`,
      );
      // Long paths have zero-width spaces.
      const texts = shown.map((text) => text.replaceAll('\u200B', '').replaceAll(/\s+/g, ' ').trim());
      expect(texts.toSorted()).toEqual(described.toSorted());
      // The curl lines contain the page's own address.
      expect((await page.locator('.markdown-body pre').first().innerText()).trim()).toBe(`curl ${url}/v1/plans`);
    });

    test('sends requests with a pasted key, kept only in memory', async () => {
      const { url, key } = await startLocalDemo();
      const page = await open(url);
      const log = await openOperation(page, 'getLatestGameLog');
      const refused = await execute(log);
      expect(refused.status).toBe('401');
      // As printed by `npm start`, with surrounding words.
      await authorize(page, `Authorization: Bearer ${key}`);
      const read = await execute(log);
      expect(read.status).toBe('200');
      expect(JSON.parse(read.body)).toMatchObject({ success: true, server_id: 'demo' });

      await expectNothingKept(page);
      await page.reload();
      expect((await execute(page.locator('.opblock.is-open'))).status).toBe('401');
    });

    test('hides the key in its dialog and in curl lines, unless told to show it', async () => {
      const { url, key } = await startLocalDemo();
      const page = await open(url);
      const operation = await openOperation(page, 'getKey');
      const curl = operation.locator('.curl');
      await authorize(page, key);
      expect((await execute(operation)).status).toBe('200');
      expect(await curl.innerText()).toContain('Authorization: Bearer YOUR_API_KEY');

      const dialog = await openDialog(page);
      const field = dialog.getByLabel('Key', { exact: true });
      expect(await field.evaluate((input: HTMLInputElement) => [input.type, input.autocomplete])).toEqual([
        'password',
        'off',
      ]);
      await dialog.getByLabel('Show it in curl lines').check();
      // The focus stays inside: a step back from the field moves to the last button, or to the browser.
      for (let step = 0; step < 8; step += 1) {
        await page.keyboard.press('Tab');
        expect(
          await page.evaluate(
            () =>
              document.activeElement!.closest('dialog, :root:not(:focus-within)') ??
              document.activeElement === document.body,
          ),
        ).toBeTruthy();
      }
      await page.keyboard.press('Escape');
      expect(await page.evaluate(() => document.activeElement?.className)).toContain('authorize');
      await execute(operation);
      expect(await curl.innerText()).toContain('YOUR_API_KEY');
      await (await openDialog(page)).getByRole('button', { name: 'Use this key' }).click();
      await execute(operation);
      expect(await curl.innerText()).toContain(`Authorization: Bearer ${key}`);
    });

    test('has examples that work with the demo servers: actions, confirmations and an Idempotency-Key', async () => {
      const { url, key } = await startLocalDemo();
      const page = await open(url);
      await authorize(page, key);
      const start = await openOperation(page, 'startGameServer');
      expect(JSON.parse((await execute(start)).body)).toMatchObject({ action: 'start', server_id: 'demo' });
      // Both actions require force=true in the query, the body or both.
      for (const operationId of ['killGameServer', 'resetVps']) {
        const operation = await openOperation(page, operationId);
        expect({ operationId, ...(await execute(operation)) }).toMatchObject({ operationId, status: '200' });
      }
      const restart = await openOperation(page, 'restartGameServer');
      await restart.locator('[data-param-name="Idempotency-Key"] input').fill('from-the-page-1');
      await execute(restart);
      const answered = page.waitForResponse((response) => response.url().endsWith('/restart'));
      await execute(restart);
      expect((await answered).headers()).toMatchObject({ 'idempotent-replayed': 'true' });
    });

    test('shows the reason if it cannot load', async () => {
      const { url } = await startLocalDemo();
      const page = await newPage(browser());
      await page.route('**/v1/openapi.json', (route) => route.fulfill({ status: 429, body: 'rate limit exceeded\n' }));
      await page.goto(`${url}/docs`);
      await expect
        .poll(() => page.locator('#viewer').innerText())
        .toBe('The reference cannot be loaded: /v1/openapi.json responded with 429');
    });
  });

  describe('every page', () => {
    test('is readable without scripts', async () => {
      const { url } = await startLocalDemo();
      for (const path of pages) {
        const page = await open(url + path, { javaScriptEnabled: false });
        expect(await page.locator('h1').count(), path).toBe(1);
        expect((await page.locator('main').innerText()).length, path).toBeGreaterThan(500);
      }
    });

    test.each(screens)('is accessible, even with an open operation: %s', async (_, options) => {
      const { url } = await startLocalDemo();
      for (const path of pages) {
        // axe runs as a script in the page.
        const page = await open(url + path, { ...options, bypassCSP: true });
        if (path === '/docs') await execute(await openOperation(page, 'getLatestGameLog'));
        const small = await page.evaluate(() =>
          [...document.querySelectorAll('button, input, select, textarea')]
            .filter((element) => {
              const { width, height } = element.getBoundingClientRect();
              return width > 0 && (width < 24 || height < 24) && !element.matches('[type=checkbox]');
            })
            .map(({ outerHTML }) => outerHTML),
        );
        expect({ path, small }).toEqual({ path, small: [] });
        expect({ path, barriers: await findBarriers(page) }).toEqual({ path, barriers: [] });
        if (path === '/docs') {
          await openDialog(page);
          expect(await findBarriers(page)).toEqual([]);
        }
        await page.context().close();
      }
    });

    test('fits a small phone, without broken codes', async () => {
      const { url } = await startLocalDemo();
      for (const path of pages.slice(1)) {
        const page = await open(`${url}${path}`, { viewport: { width: 320, height: 800 } });
        expect(await page.evaluate(() => document.documentElement.scrollWidth), path).toBe(320);
      }
      const page = await open(`${url}/docs/errors.html`, { viewport: { width: 390, height: 844 } });
      const broken = await page.evaluate(() => {
        const table = document.querySelector('table')!;
        const codes = [...document.querySelectorAll('td:first-child code')];
        const parts = codes.filter((code) => code.getClientRects().length > 1);
        return [table.scrollWidth - table.clientWidth, ...parts.map((code) => code.textContent)];
      });
      expect(broken).toEqual([0]);
    });

    test('works with the keyboard: the first stop skips to the content', async () => {
      const { url } = await startLocalDemo();
      const page = await open(`${url}/docs/errors.html`);
      await page.keyboard.press('Tab');
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the content');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true);
    });

    test('the client of the stream page follows the console of the demo server', async () => {
      const { url, key, power } = await startLocalDemo();
      await power('start');
      const page = await open(`${url}/docs/streams.html`);
      const source = await page.locator('#a-client ~ pre').first().innerText();
      const folder = temporaryFolder();
      writeFileSync(join(folder, 'console.mjs'), source.replace('YOUR_GAME_SERVER', 'demo'));
      // As Windows PowerShell writes it.
      writeFileSync(join(folder, '.key'), `\uFEFFAuthorization: Bearer ${key}\r\n`, 'utf16le');
      const client = startProgram(process.execPath, ['console.mjs'], { cwd: folder });
      await client.prints(/console output .+/);
      expect(client.output()).toContain('auth success');
    });

    test.each(clients)(
      'the examples for $title can be chosen, copied and run',
      async ({ title, file, program, answer }) => {
        const { url, key } = await startLocalDemo();
        const read = async (path: string): Promise<string[]> => {
          const page = await open(url + path, { permissions: ['clipboard-read', 'clipboard-write'] });
          await page.getByRole('button', { name: title, exact: true }).first().click();
          expect(await page.locator('[aria-pressed="true"]').allInnerTexts()).not.toContain('Copy');
          const copies = page.locator('.bar:has([aria-pressed]) .copy');
          const texts: string[] = [];
          for (const copy of await copies.all()) {
            await copy.click();
            texts.push(await page.evaluate(() => navigator.clipboard.readText()));
          }
          return texts;
        };
        const [start = '', ...calls] = [...(await read('/docs')), ...(await read('/docs/servers.html'))];
        expect(calls.length).toBeGreaterThan(10);
        const named = start.replace('YOUR_GAME_SERVER', 'demo').replace('YOUR_VPS', 'demo');
        const folder = temporaryFolder();
        writeFileSync(join(folder, file), [named.replace(/^echo .*\n/, ''), ...calls].join('\n'));
        // Windows PowerShell writes UTF-16, which curl cannot read.
        const [mark, encoding] = title === 'curl' ? (['', 'utf8'] as const) : (['\uFEFF', 'utf16le'] as const);
        writeFileSync(join(folder, '.key'), `${mark}Authorization: Bearer ${key}\n`, encoding);
        const { status, stdout, stderr } = await runProgram(program, [file], { cwd: folder });
        expect([status, status === 0 ? '' : stderr]).toEqual([0, '']);
        expect(stdout).toContain(answer);
        expect(stdout).toContain('stop-4711');
        expect(stdout).not.toContain('"success":false');
      },
    );
  });
});
