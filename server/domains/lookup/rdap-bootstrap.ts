import { z } from 'zod';
import { createClient } from '../../upstream/client.ts';
import type { Logger } from '../../log.ts';
import { isAllowedUrl } from '../../upstream/public-address.ts';
import { createPoller } from '../../upstream/poller.ts';
import { parseJson } from '../../upstream/reply.ts';

/** What the list of RDAP servers needs. */
export interface BootstrapOptions {
  /** Where it is read; undefined: never, and the built-in one stays. */
  readonly url: string | undefined;
  /** The base URL of each TLD, until it is read. */
  readonly builtIn: ReadonlyMap<string, string>;
  readonly userAgent: string;
  readonly refreshMs: number;
  readonly now: () => number;
  readonly log: Logger;
}

/** IANA's list of the RDAP servers of TLDs (RFC 9224). */
export interface Bootstrap {
  /** The server of a TLD by the longest entry that is its end, and that entry. */
  find(tld: string): { readonly base: string; readonly entry: string } | undefined;
  /** Whether one of the servers is at a host, by the host of its URL. */
  hasHost(host: string): boolean;
  /** Whether the list was read in the last seven days: base URLs move, and an old server denies names that exist. */
  isCurrent(): boolean;
  /** Reads the list for the first time, and then again by itself. Settles when the first reading ended; never rejects. */
  start(): Promise<void>;
  /** Reads it again; the one there is stays where that fails. Never rejects. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

/** For one reading; the first names that are asked for wait for it. */
const timeoutMs = 3000;
const maxBytes = 2 * 1024 * 1024;
/** After a reading that failed. */
const retryMs = 10 * 60 * 1000;

const currentMs = 7 * 24 * 60 * 60 * 1000;

/** A list with fewer services (591 to 607 were seen) is a cut or another one. */
const fewestServices = 500;

const List = z.object({
  services: z.array(z.tuple([z.array(z.string()), z.array(z.string())]).rest(z.unknown())).min(fewestServices),
});

/** Creates the list. The built-in one is used until it was read. */
export function createBootstrap(options: BootstrapOptions): Bootstrap {
  const { url, builtIn, userAgent, refreshMs, now, log } = options;
  const client = createClient({
    baseUrl: '',
    headers: { 'user-agent': userAgent },
    timeoutMs,
    maxBytes,
    // A 304 is one too, and the only one that is taken.
    redirects: 'reply',
  });
  let bases = builtIn;
  let etag: string | undefined;
  let readAt: number | undefined;

  const read = async (from: string): Promise<void> => {
    const reply = await client.request('GET', from, { headers: etag === undefined ? {} : { 'if-none-match': etag } });
    if (reply.status !== 304 || etag === undefined) {
      const list = reply.status === 200 ? parseJson(reply.text, List) : undefined;
      if (!list) throw new Error(`status ${reply.status}, and not a list of at least ${fewestServices} services`);
      const found = toBases(list, new URL(from));
      if (found.size < fewestServices) throw new Error(`only ${found.size} of its servers may be called`);
      bases = found;
      etag = reply.headers.get('etag') ?? undefined;
    }
    readAt = now();
  };
  const poller = createPoller({
    read: async () => (url === undefined ? undefined : await read(url)),
    onFailure(error) {
      // A line without a stack: where this machine is offline it comes again and again, and is no defect.
      const reason = String((error as Error).cause ?? error);
      log.warn({ reason }, 'the list of RDAP servers could not be read; the one before is still used');
    },
    everyMs: () => refreshMs,
    retryMs,
  });
  return {
    find(tld) {
      for (let entry = tld; entry !== ''; entry = entry.split('.').slice(1).join('.')) {
        const base = bases.get(entry);
        if (base !== undefined) return { base, entry };
      }
      return undefined;
    },
    hasHost: (host) => bases.values().some((base) => base.includes(`//${host}/`)),
    isCurrent: () => readAt !== undefined && now() - readAt < currentMs,
    start: () => poller.start(),
    refresh: () => poller.poll(),
    async close() {
      const stopped = poller.stop();
      await client.close();
      await stopped;
    },
  };
}

/** The first base URL of each entry that may be called, which leaves out plain http; by their A-labels. */
function toBases({ services }: z.infer<typeof List>, from: URL): Map<string, string> {
  return new Map(
    services.flatMap(([entries, urls]) => {
      const base = urls
        .map((text) => URL.parse(text.endsWith('/') ? text : `${text}/`))
        // A list from elsewhere never leads to this machine; one that is on this machine is a trial, and may.
        .find((found) => found && isAllowedUrl(found, from));
      return base ? entries.map((entry) => [entry.toLowerCase(), base.href] as const) : [];
    }),
  );
}
