import { randomUUID } from 'node:crypto';
import type { AuditEntry, Store } from '../store/types.ts';

/** Where entries are written. */
export interface AuditOptions {
  readonly audit: Store['audit'];
  /** Called if the entry after an action or change cannot be written. */
  readonly onFailure: (error: unknown) => void;
  readonly now?: () => number;
}

/**
 * Writes the entry before an action or change. Rejects if it cannot be written; then the action must not be done. Returns
 * the function that writes the entry after it, which never rejects.
 */
export async function writeRequested(
  { audit, onFailure, now = Date.now }: AuditOptions,
  fields: Omit<AuditEntry, 'actionId' | 'at' | 'phase' | 'outcome' | 'ms'>,
): Promise<(outcome: string) => Promise<void>> {
  const started = now();
  const entry = { ...fields, actionId: randomUUID() };
  await audit.append({ ...entry, at: started, phase: 'requested', outcome: null, ms: null });
  return (outcome) =>
    audit.append({ ...entry, at: now(), phase: 'finished', outcome, ms: now() - started }).catch(onFailure);
}

/** A change of an API key or a server. */
export interface Change extends Partial<Pick<AuditEntry, 'keyId' | 'server'>> {
  /** The command, for instance `keys rotate`. */
  readonly action: string;
  /** The new values, without secrets; null ones are left out of the log. */
  readonly values?: Readonly<Record<string, string | null>>;
}

/**
 * Makes a change, which returns false if there is no such key or server, and `exists` if there already is one. Writes it to
 * the audit log, and returns whether it was made.
 */
export type AuditedChange = (change: Change, apply: () => Promise<boolean | void | 'exists'>) => Promise<boolean>;

/** Creates {@link AuditedChange} for an actor. A change is not made if the entry before it cannot be written. */
export function createAuditedChange({ actor, ...options }: AuditOptions & { readonly actor: string }): AuditedChange {
  return async ({ action, keyId = null, server = null, values = {} }, apply) => {
    const pairs = Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [`${name}=${value}`]));
    const detail = pairs.join(' ') || null;
    const finish = await writeRequested(options, { actor, action, keyId, server, detail, requestId: null, ip: null });
    let result: boolean | void | 'exists';
    try {
      result = await apply();
    } catch (error) {
      // The store may have made the change before the connection was lost.
      await finish('unknown');
      throw error;
    }
    if (result === 'exists') await finish(result);
    else await finish(result === false ? 'not_found' : 'ok');
    return result !== false && result !== 'exists';
  };
}
