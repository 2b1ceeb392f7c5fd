import { handle } from '../http/handle.ts';
import { toStoredJson } from '../http/stored.ts';
import type { StoredFile } from '../http/stored.ts';
import type { Status } from './service.ts';

/** Short, and without stale-if-error: a CDN must not say "up" for minutes while we say that it is not known. */
const cacheControl = 'public, max-age=5, stale-while-revalidate=30';

/** The route of the platform's status. */
export function statusRoutes(status: Status) {
  let made: { from: unknown; file: StoredFile } | undefined;
  return {
    getStatus: handle('getStatus', async () => {
      const state = await status.read();
      if (!state) return { status: 503, body: { status: 'error' } };
      if (made?.from !== state) made = { from: state, file: toStoredJson(state, cacheControl) };
      return made.file;
    }),
  };
}
