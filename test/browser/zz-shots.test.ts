import { test } from 'vitest';
import { mkdirSync } from 'node:fs';
import { describeChromium } from './chromium.ts';
import { createStage } from './stage.ts';
mkdirSync('/tmp/widget-shots', { recursive: true });
const page = (
  html: string,
  attrs: string,
  dark: boolean,
) => `<!doctype html><html ${html}><meta charset=utf-8><meta name=viewport content="width=device-width"><title>S</title>
<style>body{font:16px/1.5 Georgia,serif;max-width:46em;margin:2em auto;padding:0 1em;${dark ? 'background:#121212;color:#ddd' : ''}}</style>
<h1>Example Hosting</h1>${'<p>Servers in Falkenstein, Helsinki and Rotterdam. Order today, play tonight; every plan comes with backups and a console that never goes silent.</p>'.repeat(6)}
<script src="{api}/v1/service-status.js" ${attrs}></script></html>`;
const two = { status: 'disrupted', disrupted: ['Web hosting', 'Game panel (Falkenstein)'], maintenance: ['Backups'] };
describeChromium('shots', (browser) => {
  test.each<[string, object, string, string, object]>([
    ['light', {}, 'lang=en', 'data-href="https://status.example.com"', two],
    ['dark', { colorScheme: 'dark' }, 'lang=en', 'data-href="https://status.example.com"', two],
    ['maintenance-de', {}, 'lang=de', '', { status: 'maintenance', maintenance: ['Webseite'] }],
    ['plain', {}, 'lang=en', '', { status: 'disrupted' }],
    [
      'phone',
      { viewport: { width: 360, height: 640 }, deviceScaleFactor: 2 },
      'lang=pl',
      'data-href="https://status.example.com"',
      two,
    ],
    [
      'phone-320-hostile',
      { viewport: { width: 320, height: 568 }, deviceScaleFactor: 2 },
      'lang=en',
      'data-href="https://status.example.com"',
      {
        status: 'disrupted',
        disrupted: [
          '<img src=x onerror=alert(1)>',
          'W'.repeat(5000),
          'e\u0301\u0302\u0303\u0304'.repeat(40),
          ...Array.from({ length: 40 }, (_, n) => `Node ${n}`),
        ],
      },
    ],
    [
      'rtl',
      {},
      'lang=ar dir=rtl',
      'data-href="https://status.example.com" data-text-disrupted="بعض الخدمات معطلة" data-text-maintenance="أعمال صيانة جارية" data-text-details="التفاصيل"',
      two,
    ],
    [
      'rtl-english',
      {},
      'lang=he dir=rtl',
      '',
      { status: 'disrupted', disrupted: ['Game panel (Falkenstein)', 'לוח בקרה'] },
    ],
    [
      'forced',
      { forcedColors: 'active', colorScheme: 'dark' },
      'lang=en',
      'data-href="https://status.example.com"',
      two,
    ],
  ])('%s', async (name, options, html, attrs, answer) => {
    const stage = await createStage(browser(), { viewport: { width: 900, height: 560 }, ...options });
    stage.answer(answer);
    await stage.open(page(html, attrs, name === 'dark'));
    await stage.page.clock.runFor(500);
    if (name === 'light') {
      await stage.page.keyboard.press('Tab');
      await stage.page.keyboard.press('Tab');
    }
    await new Promise((r) => setTimeout(r, 300));
    await stage.page.screenshot({ path: `/tmp/widget-shots/${name}.png` });
  });
});
