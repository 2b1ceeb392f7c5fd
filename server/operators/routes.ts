import { z } from 'zod';
import { allows } from '#contract/api-keys.ts';
import type { ServerName } from '#contract/api-keys.ts';
import { endpoints, fileOf } from '#contract/endpoints.ts';
import type { keyEntries } from '#contract/keys.ts';
import type { operatorEndpoints } from '#contract/operators.ts';
import { readProviders } from '../hosting/providers.ts';
import { handle } from '../http/handle.ts';
import type { JsonReply, KeyCaller, OperatorCaller, Route, RouteRequest } from '../http/handle.ts';
import { assertNetwork } from '../http/request.ts';
import type { RequestContext } from '../http/request.ts';
import { toStoredJson } from '../http/stored.ts';
import type { StoredFile } from '../http/stored.ts';
import { createAuthenticate, createSecret } from '../keys/authorize.ts';
import type { Lifecycle } from '../lifecycle.ts';
import { Problem } from '../problem.ts';
import { SharedSettings, integer } from '../settings.ts';
import type { ApiKeyRecord, ChildKey, ServerRecord, Store, UsableKey } from '../store/types.ts';
import { checkRecord, createChanges, toIso, toValues } from './changes.ts';

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
  return async (context: RequestContext, right: string): Promise<OperatorCaller> => {
    const { id, label, rights, networks } = (await authenticate(context.request.headers)).key;
    assertNetwork(networks, context, 'operator token');
    if (right !== 'any') assertRight(rights, right);
    return { token: { id, label, rights }, requestId: context.id, ip: context.client.address };
  };
}

function assertRight(rights: readonly string[], right: string): void {
  if (rights.includes(right)) return;
  const headers = { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${right}"` };
  throw new Problem('insufficient_scope', `This operator token lacks the right ${right}`, { headers });
}

const pageSize = 1000;

/** Renders the description, which takes milliseconds. */
async function describe(): Promise<StoredFile> {
  const { renderOpenApi } = await import('#contract/openapi.ts');
  return toStoredJson(renderOpenApi({ parameters: {}, bodies: {} }, { name: "Operators' port" }, false), 'no-store');
}

/** Cuts a list that has one more entry than a page. */
function toPage<Item>(all: readonly Item[], toCursor: (item: Item) => string) {
  const page = all.slice(0, pageSize);
  return { page, next: all.length > page.length ? toCursor(page.at(-1)!) : null };
}

const showKey = (record: ApiKeyRecord | ChildKey, text: string | null = null, warnings: readonly string[] = []) => {
  const body = { success: true, ...toOperatorKey(record), key: text, warnings };
  return { status: text === null ? 200 : 201, body };
};

/** Returns a function that binds a change by a key or an operator; it completes even if the client disconnects. */
const createBind =
  (store: Store, lifecycle: Lifecycle) =>
  <Name extends keyof typeof keyEntries | keyof typeof operatorEndpoints>(
    name: Name,
    work: (request: RouteRequest<Name>, changes: ReturnType<typeof createChanges>) => Promise<JsonReply>,
  ): Route =>
    handle(name, (request) => {
      const { token, keyId, ...sent } = request.caller as OperatorCaller & Partial<KeyCaller>;
      const author = keyId ? { actor: `API key ${keyId}` } : { actor: `operator ${token.label} (${token.id})`, token };
      const changes = createChanges(store, { ...sent, ...author });
      return lifecycle.finish(() => work(request, changes));
    });

/** Renders a key without its hashes. */
function renderKey({ id, label, servers, scopes, ...key }: Omit<ApiKeyRecord, 'managesKeys' | 'widenedBy'>) {
  const [created_at, expires_at] = [toIso(key.createdAt), toIso(key.expiresAt)];
  const [revoked_at, last_used_at] = [toIso(key.revokedAt), toIso(key.lastUsedAt)];
  return { id, label, servers, scopes, created_at, expires_at, revoked_at, last_used_at };
}
const renderChild = ({ networks, ...key }: Omit<UsableKey, 'managesKeys' | 'widenedBy'>) => {
  return { ...renderKey(key), networks };
};

/** Creates the routes of the operators' port, with its OpenAPI document, and its page with script and style. */
export function createOperatorRoutes(
  store: Store,
  lifecycle: Lifecycle,
  providersFile: string | undefined,
  /** Finds a file of the current release; throws a Problem for a missing one. */
  findFile: (target: string) => StoredFile,
): Route[] {
  const { apiKeys, childKeys, servers } = store;
  const change = createBind(store, lifecycle);
  let description: Promise<StoredFile> | undefined;
  const showServer = async (name: string, status = 200, warnings: readonly string[] = []) => {
    const record = await servers.find(name as ServerName);
    if (!record) throw new Problem('not_found', `There is no server ${name}`);
    const body = { success: true, ...toServer(record, await apiKeys.countActive(Date.now(), name)), warnings };
    return { status, body };
  };
  /** Finds a key by the label of an active key or by id; to revoke, also a child key, or the newest ended key by label. */
  const findKey = async (name: string, toRevoke = false): Promise<ApiKeyRecord | ChildKey> => {
    const found = (await apiKeys.findActive(name, Date.now())) ?? (await apiKeys.find(name));
    const key = found ?? (toRevoke ? ((await childKeys.find(name)) ?? (await apiKeys.findNewest(name))) : undefined);
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
      const pages = [apiKeys, childKeys].map((records) => records.page(after, server, pageSize + 1));
      const found = (await Promise.all(pages)).flat().toSorted((one, other) => (one.id < other.id ? -1 : 1));
      const { page, next } = toPage(found, ({ id }) => id);
      return { status: 200, body: { success: true, keys: page.map(toOperatorKey), next } };
    }),
    change('putOperatorKey', async ({ rest, body }, changes) => {
      const { servers: named, scopes, expires_at: end, manages_keys: managesKeys = false } = body;
      const names = [...new Set(named as ServerName[])];
      const expiresAt = end ? Date.parse(end) : null;
      const grant = { servers: names, scopes: [...new Set(scopes)], expiresAt, managesKeys };
      const { record, text } = await changes.putKey(rest, grant);
      const known = await servers.findOpen(names, true);
      const unknown = names.filter((name) => !known.has(name)).map((name) => `There is no server ${name}`);
      return showKey(record, text, unknown);
    }),
    change('deleteOperatorKey', async ({ rest }, { revoke }) => {
      const { id } = await findKey(rest, true);
      await revoke('hk', id);
      return showKey(await findKey(id, true));
    }),
    change('rotateOperatorKey', async ({ rest, body }, { rotateKey }) => {
      const overlapMs = (body?.overlap_seconds ?? 0) * 1000;
      const { key, text, oldUntil: old_valid_until } = await rotateKey(await findKey(rest), overlapMs);
      return { status: 200, body: { success: true, id: key.id, key: text, old_valid_until } };
    }),
    { endpoint: endpoints.getOpenApi, answer: () => (description ??= describe()) },
    { endpoint: endpoints.getDocs, answer: async () => findFile(fileOf('operatorDocs')) },
    handle('getDocsFile', ({ rest }) => findFile(/\.(?:css|js)$/.test(rest) ? `/docs/${rest}` : '')),
  ];
}

const toServer = ({ server, provider, ref, ...record }: ServerRecord, counts: ReadonlyMap<string, number>) => {
  const { logFile: log_file, shared, suspendedAt, madeBy: made_by } = record;
  const state = { suspended_at: toIso(suspendedAt), keys: counts.get(server) ?? 0, made_by };
  return { server, provider, ref, log_file, shared: shared !== 'no', ...state };
};

const toOperatorKey = (key: ApiKeyRecord | ChildKey) => {
  const more =
    'parentId' in key ? { parent: key.parentId, manages_keys: false } : { parent: null, manages_keys: key.managesKeys };
  return { ...renderKey(key), ...more };
};

/** Creates the routes of keys that look after themselves and their child keys. */
export function keyRoutes(store: Store, lifecycle: Lifecycle) {
  const { apiKeys, childKeys, keyring } = store;
  const bind = createBind(store, lifecycle);
  return {
    listChildKeys: handle('listChildKeys', async ({ caller: { keyId } }) => {
      return { status: 200, body: { success: true, keys: (await keyring.childrenOf(keyId)).map(renderChild) } };
    }),
    createChildKey: bind('createChildKey', async ({ body, caller }, { change }) => {
      const { label, networks = [], expires_at: end } = body;
      const servers = [...new Set((body.servers as ServerName[] | undefined) ?? caller.servers)];
      const scopes = [...new Set(body.scopes)];
      const lacking = scopes.filter((scope) => !allows(caller.scopes, scope));
      const missing = [...lacking, ...servers.filter((server) => !caller.servers.includes(server))];
      if (missing.length > 0) throw new Problem('validation_error', `This API key does not have ${missing.join(', ')}`);
      const parent = { parentId: caller.keyId, parentHash: caller.secretHash, slot: null };
      const rights = { label, servers, scopes, networks, expiresAt: end ? Date.parse(end) : null };
      const { record, text } = createSecret('hk', { ...parent, ...rights } satisfies Partial<ChildKey>);
      const values = { parent: caller.keyId, ...toValues(record), networks: networks.join(',') || null };
      const apply = async () => (await childKeys.create(record)) || 'conflict';
      if (!(await change({ action: 'keys create', keyId: record.id, values }, apply))) throw new Problem('conflict');
      return { status: 201, body: { success: true, ...renderChild(record), key: text } };
    }),
    revokeChildKey: bind('revokeChildKey', async ({ rest, caller }, { revoke }) => {
      if ((await childKeys.find(rest))?.parentId !== caller.keyId) throw new Problem('not_found');
      await revoke('hk', rest);
      return { status: 200, body: { success: true, id: rest } };
    }),
    rotateKey: bind('rotateKey', async ({ body, caller }, { rotateKey }) => {
      // Of several rotations at once, each expects the secret of its request.
      const key = { ...(await apiKeys.find(caller.keyId))!, secretHash: caller.secretHash };
      const { text, oldUntil: old_valid_until } = await rotateKey(key, (body?.overlap_seconds ?? 0) * 1000);
      return { status: 200, body: { success: true, id: key.id, key: text, old_valid_until } };
    }),
    revokeKey: bind('revokeKey', async ({ caller: { keyId: id } }, { revoke }) => {
      await revoke('hk', id);
      return { status: 200, body: { success: true, id } };
    }),
  };
}
