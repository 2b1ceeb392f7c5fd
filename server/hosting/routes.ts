import { hash } from 'node:crypto';
import { allows, kindOf } from '#contract/api-keys.ts';
import type { Scope, ServerName } from '#contract/api-keys.ts';
import type { Endpoint } from '#contract/endpoint.ts';
import { endpoints } from '#contract/endpoints.ts';
import type { EndpointName } from '#contract/endpoints.ts';
import { handle } from '../http/handle.ts';
import type { Caller, Route, RouteRequest } from '../http/handle.ts';
import { Problem } from '../problem.ts';
import type { ActionPosition, ActionRecord } from '../store/types.ts';
import { tokenLength } from './console/stream.ts';
import { toLogText } from './providers/game-log.ts';
import type { PowerAction } from './providers/types.ts';
import type { openHosting } from './service.ts';

/** Dependencies of {@link hostingRoutes}. */
export type HostingRoutesOptions = ReturnType<typeof openHosting>['routes'];

/** Creates the routes of customers' servers. */
export function hostingRoutes({ hosting, audit, maxDurationMs, runOnce, lifecycle }: HostingRoutesOptions) {
  /** Binds an action, which completes even if the client disconnects. */
  const handleAction = <Name extends EndpointName>(
    name: Name,
    act: (request: RouteRequest<Name>, caller: Caller) => Promise<Readonly<Record<string, string>>>,
  ): Route =>
    handle(name, (request) => {
      const caller = request.caller as Caller;
      const work = async () => ({ success: true, ...toId(caller), ...(await act(request, caller)) });
      return lifecycle.finish(() => runOnce(endpoints[name], caller, request, work));
    });
  const handlePower = (name: EndpointName, action: PowerAction): Route =>
    handleAction(name, async (_request, caller) => {
      await hosting.power(caller, action);
      const message = `${action.charAt(0).toUpperCase()}${action.slice(1)} action sent`;
      return { action, status: 'requested', message };
    });
  const handleState = (name: 'getVpsState' | 'getGameServerState'): Route =>
    handle(name, async ({ caller }) => {
      const { state, checkedAt } = await hosting.state(caller);
      const body = { success: true, ...toId(caller), state, checked_at: new Date(checkedAt).toISOString() };
      return { status: 200, body };
    });
  const toAction = (record: ActionRecord) => {
    const { requestId, action, server, requestedAt, finishedAt } = record;
    return {
      success: true,
      request_id: requestId,
      action,
      server,
      status: toStatus(record, maxDurationMs),
      requested_at: new Date(requestedAt).toISOString(),
      finished_at: finishedAt === null ? null : new Date(finishedAt).toISOString(),
    };
  };
  return {
    startVps: handlePower('startVps', 'start'),
    stopVps: handlePower('stopVps', 'stop'),
    resetVps: handlePower('resetVps', 'reset'),
    getVpsState: handleState('getVpsState'),
    startGameServer: handlePower('startGameServer', 'start'),
    stopGameServer: handlePower('stopGameServer', 'stop'),
    restartGameServer: handlePower('restartGameServer', 'restart'),
    killGameServer: handlePower('killGameServer', 'kill'),
    getGameServerState: handleState('getGameServerState'),
    sendGameCommand: handleAction('sendGameCommand', async ({ body }, caller) => {
      await hosting.command(caller, body.command);
      return { status: 'sent' };
    }),
    openGameConsole: handle('openGameConsole', async ({ caller, method }) => {
      const { keyId, secretHash, scopes, server } = caller;
      await hosting.servers.find('game', server);
      const mode = allows(scopes, 'game-console:read_write') ? 'read_write' : 'read';
      const base = hosting.publicUrl().replace(/^http/, 'ws');
      const issue = () => hosting.tokens.issue({ server, keyId, secretHash, mode });
      const websocket = {
        socket_url: `${base}/v1/hosting/game/console/${encodeURIComponent(caller.id)}/stream`,
        // HEAD issues no token, but must have the same Content-Length.
        token: method === 'HEAD' ? '-'.repeat(tokenLength) : await issue(),
      };
      return { status: 200, body: { success: true, ...toId(caller), websocket } };
    }),
    getLatestGameLog: handle('getLatestGameLog', async ({ caller }) => {
      const lines = () => hosting.relay.history(caller.server).map((line) => `${line}\n`);
      const content = (await hosting.latestLog(caller)) ?? toLogText(lines().join(''));
      return { status: 200, body: { success: true, ...toId(caller), empty: content === '', content } };
    }),
    listServers: handle('listServers', async ({ caller, query: { after, limit } }) => {
      const { keyId, servers, scopes } = caller;
      const from = after === undefined ? 0 : 1 + servers.findIndex((server) => toServerCursor(keyId, server) === after);
      if (after !== undefined && from === 0) throw invalidCursor();
      const page = servers.slice(from, from + Number(limit ?? 20));
      const open = await hosting.servers.findOpen(page);
      const isLast = from + page.length >= servers.length;
      const next = isLast ? null : toServerCursor(keyId, page.at(-1)!);
      const listed = page.map((server) => describeServer(server, open.has(server) ? scopes : []));
      return { status: 200, body: { success: true, servers: listed, next } };
    }),
    getAction: handle('getAction', async ({ caller, rest }) => {
      const found = await audit.findAction(caller.keyId, rest);
      if (!found) throw new Problem('not_found', 'This API key has no action with this request ID');
      return { status: 200, body: toAction(found) };
    }),
    listActivity: handle('listActivity', async ({ caller: { keyId }, query: { after, limit } }) => {
      const count = Number(limit ?? 20);
      const position = after === undefined ? undefined : parseActionCursor(keyId, after);
      const found = await audit.actionsOf(keyId, count + 1, position);
      const page = found.slice(0, count);
      const next = found.length > count ? toActionCursor(keyId, page.at(-1)!).toString('base64url') : null;
      return { status: 200, body: { success: true, activity: page.map(toAction), next } };
    }),
  };
}

/** Returns the status of an action. Unfinished actions count as lost after the maximum duration. */
function toStatus({ requestedAt, outcome }: ActionRecord, maxDurationMs: number) {
  if (outcome === null) return Date.now() - requestedAt > maxDurationMs ? 'unknown' : 'running';
  if (outcome === 'ok') return 'accepted';
  return outcome === 'unknown' ? 'unknown' : 'failed';
}

function invalidCursor(): Problem {
  return new Problem('validation_error', 'Query parameter after must be the next of an earlier page of this key');
}

/** Hashes a server with its key into a cursor, which is invalid for other keys. */
function toServerCursor(keyId: string, server: ServerName): string {
  return hash('sha256', `${keyId} ${server}`, 'buffer').subarray(0, 30).toString('base64url');
}

/** Encodes time and ID of an action, and a hash that makes the cursor invalid for other keys. */
function toActionCursor(keyId: string, { requestedAt, actionId }: ActionPosition): Buffer {
  const position = Buffer.from(requestedAt.toString(16).padStart(12, '0') + actionId.replaceAll('-', ''), 'hex');
  const check = hash('sha256', Buffer.concat([Buffer.from(keyId), position]), 'buffer').subarray(0, 8);
  return Buffer.concat([position, check]);
}

function parseActionCursor(keyId: string, cursor: string): ActionPosition {
  const bytes = Buffer.from(cursor, 'base64url');
  const actionId = bytes.toString('hex', 6, 22).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  const position = { requestedAt: Number.parseInt(bytes.toString('hex', 0, 6), 16), actionId };
  if (toActionCursor(keyId, position).equals(bytes)) return position;
  throw invalidCursor();
}

/** Describes a server: allowed actions, and the paths of all endpoints of its kind. */
function describeServer(server: ServerName, scopes: readonly Scope[]) {
  const kind = kindOf(server);
  const id = server.slice(kind.length + 1);
  const ofKind = Object.values<Endpoint>(endpoints).flatMap(({ access, path }) =>
    typeof access === 'object' && access.kind === kind ? [{ ...access, path: path.replace(/\{\w+\}/, id) }] : [],
  );
  const actions = ofKind.filter(({ scope }) => allows(scopes, scope)).map(({ action }) => action);
  return { server, id, kind, actions, links: Object.fromEntries(ofKind.map(({ action, path }) => [action, path])) };
}

function toId({ server, id }: Caller) {
  return kindOf(server) === 'vps' ? { vps_id: id } : { server_id: id };
}
