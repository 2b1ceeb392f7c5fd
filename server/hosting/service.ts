import { allows } from '#contract/api-keys.ts';
import type { ServerName } from '#contract/api-keys.ts';
import type { ProblemCode } from '#contract/problem.ts';
import type { StreamCommand } from './console/relay.ts';
import type { StreamClaim } from './console/token.ts';
import { toLogText } from './game-log.ts';
import { Problem } from '../problem.ts';
import { ProviderError } from './providers/types.ts';
import type { ConsoleEvents, ConsoleSource, GameAction, GameProvider, Provider, VpsAction } from './providers/types.ts';
import type { ServerRecord, Store } from '../store/types.ts';
import type { Caller } from '../keys/access.ts';
import { createTurns } from './turns.ts';

/** What the hosting controls need. */
export interface HostingOptions {
  readonly store: Store;
  readonly providers: ReadonlyMap<string, Provider>;
  /** How long an action may take, the wait for its turn included. */
  readonly timeoutMs: number;
  /** The newest lines that the console relay holds of a game server. */
  readonly history: (server: ServerName) => readonly string[];
  /** Where clients reach this service, for instance https://api.example.com. */
  readonly publicUrl: () => string;
  readonly issueToken: (stream: StreamClaim) => Promise<string>;
  /** Counts an action of an API key that did not come in by HTTP. */
  readonly actionLimit: (keyId: string) => { readonly allowed: boolean };
  /** Is told of an audit entry that could not be written after its action. */
  readonly onAuditFailure: (error: unknown) => void;
  readonly now?: () => number;
}

/** The actions on customers' servers. Each is sent upstream at most once, and audited before and after. */
export interface Hosting {
  vpsPower(caller: Caller, action: VpsAction): Promise<void>;
  gamePower(caller: Caller, action: GameAction): Promise<void>;
  command(caller: Caller, command: string): Promise<void>;
  /** Sends a command that came in by a console stream, under the same limit as one by HTTP. */
  streamCommand(command: StreamCommand): Promise<void>;
  /** Where the console stream is, and a short-lived token for it; what it allows follows from the caller's key. */
  openStream(caller: Caller): Promise<{ socket_url: string; token: string }>;
  /** Follows the console of a game server. */
  openConsole(server: ServerName, events: ConsoleEvents): Promise<ConsoleSource>;
  /** The newest log without ANSI codes, empty where there is nothing. */
  latestLog(caller: Caller): Promise<string>;
}

/** How often the record of a server whose console is being followed is looked at. */
const recordCheckMs = 5000;

/** Creates the hosting controls. What fails is thrown as a Problem. */
export function createHosting(options: HostingOptions): Hosting {
  const { store, providers, timeoutMs, history, publicUrl, issueToken, actionLimit, onAuditFailure } = options;
  const { now = Date.now } = options;
  // Who waited keeps enough time for the action itself.
  const turns = createTurns(timeoutMs / 2);

  const find = async (server: ServerName, code: ProblemCode): Promise<{ record: ServerRecord; provider: Provider }> => {
    const record = await store.servers.find(server).catch((cause: unknown) => {
      throw new Problem(code, undefined, { cause });
    });
    const provider = record && providers.get(record.provider);
    if (!provider) throw new Problem(code, undefined, { cause: new Error(`${server} has no record or no provider`) });
    return { record, provider };
  };
  const findGame = async (server: ServerName): Promise<{ record: ServerRecord; game: GameProvider }> => {
    const { record, provider } = await find(server, 'provider_error');
    if (provider.game) return { record, game: provider.game };
    throw new Problem('provider_error', undefined, { cause: new Error(`${record.provider} runs no game servers`) });
  };

  const audited = async (
    caller: Caller,
    action: string,
    detail: string | null,
    act: (deadline: AbortSignal) => Promise<void>,
  ): Promise<void> => {
    const started = now();
    const entry = {
      keyId: caller.key.id,
      action,
      server: caller.server,
      requestId: caller.requestId,
      ip: caller.ip,
      detail: detail === null ? null : Array.from(detail).slice(0, 64).join(''),
    };
    const finish = (outcome: string): Promise<void> =>
      store.audit
        .append({ ...entry, at: now(), phase: 'finished', outcome, ms: now() - started })
        .catch(onAuditFailure);
    // From here on: an action that waits for its turn, or for a look-up, has that much less time for itself.
    const deadline = AbortSignal.timeout(timeoutMs);
    await store.audit
      .append({ ...entry, at: started, phase: 'requested', outcome: null, ms: null })
      .catch((cause: unknown) => {
        const notSent = new ProviderError('The audit log cannot be written', { outcome: 'refused', cause });
        throw new Problem('internal_error', undefined, { cause: notSent });
      });
    try {
      await act(deadline);
      await finish('ok');
    } catch (error) {
      const problem = toProblem(error);
      const { cause } = problem;
      await finish(cause instanceof ProviderError && cause.outcome === 'unknown' ? 'unknown' : problem.code);
      throw problem;
    }
  };

  const command = async (caller: Caller, text: string): Promise<void> => {
    const { record, game } = await findGame(caller.server);
    await audited(caller, 'command', text, (deadline) => game.command(record.ref, text, deadline));
  };

  return {
    async vpsPower(caller, action) {
      const { record, provider } = await find(caller.server, 'server_unavailable');
      const { vps } = provider;
      if (!vps)
        throw new Problem('server_unavailable', undefined, { cause: new Error(`${record.provider} runs no VPS`) });
      await audited(caller, action, null, (deadline) =>
        turns.take(caller.server, () => vps.power(record.ref, action, deadline)),
      );
    },
    async gamePower(caller, action) {
      const { record, game } = await findGame(caller.server);
      await audited(caller, action, null, (deadline) =>
        turns.take(caller.server, () => game.power(record.ref, action, deadline)),
      );
    },
    command,
    async streamCommand({ server, keyId, command: text, requestId, ip }) {
      if (!actionLimit(keyId).allowed) throw new Problem('rate_limited');
      const key = await store.apiKeys.find(keyId);
      if (!key) throw new Problem('unauthorized');
      await command({ key, server, id: server.slice(server.indexOf(':') + 1), requestId, ip }, text);
    },
    async openStream({ key, server, id }) {
      await findGame(server);
      const mode = allows(key.scopes, 'game-console:read_write') ? 'read_write' : 'read';
      const base = publicUrl().replace(/^http/, 'ws').replace(/\/$/, '');
      return {
        socket_url: `${base}/v1/hosting/game/console/${encodeURIComponent(id)}/stream`,
        token: await issueToken({ server, keyId: key.id, mode }),
      };
    },
    async openConsole(server, events) {
      const { record, game } = await findGame(server);
      const look = async (): Promise<void> => {
        const found = await store.servers.find(server).catch(() => record);
        if (found?.provider === record.provider && found.ref === record.ref) return;
        source.close();
        end('the server has moved');
      };
      // What the operator gave to somebody else must not be followed any longer by those who had it.
      const timer = setInterval(() => void look(), recordCheckMs);
      const end = (reason: string): void => {
        clearInterval(timer);
        events.ended(reason);
      };
      const source = game.openConsole(record.ref, { ...events, ended: end });
      return {
        close() {
          clearInterval(timer);
          source.close();
        },
      };
    },
    async latestLog(caller) {
      const { record, game } = await findGame(caller.server);
      const file = await game.latestLog(record.ref, record.logFile).catch((error: unknown) => {
        throw toProblem(error);
      });
      return toLogText(
        file ??
          history(caller.server)
            .map((line) => `${line}\n`)
            .join(''),
      );
    },
  };
}

function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof ProviderError) return new Problem(error.code, error.message, { cause: error });
  return new Problem('internal_error', undefined, { cause: error });
}
