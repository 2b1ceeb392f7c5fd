import { createUpstream, json } from './upstream.ts';
import type { OnEnd } from './upstream.ts';

/** Starts a stand-in for Uptime Kuma. */
export async function createKumaUpstream({ onEnd }: { onEnd?: OnEnd } = {}) {
  /** The latest status by monitor name: 0 down, 1 up, 2 pending, 3 maintenance. */
  const monitors = new Map([['Website', 1]]);
  const upstream = await createUpstream(
    ({ path }) => {
      const all = [...monitors];
      const time = new Date().toISOString().replace('T', ' ').replace('Z', '');
      const page = { publicGroupList: [{ monitorList: all.map(([name], id) => ({ id, name })) }] };
      const heartbeat = { heartbeatList: Object.fromEntries(all.map(([, status], id) => [id, [{ status, time }]])) };
      const body = path.includes('/heartbeat/') ? heartbeat : page;
      return json(200, body);
    },
    { onEnd },
  );
  /** Settings that connect a server to the stand-in. */
  const settings = { UPTIME_KUMA_URL: upstream.url, UPTIME_KUMA_STATUS_PAGE: 'main' };
  return Object.assign(upstream, { monitors, settings });
}
