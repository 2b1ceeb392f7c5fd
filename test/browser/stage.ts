import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Browser, BrowserContextOptions, Page, Request } from 'playwright-core';
import { expect, onTestFinished, vi } from 'vitest';
import { compileStatusWidget } from '../../generator/release/status-widget.ts';

/** What the API answers: JSON with 200, something else, or no answer at all. */
export type Answer =
  | object
  | { readonly code: number; readonly headers?: Record<string, string>; readonly text?: string }
  | 'down'
  | 'hang';

/** A site and, on another origin, the API whose widget it embeds; and a page of the site in a real browser. */
export interface Stage {
  readonly page: Page;
  readonly site: string;
  readonly api: string;
  /** How often the API was asked for the status. */
  asked(): number;
  /** What the API answers from now on. */
  answer(answer: Answer): void;
  /** What the site's own copy of the status answers from now on. */
  answerFallback(answer: Answer): void;
  /** The paths that the site was asked for. */
  readonly visited: readonly string[];
  /** Lets the site have this page, without opening it. */
  publish(html: string): void;
  /** Opens a page of the site, whose `{api}` stands for the origin of the API, and waits for its first answer. */
  open(html: string, options?: { headers?: Record<string, string>; times?: number }): Promise<void>;
  /** Turns the clock of the page, and waits until the API was asked `times` more and has answered. */
  pass(ms: number, times?: number): Promise<void>;
  /** What the toast shows. */
  toast(): Promise<Toast>;
  /** Runs a function on an element inside the closed shadow root, and answers with its JSON. */
  inside<Result>(selector: string, run: (element: HTMLElement) => Result): Promise<Result>;
}

/** The toast as it is seen. */
export interface Toast {
  /** Empty while nothing is shown. */
  readonly text: string;
  readonly box: { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
}

/** The usual way to embed the widget, with attributes. */
export function embed(attributes = ''): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Site</title><h1>Site</h1>
    <p><button id="own">Own button</button> Text of the site.</p>
    <script src="{api}/v1/service-status.js" ${attributes}></script></html>`;
}

/** Sets the stage until the test ends; the clock of its page goes on by itself, and can be turned. */
export async function createStage(browser: Browser, options: BrowserContextOptions = {}): Promise<Stage> {
  const { script } = await compileStatusWidget();
  let answer: Answer = { status: 'up' };
  let fallback: Answer = 'down';
  let html = '';
  let headers: Record<string, string> = {};
  let asked = 0;
  const visited: string[] = [];
  const api = await serve((request, response) => {
    response.setHeader('Access-Control-Allow-Origin', '*');
    response.setHeader('Access-Control-Expose-Headers', 'Retry-After');
    if (request.url === '/v1/service-status.js') {
      response.setHeader('Content-Type', 'application/javascript').end(script);
    } else {
      asked += 1;
      give(request, response, answer);
    }
  });
  const site = await serve((request, response) => {
    visited.push(request.url!);
    if (request.url === '/status.json') return give(request, response, fallback);
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', ...headers });
    response.end(html.replaceAll('{api}', api));
  });
  const context = await browser.newContext({ locale: 'en-GB', ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  // Every delay is then the interval to the millisecond, as 15 % less and 15 % more meet at a half.
  await context.addInitScript('Math.random = () => 0.5');
  await page.clock.install();

  const pending = new Set<Request>();
  page.on('request', (request) => pending.add(request));
  page.on('requestfinished', (request) => pending.delete(request));
  page.on('requestfailed', (request) => pending.delete(request));
  // What is not answered yet would look like a hanging API to the next turn of the clock.
  const settle = async (expected: number): Promise<void> => {
    await vi.waitFor(() => {
      if (asked < expected) throw new Error(`asked ${asked} times instead of ${expected}`);
      if (answer !== 'hang' && pending.size > 0) throw new Error('there are requests without an answer');
    }, 5000);
    // From the last byte to what the widget makes of it.
    await delay(20);
  };

  const stage: Stage = {
    page,
    site,
    api,
    asked: () => asked,
    answer: (next) => (answer = next),
    answerFallback: (next) => (fallback = next),
    visited,
    publish: (next) => (html = next),
    async open(next, { headers: added = {}, times = 1 } = {}) {
      [html, headers] = [next, added];
      const expected = asked + times;
      await page.goto(site);
      await settle(expected);
    },
    async pass(ms, times = 0) {
      const expected = asked + times;
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
        // The shadow root is closed to scripts, but not to the tools of a developer.
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

/** Waits until the toast shows this text, or fails. */
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

function give(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  if (answer === 'hang') return;
  if (answer === 'down') {
    request.socket.destroy();
  } else if ('code' in answer) {
    response.writeHead(answer.code, answer.headers).end(answer.text);
  } else {
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(answer));
  }
}
