import { join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { describeInstalled } from '../../helpers/installed.ts';

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
  const program = {
    name: 'Chromium',
    package: 'chromium',
    commands: ['chromium'],
    // Playwright disables the back/forward cache by default; the widget is tested with it.
    start: (folder: string) =>
      chromium.launch({
        executablePath: join(folder, 'chromium'),
        args: flags,
        ignoreDefaultArgs: ['--disable-back-forward-cache'],
      }),
    stop: (browser: Browser) => browser.close(),
  };
  describeInstalled(program, body);
}
