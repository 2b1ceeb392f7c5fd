import { handle } from '../http/handle.ts';
import { toStoredJson } from '../http/stored.ts';
import type { StoredFile } from '../http/stored.ts';
import type { Domains } from './service.ts';

/** The routes of the domain search. */
export function domainRoutes(domains: Domains) {
  let made: { from: unknown; file: StoredFile } | undefined;
  return {
    listDomainTlds: handle('listDomainTlds', () => {
      const tlds = domains.list();
      // Bytes are made when prices change, and served like those of a file.
      if (made?.from !== tlds) made = { from: tlds, file: toStoredJson({ success: true, tlds }) };
      return made.file;
    }),
    searchDomain: handle('searchDomain', async ({ query }) => ({
      status: 200,
      body: await domains.search(query.domain),
    })),
  };
}
