import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, BrowserContextOptions, Page, Request } from 'playwright-core';
import { expect, onTestFinished, vi } from 'vitest';
import { compileStatusWidget } from '../../../generator/release/status-widget.ts';

/** A response of the API: JSON with 200, another response, a closed connection, or none at all. */
export type Answer =
  | object
  | { readonly code: number; readonly headers?: Record<string, string>; readonly text?: string }
  | 'down'
  | 'hang';

/** The fixture of one test: a site, the API on another origin whose widget it embeds, and a page in a real browser. */
export interface Stage {
  readonly page: Page;
  readonly site: string;
  readonly api: string;
  /** How many requests for the status the API received. */
  requestCount(): number;
  /** Sets the next responses of the API. */
  answer(answer: Answer): void;
  /** Sets the next responses of the site's own copy of the status. */
  answerFallback(answer: Answer): void;
  /** The paths of the requests to the site. */
  readonly visited: readonly string[];
  /** Sets the page of the site without opening it. */
  publish(html: string): void;
  /** Opens a page of the site and waits for the first responses. `{api}` in the HTML becomes the origin of the API. */
  open(html: string, options?: { headers?: Record<string, string>; times?: number }): Promise<void>;
  /** Advances the clock of the page, and waits until the API has answered `times` more requests. */
  advance(ms: number, times?: number): Promise<void>;
  /** Reads the toast. */
  toast(): Promise<Toast>;
  /** Runs a function on an element inside the closed shadow root, and returns its result through JSON. */
  inside<Result>(selector: string, run: (element: HTMLElement) => Result): Promise<Result>;
}

/** The visible toast. */
export interface Toast {
  /** Empty if the toast is hidden. */
  readonly text: string;
  readonly box: { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
}

/** A page that embeds the widget the usual way, with attributes. */
export function embed(attributes = ''): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Site</title><h1>Site</h1>
    <p><button id="own">Own button</button> Text of the site.</p>
    <script src="{api}/v1/service-status.js" ${attributes}></script></html>`;
}

/** Starts both servers and opens a page until the test ends. The clock of the page runs, and can be advanced. */
export async function createStage(browser: Browser, options: BrowserContextOptions = {}): Promise<Stage> {
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
  await page.clock.install();

  const pending = new Set<Request>();
  page.on('request', (request) => pending.add(request));
  page.on('requestfinished', (request) => pending.delete(request));
  page.on('requestfailed', (request) => pending.delete(request));
  // An open request would look like a hanging API when the clock is advanced again.
  const settle = async (expected: number): Promise<void> => {
    await vi.waitFor(() => {
      if (requestCount < expected) throw new Error(`${requestCount} requests instead of ${expected}`);
      if (answer !== 'hang' && pending.size > 0) throw new Error('there are requests without a response');
    }, 5000);
    // The widget renders a moment after the last byte.
    await delay(20);
  };

  const stage: Stage = {
    page,
    site,
    api,
    requestCount: () => requestCount,
    answer: (next) => (answer = next),
    answerFallback: (next) => (fallback = next),
    visited,
    publish: (next) => (html = next),
    async open(next, { headers: added = {}, times = 1 } = {}) {
      [html, headers] = [next, added];
      const expected = requestCount + times;
      await page.goto(site);
      await settle(expected);
    },
    async advance(ms, times = 0) {
      const expected = requestCount + times;
      await page.clock.runFor(ms);
      await settle(expected);
    },
    toast: () =>
      stage.inside('.box', (box) => {
        const { x, y, width, height } = box.getBoundingClientRect();
        const shown = box.querySelector('[role=status]') as HTMLElement;
        return { text: shown.innerText.replace(/\s+/g, ' ').trim(), box: { x, y, width, height } };
      }),
    async inside<Result>(selector: string, run: (element: HTMLElement) => Result): Promise<Result> {
      const session = await context.newCDPSession(page);
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
    },
  };
  return stage;
}

/** Expects the toast to show this text soon. */
export async function expectToast(stage: Stage, text: string): Promise<void> {
  await vi.waitFor(async () => expect((await stage.toast()).text).toBe(text), 5000);
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

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
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
