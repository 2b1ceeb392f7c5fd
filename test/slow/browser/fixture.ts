import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { expect, onTestFinished, vi } from 'vitest';
import { compileStatusWidget } from '../../../generator/static-files.ts';
import { serve } from '../../helpers/upstream.ts';

/** A response of the API: JSON with 200, another response, a closed connection, or none at all. */
export type Answer =
  | object
  | { readonly code: number; readonly headers?: Record<string, string>; readonly text?: string }
  | 'down'
  | 'hang';

/** A page that embeds the widget the usual way, with attributes. */
export function embed(attributes = ''): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Site</title><h1>Site</h1>
    <p><button id="own">Own button</button> Text of the site.</p>
    <script src="{api}/v1/service-status.js" ${attributes}></script></html>`;
}

/** The fixture of one test: a site, the API on another origin whose widget it embeds, and a page in a real browser. */
type Stage = Awaited<ReturnType<typeof createStage>>;

/** A stage whose page is open, with the first response of the API. */
export async function openStage(
  browser: Browser,
  html: string,
  answer: Answer = { status: 'up' },
  options: BrowserContextOptions = {},
): Promise<Stage> {
  const stage = await createStage(browser, options);
  stage.answer(answer);
  await stage.open(html);
  return stage;
}

/** The `vi.waitFor` options of what happens soon; the timeout only limits failing tests. */
export const eventually = { timeout: 120_000, interval: 20 };

/** What the clock of a page says when it opens. */
export const pageTime = Date.UTC(2026, 10, 20);

/** Counts the requests of a page whose answers its scripts have not seen. Each ends in a task after that of the answer. */
const countFetches = `
  Object.assign(window, { fetching: 0 });
  const { fetch, setTimeout } = window;
  const end = () => void setTimeout(() => (window.fetching -= 1));
  window.fetch = async (...request) => {
    window.fetching += 1;
    try {
      const response = await fetch(...request);
      const read = response.json.bind(response);
      response.json = () => read().finally(end);
      return response;
    } catch (error) {
      end();
      throw error;
    }
  };`;

/** Starts both servers and opens a page until the test ends. The clock of the page stands, and is advanced. */
export async function createStage(browser: Browser, options: BrowserContextOptions = {}) {
  const { script } = await compileStatusWidget();
  let answer: Answer = { status: 'up' };
  let fallback: Answer = 'down';
  let html = '';
  let headers: Record<string, string> = {};
  let requestCount = 0;
  const visited: string[] = [];
  const api = await serve((request, response) => {
    response.setHeader('Access-Control-Allow-Origin', '*');
    response.setHeader('Access-Control-Expose-Headers', 'Retry-After');
    if (request.url === '/v1/service-status.js') {
      response.setHeader('Content-Type', 'application/javascript').end(script);
    } else {
      requestCount += 1;
      respond(request, response, answer);
    }
  });
  const site = await serve((request, response) => {
    visited.push(request.url!);
    if (request.url === '/status.json') return respond(request, response, fallback);
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', ...headers });
    response.end(html.replaceAll('{api}', api));
  });
  const context = await browser.newContext({ locale: 'en-GB', ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  // At 0.5, the jitter of ±15 % is zero, so that every delay is exactly the interval.
  await context.addInitScript('Math.random = () => 0.5');
  await context.addInitScript(`{${countFetches}}`);
  await page.clock.install({ time: pageTime - 3_600_000 });
  await page.clock.pauseAt(pageTime);

  const settle = async (expected: number): Promise<void> => {
    await vi.waitFor(async () => {
      if (requestCount < expected) throw new Error(`${requestCount} requests instead of ${expected}`);
      // An open request would look like a hanging API when the clock is advanced again.
      if (answer !== 'hang' && (await page.evaluate('fetching')) !== 0)
        throw new Error('there are requests without a response');
    }, eventually);
  };

  const advance = async (ms: number, times = 0): Promise<void> => {
    const expected = requestCount + times;
    await page.clock.runFor(ms);
    await settle(expected);
  };
  const stage = {
    page,
    site,
    api,
    /** How many requests for the status the API received. */
    requestCount: () => requestCount,
    /** Sets the next responses of the API. */
    answer: (next: Answer) => (answer = next),
    /** Sets the next responses of the site's own copy of the status. */
    answerFallback: (next: Answer) => (fallback = next),
    /** The paths of the requests to the site. */
    visited,
    /** Sets the page of the site without opening it. */
    publish: (next: string) => (html = next),
    /** Opens a page of the site and waits for the first responses. `{api}` in the HTML becomes the origin of the API. */
    async open(
      next: string,
      { headers: added = {}, times = 1 }: { headers?: Record<string, string>; times?: number } = {},
    ) {
      [html, headers] = [next, added];
      const expected = requestCount + times;
      await page.goto(site);
      await page.clock.runFor(1);
      await settle(expected);
    },
    /** Advances the clock of the page, and waits until the API has answered `times` more requests. */
    advance,
    /** Advances the clock by the usual interval; the next poll gets this response. */
    async poll(next: Answer): Promise<void> {
      answer = next;
      await advance(10_000, 1);
    },
    /** Reads the toast; its text is empty if it is hidden. */
    toast: () =>
      stage.inside('.box', (box) => {
        const { x, y, width, height } = box.getBoundingClientRect();
        const shown = box.querySelector('[role=status]') as HTMLElement;
        return { text: shown.innerText.replace(/\s+/g, ' ').trim(), box: { x, y, width, height } };
      }),
    /** Runs a function on an element of the widget, as {@link insideWidget} does. */
    inside: <Result>(selector: string, run: (element: HTMLElement) => Result) => insideWidget(page, selector, run),
  };
  return stage;
}

/** Runs a function on an element inside the closed shadow root of the widget, and returns its result through JSON. */
export async function insideWidget<Result>(
  page: Page,
  selector: string,
  run: (element: HTMLElement) => Result,
): Promise<Result> {
  const session = await page.context().newCDPSession(page);
  try {
    // Scripts cannot read a closed shadow root, but the DevTools protocol can.
    const { root } = await session.send('DOM.getDocument', { depth: -1, pierce: true });
    const host = findNode(root, 'service-status');
    const nodeId = host?.shadowRoots?.[0]?.nodeId;
    if (nodeId === undefined) throw new Error('the page has no widget');
    const found = await session.send('DOM.querySelector', { nodeId, selector });
    const { object } = await session.send('DOM.resolveNode', { nodeId: found.nodeId });
    const { result, exceptionDetails } = await session.send('Runtime.callFunctionOn', {
      objectId: object.objectId!,
      functionDeclaration: `function () { return (${run.toString()})(this); }`,
      returnByValue: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description);
    return result.value as Result;
  } finally {
    await session.detach();
  }
}

/** Expects the toast to show this text soon. */
export async function expectToast(stage: Stage, text: string): Promise<void> {
  await vi.waitFor(async () => expect((await stage.toast()).text).toBe(text), eventually);
}

interface DomNode {
  readonly nodeId: number;
  readonly localName: string;
  readonly children?: DomNode[];
  readonly shadowRoots?: DomNode[];
}

function findNode(node: DomNode, name: string): DomNode | undefined {
  if (node.localName === name) return node;
  for (const child of node.children ?? []) {
    const found = findNode(child, name);
    if (found) return found;
  }
  return undefined;
}

function respond(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  if (answer === 'hang') return;
  if (answer === 'down') {
    request.socket.destroy();
  } else if ('code' in answer) {
    response.writeHead(answer.code, answer.headers).end(answer.text);
  } else {
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(answer));
  }
}
