import { handle } from '../http/handle.ts';
import { toStoredJson } from '../http/stored.ts';
import type { PlatformStatus } from '../providers/status-types.ts';
import type { StoredFile } from '../services/releases.ts';
import type { Status } from '../services/status.ts';

/** Short, as it is what visitors look at when something is wrong; a CDN may show the last one while this API is down. */
const cacheControl = 'public, max-age=5, stale-while-revalidate=30, stale-if-error=300';

/** The route of the platform's status. */
export function statusRoutes(status: Status) {
  let made: { from: PlatformStatus; file: StoredFile } | undefined;
  return {
    getStatus: handle('getStatus', async () => {
      const state = await status.read();
      if (!state) return { status: 503, body: { status: 'error' } };
      if (made?.from !== state) made = { from: state, file: { ...toStoredJson(state), cacheControl } };
      return made.file;
    }),
  };
}
