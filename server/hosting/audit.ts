import { createEvent } from '../events.ts';
import type { AuditEntry, Store } from '../store/types.ts';

/** Publishes each change of an API key by its author. */
export const changedKeys = createEvent<{ readonly actor: string }>('key-changed');

/** A change of an API key or a server by a command, such as `keys rotate`; values are without secrets, null is not logged. */
type Change = Pick<AuditEntry, 'action'> &
  Partial<Pick<AuditEntry, 'keyId' | 'server'>> & { readonly values?: Readonly<Record<string, string | null>> };

/** The author of a change, and the request. */
export interface ChangeAuthor extends Partial<Pick<AuditEntry, 'requestId' | 'ip'>> {
  readonly actor: string;
}

/** Returns a function that applies a change and audits it; resolves to true if something changed. */
export function createAuditedChange(audit: Store['audit'], { actor, requestId = null, ip = null }: ChangeAuthor) {
  return async (
    { action, keyId = null, server = null, values = {} }: Change,
    /** Resolves to false if the record is not found, to `exists` or `conflict` if another record or change was first. */
    apply: () => Promise<boolean | void | 'exists' | 'conflict'>,
  ): Promise<boolean> => {
    const pairs = Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [`${name}=${value}`]));
    const entry = { actor, action, keyId, server, detail: pairs.join(' ') || null, requestId, ip };
    const finish = await audit.begin(entry);
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
}
