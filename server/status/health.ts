import { handle } from '../http/handle.ts';
import type { Lifecycle } from '../lifecycle.ts';

/** What the monitoring routes tell of. */
export interface Monitored {
  readonly version: string;
  readonly lifecycle: Lifecycle;
}

/** The routes that tell of this process. */
export function monitoringRoutes({ version, lifecycle }: Monitored) {
  return {
    getHealth: handle('getHealth', () => ({ status: 200, body: { status: 'healthy', version } })),
    getReady: handle('getReady', () => ({
      status: lifecycle.state() === 'ready' ? 200 : 503,
      body: { status: lifecycle.state() },
    })),
    getInfo: handle('getInfo', () => ({ status: 200, body: { version } })),
  };
}
