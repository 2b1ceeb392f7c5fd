import { handle } from '../http/handle.ts';
import { Problem } from '../problem.ts';
import type { Caller } from '../keys/access.ts';
import type { Hosting } from './service.ts';

const title = (action: string) => `${action.charAt(0).toUpperCase()}${action.slice(1)}`;

const accepted = (id: Record<string, string>, action: string) => ({
  status: 200,
  body: { success: true, action, ...id, status: 'requested', message: `${title(action)} action sent` },
});

/** The routes of customers' servers. */
export function hostingRoutes(hosting: Hosting) {
  const vps = async (caller: Caller, action: 'start' | 'stop' | 'reset') => {
    await hosting.vpsPower(caller, action);
    return accepted({ vps_id: caller.id }, action);
  };
  const game = async (caller: Caller, action: 'start' | 'stop' | 'restart' | 'kill') => {
    await hosting.gamePower(caller, action);
    return accepted({ server_id: caller.id }, action);
  };
  return {
    startVps: handle('startVps', ({ caller }) => vps(caller, 'start')),
    stopVps: handle('stopVps', ({ caller }) => vps(caller, 'stop')),
    resetVps: handle('resetVps', ({ caller, query, body }) => {
      if (query.force !== 'true' || !body.force) {
        throw new Problem('confirmation_required', 'Reset requires force=true');
      }
      return vps(caller, 'reset');
    }),
    startGameServer: handle('startGameServer', ({ caller }) => game(caller, 'start')),
    stopGameServer: handle('stopGameServer', ({ caller }) => game(caller, 'stop')),
    restartGameServer: handle('restartGameServer', ({ caller }) => game(caller, 'restart')),
    killGameServer: handle('killGameServer', ({ caller, query, body }) => {
      // Either place confirms it, and neither may deny it.
      const given = [query.force, body?.force].filter((force) => force !== undefined).map(String);
      if (given.length === 0 || given.some((force) => force !== 'true')) {
        throw new Problem('confirmation_required', 'Kill requires force=true');
      }
      return game(caller, 'kill');
    }),
    openGameConsole: handle('openGameConsole', async ({ caller }) => ({
      status: 200,
      body: { success: true, server_id: caller.id, websocket: await hosting.openStream(caller) },
    })),
    sendGameCommand: handle('sendGameCommand', async ({ caller, body }) => {
      await hosting.command(caller, body.command);
      return { status: 200, body: { success: true, server_id: caller.id, status: 'sent' } };
    }),
    getLatestGameLog: handle('getLatestGameLog', async ({ caller }) => {
      const content = await hosting.latestLog(caller);
      return { status: 200, body: { success: true, server_id: caller.id, empty: content === '', content } };
    }),
  };
}
