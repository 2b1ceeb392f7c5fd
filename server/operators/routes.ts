import { z } from 'zod';
import type { ServerName } from '#contract/api-keys.ts';
import { endpoints, fileOf } from '#contract/endpoints.ts';
import type { operatorEndpoints } from '#contract/operators.ts';
import { readProviders } from '../hosting/providers.ts';
import { handle } from '../http/handle.ts';
import type { JsonReply, OperatorCaller, Route, RouteRequest } from '../http/handle.ts';
import { includesAddress, toBlockList } from '../http/request.ts';
import type { RequestContext } from '../http/request.ts';
import { toStoredJson } from '../http/stored.ts';
import type { StoredFile } from '../http/stored.ts';
import { createAuthenticate } from '../keys/authorize.ts';
import type { Lifecycle } from '../lifecycle.ts';
import { Problem } from '../problem.ts';
import { SharedSettings, integer } from '../settings.ts';
import type { ApiKeyRecord, ServerRecord, Store } from '../store/types.ts';
import { checkRecord, createChanges } from './changes.ts';

/** The settings of the operators' port. */
export const OperatorSettings = z.object({
  OPERATOR_PORT: integer(0, 65_535)
    .optional()
    .describe(
      'The port for a billing system, which needs an operator token; by default, none. Keep it off the internet.',
    ),
  OPERATOR_HOST: SharedSettings.shape.HOST.describe('The address to listen on for OPERATOR_PORT.'),
});
export type OperatorSettings = z.infer<typeof OperatorSettings>;

/** Returns a function that admits operator tokens; it throws 401, or 403 for a wrong address or a missing right. */
export function createOperatorAdmit(operators: Store['operators'], onTouchFailure: (error: unknown) => void) {
  const authenticate = createAuthenticate('ho', operators, onTouchFailure);
  return async ({ request, id: requestId, client }: RequestContext, right: string): Promise<OperatorCaller> => {
    const { id, label, rights, networks } = (await authenticate(request.headers)).key;
    const ip = client.address;
    if (networks.length > 0 && !includesAddress(toBlockList(networks)!, ip))
      throw new Problem('forbidden', `This operator token may not be used from ${ip}`);
    if (right !== 'any') assertRight(rights, right);
    return { token: { id, label, rights }, requestId, ip };
  };
}

function assertRight(rights: readonly string[], right: string): void {
  if (rights.includes(right)) return;
  const headers = { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${right}"` };
  throw new Problem('insufficient_scope', `This operator token lacks the right ${right}`, { headers });
}

const pageSize = 1000;

const toTime = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

/** Renders the description at its first use, since it is not needed to start. */
async function describe() {
  const { renderOpenApi } = await import('#contract/openapi.ts');
  return renderOpenApi({ parameters: {}, bodies: {} }, { name: "Operators' port" }, false);
}

/** Cuts a list that has one more entry than a page. */
function toPage<Item>(all: readonly Item[], toCursor: (item: Item) => string) {
  const page = all.slice(0, pageSize);
  return { page, next: all.length > page.length ? toCursor(page.at(-1)!) : null };
}

const showKey = (record: ApiKeyRecord, text: string | null = null, warnings: readonly string[] = []) => {
  const body = { success: true, ...toKey(record), key: text, warnings };
  return { status: text === null ? 200 : 201, body };
};

/** Finds a file of the current release; throws a Problem for a missing one. */
type FindFile = (target: string) => StoredFile;

/** Creates the routes of the operators' port, with its OpenAPI document, and its page with script and style. */
export function createOperatorRoutes(
  store: Store,
  lifecycle: Lifecycle,
  providersFile: string | undefined,
  findFile: FindFile,
): Route[] {
  const { apiKeys, servers } = store;
  /** Binds a change, which completes even if the client disconnects. */
  const change = <Name extends keyof typeof operatorEndpoints>(
    name: Name,
    work: (request: RouteRequest<Name>, changes: ReturnType<typeof createChanges>) => Promise<JsonReply>,
  ): Route =>
    handle(name, (request) => {
      const { token, ...sent } = request.caller as OperatorCaller;
      const changes = createChanges(store, { actor: `operator ${token.label} (${token.id})`, token, ...sent });
      return lifecycle.finish(() => work(request, changes));
    });
  const showServer = async (name: string, status = 200, warnings: readonly string[] = []) => {
    const record = await servers.find(name as ServerName);
    if (!record) throw new Problem('not_found', `There is no server ${name}`);
    const body = { success: true, ...toServer(record, await apiKeys.countActive(Date.now(), name)), warnings };
    return { status, body };
  };
  /** Finds a key by the label of an active key, else by id, else, if `orEnded`, by the label of the newest ended key. */
  const findKey = async (name: string, orEnded = false): Promise<ApiKeyRecord> => {
    const found = (await apiKeys.findActive(name, Date.now())) ?? (await apiKeys.find(name));
    const key = found ?? (orEnded ? await apiKeys.findNewest(name) : undefined);
    if (!key) throw new Problem('not_found', `There is no API key ${name}`);
    return key;
  };
  return [
    handle('getOperator', ({ caller: { token } }) => {
      return { status: 200, body: { success: true, label: token.label, rights: token.rights } };
    }),
    handle('listOperatorServers', async ({ query: { after = '', mine }, caller: { token } }) => {
      const found = await servers.page(after, pageSize + 1, mine === 'true' ? token.label : undefined);
      const { page, next } = toPage(found, ({ server }) => server);
      const counts = await apiKeys.countActive(Date.now());
      return { status: 200, body: { success: true, servers: page.map((record) => toServer(record, counts)), next } };
    }),
    handle('getOperatorServer', ({ rest }) => showServer(rest)),
    change('putOperatorServer', async ({ rest, body, caller }, changes) => {
      const { provider, ref, log_file: logFile = null, shared, suspended, replace = false } = body;
      if (shared) assertRight(caller.token.rights, 'keys');
      if (logFile !== null && !rest.startsWith('game:'))
        throw new Problem('validation_error', 'The field log_file is for game servers');
      const providers = providersFile === undefined ? undefined : readProviders(providersFile);
      const given = { server: rest as ServerName, provider, ref, logFile, ...(shared && { shared: 'yes' as const }) };
      const { outcome } = await changes.putServer(checkRecord(given, providers), replace, providers, suspended);
      const unread = `PROVIDERS_FILE ${providersFile === undefined ? 'is not set' : 'cannot be read'}`;
      const warnings = providers ? [] : [`${unread}: the provider ${provider} and the ref are not checked`];
      return await showServer(rest, outcome === 'added' ? 201 : 200, warnings);
    }),
    change('deleteOperatorServer', async ({ rest }, changes) => {
      const last = await showServer(rest);
      await changes.removeServer(rest as ServerName);
      return last;
    }),
    ...(['suspend', 'resume'] as const).map((action) =>
      change(`${action}OperatorServer`, async ({ rest }, changes) => {
        await changes[action](rest as ServerName);
        return await showServer(rest);
      }),
    ),
    handle('listOperatorKeys', async ({ query: { after = '', server } }) => {
      const { page, next } = toPage(await apiKeys.page(after, server, pageSize + 1), ({ id }) => id);
      return { status: 200, body: { success: true, keys: page.map(toKey), next } };
    }),
    change('putOperatorKey', async ({ rest, body: { servers: named, scopes, expires_at: end } }, changes) => {
      const expiresAt = end ? Date.parse(end) : null;
      if (expiresAt !== null && expiresAt <= Date.now())
        throw new Problem('validation_error', 'The field expires_at is in the past');
      const names = [...new Set(named as ServerName[])];
      const { record, text } = await changes.putKey(rest, { servers: names, scopes: [...new Set(scopes)], expiresAt });
      const known = await servers.findOpen(names, true);
      return showKey(
        record,
        text,
        names.flatMap((name) => (known.has(name) ? [] : `There is no server ${name}`)),
      );
    }),
    change('deleteOperatorKey', async ({ rest }, { revoke }) => {
      const { id } = await findKey(rest, true);
      await revoke('hk', id);
      return showKey(await findKey(id));
    }),
    change('rotateOperatorKey', async ({ rest, body }, { rotateKey }) => {
      const overlapMs = (body?.overlap_seconds ?? 0) * 1000;
      const { key, text, oldUntil } = await rotateKey(await findKey(rest), overlapMs);
      const old_valid_until = overlapMs > 0 ? oldUntil : null;
      return { status: 200, body: { success: true, id: key.id, key: text, old_valid_until } };
    }),
    { endpoint: endpoints.getOpenApi, answer: async () => toStoredJson(await describe(), 'no-store') },
    { endpoint: endpoints.getDocs, answer: async () => findFile(fileOf('operatorDocs')) },
    handle('getDocsFile', ({ rest }) => findFile(/\.(?:css|js)$/.test(rest) ? `/docs/${rest}` : '')),
  ];
}

const toServer = ({ server, provider, ref, ...record }: ServerRecord, counts: ReadonlyMap<string, number>) => {
  const { logFile: log_file, shared, suspendedAt, madeBy: made_by } = record;
  const state = { suspended_at: toTime(suspendedAt), keys: counts.get(server) ?? 0, made_by };
  return { server, provider, ref, log_file, shared: shared !== 'no', ...state };
};

const toKey = ({ id, label, servers, scopes, ...key }: ApiKeyRecord) => {
  const [created_at, expires_at] = [toTime(key.createdAt), toTime(key.expiresAt)];
  const [revoked_at, last_used_at] = [toTime(key.revokedAt), toTime(key.lastUsedAt)];
  return { id, label, servers, scopes, created_at, expires_at, revoked_at, last_used_at };
};
