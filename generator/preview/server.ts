import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { mediaTypes } from '#contract/content.ts';
import { MediaPath } from '#contract/primitives.ts';
import { build } from 'esbuild';
import { renderArticle } from './article-page.ts';
import { html } from '../html.ts';
import { renderList } from './list.ts';
import { renderPage } from './page.ts';
import { titleOf } from './state.ts';
import type { PreviewState } from './state.ts';

/** A running preview. */
export interface Preview {
  /** Its address on this machine; the server forwards /preview to it. */
  readonly origin: string;
  /** Shows a new state in all open pages. */
  show(state: Omit<PreviewState, 'build'>): void;
  close(): Promise<void>;
}

/** A file or page. */
interface Answer {
  readonly status?: number;
  readonly type: string;
  /** A Content-Security-Policy of its own. */
  readonly policy?: string;
  readonly body: string | Buffer;
}

const headers = {
  'Cache-Control': 'no-cache',
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' https: data:; " +
    "media-src 'self' https:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** Serves the preview of articles on a free port of the loopback address: pages, and an event after each build. */
export async function openPreview(): Promise<Preview> {
  // Unlike any number of the process before, whose pages may still be open.
  let state: PreviewState = { build: Date.now(), articles: [], diagnostics: [], directory: undefined };
  const listeners = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    const url = URL.parse(request.url!, 'http://preview');
    // The server forwards with this Host. Any other is a name that an attacker resolves to this machine.
    if (!url || request.headers.host !== `127.0.0.1:${request.socket.localPort}`) {
      response.writeHead(400, headers).end();
      return;
    }
    const { pathname, searchParams } = url;
    if (pathname === '/preview/events') {
      response.writeHead(200, { ...headers, 'Content-Type': 'text/event-stream' });
      // A page may have been loaded before a build that it gets no event of.
      response.write(`retry: 500\n${toEvent(state)}`);
      listeners.add(response);
      response.on('close', () => listeners.delete(response));
      return;
    }
    const respond = async (): Promise<void> => {
      const { status = 200, type, policy, body } = (await files[pathname]?.()) ?? answer(state, pathname, searchParams);
      response
        .writeHead(status, {
          ...headers,
          ...(policy && { 'Content-Security-Policy': policy }),
          'Content-Type': `${type}; charset=utf-8`,
        })
        .end(body);
    };
    // A page that cannot be rendered must not end dev.
    respond().catch((error: Error) => response.writeHead(500, headers).end(`${error.message}\n`));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    show(next) {
      state = { ...next, build: state.build + 1 };
      for (const listener of listeners) listener.write(toEvent(state));
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function toEvent({ build: number }: PreviewState): string {
  return `event: build\ndata: ${number}\n\n`;
}

const folder = join(import.meta.dirname, 'browser');
let script: Promise<string> | undefined;

const files: Partial<Record<string, () => Answer | Promise<Answer>>> = {
  '/preview/preview.css': () => ({ type: 'text/css', body: readFileSync(join(folder, 'preview.css'), 'utf8') }),
  '/preview/preview.js': async () => ({ type: 'text/javascript', body: await (script ??= compileScript()) }),
};

async function compileScript(): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: ['main.ts'],
    bundle: true,
    write: false,
    format: 'iife',
    tsconfigRaw: {},
    logLevel: 'silent',
  });
  return outputFiles[0]!.text;
}

function answer(state: PreviewState, pathname: string, query: URLSearchParams): Answer {
  // Pictures come from here, since the server loads a release a moment after the pages show it.
  const media = pathname.slice('/preview'.length);
  if (state.directory !== undefined && MediaPath.safeParse(media).success) {
    const file = join(state.directory, 'public', media);
    const policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";
    if (existsSync(file)) return { type: mediaTypes[extname(media).slice(1)]!, policy, body: readFileSync(file) };
  }
  const type = 'text/html';
  if (pathname === '/preview') return { type, body: renderPage('Articles', renderList(state, query), state) };
  const path = pathname.replace(/^\/preview/, '');
  const article = state.articles.find((other) => other.path === path);
  if (article) return { type, body: renderPage(titleOf(article), renderArticle(article, state), state) };
  const main = html`<h1>Not found</h1>
    <p>There is no article <code>${path}</code>.</p>`;
  return { status: 404, type, body: renderPage('Not found', main, state) };
}
