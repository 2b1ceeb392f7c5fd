import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { compileStatusWidget } from '../../../generator/static-files.ts';
import { describeChromium, newPage } from './chromium.ts';
import { createStage, embed, expectToast, openStage } from './fixture.ts';

const web = { status: 'disrupted', disrupted: ['Web'] };
const both = { status: 'disrupted', disrupted: ['Web', 'Games'] };
const trouble = 'Some services are disrupted';

describeChromium((browser) => {
  test('an incident is shown until it is over', async () => {
    const stage = await openStage(browser(), embed());
    expect(await stage.toast()).toEqual({ text: '', box: expect.objectContaining({ width: 0, height: 0 }) as unknown });
    await stage.poll({ ...both, maintenance: ['Backups'] });
    await expectToast(stage, `${trouble} Web Games Maintenance in progress Backups`);
    await stage.poll({ status: 'maintenance', maintenance: ['Backups'] });
    await expectToast(stage, 'Maintenance in progress Backups');
    await stage.poll({ status: 'disrupted' });
    await expectToast(stage, trouble);
    await stage.poll({ status: 'up' });
    await expectToast(stage, '');
    // Nothing is stored without a dismissal.
    expect(await stage.page.evaluate(() => sessionStorage.length)).toBe(0);
  });

  test.each(['<script src="{api}/v1/service-status.js"', '<script defer', '<script async'])(
    'the script works in the head: %s',
    async (tag) => {
      const script = tag.includes('src') ? tag : `${tag} src="{api}/v1/service-status.js"`;
      const html = `<!doctype html><head><title>Site</title>${script}></script></head><body><p>Text.</p></body>`;
      const stage = await openStage(browser(), html, web);
      await expectToast(stage, `${trouble} Web`);
      expect(await stage.page.evaluate(() => document.documentElement.lastElementChild?.localName)).toBe(
        'service-status',
      );
    },
  );

  const toHtml = (script: string) => `<!doctype html><title>Site</title><p>Text.</p>${script}`;
  const base = '/v1/service-status';
  const later = `<script>
    const request = new XMLHttpRequest();
    request.open('GET', '{api}${base}.js');
    request.onload = () => new Function(request.response)();
    request.send();
  </script>`;
  test.each([
    ['a module', `<script type="module" data-theme="dark" src="{api}${base}.js"></script>`, true],
    ['a version', `<script data-theme="dark" src="{api}${base}.0123456789abcdef.js?x"></script>`, true],
    [
      'run from a text beside the element',
      `<script type="later" data-theme="dark" src="{api}${base}.js"></script>${later}`,
      true,
    ],
    ['in a file of another name', '<script src="{api}/assets/app.js"></script>', false],
    [
      'in a file of another name, with data-api',
      '<script data-theme="dark" data-api="{api}/v1/status" src="{api}/assets/app.js"></script>',
      true,
    ],
    ['run from a text', later, false],
  ])('the script as %s finds its address', async (_, script, isFound) => {
    const stage = await openStage(browser(), toHtml(script), web, { times: isFound ? 1 : 0 });
    if (isFound) {
      await expectToast(stage, `${trouble} Web`);
      return expect(await stage.inside('.box', ({ className }) => className)).toContain('dark');
    }
    // It leaves the page free for another include.
    await expect.poll(() => stage.api.seen.length).toBe(1);
    expect(await stage.page.locator('service-status').count()).toBe(0);
    await stage.page.addScriptTag({ url: `${stage.api.url}${base}.js` });
    await stage.advance(1, 1);
    await expectToast(stage, `${trouble} Web`);
    expect(stage.requestCount()).toBe(1);
  });

  test('without an address of its own, the script has the PUBLIC_URL of the build', async () => {
    const stage = await createStage(browser());
    const { script } = await compileStatusWidget(stage.api.url);
    stage.answer(web);
    await stage.open(toHtml(`<script>${script}</script>`));
    await expectToast(stage, `${trouble} Web`);
  });

  test.each([
    ['another body', 'document.body.replaceWith(document.createElement("body"))'],
    ['a body parsed from HTML', 'document.body = new DOMParser().parseFromString("<p>Next</p>", "text/html").body'],
    ['other contents of the body', 'document.body.innerHTML = "<p>Next</p>"'],
    ['a body with a transform', 'document.body.style.transform = "translateZ(0)"'],
    ['a body with a filter', 'document.body.style.filter = "grayscale(0.1)"'],
    ['a body with containment', 'document.body.style.contain = "paint"'],
  ])('the toast stays in the window after a change to %s', async (_, change) => {
    const stage = await openStage(browser(), `${embed()}<div style="height: 3000px"></div>`, web);
    await stage.page.evaluate(change);
    const hit = await stage.page.evaluate(
      () => document.elementFromPoint(innerWidth - 60, innerHeight - 40)?.localName,
    );
    expect(hit).toBe('service-status');
    expect(await stage.page.locator('service-status').count()).toBe(1);
  });

  test('a toast that the page has removed returns at the next poll', async () => {
    const stage = await openStage(browser(), embed(), web);
    await stage.page.evaluate(() => document.querySelector('service-status')!.remove());
    await stage.poll(web);
    await expectToast(stage, `${trouble} Web`);
  });

  test('a page with the embed line from the docs is ready while the API hangs', async () => {
    const docs = readFileSync(resolve(import.meta.dirname, '../../../docs/status-widget.md'), 'utf8');
    const [line = ''] = /<script src="[^"]*service-status\.js".*<\/script>/.exec(docs) ?? [];
    const page = await newPage(browser());
    await page.route('https://api.example.com/**', () => {});
    const body = `<!doctype html><head><title>Site</title>${line}</head><body><p>Text.</p></body>`;
    await page.route('https://site.example.com/', (route) => route.fulfill({ contentType: 'text/html', body }));
    // With `defer`, or without an attribute, the event would wait for the script.
    await page.goto('https://site.example.com/', { waitUntil: 'domcontentloaded' });
    expect(await page.locator('p').innerText()).toBe('Text.');
  });

  test('a dismissed incident stays dismissed on all pages of the session, until it changes', async () => {
    const stage = await openStage(browser(), embed(), web);
    await expectToast(stage, `${trouble} Web`);
    await stage.inside('button', (button) => button.click());
    await expectToast(stage, '');
    await stage.advance(10_000, 1);
    await stage.advance(10_000, 1);
    await expectToast(stage, '');
    await stage.open(embed());
    await expectToast(stage, '');
    await stage.poll(both);
    await expectToast(stage, `${trouble} Web Games`);
  });

  test('the same incident is shown again if it returns after a recovery', async () => {
    const stage = await openStage(browser(), embed(), web);
    await stage.inside('button', (button) => button.click());
    await expectToast(stage, '');
    await stage.poll({ status: 'up' });
    await stage.poll(web);
    await expectToast(stage, `${trouble} Web`);
  });

  test('if storage is blocked, a dismissal lasts for the page', async () => {
    const script = (): void => {
      Object.defineProperty(window, 'sessionStorage', {
        get() {
          throw new DOMException('blocked', 'SecurityError');
        },
      });
    };
    const stage = await openStage(browser(), embed(), web, { script });
    await stage.inside('button', (button) => button.click());
    await expectToast(stage, '');
    await stage.advance(10_000, 1);
    await expectToast(stage, '');
    await stage.poll(both);
    await expectToast(stage, `${trouble} Web Games`);
  });

  test('the toast takes no focus, and Escape dismisses it only from inside', async () => {
    const stage = await openStage(browser(), embed('data-href="https://status.example.com/"'));
    const { page } = stage;
    await page.focus('#own');
    await stage.poll(web);
    const focused = () => page.evaluate(() => document.activeElement?.id || document.activeElement?.localName);
    expect(await focused()).toBe('own');
    await page.keyboard.press('Escape');
    await expectToast(stage, `${trouble} Web`);
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('service-status');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('service-status');
    await page.keyboard.press('Escape');
    await expectToast(stage, '');
    expect(await focused()).toBe('own');
  });

  test('hostile and very long names stay text inside the box', async () => {
    const stage = await createStage(browser(), { viewport: { width: 360, height: 640 } });
    const dialogs: string[] = [];
    stage.page.on('dialog', (dialog) => {
      dialogs.push(dialog.message());
      return dialog.dismiss();
    });
    const hostile = '<img src=x onerror=alert(1)>';
    const names = [hostile, 'W'.repeat(5000), '\u202Eabc', 'e\u0301\u0302\u0303'.repeat(200), '😀'.repeat(100)];
    stage.answer({ status: 'disrupted', disrupted: [...names, ...Array.from({ length: 500 }, (_, n) => `Node ${n}`)] });
    await stage.open(embed());
    const { text, box } = await stage.toast();
    expect(text).toContain(`${trouble} ${hostile} ${'W'.repeat(80)}… `);
    expect(text).toContain(` ${'😀'.repeat(80)}… Node 0 `);
    expect(text).toMatch(/ Node 4 \+495$/);
    expect(box.width).toBeLessThanOrEqual(360 - 32);
    expect(box.height).toBeLessThanOrEqual(640 - 32);
    const inner = await stage.inside('.box', (element) => ({
      elements: [...element.querySelectorAll('*')].map(({ localName }) => localName),
      wider: element.scrollWidth > element.clientWidth,
    }));
    expect(new Set(inner.elements)).toEqual(new Set(['div', 'p', 'ul', 'li', 'bdi', 'button']));
    expect(inner.wider).toBe(false);
    expect(dialogs).toEqual([]);
  });

  test('the widget dispatches an event for each change, and only for changes', async () => {
    const stage = await createStage(browser());
    await stage.page.addInitScript(() => {
      document.addEventListener('statuschange', (event) => {
        const { detail, composed, target } = event as CustomEvent<{ status: string; disrupted: string[] }>;
        const { localName } = target as Element;
        console.log(JSON.stringify([detail.status, ...detail.disrupted, composed, localName]));
      });
    });
    const messages: string[] = [];
    stage.page.on('console', (message) => messages.push(message.text()));
    await stage.open(embed());
    for (const answer of [{ status: 'up' }, web, web, both, both]) {
      await stage.poll(answer);
    }
    expect(messages).toEqual([
      '["up",true,"service-status"]',
      '["disrupted","Web",true,"service-status"]',
      '["disrupted","Web","Games",true,"service-status"]',
    ]);
  });

  test.each([
    ['web, GAMES', { status: 'disrupted', disrupted: ['Web', 'DNS'], maintenance: ['Games'] }, 'disrupted: Web; Games'],
    ['games', { status: 'disrupted', disrupted: ['Web', 'DNS'], maintenance: ['Games'] }, 'maintenance: ; Games'],
    ['backups', { status: 'disrupted', disrupted: ['Web'], maintenance: ['Games'] }, 'up: ; '],
    ['backups', { status: 'disrupted' }, 'disrupted: ; '],
    [' , ', { status: 'maintenance', maintenance: ['Games'] }, 'maintenance: ; Games'],
  ])('data-only="%s" turns %j into %s', async (only, answer, expected) => {
    const script = (): void => {
      document.addEventListener('statuschange', (event) => {
        const { status, disrupted, maintenance } = (event as CustomEvent<Record<string, string[]>>).detail;
        document.title = `${String(status)}: ${String(disrupted)}; ${String(maintenance)}`;
      });
    };
    const stage = await openStage(browser(), embed(`data-only="${only}"`), answer, { script });
    expect(await stage.page.title()).toBe(expected.trim());
  });
});
