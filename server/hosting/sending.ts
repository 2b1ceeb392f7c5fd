import type { Authority, Reauthorize } from '../keys/authorize.ts';
import { Problem } from '../problem.ts';
import type { ServerRecord } from '../store/types.ts';
import type { Confirm } from '../upstream/client.ts';
import { toNotSent } from './audit.ts';
import type { Servers } from './servers.ts';

type Found<Target> = Target & {
  /** Reads key and record once more, just before the action is sent. Rejects if it must not be sent. */
  readonly confirm: Confirm;
};

/** Finds where an action is sent. Called when its turn has come, since key and record may have changed in between. */
export interface Sending {
  findGame(authority: Authority): Promise<Found<Awaited<ReturnType<Servers['findGame']>>>>;
  findVps(authority: Authority): Promise<Found<Awaited<ReturnType<Servers['findVps']>>>>;
}

/** Creates {@link Sending}, which checks in the order of a request: first the key, then the record of the server. */
export function createSending(servers: Servers, reauthorize: Reauthorize): Sending {
  const find = async <Target extends { readonly record: ServerRecord }>(
    authority: Authority,
    findTarget: () => Promise<Target>,
  ): Promise<Found<Target>> => {
    const read = async (): Promise<Target> => {
      await reauthorize(authority).catch((error: unknown) => {
        throw error instanceof Problem ? error : toNotSent('The API key cannot be read', error);
      });
      return findTarget();
    };
    const target = await read();
    const { provider, ref } = target.record;
    const confirm = async (): Promise<void> => {
      const { record } = await read();
      if (record.provider === provider && record.ref === ref) return;
      const cause = new Error(`${record.server} has moved while an action waited`);
      throw new Problem(record.server.startsWith('vps:') ? 'server_unavailable' : 'provider_error', undefined, {
        cause,
      });
    };
    return { ...target, confirm };
  };
  return {
    findGame: (authority) => find(authority, () => servers.findGame(authority.server)),
    findVps: (authority) => find(authority, () => servers.findVps(authority.server)),
  };
}
