import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { mediaTypes } from '#contract/articles.ts';
import { MediaPath } from '#contract/primitives.ts';
import { build } from 'esbuild';
import { CommandError } from '../common/command-line.ts';
import type { Environment } from '../common/environment.ts';
import { renderPreview } from './pages.ts';
import type { PreviewState } from './pages.ts';

export type Preview = Awaited<ReturnType<typeof openPreview>>;

const headers = {
  'Cache-Control': 'no-cache',
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' https: data:; " +
    "media-src 'self' https:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** The names of editors by the scheme of their links; their commands lack the `vs`. */
const editors = { vscode: 'VS Code', vscodium: 'VSCodium', cursor: 'Cursor', windsurf: 'Windsurf', zed: 'Zed' };

/** Finds the editor in VISUAL or EDITOR; by default VS Code, for which the project has tasks and schemas. */
function findEditor({ VISUAL, EDITOR, WSL_DISTRO_NAME: linux }: Environment): PreviewState['editor'] {
  const words = (VISUAL || EDITOR || '').split(/\W+/);
  const own = Object.entries(editors).find(([scheme]) => words.includes(scheme.replace(/^vs/, '')));
  const [scheme, name] = own ?? ['vscode', 'VS Code'];
  // The browser may run in Windows, beside a Linux with the files.
  return { name, url: `${scheme}://${linux ? `vscode-remote/wsl+${linux}` : 'file'}` };
}

/** Serves the preview on a free loopback port, with an event to open pages after each build. */
export async function openPreview(environment: Environment) {
  // Unlike the build numbers of an earlier process, whose pages may still be open.
  let state: PreviewState = { build: Date.now(), articles: [], diagnostics: [], directory: undefined };
  const editor = findEditor(environment);
  const toEvent = (): string => `event: build\ndata: ${state.build}\n\n`;
  const listeners = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    const url = URL.parse(request.url!, 'http://preview');
    // The server forwards requests with this Host. Another Host may be an attack by DNS rebinding.
    if (!url || request.headers.host !== `127.0.0.1:${request.socket.localPort}`) {
      response.writeHead(400, headers).end();
      return;
    }
    if (url.pathname === '/preview/events') {
      response.writeHead(200, { ...headers, 'Content-Type': 'text/event-stream' });
      // The page may have missed the event of a build since it was loaded.
      response.write(`retry: 500\n${toEvent()}`);
      listeners.add(response);
      response.on('close', () => listeners.delete(response));
      return;
    }
    const respond = async (): Promise<void> => {
      const { status, type, policy, body } = await answer(state, url);
      const own = { ...(policy && { 'Content-Security-Policy': policy }), 'Content-Type': `${type}; charset=utf-8` };
      response.writeHead(status, { ...headers, ...own }).end(body);
    };
    // A page that fails to render must not end dev.
    respond().catch((error: Error) => response.writeHead(500, headers).end(`${error.message}\n`));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening').catch(({ code }: NodeJS.ErrnoException) => {
    throw new CommandError(`the preview cannot listen on 127.0.0.1 (${code}): set up the loopback interface`);
  });
  // An error before the first build ends dev.
  server.unref();
  const { port } = server.address() as AddressInfo;
  return {
    /** The loopback address; the server forwards /preview to it. */
    origin: `http://127.0.0.1:${port}`,
    /** Updates all open pages. */
    show(next: Omit<PreviewState, 'build' | 'editor'>): void {
      state = { ...next, editor, build: state.build + 1 };
      for (const listener of listeners) listener.write(toEvent());
    },
    close(): void {
      server.close();
      server.closeAllConnections();
    },
  };
}

const folder = join(import.meta.dirname, 'browser');
let script: Promise<string> | undefined;

/** Makes a response; `policy` replaces the default Content-Security-Policy. */
async function answer(state: PreviewState, { pathname, searchParams }: URL) {
  const path = pathname.replace(/^\/preview/, '');
  if (path === '/preview.css')
    return { status: 200, type: 'text/css', body: readFileSync(join(folder, 'preview.css')) };
  if (path === '/preview.js') return { status: 200, type: 'text/javascript', body: await (script ??= compileScript()) };
  // Pictures are served here, because the server loads a release shortly after the pages show it.
  if (state.directory !== undefined && MediaPath.safeParse(path).success) {
    const file = join(state.directory, 'public', path);
    const policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";
    const type = mediaTypes[extname(path).slice(1)]!;
    if (existsSync(file)) return { status: 200, type, policy, body: readFileSync(file) };
  }
  return { type: 'text/html', ...renderPreview(state, path, searchParams) };
}

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
