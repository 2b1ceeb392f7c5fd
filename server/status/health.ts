import { handle } from '../http/handle.ts';
import type { Lifecycle } from '../lifecycle.ts';

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
