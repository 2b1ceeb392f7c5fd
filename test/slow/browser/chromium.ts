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

let launched: Promise<Browser> | undefined;

/** Launches the browser of this process, which ends with it. Playwright closes it at SIGTERM. */
async function launch(folder: string): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: join(folder, 'chromium'),
    args: flags,
    // Playwright disables the back/forward cache by default; the widget is tested with it.
    ignoreDefaultArgs: ['--disable-back-forward-cache'],
  });
  // The next test file gets a new one after a crash.
  browser.on('disconnected', () => (launched = undefined));
  return browser;
}

/** A group of tests with a real browser, which all test files of a process share. Each test opens a context of its own. */
export function describeChromium(body: (browser: () => Browser) => void): void {
  const start = (folder: string): Promise<Browser> => (launched ??= launch(folder));
  describeInstalled({ name: 'Chromium', package: 'chromium', commands: ['chromium'], start, stop: () => {} }, body);
}
