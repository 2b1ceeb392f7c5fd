import type { AuditEntry, Store } from '../store/types.ts';

/** A change of an API key or a server. */
export interface AuditedChange extends Partial<Pick<AuditEntry, 'keyId' | 'server'>> {
  /** The command, such as `keys rotate`. */
  readonly action: string;
  /** The new values, without secrets; null values are not logged. */
  readonly values?: Readonly<Record<string, string | null>>;
}

/** Returns a function that applies a change and audits it; resolves to true if something changed. */
export function createAuditedChange(options: { readonly audit: Store['audit']; readonly actor: string }) {
  const { audit, actor } = options;
  return async (
    { action, keyId = null, server = null, values = {} }: AuditedChange,
    /** Resolves to false if the record is not found, to `exists` if it exists already. */
    apply: () => Promise<boolean | void | 'exists'>,
  ): Promise<boolean> => {
    const pairs = Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [`${name}=${value}`]));
    const entry = { actor, action, keyId, server, detail: pairs.join(' ') || null, requestId: null, ip: null };
    const finish = await audit.begin(entry);
    try {
      const result = await apply();
      const hasChanged = result !== false && result !== 'exists';
      const reason = result === 'exists' ? 'exists' : 'not_found';
      await finish(hasChanged ? 'ok' : reason);
      return hasChanged;
    } catch (error) {
      // The store may have made the change before the connection was lost.
      await finish('unknown');
      throw error;
    }
  };
}
