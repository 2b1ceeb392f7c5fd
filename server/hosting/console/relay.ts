import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { ServerName } from '#contract/api-keys.ts';
import type { ServerRecord } from '../../store/types.ts';
import type { ConsoleEvents, ConsoleSource, GameProvider } from '../providers/types.ts';
import { createChannel, systemClock } from './channel.ts';
import type { Cancel, Channel, Clock } from './channel.ts';
import { createSession, toClientText } from './stream.ts';
import type { Session, StreamGrant, StreamRequest, StreamServices } from './stream.ts';

/** Dependencies of the relay. */
export interface RelayDependencies extends StreamServices {
  /** Follows the console of a server. Viewers read its errors if they are safe for clients. */
  readonly openSource: (server: ServerName, events: ConsoleEvents, isResumed: boolean) => Promise<ConsoleSource>;
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

/** Streams of a revoked key, or of an old secret, must be closed within 5 s, which leaves 3 s for a slow store. */
const checkMs = 2000;
/** How long streams stay open while the store does not respond: enough for its restart. */
const graceMs = 30_000;

/** What a check decides: the access of a secret of a key to a server. */
const toName = ({ server, keyId, secretHash }: StreamGrant): string => `${server} ${keyId} ${secretHash}`;

/** Relays the consoles of game servers to clients. */
export type Relay = ReturnType<typeof createRelay>;

/** Creates a relay without streams. */
export function createRelay(dependencies: RelayDependencies) {
  const { openSource, checkAccess, onFailure, clock = systemClock, random = Math.random } = dependencies;
  const limits = { ...defaultLimits, ...dependencies.limits };
  const channels = new Map<ServerName, Channel>();
  const sessions = new Set<Session>();
  /** When the oldest check of a stream without a result started, and the streams that are checked now. */
  const uncheckedSince = new WeakMap<Session, number>();
  const checking = new Set<Session>();
  let cancelSweep: Cancel | undefined;
  /** Whether this sweep has reported a failure of the store: one line is enough for a thousand keys. */
  let isReported = false;
  let isClosed = false;

  const count = (isCounted: (session: Session) => boolean): number => [...sessions].filter(isCounted).length;
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
  /** Checks streams of one secret and server, with one query. */
  const check = async (viewers: readonly Session[]): Promise<void> => {
    const grants = viewers.map(({ grant }) => grant()!);
    const claim = grants.find(({ mode }) => mode === 'read_write') ?? grants[0]!;
    for (const viewer of viewers) checking.add(viewer);
    try {
      const access = await checkAccess(claim);
      for (const viewer of viewers) {
        uncheckedSince.delete(viewer);
        // In between, the stream may have been renewed with another secret.
        if (viewer.grant()!.secretHash === claim.secretHash) viewer.onAccess(access);
      }
    } catch (error) {
      if (!isReported) onFailure('the access of open console streams could not be checked', error);
      isReported = true;
    } finally {
      for (const viewer of viewers) checking.delete(viewer);
    }
  };
  const sweep = (): void => {
    cancelSweep = clock.after(checkMs, sweep);
    isReported = false;
    const due: Session[] = [];
    for (const viewer of [...sessions].filter(({ grant }) => grant())) {
      const since = uncheckedSince.get(viewer) ?? clock.now();
      uncheckedSince.set(viewer, since);
      if (clock.now() - since >= graceMs) viewer.onAccess('unknown');
      else if (!checking.has(viewer)) due.push(viewer);
    }
    for (const viewers of Map.groupBy(due, ({ grant }) => toName(grant()!)).values()) void check(viewers);
  };
  return {
    admits: ({ client: { key } }: StreamRequest): boolean =>
      sessions.size < limits.connections &&
      count(({ request, grant }) => request.client.key === key && !grant()) < limits.unauthenticated,
    connect(websocket: WebSocket, socket: Duplex, server: ServerName, request: StreamRequest): Session {
      const session = createSession({
        ...dependencies,
        websocket,
        socket,
        server,
        request,
        clock,
        hasRoom: (keyId) => count(({ grant }) => grant()?.keyId === keyId) < limits.viewersPerKey,
        join: (sink) => (channels.get(server) ?? openChannel(server)).join(sink),
        ended() {
          sessions.delete(session);
          if (sessions.size > 0) return;
          cancelSweep?.();
          cancelSweep = undefined;
        },
      });
      sessions.add(session);
      cancelSweep ??= clock.after(checkMs, sweep);
      if (isClosed) session.shutDown();
      return session;
    },
    /** The last 150 lines of a console that has viewers; else empty. */
    history: (server: ServerName): string[] => channels.get(server)?.history() ?? [],
    stats: () => ({
      connections: sessions.size,
      viewers: count(({ grant }) => grant() !== undefined),
      upstreams: [...channels.values()].filter(({ hasUpstream }) => hasUpstream()).length,
    }),
    /** Closes all streams with 1012, so that clients reconnect to another instance or the next process. */
    close(): void {
      isClosed = true;
      for (const session of sessions) session.shutDown();
      for (const channel of channels.values()) channel.close();
    },
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
