import { allows } from '#contract/api-keys.ts';
import type { ServerName } from '#contract/api-keys.ts';
import type { Caller } from '../http/handle.ts';
import { toProblem } from './audit.ts';
import type { Audited } from './audit.ts';
import type { SendCommand } from './commands.ts';
import type { Relay } from './console/relay.ts';
import { tokenLength } from './console/token.ts';
import type { StreamTokens } from './console/token.ts';
import { toLogText } from './providers/game-log.ts';
import { createReadLatestLog } from './latest-log.ts';
import { createKeyedMutex } from './mutex.ts';
import type { GameAction, GameProvider, StateReport, VpsAction, VpsProvider } from './providers/types.ts';
import type { Sending } from './sending.ts';
import type { Servers } from './servers.ts';
import type { PowerHistory } from './state.ts';

/** Dependencies of the hosting controls. */
export interface HostingOptions {
  readonly servers: Servers;
  readonly sending: Sending;
  readonly audited: Audited;
  readonly history: PowerHistory;
  readonly sendCommand: SendCommand;
  readonly tokens: StreamTokens;
  readonly relay: Relay;
  /** The timeout of an action, including the wait for the mutex. */
  readonly timeoutMs: number;
  /** The public URL of this service, for instance https://api.example.com. */
  readonly publicUrl: () => string;
}

/** The actions on customers' servers. Each is sent upstream at most once, and audited before and after. */
export interface Hosting {
  vpsPower(caller: Caller, action: VpsAction): Promise<void>;
  gamePower(caller: Caller, action: GameAction): Promise<void>;
  /** The power state of a server, and when it was known; never one from before a power action that has ended. */
  vpsState(caller: Caller): Promise<StateReport>;
  gameState(caller: Caller): Promise<StateReport>;
  command(caller: Caller, command: string): Promise<void>;
  /**
   * Returns the URL of the console stream and a short-lived token, whose mode depends on the scopes of the key. HEAD
   * issues no token, and gets a text of the same length.
   */
  openStream(caller: Caller, isHead: boolean): Promise<{ socket_url: string; token: string }>;
  /** The newest log without ANSI codes; empty if there is none. */
  latestLog(caller: Caller): Promise<string>;
}

/** Creates the hosting controls. Their methods throw Problems. */
export function createHosting(options: HostingOptions): Hosting {
  const { servers, sending, audited, history, sendCommand, tokens, relay, timeoutMs, publicUrl } = options;
  // Half of the timeout, so that a waiting action has time left to run.
  const mutex = createKeyedMutex(timeoutMs / 2);
  const readLatestLog = createReadLatestLog();
  const historyOf = (server: ServerName): string =>
    relay
      .history(server)
      .map((line) => `${line}\n`)
      .join('');
  const power = (caller: Caller, name: string, act: (signal: AbortSignal) => Promise<void>) =>
    history.follow(caller.server, () =>
      audited({ caller, name }, (signal) => mutex.run(caller.server, () => act(signal))),
    );
  const readState = async (server: ServerName, ref: string, provider: VpsProvider | GameProvider) => {
    const maxAgeMs = await history.sinceLastAction(server);
    return await provider.state(ref, maxAgeMs).catch((error: unknown) => {
      throw toProblem(error);
    });
  };
  return {
    async vpsPower(caller, action) {
      const act = async (signal: AbortSignal): Promise<void> => {
        const { record, vps, confirm } = await sending.findVps(caller);
        await vps.power(record.ref, action, { signal, confirm, trace: caller.trace });
      };
      await power(caller, action, act);
    },
    async gamePower(caller, action) {
      const act = async (signal: AbortSignal): Promise<void> => {
        const { record, game, confirm } = await sending.findGame(caller);
        await game.power(record.ref, action, { signal, confirm, trace: caller.trace });
      };
      await power(caller, action, act);
    },
    async vpsState({ server }) {
      const { record, vps } = await servers.findVps(server);
      return await readState(server, record.ref, vps);
    },
    async gameState({ server }) {
      const { record, game } = await servers.findGame(server);
      return await readState(server, record.ref, game);
    },
    command: sendCommand,
    async openStream({ keyId, secretHash, scopes, server, id }, isHead) {
      await servers.findGame(server);
      const mode = allows(scopes, 'game-console:read_write') ? 'read_write' : 'read';
      const base = publicUrl().replace(/^http/, 'ws');
      return {
        socket_url: `${base}/v1/hosting/game/console/${encodeURIComponent(id)}/stream`,
        token: isHead ? '-'.repeat(tokenLength) : await tokens.issue({ server, keyId, secretHash, mode }),
      };
    },
    async latestLog({ server }) {
      const { record, game } = await servers.findGame(server);
      const file = await readLatestLog(record, game).catch((error: unknown) => {
        throw toProblem(error);
      });
      return file ?? toLogText(historyOf(server));
    },
  };
}
