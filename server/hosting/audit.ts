import type { AuditEntry, Store } from '../store/types.ts';

/** A change of an API key or a server. */
export interface Change extends Partial<Pick<AuditEntry, 'keyId' | 'server'>> {
  /** The command, for instance `keys rotate`. */
  readonly action: string;
  /** The new values, without secrets; null ones are left out of the log. */
  readonly values?: Readonly<Record<string, string | null>>;
}

/** Creates what makes and audits changes; returns whether one was made. `apply` returns false for none, or `exists`. */
export function createAuditedChange(options: {
  readonly audit: Store['audit'];
  readonly actor: string;
  readonly onFailure: (error: unknown) => void;
}) {
  const { audit, actor, onFailure } = options;
  return async (
    { action, keyId = null, server = null, values = {} }: Change,
    apply: () => Promise<boolean | void | 'exists'>,
  ): Promise<boolean> => {
    const pairs = Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [`${name}=${value}`]));
    const entry = { actor, action, keyId, server, detail: pairs.join(' ') || null, requestId: null, ip: null };
    const finish = await audit.begin(entry, onFailure);
    try {
      const result = await apply();
      const isMade = result !== false && result !== 'exists';
      const reason = result === 'exists' ? 'exists' : 'not_found';
      await finish(isMade ? 'ok' : reason);
      return isMade;
    } catch (error) {
      // The store may have made the change before the connection was lost.
      await finish('unknown');
      throw error;
    }
  };
}
