import { handle } from '../http/handle.ts';
import { toStoredJson } from '../http/stored.ts';
import type { StoredFile } from '../http/stored.ts';
import type { OpenDomains } from './service.ts';

/** The routes of the domain search. */
export function domainRoutes(domains: OpenDomains) {
  let cached: { tlds: unknown; file: StoredFile } | undefined;
  return {
    listDomainTlds: handle('listDomainTlds', async () => {
      await domains.ready();
      const tlds = domains.list();
      // Rendered when prices change, and served like a file.
      if (cached?.tlds !== tlds) cached = { tlds, file: toStoredJson({ success: true, tlds }) };
      return cached.file;
    }),
    searchDomain: handle('searchDomain', async ({ query }) => {
      await domains.ready();
      const { body, unicode } = await domains.search(query.domain);
      const isIdn = unicode !== body.domain;
      return { status: 200, body, headers: isIdn ? { 'X-Domain-Unicode': encodeURIComponent(unicode) } : {} };
    }),
  };
}
