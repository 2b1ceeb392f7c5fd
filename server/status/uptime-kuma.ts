import { z } from 'zod';
import { ForeignInt, createListReader, openUpstream, parseReply, toProviderError } from '../upstream/client.ts';
import { createReadClient } from '../upstream/reads.ts';
import { toPlatformStatus, statusWaitMs } from './platform.ts';
import type { Part, StatusSource } from './platform.ts';

/**
 * Older beats are ignored, unless the monitor beats seldom: a paused monitor keeps its last beat, and the public API does
 * not show the pause.
 */
const staleMs = 3_600_000;
/** The unit of time zones. */
const quarterMs = 900_000;
/** Enough for 400 monitors with 100 beats of about 90 bytes. */
const maxBytes = 4 * 1024 * 1024;

/** Down, up, pending (failing with retries left, or an empty group), maintenance: `server/model/heartbeat.js`. */
const states: readonly Part['state'][] = ['disrupted', 'up', 'disrupted', 'maintenance'];

/** SQLite stores `2026-11-20 09:45:28.055` in UTC; other databases may use ISO 8601. */
const Time = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})?$/)
  .transform((text) => Date.parse(text.replace(' ', 'T') + (/(?:Z|[+-]\d{2}:\d{2})$/.test(text) ? '' : 'Z')))
  .pipe(z.number());

const Page = z.object({ publicGroupList: z.array(z.object({ monitorList: z.array(z.unknown()) })) });
const Monitor = z.object({ id: ForeignInt, name: z.string() });
const Heartbeats = z.object({ heartbeatList: z.record(z.string(), z.array(z.unknown())) });
const Beat = z.object({ status: ForeignInt.pipe(z.literal([0, 1, 2, 3])), time: Time });

/**
 * Creates a source that reads a status page of Uptime Kuma, 1.23 or 2.x: one request for the names, one for the states.
 * They share the time limit, as 1.23 never responds for an unknown page. A read throws a ProviderError if a request fails
 * or no beat is current.
 */
export function createUptimeKuma(
  { url, page }: Readonly<Record<'url' | 'page', string>>,
  warn: (message: string) => void = () => undefined,
): StatusSource {
  // Uptime Kuma caches responses for minutes, even after new beats; this header bypasses the cache.
  const headers = { 'x-apicache-bypass': '1' };
  const upstream = openUpstream({ name: 'uptime-kuma', baseUrl: url, headers, timeoutMs: statusWaitMs, maxBytes });
  const client = createReadClient(upstream);
  const readMonitors = createListReader(Monitor, warn);
  const slug = encodeURIComponent(page);
  return {
    async read() {
      const signal = AbortSignal.timeout(statusWaitMs);
      // The page is read first: the beats of an unknown page are 200 with an empty list.
      const pageReply = await client.request('GET', `/api/status-page/${slug}`, { signal });
      const { publicGroupList: groups } = parseReply(pageReply, Page, notAnAnswer);
      const entries = groups.flatMap(({ monitorList }) => monitorList);
      const names = new Map(readMonitors(entries).map(({ id, name }) => [String(id), name]));
      if (names.size === 0) throw toProviderError(pageReply, 'refused', because('no monitor is on the page'));
      const beatsReply = await client.request('GET', `/api/status-page/heartbeat/${slug}`, { signal });
      const { heartbeatList } = parseReply(beatsReply, Heartbeats, notAnAnswer);
      const ages: number[] = [];
      const parts = [...names].flatMap(([id, name]) => {
        const beats = (heartbeatList[id] ?? []).map((entry) => Beat.safeParse(entry));
        // The last beat is the newest. A new monitor has no beats or no list.
        const newest = beats.at(-1);
        if (!newest) return [];
        if (!newest.data) throw toProviderError(beatsReply, 'refused', notAnAnswer);
        const age = Date.now() - newest.data.time;
        ages.push(age);
        const isCurrent = age <= Math.max(staleMs, 2 * toUsualDistance(beats.flatMap(({ data }) => data?.time ?? [])));
        return isCurrent ? [{ name, state: states[newest.data.status]! }] : [];
      });
      if (parts.length > 0) return toPlatformStatus(parts);
      const [first = Number.NaN, ...others] = ages.map((age) => age / quarterMs);
      const isOffset = [first, ...others].every((age) => Math.abs(age - Math.round(first)) < 1 / 6);
      const question = isOffset ? '; does the database of Uptime Kuma write local time?' : '';
      throw toProviderError(beatsReply, 'refused', because(`no monitor has a current beat${question}`));
    },
    close: () => client.close(),
  };
}

/** Returns the distance that a quarter of the distances exceed, as retries are shorter; 0 for less than two times. */
function toUsualDistance(times: readonly number[]): number {
  const distances = times.slice(1).map((time, index) => time - times[index]!);
  return distances.toSorted((one, other) => one - other)[Math.floor(distances.length * 0.75)] ?? 0;
}

/** Describes a bad reply: operators see the reason, only the log describes the reply. */
const because = (reason: string) => ({ message: reason, detail: `; ${reason}` });
/** For unknown URLs, Uptime Kuma returns 200 with HTML. */
const notAnAnswer = because('not an answer of a status page');
