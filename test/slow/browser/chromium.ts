import { join } from 'node:path';
import axe from 'axe-core';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { describeInstalled } from '../../helpers/installed.ts';
import { createUpstream } from '../../helpers/upstream.ts';

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Disables two pages of the address bar, which each window would load. Replaces Playwright's list of features.
  '--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup',
];

/** The longest wait for a page; Playwright's 30 s are too short for a busy machine. */
const patienceMs = 120_000;

let launched: Promise<Browser> | undefined;

/** Launches this process's browser, which ends with the process. Playwright closes the browser at SIGTERM. */
async function launch(folder: string): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: join(folder, 'chromium'),
    timeout: patienceMs,
    args: flags,
    // The widget tests need the back/forward cache, which Playwright disables by default.
    ignoreDefaultArgs: ['--disable-back-forward-cache'],
  });
  // After a crash, the next test file gets a new browser.
  browser.on('disconnected', () => (launched = undefined));
  return browser;
}

/** Groups tests with a browser, which all test files of a process share. Each test opens a new context. */
export function describeChromium(body: (browser: () => Browser) => void): void {
  const start = (folder: string): Promise<Browser> => (launched ??= launch(folder));
  describeInstalled({ name: 'Chromium', package: 'chromium', commands: ['chromium'], start }, body);
}

/** Screens for accessibility tests. */
export const screens: [string, BrowserContextOptions][] = [
  ['light', { colorScheme: 'light', viewport: { width: 1200, height: 900 } }],
  ['dark', { colorScheme: 'dark', viewport: { width: 1200, height: 900 } }],
  ['phone', { colorScheme: 'light', viewport: { width: 390, height: 844 } }],
];

/** Opens an empty page until the test ends. */
export async function newPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(patienceMs);
  onTestFinished(() => context.close());
  return context.newPage();
}

/** Serves a page at a separate origin until the test ends. */
export async function servePage(body: string): Promise<string> {
  const headers = { 'Content-Type': 'text/html; charset=utf-8' };
  return (await createUpstream(() => ({ status: 200, headers, body }))).url;
}

/** Options of a page: other allowed origins, and expected console messages. */
export interface OpenOptions extends BrowserContextOptions {
  readonly origins?: readonly string[];
  readonly expected?: RegExp;
}

/**
 * Opens a page until the test ends. Fails the test after an unexpected console message or a request to another host.
 */
export async function openPage(
  browser: Browser,
  address: string,
  { origins = [], expected, ...options }: OpenOptions = {},
): Promise<Page> {
  const page = await newPage(browser, options);
  const faults: string[] = [];
  const allowed = [new URL(address).origin, ...origins];
  page.on('console', (message) => expected?.test(message.text()) || faults.push(message.text()));
  page.on('pageerror', ({ message }) => faults.push(message));
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== 'data:' && !allowed.includes(origin)) faults.push(request.url());
  });
  onTestFinished(() => expect(faults).toEqual([]));
  await page.goto(address);
  return page;
}

/** Runs axe on a page, and checks if the page is wider than the screen. The page's context must bypass its CSP. */
export async function findBarriers(page: Page, ignore: readonly string[] = []): Promise<unknown[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async (ignored) => {
    const rules = Object.fromEntries([
      ['target-size', { enabled: true }],
      ...ignored.map((rule) => [rule, { enabled: false }]),
    ]);
    const { violations } = await (window as unknown as { axe: typeof axe }).axe.run({ rules });
    const found: unknown[] = violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
    const overflow = document.documentElement.scrollWidth - innerWidth;
    return overflow > 0 ? [...found, `${overflow} px wider than the screen`] : found;
  }, ignore);
}

/** Expects that the page's scripts stored nothing. */
export async function expectNothingKept(page: Page): Promise<void> {
  const kept = await page.evaluate(async () => ({
    local: Object.keys(localStorage),
    session: Object.keys(sessionStorage),
    cookie: document.cookie,
    databases: await indexedDB.databases(),
    caches: await caches.keys(),
    address: location.search,
  }));
  expect(kept).toEqual({ local: [], session: [], cookie: '', databases: [], caches: [], address: '' });
}

/** Opens shadow roots for locators; ours are closed. Runs before the page's scripts. */
export function openShadowRoots(): void {
  // oxlint-disable-next-line typescript/unbound-method -- It is called on its element.
  const { attachShadow } = Element.prototype;
  Element.prototype.attachShadow = function attachOpen(options) {
    return attachShadow.call(this, { ...options, mode: 'open' });
  };
}

/** The relative luminance of a colour in the form `rgb(...)` (WCAG 2.2). */
export function luminanceOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = colour.match(/[\d.]+/g)!.map((part) => {
    const share = Number(part) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The contrast of two colours (WCAG 2.2). */
export function contrastOf(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminanceOf(one), luminanceOf(other)].toSorted((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** Records layout shifts for {@link readShifts}. Runs before the page's scripts. */
export function watchShifts(): void {
  const shifts: number[] = [];
  Object.assign(window, { shifts });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) shifts.push((entry as unknown as { value: number }).value);
  }).observe({ type: 'layout-shift', buffered: true });
}

/** Reads the layout shifts of a page so far. */
export function readShifts(page: Page): Promise<number[]> {
  return page.evaluate(() => (window as unknown as { shifts: number[] }).shifts);
}
