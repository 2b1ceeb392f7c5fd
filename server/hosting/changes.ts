import type { AuditEntry, Store } from '../store/types.ts';
import { writeRequested } from './audit.ts';

/** A change of an API key or a server. */
export interface Change extends Partial<Pick<AuditEntry, 'keyId' | 'server'>> {
  /** The command, for instance `keys rotate`. */
  readonly action: string;
  /** The new values, without secrets; null ones are left out of the log. */
  readonly values?: Readonly<Record<string, string | null>>;
}

/** Options of auditing changes. */
export interface ChangeAuditOptions {
  readonly audit: Store['audit'];
  /** Who makes the changes. */
  readonly actor: string;
  /** Called if the entry after a change cannot be written. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Makes a change, which returns false if there is no such key or server, and `exists` if there already is one. Writes it to
 * the audit log, and returns whether it was made.
 */
export type AuditedChange = (change: Change, apply: () => Promise<boolean | void | 'exists'>) => Promise<boolean>;

/** Creates {@link AuditedChange}. A change is not made if the entry before it cannot be written. */
export function createAuditedChange({ audit, actor, onFailure }: ChangeAuditOptions): AuditedChange {
  return async ({ action, keyId = null, server = null, values = {} }, apply) => {
    const pairs = Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [`${name}=${value}`]));
    const detail = pairs.join(' ') || null;
    const entry = { actor, action, keyId, server, detail, requestId: null, ip: null };
    const finish = await writeRequested({ audit, onFailure, now: Date.now }, entry);
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
