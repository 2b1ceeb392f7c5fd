export interface WidgetStatus {
  readonly status: 'up' | 'maintenance' | 'disrupted';
  readonly maintenance: readonly string[];
  readonly disrupted: readonly string[];
}

/**
 * Parses a status, limited to the components in `only` unless empty. Returns null for an unknown state, and undefined
 * for JSON of another format.
 */
export function toStatus(json: unknown, only: readonly string[]): WidgetStatus | null | undefined {
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
  // An incident without component names applies to all components.
  if (!only[0] || named === 0) return { status, maintenance, disrupted };
  return { status: disrupted[0] ? 'disrupted' : maintenance[0] ? 'maintenance' : 'up', maintenance, disrupted };
}

/** Makes a URL absolute: a navigation without a reload may change the address of the page. */
export function toAbsolute(url: string): string {
  return Object.assign(document.createElement('a'), { href: url }).href;
}

/** Normalises a component name for comparison. */
export function toKey(name: string): string {
  return name.trim().toLowerCase();
}
