import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';

const folder = import.meta.dirname;
const port = Number(process.env.PORT ?? 8080);

/** The page of each address; all articles share one. */
const pages: readonly [RegExp, string][] = [
  [/^\/$/, 'index.html'],
  [/^\/(?:blog|knowledgebase)\/[\w-]+\/[\w-]+$/, 'article.html'],
  [/^\/(blog|knowledgebase|plans|domains|status)$/, '$1.html'],
  [/^\/((?:scripts|images)\/[\w-]+\.(?:js|svg)|site\.css)$/, '$1'],
];

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The address of the API in parts/head.html, and the one to write in its place. */
const written = /name="api" content="(.*?)"/.exec(await readFile(join(folder, 'parts/head.html'), 'utf8'))![1]!;
const api = (process.env.API_URL ?? written).replace(/\/$/, '');
const { origin } = new URL(api);

const securityHeaders = {
  // Scripts and styles come from this site and the API only; no inline ones, and no HTML from text but that of articles.
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

/** What web servers call server-side includes. */
const include = /<!--#include virtual="\/(parts\/\w+\.html)" -->/g;

/** Reads a file, with the parts that it includes. */
async function readPage(file: string): Promise<string> {
  const text = await readFile(join(folder, file), 'utf8');
  if (extname(file) !== '.html') return text;
  const names = [...text.matchAll(include)].map(([, name]) => name!);
  const parts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return text.replaceAll(include, () => parts.shift()!.trim()).replaceAll(written, api);
}

/** Returns the file that an address shows, and its text; undefined if there is none. */
async function readAddress(url: string): Promise<{ file: string; text: string } | undefined> {
  const path = URL.parse(url, 'http://localhost')?.pathname ?? '';
  const page = pages.find(([pattern]) => pattern.test(path));
  if (!page) return undefined;
  const file = path.replace(...page);
  const text = await readPage(file).catch(() => undefined);
  return text === undefined ? undefined : { file, text };
}

const server = createServer((request, response) => void answer(request, response));

async function answer({ url = '/' }: IncomingMessage, response: ServerResponse): Promise<void> {
  const found = await readAddress(url);
  const { file, text } = found ?? { file: '404.html', text: await readPage('404.html') };
  const headers = { 'Content-Type': types[extname(file)], 'Cache-Control': 'no-cache', ...securityHeaders };
  response.writeHead(found ? 200 : 404, headers).end(text);
}

server.listen(port, '127.0.0.1', () => {
  const { port: chosen } = server.address() as { port: number };
  console.log(`http://localhost:${chosen} shows the API at ${api}`);
});
