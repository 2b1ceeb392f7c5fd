import type { Authority, Reauthorize } from '../keys/authorize.ts';
import { Problem } from '../problem.ts';
import { toNotSent } from './audit.ts';
import type { Servers } from './servers.ts';

/** Finds where an action is sent. Called when its turn has come, since key and record may have changed in between. */
export interface Sending {
  findGame(authority: Authority): ReturnType<Servers['findGame']>;
  findVps(authority: Authority): ReturnType<Servers['findVps']>;
}

/** Creates {@link Sending}, which checks in the order of a request: first the key, then the record of the server. */
export function createSending(servers: Servers, reauthorize: Reauthorize): Sending {
  const check = (authority: Authority): Promise<void> =>
    reauthorize(authority).catch((error: unknown) => {
      throw error instanceof Problem ? error : toNotSent('The API key cannot be read', error);
    });
  return {
    async findGame(authority) {
      await check(authority);
      return servers.findGame(authority.server);
    },
    async findVps(authority) {
      await check(authority);
      return servers.findVps(authority.server);
    },
  };
}
