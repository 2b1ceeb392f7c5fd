import { z } from 'zod';
import { createClient } from '../upstream/client.ts';
import type { Reply } from '../upstream/client.ts';
import { toPlatformStatus } from './platform.ts';
import type { PartState } from './platform.ts';
import { parseJson, toRefusal } from '../upstream/reply.ts';
import type { StatusSource } from './types.ts';

/** Which status page is read. */
export interface UptimeKumaSettings {
  /** The base of the installation, without a slash at its end. */
  readonly url: string;
  /** The slug of the page; what is on that page is public. */
  readonly page: string;
}

/** How a status page is read. */
export interface UptimeKumaOptions {
  /** For both requests together: 1.23 never answers where it does not know the page. */
  readonly timeoutMs: number;
  readonly now?: () => number;
}

/** The newest beat of a paused monitor stays for ever, and nothing public says that it is paused: what is older tells nothing. */
const staleMs = 3_600_000;

/** 100 beats of about 90 bytes for each of some 400 monitors. */
const maxBytes = 4 * 1024 * 1024;

/** Down, up, pending (failing, with retries left; also a group that is empty), maintenance: `server/model/heartbeat.js`. */
const states: readonly PartState[] = ['disrupted', 'up', 'disrupted', 'maintenance'];

/** SQLite has `2026-11-20 09:45:28.055` in UTC; other databases may answer ISO 8601. */
const Time = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})?$/)
  .transform((text) => Date.parse(text.replace(' ', 'T') + (/(?:Z|[+-]\d{2}:\d{2})$/.test(text) ? '' : 'Z')))
  .pipe(z.number());

const Page = z.object({
  publicGroupList: z.array(z.object({ monitorList: z.array(z.object({ id: z.int(), name: z.string() })) })),
});
const Heartbeats = z.object({
  heartbeatList: z.record(z.string(), z.array(z.object({ status: z.literal([0, 1, 2, 3]), time: Time }))),
});

/**
 * Creates the source that reads a status page of Uptime Kuma, 1.23 or 2.x: the names are in one answer, the states in
 * another. A read throws a ProviderError where either fails, has another shape, or knows nothing of the last hour.
 */
export function createUptimeKuma(settings: UptimeKumaSettings, options: UptimeKumaOptions): StatusSource {
  const { timeoutMs, now = Date.now } = options;
  // The answers are kept for minutes inside Uptime Kuma, where new beats do not clear them; the header passes that by.
  const client = createClient({ baseUrl: settings.url, headers: { 'x-apicache-bypass': '1' }, timeoutMs, maxBytes });
  const slug = encodeURIComponent(settings.page);
  return {
    async read() {
      const signal = AbortSignal.timeout(timeoutMs);
      // The page comes first: where it does not exist, the beats are answered with 200 and an empty list.
      const pageReply = await client.request('GET', `/api/status-page/${slug}`, { signal });
      const names = new Map(
        parse(pageReply, Page).publicGroupList.flatMap(({ monitorList }) =>
          monitorList.map(({ id, name }) => [String(id), name]),
        ),
      );
      if (names.size === 0) throw toRefusal(`${pageReply.describe()}; no monitor is on the page`);
      const beatsReply = await client.request('GET', `/api/status-page/heartbeat/${slug}`, { signal });
      const { heartbeatList } = parse(beatsReply, Heartbeats);
      const oldest = now() - staleMs;
      const parts = [...names].flatMap(([id, name]) => {
        // The newest beat is the last one. A monitor that is new has none, or not even a list.
        const beat = heartbeatList[id]?.at(-1);
        return beat && beat.time >= oldest ? [{ name, state: states[beat.status]! }] : [];
      });
      if (parts.length === 0) throw toRefusal(`${beatsReply.describe()}; no monitor has a beat of the last hour`);
      return toPlatformStatus(parts);
    },
    close: () => client.close(),
  };
}

/** The answer as a schema has it. An address that Uptime Kuma does not know is its own page in HTML, with the status 200. */
function parse<Schema extends z.ZodType>(reply: Reply, schema: Schema): z.infer<Schema> {
  const answer = reply.status === 200 ? parseJson(reply.text, schema) : undefined;
  if (answer === undefined) throw toRefusal(`${reply.describe()}; not an answer of a status page`);
  return answer;
}
