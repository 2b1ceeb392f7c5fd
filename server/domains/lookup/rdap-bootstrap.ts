import { z } from 'zod';
import { createClient } from '../../upstream/client.ts';
import type { Logger } from '../../log.ts';
import type { OnCall } from '../../upstream/calls.ts';
import { isAllowedUrl } from '../../upstream/public-address.ts';
import { createPoller } from '../../upstream/poller.ts';
import { parseJson } from '../../upstream/reply.ts';

/** Dependencies of the list of RDAP servers. */
export interface BootstrapOptions {
  /** The URL of the list; if undefined, the built-in list is used. */
  readonly url: string | undefined;
  /** The base URL of each TLD until the list is read. */
  readonly builtIn: ReadonlyMap<string, string>;
  readonly userAgent: string;
  readonly refreshMs: number;
  readonly now: () => number;
  readonly log: Logger;
  readonly onCall?: OnCall | undefined;
}

/** IANA's list of the RDAP servers of TLDs (RFC 9224). */
export interface Bootstrap {
  /** Finds the server of a TLD by the longest entry that is a suffix of it. */
  find(tld: string): { readonly base: string; readonly entry: string } | undefined;
  /** Whether a server of the list has this host. */
  hasHost(host: string): boolean;
  /** Whether the list was read in the last seven days: base URLs move, and old servers deny existing names. */
  isCurrent(): boolean;
  /** Starts to read the list regularly. Resolves when the first read has ended; never rejects. */
  start(): Promise<void>;
  /** Reads the list now; if that fails, the previous list stays. Never rejects. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

/** For one read; the first searches wait for it. */
const timeoutMs = 3000;
const maxBytes = 2 * 1024 * 1024;
/** The pause after a failed read. */
const retryMs = 10 * 60 * 1000;

const currentMs = 7 * 24 * 60 * 60 * 1000;

/** A list with fewer services is truncated or wrong; observed were 591 to 607. */
const minServices = 500;

const List = z.object({
  services: z.array(z.tuple([z.array(z.string()), z.array(z.string())]).rest(z.unknown())).min(minServices),
});

/** Creates the list. The built-in one is used until the first successful read. */
export function createBootstrap(options: BootstrapOptions): Bootstrap {
  const { url, builtIn, userAgent, refreshMs, now, log, onCall } = options;
  const client = createClient({
    baseUrl: '',
    headers: { 'user-agent': userAgent },
    timeoutMs,
    maxBytes,
    onCall,
    // The client treats 304 as a redirect too; real redirects are rejected below.
    redirects: 'reply',
  });
  let bases = builtIn;
  let etag: string | undefined;
  let readAt: number | undefined;

  const read = async (from: string): Promise<void> => {
    const reply = await client.request('GET', from, { headers: etag === undefined ? {} : { 'if-none-match': etag } });
    if (reply.status !== 304 || etag === undefined) {
      const list = reply.status === 200 ? parseJson(reply.text, List) : undefined;
      if (!list) throw new Error(`status ${reply.status}, and not a list of at least ${minServices} services`);
      const found = toBases(list, new URL(from));
      if (found.size < minServices) throw new Error(`only ${found.size} of its servers are allowed`);
      bases = found;
      etag = reply.headers.get('etag') ?? undefined;
    }
    readAt = now();
  };
  const poller = createPoller({
    read: async () => (url === undefined ? undefined : await read(url)),
    onFailure(error) {
      // Without a stack: an offline machine logs this regularly, and it is no defect.
      const reason = String((error as Error).cause ?? error);
      log.warn({ reason }, 'the list of RDAP servers could not be read; the previous one is still used');
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

/** The first allowed base URL of each entry, by A-label. */
function toBases({ services }: z.infer<typeof List>, from: URL): Map<string, string> {
  return new Map(
    services.flatMap(([entries, urls]) => {
      const base = urls
        .map((text) => URL.parse(text.endsWith('/') ? text : `${text}/`))
        // Only a list on loopback, for tests, may refer to loopback.
        .find((found) => found && isAllowedUrl(found, from));
      return base ? entries.map((entry) => [entry.toLowerCase(), base.href] as const) : [];
    }),
  );
}
