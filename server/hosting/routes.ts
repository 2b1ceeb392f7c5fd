import { messageOf } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import type { EndpointName } from '#contract/endpoints.ts';
import { handle } from '../http/handle.ts';
import type { Caller, JsonReply, Route, RouteRequest } from '../http/handle.ts';
import type { Lifecycle } from '../lifecycle.ts';
import { Problem } from '../problem.ts';
import type { Activity } from './activity.ts';
import type { Idempotency } from './idempotency.ts';
import type { GameAction, StateReport, VpsAction } from './providers/types.ts';
import type { Hosting } from './service.ts';

/** Dependencies of the routes of customers' servers. */
export interface HostingRoutesOptions {
  readonly hosting: Hosting;
  readonly activity: Activity;
  readonly idempotency: Idempotency;
  readonly lifecycle: Lifecycle;
}

/** The routes of customers' servers. */
export function hostingRoutes({ hosting, activity, idempotency, lifecycle }: HostingRoutesOptions) {
  const handleAction = createActionBinder(idempotency, lifecycle);
  const vpsPower = async (caller: Caller, action: VpsAction) => {
    await hosting.vpsPower(caller, action);
    return toAccepted({ vps_id: caller.id }, action);
  };
  const gamePower = async (caller: Caller, action: GameAction) => {
    await hosting.gamePower(caller, action);
    return toAccepted({ server_id: caller.id }, action);
  };
  return {
    startVps: handleAction('startVps', ({ caller }) => vpsPower(caller, 'start')),
    stopVps: handleAction('stopVps', ({ caller }) => vpsPower(caller, 'stop')),
    resetVps: handleAction('resetVps', async ({ caller, query, body }) => {
      if (query.force !== 'true' || !body.force) {
        throw new Problem('confirmation_required');
      }
      return await vpsPower(caller, 'reset');
    }),
    getVpsState: handle('getVpsState', async ({ caller }) => {
      const report = await hosting.vpsState(caller);
      return { status: 200, body: { success: true, vps_id: caller.id, ...toState(report) } };
    }),
    startGameServer: handleAction('startGameServer', ({ caller }) => gamePower(caller, 'start')),
    stopGameServer: handleAction('stopGameServer', ({ caller }) => gamePower(caller, 'stop')),
    restartGameServer: handleAction('restartGameServer', ({ caller }) => gamePower(caller, 'restart')),
    killGameServer: handleAction('killGameServer', async ({ caller, query, body }) => {
      // The query or the body must confirm it, and neither may deny it.
      const given = [query.force, body?.force].filter((force) => force !== undefined).map(String);
      if (given.length === 0 || given.some((force) => force !== 'true')) {
        throw new Problem('confirmation_required');
      }
      return await gamePower(caller, 'kill');
    }),
    sendGameCommand: handleAction('sendGameCommand', async ({ caller, body }) => {
      await hosting.command(caller, body.command);
      return { success: true, server_id: caller.id, status: 'sent' };
    }),
    getGameServerState: handle('getGameServerState', async ({ caller }) => {
      const report = await hosting.gameState(caller);
      return { status: 200, body: { success: true, server_id: caller.id, ...toState(report) } };
    }),
    openGameConsole: handle('openGameConsole', async ({ caller, method }) => ({
      status: 200,
      body: { success: true, server_id: caller.id, websocket: await hosting.openStream(caller, method === 'HEAD') },
    })),
    getLatestGameLog: handle('getLatestGameLog', async ({ caller }) => {
      const content = await hosting.latestLog(caller);
      return { status: 200, body: { success: true, server_id: caller.id, empty: content === '', content } };
    }),
    getAction: handle('getAction', async ({ caller, rest }) => ({
      status: 200,
      body: await activity.find(caller.keyId, rest),
    })),
    listActivity: handle('listActivity', async ({ caller, query: { after, limit } }) => ({
      status: 200,
      body: await activity.list(caller.keyId, { after, limit: limit === undefined ? undefined : Number(limit) }),
    })),
  };
}

/** Binds actions. Each runs once for each Idempotency-Key, and completes even if the client disconnects. */
function createActionBinder(idempotency: Idempotency, lifecycle: Lifecycle) {
  return <Name extends EndpointName>(
    name: Name,
    act: (request: RouteRequest<Name>) => Promise<JsonReply['body']>,
  ): Route => {
    const { method, path } = endpoints[name];
    const failure = messageOf(endpoints[name], 'provider_error');
    return handle(name, async (request) => {
      const { keyId, server, requestId } = request.caller as Caller;
      const key = request.headers['idempotency-key'];
      const parts = [method, path, server, request.text];
      const idempotentRequest = { apiKeyId: keyId, requestId, key, parts, failure };
      const run = async () => ({ status: 200, body: `${JSON.stringify(await act(request))}\n` });
      const { status, body, headers } = await lifecycle.finish(() => idempotency(idempotentRequest, run));
      return { status, body: JSON.parse(body) as unknown, headers };
    });
  };
}

function toState({ state, checkedAt }: StateReport) {
  return { state, checked_at: new Date(checkedAt).toISOString() };
}

function toAccepted(id: Readonly<Record<string, string>>, action: string) {
  const message = `${action.charAt(0).toUpperCase()}${action.slice(1)} action sent`;
  return { success: true, action, ...id, status: 'requested', message };
}
