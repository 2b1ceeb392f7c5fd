import type { Browser, BrowserContextOptions } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { compileStatusWidget } from '../../../generator/static-files.ts';
import { createUpstream, json } from '../../helpers/upstream.ts';
import type { Fault } from '../../helpers/upstream.ts';
import { newPage, openShadowRoots } from './chromium.ts';

/** A response for the status: JSON with 200, or another response or fault. */
export type Answer =
  | Fault
  | { readonly status: string; readonly disrupted?: readonly string[]; readonly maintenance?: readonly string[] };

/** Renders a page that embeds the widget with attributes. */
export function embed(attributes = ''): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Site</title><h1>Site</h1>
    <p><button id="own">Own button</button> Text of the site.</p>
    <script src="{api}/v1/service-status.js" ${attributes}></script></html>`;
}

/** Fixture of a test: a site, the API on another origin with the widget, and a page in a browser. */
type Stage = Awaited<ReturnType<typeof createStage>>;

interface Opening {
  /** Content-Security-Policy of the page; `{api}` becomes the origin of the API. */
  readonly policy?: string;
  /** Number of status requests to answer before the page counts as open. */
  readonly times?: number;
}

/** Options of the page's context, and a script to run before the page's scripts. */
type StageOptions = BrowserContextOptions & { readonly script?: string | (() => void) };

/** A stage with an open page, and the first responses of the API and of the site's copy of the status. */
export async function openStage(
  browser: Browser,
  html: string,
  answer: Answer = { status: 'up' },
  { policy = '', times = 1, fallback = 'drop', ...options }: StageOptions & Opening & { fallback?: Answer } = {},
): Promise<Stage> {
  const stage = await createStage(browser, options);
  stage.answer(answer);
  stage.answerFallback(fallback);
  await stage.open(html, { policy, times });
  return stage;
}

/** Initial time of the page's clock. */
export const pageTime = Date.UTC(2026, 10, 20);

/** Counts requests whose responses the page's scripts have not seen. Each ends in a task after that of the response. */
function countFetches(): void {
  const counted = Object.assign(window, { fetching: 0 });
  const [fetch, setTimeout] = [window.fetch.bind(window), window.setTimeout.bind(window)];
  const end = (): void => void setTimeout(() => (counted.fetching -= 1));
  window.fetch = async (...request) => {
    counted.fetching += 1;
    try {
      const response = await fetch(...request);
      const read = response.json.bind(response) as () => Promise<unknown>;
      response.json = () => read().finally(end);
      return response;
    } catch (error) {
      end();
      throw error;
    }
  };
}

const statusPath = '/v1/status';
const cors = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': 'Retry-After' };

function toFault(answer: Answer): Fault {
  if (typeof answer === 'string') return answer;
  const { headers, ...rest } =
    typeof answer.status === 'string' ? json(200, answer) : (answer as Exclude<Fault, string>);
  return { ...rest, headers: { ...headers, ...cors } };
}

/** Starts both servers and opens a page until the test ends. The page's clock advances only on command. */
export async function createStage(browser: Browser, { script, ...options }: StageOptions = {}) {
  const { script: body } = await compileStatusWidget();
  let answer: Answer = { status: 'up' };
  let html = '';
  let policy = '';
  const api = await createUpstream(() => ({
    status: 200,
    headers: { ...cors, 'Content-Type': 'application/javascript' },
    body,
  }));
  const fill = (text: string): string => text.replaceAll('{api}', api.url);
  const site = await createUpstream(() => ({
    status: 200,
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': fill(policy) },
    body: fill(html),
  }));
  const requestCount = (): number => api.seen.filter(({ path }) => path === statusPath).length;
  const page = await newPage(browser, { locale: 'en-GB', ...options });
  const errors: string[] = [];
  page.on('pageerror', ({ message }) => errors.push(message));
  onTestFinished(() => expect(errors).toEqual([]));
  await page.addInitScript(openShadowRoots);
  // At 0.5, the jitter of ±15 % is zero, so every delay is exactly the interval.
  await page.addInitScript('Math.random = () => 0.5');
  await page.addInitScript(countFetches);
  if (script) await page.addInitScript(script);
  await page.clock.install({ time: pageTime - 3_600_000 });
  await page.clock.pauseAt(pageTime);

  const settle = async (expected: number): Promise<void> => {
    await expect.poll(requestCount).toBeGreaterThanOrEqual(expected);
    // When the clock advances again, an open request would look like a hanging API.
    if (answer !== 'hang') await expect.poll(() => page.evaluate('fetching')).toBe(0);
  };
  const setAnswer = (next: Answer): void => {
    answer = next;
    api.fail(toFault(next), ({ path }) => path === statusPath);
  };
  const advance = async (ms: number, times = 0): Promise<void> => {
    const expected = requestCount() + times;
    await page.clock.runFor(ms);
    await settle(expected);
  };
  setAnswer(answer);
  return {
    page,
    site,
    api,
    /** Number of status requests that the API received. */
    requestCount,
    /** Sets the next responses of the API. */
    answer: setAnswer,
    /** Sets the next responses of the site's copy of the status. */
    answerFallback: (next: Answer) => site.fail(toFault(next), ({ path }) => path === '/status.json'),
    /** Sets the page of the site without opening it. */
    publish: (next: string) => (html = next),
    /**
     * Opens a page of the site and waits for the first responses. `{api}` in the HTML becomes the origin of the API.
     */
    async open(next: string, { policy: added = '', times = 1 }: Opening = {}) {
      [html, policy] = [next, added];
      const expected = requestCount() + times;
      await page.goto(site.url);
      await page.clock.runFor(1);
      await settle(expected);
    },
    /** Advances the page's clock, and waits until the API has answered `times` more requests. */
    advance,
    /** Advances the clock by the usual interval; the next poll gets this response. */
    async poll(next: Answer): Promise<void> {
      setAnswer(next);
      await advance(10_000, 1);
    },
    /** Reads the toast; its text is empty if it is hidden. */
    toast: () =>
      page.locator('service-status .box').evaluate((box) => {
        const { x, y, width, height } = box.getBoundingClientRect();
        const shown = box.querySelector('[role=status]') as HTMLElement;
        return { text: shown.innerText.replace(/\s+/g, ' ').trim(), box: { x, y, width, height } };
      }),
    /** Runs a function on an element of the widget; the result is passed as JSON. */
    inside: <Result>(selector: string, run: (element: HTMLElement) => Result) =>
      page.locator(`service-status ${selector}`).evaluate(run),
  };
}

/** Expects the toast to show this text soon. */
export async function expectToast(stage: Stage, text: string): Promise<void> {
  await expect.poll(async () => (await stage.toast()).text).toBe(text);
}
