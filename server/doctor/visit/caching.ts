import { setTimeout as sleep } from 'node:timers/promises';
import { fault, ok, skipped } from '../finding.ts';
import type { Check } from './types.ts';

const target = '/v1/plans';

/** Whether a browser that has a file is answered 304. */
export const conditional: Check = {
  name: 'ETag and 304',
  async run({ visit }) {
    const full = await visit(target);
    const etag = full.header('etag');
    if (etag === '') {
      return fault(`${target} has no ETag`, 'let the proxy keep it (nginx: no proxy_hide_header; gzip off for /v1)');
    }
    if (etag.startsWith('W/')) {
      return fault('the ETag is weak', 'the proxy changes the body: switch off its own compression for /v1');
    }
    if (!full.header('cache-control').includes('max-age=')) {
      return fault(`${target} has no max-age`, 'let the proxy keep Cache-Control of the service');
    }
    const again = await visit(target, { headers: { 'If-None-Match': etag } });
    if (again.status === 304 && again.bytes.length === 0) return ok('304 without a body');
    return fault(
      `If-None-Match is answered ${again.status}`,
      'pass on If-None-Match (nginx: proxy_set_header If-None-Match $http_if_none_match)',
    );
  },
};

/** Whether answers that are made for one client are made each time. */
export const neverCached: Check = {
  name: 'no-store is not cached',
  async run({ visit }) {
    const ids: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      // oxlint-disable-next-line no-await-in-loop
      const { header } = await visit('/v1/info');
      ids.push(header('x-request-id'));
      if (header('cache-control') !== 'no-store') {
        return fault(
          `/v1/info has Cache-Control ${header('cache-control') || 'missing'}`,
          'let the proxy keep no-store',
        );
      }
    }
    if (ids[0] === '' || new Set(ids).size === ids.length) return ok('each answer is a new one');
    return fault(
      '/v1/info comes from a cache',
      'let the cache obey Cache-Control (nginx: no proxy_ignore_headers, no proxy_cache_valid any; a CDN: "respect origin")',
    );
  },
};

/** Whether a cache keeps answers to different queries apart. */
export const cachedByQuery: Check = {
  name: 'queries are kept apart',
  async run({ visit, articles: [one, other] }) {
    if (one === undefined || other === undefined) return skipped('it takes two articles');
    await visit(one);
    const { path } = ((await visit(other)).json() ?? {}) as { path?: unknown };
    if (path === pathIn(other)) return ok('two articles');
    const seen = path === pathIn(one) ? 'one article is answered with another' : 'an article is not answered';
    return fault(
      seen,
      'the query belongs to the key of the cache (nginx: $request_uri in proxy_cache_key) and to the request',
    );
  },
};

const pathIn = (given: string): string => given.slice(given.indexOf('=') + 1);

/** Whether all instances behind a load balancer have the same release. */
export const oneRelease: Check = {
  name: 'one release',
  async run({ visit }) {
    const read = async (): Promise<string> => (await visit(`${target}?doctor=${Math.random()}`)).header('etag');
    const count = async (): Promise<number> => new Set(await Promise.all(Array.from({ length: 8 }, read))).size;
    if ((await count()) === 1) return ok('8 answers with one ETag');
    // A new release reaches the instances one after another.
    await sleep(5000);
    const versions = await count();
    if (versions === 1) return ok('8 answers with one ETag, after a change');
    return fault(
      `${versions} versions of ${target}`,
      'the instances serve different releases: publish to each of them',
    );
  },
};
