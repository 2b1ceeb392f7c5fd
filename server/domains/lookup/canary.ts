import type { Availability } from '../types.ts';

/** The proof that a server runs the TLD it is asked about, of which nobody vouches for it. */
export interface Canaries {
  /** Whether a server was found to deny a name that exists; it is not worth asking then. */
  isRefuted(key: string): boolean;
  /**
   * Whether a server is proved to run a TLD; `probe` asks it for a name that must exist, where that was not done
   * lately. Never rejects.
   */
  isProved(key: string, probe: () => Promise<Availability>): Promise<boolean>;
}

/** Creates the proofs, each of which holds for so long; what a probe could not find out is asked again. */
export function createCanaries(
  holdsMs: number,
  now: () => number,
  events: { readonly refuted: (key: string) => void },
): Canaries {
  const known = new Map<string, { readonly proved: boolean; readonly until: number }>();
  const running = new Map<string, Promise<boolean>>();
  const find = (key: string): boolean | undefined => {
    const entry = known.get(key);
    return entry && now() < entry.until ? entry.proved : undefined;
  };
  const ask = async (key: string, probe: () => Promise<Availability>): Promise<boolean> => {
    const answer = await probe();
    if (answer === 'unknown') return false;
    const proved = answer === 'taken';
    known.set(key, { proved, until: now() + holdsMs });
    if (!proved) events.refuted(key);
    return proved;
  };
  return {
    isRefuted: (key) => find(key) === false,
    async isProved(key, probe) {
      const found = find(key);
      if (found !== undefined) return found;
      const asked = running.get(key) ?? ask(key, probe).finally(() => running.delete(key));
      running.set(key, asked);
      return await asked;
    },
  };
}
