import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';

// Serves the browser console for the API at API_URL. CORS_ORIGINS of the API must contain the origin of this page.
const api = new URL(process.env.API_URL ?? 'http://localhost:3000');
const port = Number(process.env.PORT ?? 8081);

const own = (name: string): string => `${import.meta.dirname}/${name}`;
/** File and media type by path. */
const files: Readonly<Record<string, readonly [string, string]>> = {
  '/': [own('index.html'), 'text/html; charset=utf-8'],
  '/page.js': [own('page.js'), 'text/javascript; charset=utf-8'],
  '/console.js': [own('console.js'), 'text/javascript; charset=utf-8'],
  '/stream.js': [own('stream.js'), 'text/javascript; charset=utf-8'],
  '/console.css': [own('console.css'), 'text/css; charset=utf-8'],
  '/page.css': [own('page.css'), 'text/css; charset=utf-8'],
};

const headers = {
  // Only these files can run, and the key can be sent only to the API.
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    'img-src data:',
    `connect-src ${api.origin} ${api.origin.replace(/^http/, 'ws')}`,
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "require-trusted-types-for 'script'; trusted-types 'none'",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-cache',
};

const server = createServer(({ url = '/' }, response) => void answer(url, response));

async function answer(url: string, response: ServerResponse): Promise<void> {
  const file = files[url.split('?')[0]!];
  if (!file) return void response.writeHead(404, headers).end('not found\n');
  const [path, type] = file;
  const text = await readFile(path, 'utf8');
  const body = path.endsWith('.html') ? text.replace('http://localhost:3000', api.origin) : text;
  response.writeHead(200, { 'Content-Type': type, ...headers }).end(body);
}

server.listen(port, '127.0.0.1', () => {
  const { port: chosen } = server.address() as { port: number };
  console.log(`http://localhost:${chosen} shows consoles of the API at ${api.origin}`);
});
