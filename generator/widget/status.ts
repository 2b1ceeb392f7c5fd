/** The state of the platform as far as the widget is concerned with it. */
export interface Status {
  readonly status: 'up' | 'maintenance' | 'disrupted';
  readonly maintenance: readonly string[];
  readonly disrupted: readonly string[];
}

/**
 * Takes a StatusResponse from JSON, of the components named in `only` where it names any. Null where the service
 * answers that it does not know, undefined where this is no answer of the service at all.
 */
export function toStatus(json: unknown, only: readonly string[]): Status | null | undefined {
  const { status, ...lists } = Object(json) as Record<string, unknown>;
  if (typeof status !== 'string') return undefined;
  if (status !== 'up' && status !== 'maintenance' && status !== 'disrupted') return null;
  let named = 0;
  const read = (list: unknown): string[] => {
    const names = Array.isArray(list) ? list.filter((name) => typeof name === 'string') : [];
    named += names.length;
    return only[0] ? names.filter((name) => only.includes(toKey(name))) : names;
  };
  const disrupted = read(lists.disrupted);
  const maintenance = read(lists.maintenance);
  // Trouble that names no component at all concerns everyone.
  if (!only[0] || named === 0) return { status, maintenance, disrupted };
  return { status: disrupted[0] ? 'disrupted' : maintenance[0] ? 'maintenance' : 'up', maintenance, disrupted };
}

/** The form in which names of components are compared. */
export function toKey(name: string): string {
  return name.trim().toLowerCase();
}
