import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = import.meta.dirname;
const port = Number(process.env.PORT ?? 8080);

/** Pages by URL; all articles share one page. */
const pages: readonly [RegExp, string][] = [
  [/^\/$/, 'index.html'],
  [/^\/(?:blog|knowledgebase)\/[\w-]+\/[\w-]+$/, 'article.html'],
  [/^\/(blog|knowledgebase|plans|domains|status)$/, '$1.html'],
  // The search runs in the browser, with the library that made the index.
  [/^\/scripts\/minisearch\.js$/, fileURLToPath(import.meta.resolve('minisearch'))],
  [/^\/((?:scripts|images)\/[\w-]+\.(?:jpg|js|svg)|site\.css)$/, '$1'],
];

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.jpg': 'image/jpeg',
  '.svg': 'image/svg+xml',
};

/** The API's address in parts/head.html, and its replacement. */
const written = /name="api" content="(.*?)"/.exec(await readFile(join(folder, 'parts/head.html'), 'utf8'))![1]!;
const api = (process.env.API_URL ?? written).replace(/\/$/, '');
const { origin } = new URL(api);

const securityHeaders = {
  // Allow scripts and styles only from this site and the API, nothing inline, and no HTML from text except articles.
  'Content-Security-Policy': [
    "default-src 'none'",
    `script-src 'self' ${origin}`,
    `style-src 'self' ${origin}`,
    `img-src 'self' ${origin}`,
    `media-src ${origin}`,
    `connect-src ${origin}`,
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "require-trusted-types-for 'script'; trusted-types article",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'strict-origin-when-cross-origin',
};

/** Server-side includes. */
const include = /<!--#include virtual="\/(parts\/\w+\.html)" -->/g;

/** Reads a file and resolves its includes. */
async function readPage(file: string): Promise<string | Buffer> {
  const bytes = await readFile(resolve(folder, file));
  if (extname(file) !== '.html') return bytes;
  const text = bytes.toString();
  const names = [...text.matchAll(include)].map(([, name]) => name!);
  const parts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return text.replaceAll(include, () => parts.shift()!.trim()).replaceAll(written, api);
}

/** Resolves a URL to its file and content; undefined if there is no such page. */
async function readAddress(url: string): Promise<{ file: string; body: string | Buffer } | undefined> {
  const path = URL.parse(url, 'http://localhost')?.pathname ?? '';
  const page = pages.find(([pattern]) => pattern.test(path));
  if (!page) return undefined;
  const file = path.replace(...page);
  const body = await readPage(file).catch(() => undefined);
  return body === undefined ? undefined : { file, body };
}

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    console.error(error);
    response.writeHead(500).end();
  });
});

async function answer({ url = '/' }: IncomingMessage, response: ServerResponse): Promise<void> {
  const found = await readAddress(url);
  // Former paths may be any path without a page.
  const moved = found && found.file !== 'article.html' ? undefined : await findMoved(url);
  if (moved !== undefined) return void response.writeHead(301, { Location: moved, ...securityHeaders }).end();
  const { file, body } = found ?? { file: '404.html', body: await readPage('404.html') };
  const headers = { 'Content-Type': types[extname(file)], 'Cache-Control': 'no-cache', ...securityHeaders };
  response.writeHead(found ? 200 : 404, headers).end(body);
}

/** Looks up the current path of an article by a former path, which is decoded and has no slash at the end. */
async function findMoved(url: string): Promise<string | undefined> {
  const moved = await readRedirects();
  let path = URL.parse(url, 'http://localhost')?.pathname.replace(/\/$/, '') ?? '';
  try {
    path = decodeURIComponent(path).normalize('NFC');
  } catch {}
  return Object.hasOwn(moved, path) ? moved[path] : undefined;
}

let redirects: Promise<Record<string, string>> | undefined;

/** Reads the former paths of articles, once a minute. If that fails, the article page itself handles the new path. */
function readRedirects(): Promise<Record<string, string>> {
  if (redirects) return redirects;
  setTimeout(() => (redirects = undefined), 60_000).unref();
  redirects = fetch(`${api}/v1/redirects.json`, { signal: AbortSignal.timeout(2000) })
    .then(async (reply) => (reply.ok ? ((await reply.json()) as Record<string, string> | null) : null) ?? {})
    .catch(() => ({}));
  return redirects;
}

server.listen(port, '127.0.0.1', () => {
  const { port: chosen } = server.address() as { port: number };
  console.log(`http://localhost:${chosen} shows the API at ${api}`);
});
