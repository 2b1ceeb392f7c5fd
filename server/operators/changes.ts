import type { ServerName } from '#contract/api-keys.ts';
import { createAuditedChange } from '../hosting/audit.ts';
import type { ChangeAuthor } from '../hosting/audit.ts';
import { findRecordProblem, findTwin, normalizeRef } from '../hosting/providers.ts';
import type { WrittenProviders } from '../hosting/providers.ts';
import { createApiKey, generateApiKey, isActive } from '../keys/authorize.ts';
import { Problem } from '../problem.ts';
import { StoreError, isUnreachable } from '../store/database.ts';
import type { ApiKeyRecord, NewServer, ServerRecord, Store } from '../store/types.ts';

/** The author of changes, such as the command line. */
export interface Author extends ChangeAuthor {
  /** Writes an option as the author passes it, such as `--replace`. */
  readonly toOption: (name: string) => string;
}

export const commandLine: Author = { actor: 'command line', toOption: (name) => `--${name}` };

/** The servers, scopes and end of a key. */
export type Grant = Pick<ApiKeyRecord, 'servers' | 'scopes' | 'expiresAt'>;

/** Another change may come between read and write, but hardly ten times. */
const attempts = Array.from({ length: 10 });
const conflict = (message: string): Problem => new Problem('conflict', message);
const missingServer = (server: ServerName): Problem => new Problem('not_found', `There is no server ${server}`);
const later = (time: number | null): number => time ?? Infinity;

/** Creates the changes of customers' servers and API keys. They throw Problems. */
export function createChanges(store: Store, author: Author) {
  const { apiKeys, servers } = store;
  const { toOption } = author;
  const change = createAuditedChange(store.audit, author);

  /** Gives a key a new secret, unless it has changed since it was read. */
  const rotateKey = async (key: ApiKeyRecord, overlapMs: number) => {
    const [{ id }, now] = [key, Date.now()];
    const ended = key.revokedAt === null ? 'has expired' : 'is revoked';
    if (!isActive(key, now)) throw conflict(`API key ${id} ${ended}: create a new key`);
    const { hash: secretHash, text } = generateApiKey(id);
    const secrets = { secretHash, previousHash: key.secretHash, previousUntil: now + overlapMs };
    const entry = { action: 'keys rotate', keyId: id, values: { old_valid_until: toIso(now + overlapMs) } };
    const apply = async () => (await apiKeys.update(id, secrets, key)) || 'conflict';
    if (!(await change(entry, apply)))
      throw conflict(`API key ${id} was changed at the same time: look at it, and repeat this`);
    return { text, oldUntil: toIso(Math.min(now + overlapMs, later(key.expiresAt)))! };
  };
  /** Revokes a key for good; a repetition changes nothing. */
  const revokeKey = async (id: string): Promise<void> => {
    // A damaged record can be revoked, too.
    const key = await apiKeys.find(id).catch(() => undefined);
    if (key && key.revokedAt !== null) return;
    const isDone = await change({ action: 'keys revoke', keyId: id }, () => apiKeys.revoke(id, Date.now()));
    if (!isDone) throw new Problem('not_found', `no API key has the id ${id}`);
  };
  /** Changes the given fields of a key; returns the changed key. */
  const updateKey = async (id: string, given: Partial<ApiKeyRecord>): Promise<ApiKeyRecord> => {
    for (const _ of attempts) {
      const key = await apiKeys.find(id);
      if (!key) throw new Problem('not_found', `no API key has the id ${id}`);
      const changed = { ...key, ...given };
      if (key.revokedAt !== null) throw conflict(`API key ${id} is revoked: create a new key`);
      if (JSON.stringify(changed) === JSON.stringify(key)) return key;
      const apply = async () => (await apiKeys.update(id, given, key)) || 'conflict';
      if (await change({ action: 'keys update', keyId: id, values: toValues(given) }, apply)) return changed;
    }
    throw conflict(`API key ${id} is being changed: try again`);
  };
  /** Creates a key, or with `ifAbsent` returns the active key with its label, whose text is unknown. */
  const createKey = async (fields: Grant & Pick<ApiKeyRecord, 'label'>, ifAbsent = false) => {
    const { record, text } = createApiKey(fields);
    let existing = ifAbsent ? await apiKeys.findActive(record.label, record.createdAt) : undefined;
    const apply = async () => {
      if (!ifAbsent) return await apiKeys.create(record);
      // Another author may have created the key by now.
      existing = await apiKeys.createIfAbsent(record);
      return existing ? 'exists' : true;
    };
    const { servers: names, scopes, expiresAt } = record;
    const values = toValues({ servers: names, scopes, ...(expiresAt !== null && { expiresAt }) });
    if (!existing) await change({ action: 'keys create', keyId: record.id, values }, apply);
    return existing ? { record: existing, text: undefined } : { record, text };
  };

  /** Finds a record, or the error of a damaged record. */
  const findServer = async (server: ServerName): Promise<ServerRecord | StoreError | undefined> => {
    const found = await servers.find(server).catch((error: StoreError) => error);
    if (isUnreachable(found)) throw found;
    return found;
  };
  /** Changes a server, unless it is suspended or not, as wanted, already. */
  const setSuspended = async (server: ServerName, isSuspended: boolean): Promise<void> => {
    const found = await findServer(server);
    if (found && !(found instanceof Error) && (found.suspendedAt !== null) === isSuspended) return;
    const action = isSuspended ? 'servers suspend' : 'servers resume';
    const apply = () => (isSuspended ? servers.suspend(server, Date.now()) : servers.resume(server));
    if (!(await change({ action, server }, apply))) throw missingServer(server);
  };
  return {
    rotateKey,
    revokeKey,
    createKey,
    updateKey,
    suspend: (server: ServerName) => setSuspended(server, true),
    resume: (server: ServerName) => setSuspended(server, false),
    /** Adds a record, or replaces a record with other values if allowed. */
    async putServer(record: NewServer, replace: boolean, providers?: WrittenProviders) {
      const { server, provider, ref, logFile, shared } = record;
      for (const _ of attempts) {
        // Replacing a damaged record is the only way to repair it.
        const found = await findServer(server);
        const existing = found instanceof Error ? undefined : found;
        const isSame =
          existing?.provider === provider &&
          normalizeRef(provider, existing.ref, providers) === ref &&
          existing.logFile === logFile &&
          (shared === undefined || shared === existing.shared);
        if (found && !isSame && !replace) {
          const reason = existing ? `${server} exists with ${describeRecord(existing)}` : (found as Error).message;
          throw conflict(`${reason}; pass ${toOption('replace')} to replace the record`);
        }
        if (isSame) return { outcome: 'same', before: existing } as const;
        const twin = shared === undefined ? await findTwin(servers, record, providers) : undefined;
        if (twin) {
          const reason = `${twin.server} has ${describeRecord(twin)}`;
          throw conflict(`${reason}; pass ${toOption('shared')} to allow a second server`);
        }
        const apply = async () => {
          try {
            return (await (found ? servers.put(record) : servers.add(record))) || 'exists';
          } catch (error) {
            if (error instanceof StoreError && error.fault === 'duplicate') return 'exists';
            throw error;
          }
        };
        const values = { provider, ref, log_file: logFile, ...(shared && { shared }) };
        if (await change({ action: 'servers add', server, values }, apply))
          return { outcome: found ? 'changed' : 'added', before: existing } as const;
      }
      throw conflict(`${server} is being changed: try again`);
    },
    async removeServer(server: ServerName): Promise<void> {
      if (!(await change({ action: 'servers remove', server }, () => servers.remove(server))))
        throw missingServer(server);
    },
  };
}

const toIso = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString());

/** Describes changes of a key for the audit log. */
function toValues({ servers, scopes, expiresAt, label }: Partial<ApiKeyRecord>) {
  return {
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
