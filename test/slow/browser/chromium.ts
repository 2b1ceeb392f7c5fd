import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** The reason why the browser tests are skipped; on CI that is a failure. */
const missing = 'Chromium is not installed (Debian: apt-get install chromium)';

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A group of tests that share one real browser with a new profile. */
export function describeChromium(body: (browser: () => Browser) => void): void {
  const executablePath = findChromium();
  if (executablePath === undefined) process.stderr.write(`the browser tests are skipped, because ${missing}\n`);
  test('Chromium is installed on CI', () => {
    expect({ CI: process.env.CI, executablePath }).not.toEqual({ CI: 'true', executablePath: undefined });
  });
  describe.skipIf(executablePath === undefined)('in Chromium', () => {
    let browser: Browser | undefined;
    beforeAll(async () => {
      // Playwright disables the back/forward cache by default; the widget is tested with it.
      const ignoreDefaultArgs = ['--disable-back-forward-cache'];
      browser = await chromium.launch({ executablePath: executablePath!, args: flags, ignoreDefaultArgs });
    });
    afterAll(() => browser?.close());
    body(() => browser!);
  });
}

function findChromium(): string | undefined {
  const folders = ['/usr/bin', ...(process.env.PATH ?? '').split(delimiter)];
  return folders.map((folder) => join(folder, 'chromium')).find((path) => existsSync(path));
}
