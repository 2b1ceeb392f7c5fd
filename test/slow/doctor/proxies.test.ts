import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { examine } from '../../../server/doctor/visit.ts';
import { hastenPings } from '../../helpers/clock.ts';
import { findFreePort } from '../../helpers/free-port.ts';
import { findOwnAddress, resolveToLoopback } from '../../helpers/loopback.ts';
import { describeNginx } from '../../helpers/nginx.ts';
import type { RunNginx } from '../../helpers/nginx.ts';
import { serveShared } from '../../server/shared.ts';
import type { SharedApp } from '../../server/shared.ts';

/** The directives of a good proxy. */
const good = {
  proxy_http_version: '1.1',
  'proxy_set_header Host': '$http_host',
  'proxy_set_header X-Forwarded-For': '$remote_addr',
  'proxy_set_header Upgrade': '$http_upgrade',
  'proxy_set_header Connection': '$connection_upgrade',
  proxy_read_timeout: '90s',
  client_max_body_size: '64k',
};

interface Fault {
  /** Other directives of the location. */
  readonly location?: Readonly<Record<string, string>>;
  /** Other settings of the service; `PORT` is the port of the proxy. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The service pings streams every 30 s, not all the time. */
  readonly pings?: 'rare';
  /** The doctor comes from another address than loopback. */
  readonly host?: 'remote';
  /** The checks that find the fault. */
  readonly found: readonly string[];
}

const cache = { proxy_cache: 'answers', proxy_cache_key: '$request_uri', add_header: 'X-Cache $upstream_cache_status' };

const faults: Readonly<Record<string, Fault>> = {
  'no websockets': {
    location: { 'proxy_set_header Upgrade': '""', 'proxy_set_header Connection': '""' },
    found: ['console streams', 'address of streams'],
  },
  'silent streams are closed': { location: { proxy_read_timeout: '1s' }, pings: 'rare', found: ['address of streams'] },
  'the X-Forwarded-For of clients is passed on': {
    location: { 'proxy_set_header X-Forwarded-For': '$http_x_forwarded_for' },
    host: 'remote',
    found: ['TLS', 'forged X-Forwarded-For'],
  },
  'another compression': {
    location: { 'proxy_set_header Accept-Encoding': '$only_br', gzip: 'on', gzip_types: 'application/json' },
    found: ['encodings'],
  },
  'no addresses of clients': {
    location: { 'proxy_set_header X-Forwarded-For': '""' },
    found: ['addresses of clients'],
  },
  'a proxy that is not trusted': { settings: { TRUSTED_PROXIES: '192.0.2.1' }, found: ['addresses of clients'] },
  'compression by the proxy': {
    location: {
      'proxy_set_header Accept-Encoding': '""',
      gzip: 'on',
      gzip_types: 'application/json',
      gzip_proxied: 'any',
    },
    found: ['encodings'],
  },
  'a cache that ignores Vary': { location: { ...cache, proxy_ignore_headers: 'Vary' }, found: ['encodings'] },
  'a cache that ignores the query': {
    location: { ...cache, proxy_cache_key: '$uri' },
    found: ['queries are kept apart'],
  },
  'a cache that ignores no-store': {
    location: { ...cache, proxy_ignore_headers: 'Cache-Control', proxy_cache_valid: 'any 1m' },
    found: ['headers', 'no-store is not cached', 'Authorization', 'API key'],
  },
  'error pages of the proxy': {
    location: { proxy_intercept_errors: 'on', error_page: '404 =404 /page' },
    found: ['errors as described', 'headers'],
  },
  'no ETag': { location: { proxy_hide_header: 'ETag' }, found: ['ETag and 304'] },
  'no If-None-Match': {
    location: { 'proxy_set_header If-None-Match': '""' },
    found: ['ETag and 304'],
  },
  'CORS headers of the proxy': { location: { add_header: 'Access-Control-Allow-Origin * always' }, found: ['CORS'] },
  'OPTIONS answered by the proxy': {
    location: { 'if ($request_method = OPTIONS)': '{ return 200; }' },
    found: ['CORS'],
  },
  'refused methods': {
    location: { 'limit_except GET POST': '{ deny all; }' },
    found: ['CORS', 'methods'],
  },
  'no Authorization': {
    location: { 'proxy_set_header Authorization': '""' },
    found: ['Authorization', 'API key'],
  },
  'no Range': { location: { 'proxy_set_header Range': '""' }, found: ['media'] },
  'request ids of the proxy': { location: { 'proxy_set_header X-Request-Id': '$request_id' }, found: ['headers'] },
  'no nosniff header': { location: { proxy_hide_header: 'X-Content-Type-Options' }, found: ['headers'] },
  'refused bodies': { location: { client_max_body_size: '1k' }, found: ['request bodies'] },
  'refused encoded slashes': {
    location: { 'if ($request_uri ~* "%2F")': '{ return 404; }' },
    found: ['media'],
  },
  'paths that do not reach the service': {
    location: { 'if ($uri ~ "^/v1/(?:plans|domains)")': '{ return 404; }' },
    found: ['bodies as described', 'headers', 'ETag and 304', 'CORS', 'methods'],
  },
  'a wrong PUBLIC_URL': {
    settings: { PUBLIC_URL: 'https://api.elsewhere.example' },
    found: ['address of streams'],
  },
};

describeNginx((run) => {
  test('a good proxy has no fault', async () => {
    hastenPings();
    const { url, key } = await startProxy(run(), { found: [] });
    resolveToLoopback();
    const findings = await examine(new URL(url), key);
    expect(findings.filter(({ state }) => state === 'fault')).toEqual([]);
    // A loopback address needs no TLS, and is trusted as a proxy.
    const skipped = findings.filter(({ state }) => state === 'skipped').map(({ check }) => check);
    expect(skipped).toEqual(['TLS', 'forged X-Forwarded-For']);
  });

  test.for(Object.entries(faults))('%s: found, with a remedy', async ([, fault], context) => {
    const host = fault.host === 'remote' ? findOwnAddress(context) : 'localhost';
    if (fault.pings === undefined) hastenPings();
    const { url, key } = await startProxy(run(), fault);
    resolveToLoopback();
    const findings = await examine(new URL(url.replace('localhost', host)), key);
    const found = findings.filter(({ state }) => state === 'fault');
    expect(found.map(({ check }) => check)).toEqual(fault.found);
    for (const { advice } of found) expect(advice).toMatch(/\w{3}/);
  });
});

/** Starts the service behind an nginx with the fault. */
async function startProxy(run: RunNginx, { location, settings }: Fault): Promise<SharedApp> {
  const reserved = await findFreePort();
  const app = await serveShared({
    // Slow enough not to refill during a burst of requests on a busy machine.
    RATELIMIT_RPS: '5',
    RATELIMIT_BURST: '500',
    TRUSTED_PROXIES: '127.0.0.1,::1',
    PUBLIC_URL: `http://localhost:${reserved}`,
    ...settings,
  });
  const directives = { ...good, ...location };
  await run((folder, port) => configure(folder, port, `127.0.0.1:${app.port}`, directives), reserved);
  return { ...app, url: `http://localhost:${reserved}` };
}

function configure(folder: string, port: number, to: string, directives: Readonly<Record<string, string>>): string {
  writeFileSync(join(folder, 'page'), '<h1>Not found</h1>');
  const lines = Object.entries(directives).map(
    ([name, value]) => `${name} ${value}${value.startsWith('{') ? '' : ';'}`,
  );
  return `
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  map $http_accept_encoding $only_br { br br; default ''; }
  proxy_cache_path ${folder}/cache keys_zone=answers:1m;
  server {
    listen ${port};
    listen [::]:${port};
    location = /page { root ${folder}; types { } default_type text/html; }
    location / {
      proxy_pass http://${to};
      ${lines.join('\n      ')}
    }
  }
`;
}
