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

const guide = ['scopes', 'servers', 'clients', 'streams', 'agents', 'errors', 'limits', 'changes'].map(
  (name) => `/docs/${name}.html`,
);
guide.unshift('/docs');
const toPage = (tag: string): string => `/docs/api/${tag.toLowerCase().replaceAll(' ', '-')}.html`;
const games = toPage('Game servers');

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

/** Operations that the page cannot fill in, or that fail without the outside world, with the reason. */
const exceptions: Record<string, string> = {
  getAction: 'the ID of a request is in an earlier answer only',
  searchDomain: 'asks the registries',
  getBlogFeed: 'needs SITE_URL and PUBLIC_URL',
  getSitemap: 'needs SITE_URL',
  sendFeedback: 'needs a chat to send the vote to',
  ...Object.fromEntries(
    ['listChildKeys', 'createChildKey', 'revokeChildKey', 'rotateKey'].map((operation) => [
      operation,
      'needs a key that manages keys',
    ]),
  ),
};

/** Sorts operations that stop a server, or end a key, behind the others. */
function byEnd(...operations: readonly { readonly operationId: string }[]): number {
  const [one, other] = operations.map(({ operationId }) =>
    ['stop', 'reset', 'kill', 'revoke'].findIndex((verb) => operationId.startsWith(verb)),
  );
  return one! - other!;
}

describeChromium((browser) => {
  // A policy violation is a console message too; so is each refusal, which some tests expect.
  const open = (address: string, options: BrowserContextOptions = {}): Promise<Page> =>
    openPage(browser(), address, { expected: /status of [45]/, ...options });

  /** Finds an operation of the reference. */
  const findOperation = (page: Page, operationId: string): Locator => page.locator(`#${operationId}`);

  /** Sends the prepared request, and returns the status and the body of the response. */
  const send = async (operation: Locator): Promise<{ status: string; body: string }> => {
    const button = operation.getByRole('button', { name: 'Send' });
    await button.click();
    const status = operation.getByRole('status');
    await expect.poll(() => status.innerText()).toMatch(/ ms, |did not/);
    expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
    const body = operation.locator('.answer:not(.headers)');
    return { status: await status.innerText(), body: (await body.count()) > 0 ? await body.innerText() : '' };
  };

  const useKey = async (page: Page, key: string, isKept = false): Promise<void> => {
    await page.locator('#key').click();
    const dialog = page.getByRole('dialog', { name: 'Your API key' });
    await dialog.getByLabel('Key', { exact: true }).fill(key);
    if (isKept) await dialog.getByRole('checkbox').check();
    await dialog.getByRole('button', { name: 'Use this key' }).click();
    await dialog.waitFor({ state: 'hidden' });
  };
  const readDocument = async (url: string): Promise<OpenApi> =>
    (await (await fetch(`${url}/v1/openapi.json`)).json()) as OpenApi;

  describe('the reference', () => {
    test('is below /, which leads to /docs, and former links lead to its operations', async () => {
      const { url } = await startLocalDemo();
      const page = await open(url);
      expect(page.url()).toBe(`${url}/docs`);
      // The curl lines contain the page's own address.
      expect((await page.locator('.markdown-body pre').first().innerText()).trim()).toBe(`curl ${url}/v1/plans`);
      await page.goto(`${url}/docs#/Game%20servers/restartGameServer`);
      await page.reload();
      await page.waitForURL(`${url}${games}#restartGameServer`);
    });

    test('asks for the rights of a pasted key once, shows refusals in the dialog, and fills in IDs and scopes', async () => {
      const { url, key } = await startLocalDemo();
      const page = await open(url + games);
      const asked: string[] = [];
      page.on('request', (request) => request.url().includes('/v1/') && asked.push(new URL(request.url()).pathname));
      // Three stops lead to the key.
      for (let step = 0; step < 3; step += 1) await page.keyboard.press('Tab');
      expect(await page.evaluate(() => document.activeElement?.id)).toBe('key');
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog', { name: 'Your API key' });
      const field = dialog.getByLabel('Key', { exact: true });
      expect(await field.evaluate((input: HTMLInputElement) => [input.type, input.autocomplete])).toEqual([
        'password',
        'off',
      ]);
      for (const [wrong, message] of [
        ['hk_short', 'Malformed key: it begins with hk_ and has 65 characters.'],
        [`${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`, 'Malformed API key: incomplete or mistyped.'],
      ] as const) {
        await field.fill(wrong);
        await page.keyboard.press('Enter');
        await expect.poll(() => dialog.getByRole('alert').innerText()).toBe(message);
        expect(await field.evaluate((input) => input === document.activeElement)).toBe(true);
      }
      // As printed by `npm start`, with surrounding words.
      await field.fill(`Authorization: Bearer ${key}`);
      await page.keyboard.press('Enter');
      await dialog.waitFor({ state: 'hidden' });
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(
        '● demo key of npm start · 2 servers',
      );
      expect(asked).toEqual(['/v1/key', '/v1/key']);
      const restart = findOperation(page, 'restartGameServer');
      expect(await restart.locator('.facts').innerText()).toContain('✓ Your key has game-power:read_write');
      expect(await restart.locator('[name=server_id]').inputValue()).toBe('demo');
      expect(await restart.locator('pre').first().innerText()).toContain(`${url}/v1/hosting/game/power/demo/restart`);

      await page.locator('#key').click();
      expect(await dialog.innerText()).toContain('"game:demo"');
      await dialog.getByRole('button', { name: 'Forget the key' }).click();
      expect(await page.locator('#key').innerText()).toBe('Use your key');
      expect(await restart.locator('pre').first().innerText()).toContain('/YOUR_GAME_SERVER/restart');
    });

    test('sends what it shows, with a key that only the memory of the page keeps', async () => {
      const { url, key } = await startLocalDemo();
      const page = await open(url + games);
      const log = findOperation(page, 'getLatestGameLog');
      await log.getByRole('button', { name: 'Send' }).click();
      await page.keyboard.press('Escape');
      await useKey(page, key);
      const read = await send(log);
      expect(read.status).toMatch(/^200 OK, \d+ ms, [\d,]+ characters$/);
      expect(read.body).toContain('"server_id": "demo"');
      const command = findOperation(page, 'sendGameCommand');
      const [body, code] = [command.locator('textarea'), command.locator('pre').first()];
      await body.fill(`{"command":"say it's"}`);
      expect(await code.innerText()).toContain(String.raw`-d '{"command":"say it'\''s"}'`);
      const [request] = await Promise.all([page.waitForRequest(/command$/), send(command)]);
      expect(request.postData()).toBe(`{"command":"say it's"}`);

      await expectNothingKept(page);
      await page.reload();
      expect(await page.locator('#key').innerText()).toBe('Use your key');
    });

    test('keeps a key until the tab is closed, if asked, and forgets it after its end', async () => {
      const { url, key } = await startLocalDemo();
      const page = await open(url);
      await useKey(page, key, true);
      await page.goto(url + games);
      await expect.poll(() => page.locator('#key').innerText()).toContain('2 servers');
      const other = await page.context().newPage();
      await other.goto(url + games);
      expect(await other.locator('#key').innerText()).toBe('Use your key');
      await page.evaluate(() => sessionStorage.setItem('api-key', 'hk_ended'));
      await page.reload();
      await expect.poll(() => page.evaluate(() => sessionStorage.length)).toBe(0);
    });

    test('keeps a kept key while the service does not answer', async () => {
      const { url, key } = await startLocalDemo();
      const page = await openPage(browser(), url, { expected: /ERR_FAILED/ });
      await useKey(page, key, true);
      await page.route('**/v1/key', (route) => route.abort());
      const [failed] = await Promise.all([page.waitForEvent('requestfailed'), page.reload()]);
      expect(failed.url()).toBe(`${url}/v1/key`);
      expect(await page.locator('#key').innerText()).toBe('Use your key');
      await page.unroute('**/v1/key');
      await page.reload();
      await expect.poll(() => page.locator('#key').innerText()).toContain('2 servers');
    });

    test('works without storage, which a browser may block', async () => {
      const { url, key } = await startLocalDemo();
      const page = await newPage(browser());
      const faults: string[] = [];
      page.on('pageerror', ({ message }) => faults.push(message));
      await page.addInitScript(() => {
        for (const name of ['localStorage', 'sessionStorage']) {
          const get = (): never => {
            throw new DOMException('Access is denied', 'SecurityError');
          };
          Object.defineProperty(window, name, { get });
        }
      });
      await page.goto(url + games);
      await useKey(page, key, true);
      await page.getByRole('button', { name: 'Python', exact: true }).first().click();
      const log = findOperation(page, 'getLatestGameLog');
      expect(await log.locator('.call pre:visible').innerText()).toContain('urllib');
      expect((await send(log)).status).toMatch(/^200 /);
      expect(faults).toEqual([]);
    });

    test('sends one request for a double click, and shows line breaks of texts, but not of backslashes', async () => {
      const { url } = await startLocalDemo();
      const page = await open(url + toPage('Plans'));
      const { promise: isClicked, resolve } = Promise.withResolvers<void>();
      const json = { path: String.raw`C:\new`, log: 'one\ntwo' };
      let requests = 0;
      await page.route('**/v1/plans', async (route) => {
        requests += 1;
        await isClicked;
        await route.fulfill({ json });
      });
      const operation = findOperation(page, 'getPlans');
      await operation.getByRole('button', { name: 'Send' }).dblclick();
      resolve();
      const answer = operation.locator('.answer:not(.headers)');
      await expect.poll(() => answer.innerText()).toContain(String.raw`"C:\\new"`);
      expect(await answer.innerText()).toContain('"one\ntwo"');
      expect(requests).toBe(1);
    });

    test('sends every operation as it is filled in, and each answer is below 400', async () => {
      const { url, key } = await startLocalDemo();
      const document = await readDocument(url);
      for (const { name } of document.tags.toReversed()) {
        const page = await open(url + toPage(name));
        await useKey(page, key);
        const all = operationsOf(document).filter(({ tags }) => tags[0] === name);
        for (const { operationId } of all.toSorted(byEnd)) {
          if (operationId in exceptions) continue;
          const operation = findOperation(page, operationId);
          const box = operation.locator('[type=checkbox]');
          if ((await box.count()) > 0) {
            // The browser does not send without the confirmation.
            await operation.getByRole('button', { name: 'Send' }).click();
            expect(await operation.getByRole('status').innerText()).toBe('');
            await box.check();
          }
          await expect
            .poll(async () => ({ operationId, status: (await send(operation)).status }), { interval: 1000 })
            .toMatchObject({ operationId, status: expect.stringMatching(/^[23]/) as string });
        }
        await page.context().close();
      }
    });

    test('returns the first response to a repeated Idempotency-Key', async () => {
      const { url, key } = await startLocalDemo();
      const page = await open(url + games);
      await useKey(page, key);
      const restart = findOperation(page, 'restartGameServer');
      await restart.locator('summary', { hasText: 'Optional' }).click();
      await restart.locator('[name="Idempotency-Key"]').fill('from-the-page-1');
      expect(await restart.locator('pre').first().innerText()).toContain("-H 'Idempotency-Key: from-the-page-1'");
      await send(restart);
      await send(restart);
      expect(await restart.locator('.headers').innerText()).toContain('idempotent-replayed: true');
    });

    test('says that the service did not answer', async () => {
      const { url } = await startLocalDemo();
      const page = await newPage(browser());
      await page.route('**/v1/plans', (route) => route.abort());
      await page.goto(url + toPage('Plans'));
      expect((await send(findOperation(page, 'getPlans'))).status).toBe('The service did not answer');
    });
  });

  test('the search finds a mistyped operation, and leads there by the keyboard', async () => {
    const { url } = await startLocalDemo();
    const page = await open(`${url}/docs/errors.html`);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('resart');
    const found = page.locator('#found a');
    await expect.poll(() => found.first().innerText()).toContain('Restart a game server');
    await page.keyboard.press('ArrowDown');
    expect(await found.first().evaluate((link) => link === document.activeElement)).toBe(true);
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${url}${games}#restartGameServer`);
    await page.keyboard.press('/');
    await page.keyboard.type('limits');
    await expect.poll(() => found.count()).toBeGreaterThan(0);
    await page.keyboard.press('Escape');
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  test('the limits page has the limits of the key, and a phone a menu', async () => {
    const { url, key } = await startLocalDemo();
    const page = await open(`${url}/docs/limits.html`, { viewport: { width: 375, height: 800 } });
    await useKey(page, key);
    expect(await page.locator('#own-limits').innerText()).toBe(
      'Your key: actions 20, then 1 a second; other requests 20, then 2 a second.',
    );
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('link', { name: 'Game servers' }).click();
    await page.waitForURL(url + games);
  });

  describe('every page', () => {
    test('is readable without scripts', async () => {
      const { url } = await startLocalDemo();
      for (const path of [...guide, ...(await readDocument(url)).tags.map(({ name }) => toPage(name))]) {
        const page = await open(url + path, { javaScriptEnabled: false });
        expect(await page.locator('h1').count(), path).toBe(1);
        expect((await page.locator('main').innerText()).length, path).toBeGreaterThan(500);
        expect(await page.locator('pre:visible').count(), path).toBe((await page.locator('pre').count()) - 1);
        await page.context().close();
      }
    });

    test.each(screens)('is accessible, even with an answer and open folds: %s', async (_, options) => {
      const { url, key } = await startLocalDemo();
      for (const path of [...guide, ...(await readDocument(url)).tags.map(({ name }) => toPage(name))]) {
        // axe runs as a script in the page.
        const page = await open(url + path, { ...options, bypassCSP: true });
        if (path === games) await useKey(page, key);
        if (path === games) await send(findOperation(page, 'getLatestGameLog'));
        for (const fold of await page.locator('details').all())
          await fold.evaluate((one) => one.setAttribute('open', ''));
        expect({ path, barriers: await findBarriers(page) }).toEqual({ path, barriers: [] });
        if (path === '/docs') {
          await page.locator('#key').click();
          expect(await findBarriers(page)).toEqual([]);
          await page.keyboard.press('Escape');
          await page.keyboard.press('Control+k');
          await page.keyboard.type('restart');
          await page.locator('#found a').first().waitFor();
          expect(await findBarriers(page)).toEqual([]);
        }
        await page.context().close();
      }
    });

    test('fits a small phone, with codes that break behind underscores only', async () => {
      const { url } = await startLocalDemo();
      for (const path of [...guide, ...(await readDocument(url)).tags.map(({ name }) => toPage(name))]) {
        const page = await open(`${url}${path}`, { viewport: { width: 320, height: 800 } });
        expect(await page.evaluate(() => document.documentElement.scrollWidth), path).toBe(320);
        await page.context().close();
      }
      const page = await open(`${url}/docs/errors.html`, { viewport: { width: 375, height: 812 } });
      const broken = await page.evaluate(() => {
        const table = document.querySelector('table')!;
        const codes = [...document.querySelectorAll('td:first-child code')];
        const parts = codes.filter((code) => code.getClientRects().length > code.textContent.split('_').length);
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
      const source = await page.locator('#a-client ~ .card pre').first().innerText();
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

    test.each(clients)(
      'each example of the reference for $title can be copied and run',
      async ({ title, file, program }) => {
        const { url, key, power } = await startLocalDemo();
        await power('start');
        const document = await readDocument(url);
        const examples: { operationId: string; text: string }[] = [];
        for (const { name } of document.tags) {
          const page = await open(url + toPage(name), { permissions: ['clipboard-read', 'clipboard-write'] });
          await useKey(page, key);
          await page.getByRole('button', { name: title, exact: true }).first().click();
          for (const { operationId } of operationsOf(document).filter(({ tags }) => tags[0] === name)) {
            await findOperation(page, operationId).locator('.call .copy').click();
            examples.push({ operationId, text: await page.evaluate(() => navigator.clipboard.readText()) });
          }
          await page.context().close();
        }
        const folder = temporaryFolder();
        writeFileSync(join(folder, '.key'), `Authorization: Bearer ${key}\n`);
        // Lets curl fail like the other programs.
        writeFileSync(join(folder, 'curl'), `#!/bin/sh\nexec env PATH='${process.env['PATH']}' curl -sSf "$@"\n`, {
          mode: 0o755,
        });
        const env = { PATH: `${folder}:${process.env['PATH']}` };
        for (const { operationId, text } of examples.toSorted(byEnd)) {
          if (operationId in exceptions) continue;
          writeFileSync(join(folder, file), text);
          const { status, stdout, stderr } = await runProgram(program, [file], { cwd: folder, env });
          expect({ operationId, status, stderr }).toEqual({ operationId, status: 0, stderr: '' });
          if (title !== 'curl') expect(stdout).toMatch(/^2\d\d /);
        }
      },
    );
  });
});
