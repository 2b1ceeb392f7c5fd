import { handle } from '../http/handle.ts';
import { toStoredJson } from '../http/stored.ts';
import type { StoredFile } from '../http/stored.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { Status } from './service.ts';

/** Short, and without stale-if-error: a CDN must not serve "up" for minutes while the status is unknown. */
const cacheControl = 'public, max-age=5, stale-while-revalidate=30';

/** The route of the platform's status. */
export function statusRoutes(status: Status) {
  let cached: { state: unknown; file: StoredFile } | undefined;
  return {
    getStatus: handle('getStatus', async () => {
      const state = await status.read();
      if (!state) return { status: 503, body: { status: 'error' }, headers: { 'Retry-After': '10' } };
      if (cached?.state !== state) cached = { state, file: toStoredJson(state, cacheControl) };
      return cached.file;
    }),
  };
}

/** The routes about this process. */
export function healthRoutes({ version, lifecycle }: { readonly version: string; readonly lifecycle: Lifecycle }) {
  return {
    getHealth: handle('getHealth', () => ({ status: 200, body: { status: 'healthy', version } })),
    getReady: handle('getReady', () => ({
      status: lifecycle.state() === 'ready' ? 200 : 503,
      body: { status: lifecycle.state() },
    })),
    getInfo: handle('getInfo', () => ({ status: 200, body: { version } })),
  };
}
