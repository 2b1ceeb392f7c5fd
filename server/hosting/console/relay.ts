import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { ServerName } from '#contract/api-keys.ts';
import type { CheckAccess } from '../../keys/authorize.ts';
import type { ServerRecord } from '../../store/types.ts';
import type { Trace } from '../../trace.ts';
import type { ConsoleEvents, ConsoleSource, GameProvider } from '../providers/types.ts';
import { createChannel, systemClock } from './channel.ts';
import type { Cancel, Channel, Clock } from './channel.ts';
import { createSession, isForClients, toClientText } from './session.ts';
import type { Session, StreamTokens, Viewer } from './session.ts';

/** The client that opened a stream. */
export interface StreamClient {
  readonly requestId: string;
  readonly trace?: Trace | undefined;
  readonly address: string;
  /** The key of rate limits. */
  readonly key: string;
}

/** A console command from a stream, with the id of the request that opened it. */
export interface StreamCommand {
  readonly server: ServerName;
  readonly keyId: string;
  readonly secretHash: string;
  readonly command: string;
  readonly requestId: string;
  readonly ip: string;
}

/** Dependencies of the relay. */
export interface RelayDependencies {
  readonly tokens: StreamTokens;
  /** Follows the console of a server. Viewers read its errors if they are safe for clients. */
  readonly openSource: (server: ServerName, events: ConsoleEvents, isResumed: boolean) => Promise<ConsoleSource>;
  /** Sends a validated command of a key whose access was just checked; applies limits and auditing. */
  readonly sendCommand: (command: StreamCommand) => Promise<void>;
  readonly checkAccess: CheckAccess;
  /** Called with failures of ours or the provider's, for the log. */
  readonly onFailure: (message: string, error: unknown) => void;
  readonly limits?: Partial<typeof defaultLimits>;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/**
 * The connections of this process, those of one client without a valid token, and the streams of one API key. After a
 * restart all viewers of a customer's site may reconnect within a second, perhaps from one address. Each needs about 20
 * KB until its token is verified (at most 10 s); a viewer that does not read needs up to 128 KiB more. So all need at
 * most 750 MB.
 */
const defaultLimits = { connections: 5000, unauthenticated: 2000, viewersPerKey: 2000 };

/** Relays the consoles of game servers to clients. */
export type Relay = ReturnType<typeof createRelay>;

/** Creates a relay without streams. */
export function createRelay(dependencies: RelayDependencies) {
  const { tokens, openSource, checkAccess, onFailure, clock = systemClock, random = Math.random } = dependencies;
  const limits = { ...defaultLimits, ...dependencies.limits };
  const watch = createAccessWatch(checkAccess, clock, onFailure);
  const channels = new Map<ServerName, Channel>();
  const sessions = new Set<Session>();
  const unauthenticated = createCounter();
  const viewers = createCounter();
  let isClosed = false;

  const openChannel = (server: ServerName): Channel => {
    const channel = createChannel({
      open: (events, isResumed) => openSource(server, events, isResumed),
      describe(error) {
        onFailure('a console could not be opened', error);
        return toClientText(error);
      },
      clock,
      random,
      closed: () => channels.delete(server),
    });
    channels.set(server, channel);
    return channel;
  };
  return {
    admits: (client: StreamClient): boolean =>
      sessions.size < limits.connections && unauthenticated.of(client.key) < limits.unauthenticated,
    connect(websocket: WebSocket, socket: Duplex, server: ServerName, client: StreamClient): Session {
      unauthenticated.add(client.key, 1);
      let leave = (): void => unauthenticated.add(client.key, -1);
      const connection = { websocket, socket, server, clock, tokens, checkAccess };
      const session = createSession({
        ...connection,
        hasRoom: (keyId) => viewers.of(keyId) < limits.viewersPerKey,
        enter(viewer) {
          leave();
          viewers.add(viewer.keyId, 1);
          const unwatch = watch(viewer);
          const viewing = (channels.get(server) ?? openChannel(server)).join(viewer.sink);
          leave = () => {
            viewers.add(viewer.keyId, -1);
            unwatch();
            viewing.leave();
          };
          return viewing;
        },
        leave() {
          sessions.delete(session);
          leave();
        },
        sendCommand({ keyId, secretHash }, command) {
          const { requestId, address: ip } = client;
          return dependencies.sendCommand({ server, keyId, secretHash, command, requestId, ip });
        },
        describe(error) {
          if (!isForClients(error)) onFailure('a console stream failed', error);
          return toClientText(error);
        },
      });
      sessions.add(session);
      if (isClosed) session.shutDown();
      return session;
    },
    /** The last 150 lines of a console that has viewers; else empty. */
    history: (server: ServerName): string[] => channels.get(server)?.history() ?? [],
    stats: () => ({
      connections: sessions.size,
      viewers: viewers.total(),
      upstreams: channels.values().reduce((count, channel) => count + Number(channel.hasUpstream()), 0),
    }),
    /** Closes all streams with 1012, so that clients reconnect to another instance or the next process. */
    close(): void {
      isClosed = true;
      for (const session of sessions) session.shutDown();
      for (const channel of channels.values()) channel.close();
    },
  };
}

function createCounter() {
  const counts = new Map<string, number>();
  const of = (name: string): number => counts.get(name) ?? 0;
  return {
    of,
    add(name: string, change: 1 | -1): void {
      counts.set(name, of(name) + change);
      if (of(name) === 0) counts.delete(name);
    },
    total: () => counts.values().reduce((sum, count) => sum + count, 0),
  };
}

const recordCheckMs = 5000;

/** Follows a console until the record of its server changes: its former customer must not see it any more. */
export async function openConsoleSource(
  servers: {
    find(kind: 'game', server: ServerName): Promise<{ readonly record: ServerRecord; readonly provider: GameProvider }>;
    isCurrent(record: ServerRecord): Promise<boolean>;
  },
  server: ServerName,
  events: ConsoleEvents,
  isResumed = false,
): Promise<ConsoleSource> {
  const { record, provider } = await servers.find('game', server);
  const check = async (): Promise<void> => {
    if (await servers.isCurrent(record)) return;
    source.close();
    ended('the server has moved');
  };
  const timer = setInterval(() => void check(), recordCheckMs);
  const ended: ConsoleEvents['ended'] = (...why) => {
    clearInterval(timer);
    events.ended(...why);
  };
  const source = provider.openConsole(record.ref, { ...events, ended }, isResumed);
  return {
    stats: () => source.stats(),
    close() {
      clearInterval(timer);
      source.close();
    },
  };
}

/** Streams of a revoked key, or of an old secret, must be closed within 5 s, which leaves 3 s for a slow store. */
const checkMs = 2000;
/** How long streams stay open while the store does not respond: enough for its restart. */
const graceMs = 30_000;

/** What a check decides: the access of a secret of a key to a server. */
const toName = ({ grant }: Viewer): string => `${grant().server} ${grant().keyId} ${grant().secretHash}`;

/** Creates the watch of open streams, which checks their access every 2 s. It returns what ends the watch of one. */
function createAccessWatch(checkAccess: CheckAccess, clock: Clock, onFailure: RelayDependencies['onFailure']) {
  /** Each watched stream, and when its oldest check without a result started. */
  const failingSince = new Map<Viewer, number | undefined>();
  const checked = new Set<Viewer>();
  let cancel: Cancel | undefined;
  /** Whether this sweep has reported a failure of the store: one line is enough for a thousand keys. */
  let isReported = false;

  /** Checks streams of one secret and server, with one query. */
  const check = async (viewers: readonly Viewer[]): Promise<void> => {
    const grants = viewers.map(({ grant }) => grant());
    const claim = grants.find(({ mode }) => mode === 'read_write') ?? grants[0]!;
    for (const viewer of viewers) checked.add(viewer);
    try {
      const access = await checkAccess(claim);
      for (const viewer of viewers.filter((each) => failingSince.has(each))) {
        failingSince.set(viewer, undefined);
        // In between, the stream may have been renewed with another secret.
        if (viewer.grant().secretHash === claim.secretHash) viewer.onAccess(access);
      }
    } catch (error) {
      if (!isReported) onFailure('the access of open console streams could not be checked', error);
      isReported = true;
    } finally {
      for (const viewer of viewers) checked.delete(viewer);
    }
  };
  const sweep = (): void => {
    cancel = clock.after(checkMs, sweep);
    isReported = false;
    const due: Viewer[] = [];
    for (const [viewer, since = clock.now()] of failingSince) {
      failingSince.set(viewer, since);
      if (clock.now() - since >= graceMs) viewer.onAccess('unknown');
      else if (!checked.has(viewer)) due.push(viewer);
    }
    for (const viewers of Map.groupBy(due, toName).values()) void check(viewers);
  };
  return (viewer: Viewer): Cancel => {
    failingSince.set(viewer, undefined);
    cancel ??= clock.after(checkMs, sweep);
    return () => {
      failingSince.delete(viewer);
      if (failingSince.size > 0) return;
      cancel?.();
      cancel = undefined;
    };
  };
}
