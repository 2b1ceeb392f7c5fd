import { expect } from 'vitest';
import { ask } from '../server/ask.ts';
import { sharedProject } from '../server/shared.ts';
import { createTestApp } from './app.ts';
import { temporaryFolder } from './project.ts';

/** Starts the server like `npm start` on an empty store, with the demo servers and their key. */
export async function startDemo(changes: Readonly<Record<string, string>> = {}) {
  const settings = { DATA_DIR: temporaryFolder(), POWER_RATELIMIT_BURST: '20', ...changes };
  const app = await createTestApp({ root: await sharedProject(), settings, demo: true });
  const key = app.demoKey!;
  /** Sends an action to the game server. */
  const power = async (action: string): Promise<void> => {
    const { status } = await ask(app, `/v1/hosting/game/power/demo/${action}`, { method: 'POST', key });
    expect(status).toBe(200);
  };
  return { ...app, key, power };
}
