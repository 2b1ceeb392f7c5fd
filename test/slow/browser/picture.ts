// Takes the picture of the example site in the README, docs/example-site.webp. Needs the API (`npm start`), the site
// (`node examples/site/serve.ts`), and the Debian package fonts-inter. Run: node test/slow/browser/picture.ts
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { chromium } from 'playwright-core';

const site = process.env.SITE ?? 'http://localhost:8080';
const file = resolve(import.meta.dirname, '../../../docs/example-site.webp');

/** Shots with their position in the picture. */
const shots = [
  { path: '/', colorScheme: 'dark', width: 1200, height: 860, place: 'left: 20px; top: 20px; width: 800px' },
  { path: '/plans', colorScheme: 'dark', width: 390, height: 780, place: 'left: 970px; top: 20px; width: 230px' },
  { path: '/blog', colorScheme: 'light', width: 1200, height: 860, place: 'left: 470px; top: 300px; width: 620px' },
] as const;

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
const images: string[] = [];
for (const { path, colorScheme, width, height, place } of shots) {
  const page = await browser.newPage({ colorScheme, viewport: { width, height }, deviceScaleFactor: 2 });
  await page.goto(site + path, { waitUntil: 'networkidle' });
  const png = (await page.screenshot()).toString('base64');
  images.push(`<img src="data:image/png;base64,${png}" style="${place}" alt="">`);
}

const page = await browser.newPage({ viewport: { width: 1220, height: 770 }, deviceScaleFactor: 1.5 });
await page.setContent(`<!doctype html><style>
  img { position: absolute; border-radius: 12px; border: 1px solid #8885; box-shadow: 0 12px 32px #0004 }
</style>${images.join('')}`);
await page.waitForFunction(() => [...document.images].every((image) => image.complete));
const session = await page.context().newCDPSession(page);
// Transparent, because the README may be light or dark.
await session.send('Emulation.setDefaultBackgroundColorOverride', { color: { r: 0, g: 0, b: 0, a: 0 } });
const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 82 });
writeFileSync(file, Buffer.from(data, 'base64'));
await browser.close();
