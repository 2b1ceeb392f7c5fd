import { allows } from '#contract/api-keys.ts';
import type { Caller } from './access.ts';

/** Opens console streams to the relay. */
export interface Consoles {
  /** Where the stream is, and a short-lived token for it; what it allows follows from the caller's key. */
  open(caller: Caller): Promise<{ socket_url: string; token: string }>;
}

/** What console streams need. */
export interface ConsolesOptions {
  /** Where clients reach this service, for instance https://api.example.com. */
  readonly publicUrl: () => string;
  readonly issueToken: (stream: {
    server: Caller['server'];
    keyId: string;
    mode: 'read' | 'read_write';
  }) => Promise<string>;
}

/** Creates the door to the console streams. */
export function createConsoles({ publicUrl, issueToken }: ConsolesOptions): Consoles {
  return {
    async open({ key, server, id }) {
      const mode = allows(key.scopes, 'game-console:read_write') ? 'read_write' : 'read';
      return {
        socket_url: `${publicUrl().replace(/^http/, 'ws').replace(/\/$/, '')}/v1/hosting/game/console/${encodeURIComponent(id)}/stream`,
        token: await issueToken({ server, keyId: key.id, mode }),
      };
    },
  };
}
