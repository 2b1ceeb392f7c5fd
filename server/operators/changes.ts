import { allows, scopes as allScopes } from '#contract/api-keys.ts';
import type { ServerName } from '#contract/api-keys.ts';
import { createEvent } from '../events.ts';
import { findRecordProblem, findTwin, normalizeRef } from '../hosting/providers.ts';
import type { WrittenProviders } from '../hosting/providers.ts';
import { createSecret, generateApiKey, isActive, nameKind } from '../keys/authorize.ts';
import type { KeyPrefix } from '../keys/authorize.ts';
import { Problem } from '../problem.ts';
import { StoreError, isUnreachable } from '../store/database.ts';
import type {
  ApiKeyRecord,
  AuditEntry,
  ChildKey,
  NewServer,
  OperatorToken,
  SecretRecords,
  ServerRecord,
  Store,
} from '../store/types.ts';

/** Publishes each change of an API key by its author. */
export const changedKeys = createEvent<{ readonly actor: string }>('key-changed');

/** The author of changes, such as an operator token, and its request. */
export interface Author extends Partial<Pick<AuditEntry, 'requestId' | 'ip'>> {
  readonly actor: string;
  readonly token?: Pick<OperatorToken, 'id' | 'label' | 'rights'>;
}

export const commandLine: Author = { actor: 'command line' };

/** A change such as `keys rotate`; values are without secrets, null is not logged. */
type Change = Pick<AuditEntry, 'action'> &
  Partial<Pick<AuditEntry, 'keyId' | 'server'>> & { readonly values?: Readonly<Record<string, string | null>> };

/** The permissions of a key. */
export type Grant = Pick<ApiKeyRecord, 'servers' | 'scopes' | 'expiresAt' | 'managesKeys'>;

/** Another change may come between read and write, but hardly ten times. */
const attempts = Array.from({ length: 10 });
const conflict = (message: string, fields = {}): Problem => new Problem('conflict', message, { fields });
const missingServer = (server: ServerName): Problem => new Problem('not_found', `There is no server ${server}`);
const suspendedByStaff = (server: ServerName): Problem =>
  conflict(`${server} is suspended by staff, who alone can resume it`);
const isStaffs = ({ suspendedAt, suspendedBy }: ServerRecord): boolean => suspendedAt !== null && suspendedBy === null;
const later = (time: number | null): number => time ?? Infinity;

/** Creates the changes of customers' servers, API keys and operator tokens. They throw Problems. */
export function createChanges(store: Store, author: Author) {
  const { apiKeys, childKeys, operators, servers } = store;
  const { actor, token, requestId = null, ip = null } = author;
  /** Writes an option as the author passes it. */
  const toOption = (name: string): string => (token ? `"${name}": true` : `--${name}`);
  /** Applies a change and audits it; resolves to true if something changed. */
  const change = async (
    { action, keyId = null, server = null, values = {} }: Change,
    /** Resolves to false if the record is not found, to `exists` or `conflict` if another record or change was first. */
    apply: () => Promise<boolean | void | 'exists' | 'conflict'>,
  ): Promise<boolean> => {
    const pairs = Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [`${name}=${value}`]));
    const entry = { actor, action, keyId, server, detail: pairs.join(' ') || null, requestId, ip };
    const finish = await store.audit.begin(entry);
    try {
      const result = await apply();
      const hasChanged = result !== false && typeof result !== 'string';
      await finish(typeof result === 'string' ? result : hasChanged ? 'ok' : 'not_found');
      if (hasChanged && action.startsWith('keys ')) changedKeys.publish({ actor });
      return hasChanged;
    } catch (error) {
      // The store may have made the change before the connection was lost.
      await finish('unknown');
      throw error;
    }
  };

  /** Gives a key or a token a new secret, unless it has changed since it was read. */
  const rotate = async <Key extends ApiKeyRecord | ChildKey | OperatorToken>(
    prefix: KeyPrefix,
    records: SecretRecords<Key>,
    key: Key,
    overlapMs: number,
    changes: Partial<Key> = {},
  ) => {
    const [{ id }, now] = [key, Date.now()];
    const name = nameKind(`API key ${id}`, prefix);
    const ended = key.revokedAt === null ? 'has expired' : 'is revoked';
    if (!isActive(key, now)) throw conflict(`${name} ${ended}: create a new ${prefix === 'hk' ? 'key' : 'token'}`);
    const { hash: secretHash, text } = generateApiKey(id, prefix);
    const secrets = { secretHash, previousHash: key.secretHash, previousUntil: now + overlapMs };
    const values = { old_valid_until: toIso(now + overlapMs) };
    const entry = { action: `${commands[prefix]} rotate`, keyId: id, values };
    const apply = async () => (await records.update(id, { ...changes, ...secrets }, key)) || 'conflict';
    if (!(await change(entry, apply)))
      throw conflict(`${name} was changed at the same time: look at it, and repeat this`);
    const oldUntil = overlapMs > 0 ? toIso(Math.min(now + overlapMs, later(key.expiresAt))) : null;
    return { key, text, oldUntil };
  };
  /** Revokes a key or a token for good; a repetition changes nothing. */
  const revoke = async (prefix: KeyPrefix, id: string): Promise<void> => {
    const tables = prefix === 'ho' ? [operators] : [apiKeys, childKeys];
    // A damaged record can be revoked, too.
    const found = await Promise.all(tables.map((records) => records.find(id).catch(() => undefined)));
    if (found.some((key) => key && key.revokedAt !== null)) return;
    const apply = async () =>
      (await Promise.all(tables.map((records) => records.revoke(id, Date.now())))).includes(true);
    if (!(await change({ action: `${commands[prefix]} revoke`, keyId: id }, apply)))
      throw new Problem('not_found', nameKind(`no API key has the id ${id}`, prefix));
  };

  const widenedBy = (ids: readonly string[]) => [...new Set([...ids, ...(token ? [token.id] : [])])];
  /** Changes a key as `toChanges` says of the key as it is now; returns the changed key. */
  const updateKey = async (
    id: string,
    toChanges: (key: ApiKeyRecord) => Partial<ApiKeyRecord>,
  ): Promise<ApiKeyRecord> => {
    for (const _ of attempts) {
      const key = await apiKeys.find(id);
      if (!key) throw new Problem('not_found', `no API key has the id ${id}`);
      const given = toChanges(key);
      const changed = { ...key, ...given };
      if (Object.keys(given).length === 0) return key;
      if (key.revokedAt !== null) throw conflict(`API key ${id} is revoked: create a new key`);
      if (JSON.stringify(changed) === JSON.stringify(key)) return key;
      const isWider =
        !changed.servers.every((server) => key.servers.includes(server)) ||
        !changed.scopes.every((scope) => allows(key.scopes, scope)) ||
        later(changed.expiresAt) > later(key.expiresAt) ||
        (changed.managesKeys && !key.managesKeys);
      const changes = { ...given, ...(isWider && { widenedBy: widenedBy(key.widenedBy) }) };
      const apply = async () => (await apiKeys.update(id, changes, key)) || 'conflict';
      const action = changed.revokedAt === null ? 'keys update' : 'keys revoke';
      if (await change({ action, keyId: id, values: toValues(given) }, apply)) return changed;
    }
    throw conflict(`API key ${id} is being changed: try again`);
  };
  /** Creates a key, or with `ifAbsent` returns the active key with its label, whose text is unknown. */
  const createKey = async (fields: Grant & Pick<ApiKeyRecord, 'label'>, ifAbsent = false) => {
    const { record, text } = createSecret('hk', { ...fields, widenedBy: widenedBy([]) });
    let existing = ifAbsent ? await apiKeys.findActive(record.label, record.createdAt) : undefined;
    const apply = async () => {
      if (!ifAbsent) return await apiKeys.create(record);
      // Another author may have created the key by now.
      existing = await apiKeys.createIfAbsent(record);
      return existing ? 'exists' : true;
    };
    const { servers: names, scopes, expiresAt, managesKeys } = record;
    const given = { ...(expiresAt !== null && { expiresAt }), ...(managesKeys && { managesKeys }) };
    const values = toValues({ servers: names, scopes, ...given });
    if (!existing) await change({ action: 'keys create', keyId: record.id, values }, apply);
    return existing ? { record: existing, text: undefined } : { record, text };
  };

  /** Finds a record, or the error of a damaged record. */
  const findServer = async (server: ServerName): Promise<ServerRecord | StoreError | undefined> => {
    const found = await servers.find(server).catch((error: StoreError) => error);
    if (isUnreachable(found)) throw found;
    return found;
  };
  /** Finds a sound record to change. The command line audits its attempts on missing ones. */
  const findExisting = async (server: ServerName): Promise<ServerRecord | undefined> => {
    const found = await findServer(server);
    if (!found && token) throw missingServer(server);
    return found instanceof Error ? undefined : found;
  };
  const suspend = async (server: ServerName): Promise<void> => {
    const found = await findExisting(server);
    if (found && found.suspendedAt !== null && (token || isStaffs(found))) return;
    const apply = () => servers.suspend(server, Date.now(), token?.label);
    if (!(await change({ action: 'servers suspend', server }, apply))) throw missingServer(server);
  };
  const resume = async (server: ServerName): Promise<void> => {
    const found = await findExisting(server);
    if (found?.suspendedAt === null) return;
    if (found && token && isStaffs(found)) throw suspendedByStaff(server);
    const apply = async () => (await servers.resume(server, token?.label)) || (found ? 'conflict' : false);
    if (await change({ action: 'servers resume', server }, apply)) return;
    throw found ? suspendedByStaff(server) : missingServer(server);
  };
  return {
    change,
    async rotateToken(id: string, overlapMs: number) {
      const key = await operators.find(id);
      if (!key) throw new Problem('not_found', `no operator token has the id ${id}`);
      return await rotate('ho', operators, key, overlapMs);
    },
    /** Revokes a token and, `withKeys`, the keys that it made or gave more; returns the ids of these keys. */
    async revokeToken(id: string, withKeys: boolean): Promise<string[]> {
      await revoke('ho', id);
      const keys = withKeys ? await apiKeys.list() : [];
      const own = keys.filter((key) => key.widenedBy.includes(id) && key.revokedAt === null);
      for (const key of own) await revoke('hk', key.id);
      return own.map((key) => key.id);
    },
    rotateKey: (key: ApiKeyRecord | ChildKey, overlapMs: number) =>
      'parentId' in key
        ? rotate('hk', childKeys, key, overlapMs)
        : rotate('hk', apiKeys, key, overlapMs, { widenedBy: widenedBy(key.widenedBy) }),
    revoke,
    createKey,
    updateKey,
    /** Creates a key with this label, or changes the key of this name. Returns the text of a new key only. */
    async putKey(name: string, grant: Grant) {
      const byId = (await apiKeys.findActive(name, Date.now())) ? undefined : await apiKeys.find(name);
      const { record, text } = byId ? { record: byId } : await createKey({ label: name, ...grant }, true);
      return { record: text === undefined ? await updateKey(record.id, () => grant) : record, text };
    },
    suspend,
    resume,
    /** Adds a record, or replaces a record with other values if allowed; by default, a suspension stays. */
    async putServer(record: NewServer, replace: boolean, providers?: WrittenProviders, suspended?: boolean) {
      const { server, provider, ref, logFile, shared } = record;
      for (const _ of attempts) {
        // Replacing a damaged record is the only way to repair it.
        const found = await findServer(server);
        const existing = found instanceof Error ? undefined : found;
        if (existing && suspended === false && token && isStaffs(existing)) throw suspendedByStaff(server);
        const isSame =
          existing?.provider === provider &&
          normalizeRef(provider, existing.ref, providers) === ref &&
          existing.logFile === logFile &&
          (shared === undefined || shared === existing.shared);
        if (found && !isSame && !replace) {
          const reason = existing ? `${server} exists with ${describeRecord(existing)}` : (found as Error).message;
          throw conflict(`${reason}; pass ${toOption('replace')} to replace the record`);
        }
        const twin = isSame || shared !== undefined ? undefined : await findTwin(servers, record, providers);
        if (twin) {
          const reason = `${twin.server} has ${describeRecord(twin)}`;
          const message = `${reason}; pass ${toOption('shared')} to allow a second server`;
          throw conflict(message, { server: twin.server });
        }
        const suspension = !found && suspended ? { suspendedAt: Date.now(), suspendedBy: token?.label ?? null } : {};
        const whole = { ...(isSame ? existing : record), ...(token && { madeBy: token.label }), ...suspension };
        const apply = async () => {
          try {
            return (await (found ? servers.put(whole) : servers.add(whole))) || 'exists';
          } catch (error) {
            if (error instanceof StoreError && error.fault === 'duplicate') return 'exists';
            throw error;
          }
        };
        const values = { provider, ref, log_file: logFile, ...(shared && { shared }) };
        const isDone = isSame && (!token || existing.madeBy === token.label);
        if (!isDone && !(await change({ action: 'servers add', server, values }, apply))) continue;
        if (found && suspended !== undefined) await (suspended ? suspend : resume)(server);
        return { outcome: isSame ? 'same' : found ? 'changed' : 'added', before: existing } as const;
      }
      throw conflict(`${server} is being changed: try again`);
    },
    /** Removes a server; an operator token takes it from its keys first, and a key without another server ends. */
    async removeServer(server: ServerName): Promise<void> {
      await findExisting(server);
      for (const { id } of token ? await apiKeys.page('', server) : []) {
        await updateKey(id, (key) => {
          const others = key.servers.filter((other) => other !== server);
          if (key.revokedAt !== null || others.length === key.servers.length) return {};
          return others.length > 0 ? { servers: others } : { revokedAt: Date.now() };
        });
      }
      if (!(await change({ action: 'servers remove', server }, () => servers.remove(server))))
        throw missingServer(server);
    },
  };
}

/** Adds the servers of `npm start`, and a key for them; returns the key, with its text if this call created it. */
export async function addDemo(store: Store) {
  const changes = createChanges(store, { actor: 'npm start' });
  const servers: readonly ServerName[] = ['game:demo', 'vps:demo'];
  for (const server of servers)
    await changes.putServer({ server, provider: 'demo', ref: server.replace(':', '-'), logFile: null }, true);
  const grant = { servers, scopes: allScopes, expiresAt: null, managesKeys: false };
  const { record, text } = await changes.createKey({ label: 'demo key of npm start', ...grant }, true);
  return { ...record, text };
}

const commands = { hk: 'keys', ho: 'operators' } as const;

/** Formats a time in ISO format; null stays null. */
export const toIso = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString());

/** Describes changes of a key for the audit log. */
export function toValues({ servers, scopes, expiresAt, label, managesKeys }: Partial<ApiKeyRecord>) {
  return {
    manages_keys: managesKeys === undefined ? null : String(managesKeys),
    servers: servers?.join(',') ?? null,
    scopes: scopes?.join(',') ?? null,
    expires: expiresAt === undefined ? null : (toIso(expiresAt) ?? 'never'),
    label: label === undefined ? null : JSON.stringify(label),
  };
}

/** Checks a new record against PROVIDERS_FILE, if known, and normalizes its ref. Throws a Problem. */
export function checkRecord(record: NewServer, providers: WrittenProviders | undefined): NewServer {
  const problem = providers && findRecordProblem(record, providers);
  if (problem !== undefined) throw new Problem('validation_error', problem);
  return { ...record, ref: normalizeRef(record.provider, record.ref, providers) };
}

/** Describes the target of a record. */
export function describeRecord({ provider, ref, logFile }: NewServer): string {
  return `ref ${ref} of provider ${provider}${logFile === null ? '' : ` and log file ${logFile}`}`;
}
