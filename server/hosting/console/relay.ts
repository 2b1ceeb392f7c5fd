import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { ServerName } from '#contract/api-keys.ts';
import { streamLimits } from '#contract/console-stream.ts';
import type { ConsoleEvents, ConsoleSource } from '../providers/types.ts';
import { createChannel } from './channel.ts';
import type { Channel } from './channel.ts';
import { createStream, toClientText } from './stream.ts';
import type { ConsoleStream, StreamGrant, StreamRequest, StreamServices } from './stream.ts';

/** Dependencies of the relay. */
export interface RelayDependencies extends StreamServices {
  /** Opens the console of a server. Viewers see the message of a thrown Problem. */
  readonly openSource: (server: ServerName, events: ConsoleEvents, isResumed: boolean) => Promise<ConsoleSource>;
  readonly limits?: Partial<typeof defaultLimits>;
}

/**
 * Limits of streams: of this process, of a client without a valid token, and of an API key. After a restart, all
 * viewers of a customer's site may reconnect within a second, perhaps from one address. A stream needs about 20 KB; the
 * socket buffer of a stalled viewer adds up to 128 KiB. All streams together need at most 750 MB.
 */
const defaultLimits = { connections: 5000, unauthenticated: 2000, viewersPerKey: streamLimits.streamsOfKey as number };

/** Streams of a revoked key must close within 5 s; this leaves 3 s for a slow store. */
const checkMs = 2000;
/** Streams stay open this long while the store is unreachable: enough for its restart. */
const graceMs = 30_000;

/** The key whose limits count a stream. */
const payerOf = (grant: StreamGrant | undefined): string | undefined => grant?.parentId ?? grant?.keyId;

/** Relays the consoles of game servers to clients. */
export type Relay = ReturnType<typeof createRelay>;

/** Creates the relay of a process. */
export function createRelay(dependencies: RelayDependencies) {
  const { openSource, checkAccess, report } = dependencies;
  const limits = { ...defaultLimits, ...dependencies.limits };
  const channels = new Map<ServerName, Channel>();
  const streams = new Set<ConsoleStream>();
  /** When the oldest unanswered check of a stream started. */
  const uncheckedSince = new WeakMap<ConsoleStream, number>();
  const checking = new Set<ConsoleStream>();
  let sweepTimer: NodeJS.Timeout | undefined;
  /** A failing store is logged once a sweep, not once a key. */
  let isReported = false;
  let isClosed = false;

  const count = (isCounted: (stream: ConsoleStream) => boolean): number => [...streams].filter(isCounted).length;
  const openChannel = (server: ServerName): Channel => {
    const channel = createChannel({
      open: (events, isResumed) => openSource(server, events, isResumed),
      describe(error) {
        report('a console could not be opened')(error);
        return toClientText(error);
      },
      closed: () => channels.delete(server),
    });
    channels.set(server, channel);
    return channel;
  };
  /** Checks the streams of one secret and server with one query. */
  const check = async (group: readonly ConsoleStream[]): Promise<void> => {
    const grants = group.map(({ grant }) => grant()!);
    const claim = grants.find(({ mode }) => mode === 'read_write') ?? grants[0]!;
    for (const stream of group) checking.add(stream);
    try {
      const access = await checkAccess(claim);
      for (const stream of group) {
        uncheckedSince.delete(stream);
        // Meanwhile, the stream may have been renewed with another secret.
        if (stream.grant()!.secretHash === claim.secretHash) stream.onAccess(access);
      }
    } catch (error) {
      if (!isReported) report('the access of open console streams could not be checked')(error);
      isReported = true;
    } finally {
      for (const stream of group) checking.delete(stream);
    }
  };
  const sweep = (): void => {
    sweepTimer = setTimeout(sweep, checkMs).unref();
    isReported = false;
    const due: ConsoleStream[] = [];
    for (const stream of [...streams].filter(({ grant }) => grant())) {
      const since = uncheckedSince.get(stream) ?? performance.now();
      uncheckedSince.set(stream, since);
      if (performance.now() - since >= graceMs) stream.onAccess('unknown');
      else if (!checking.has(stream)) due.push(stream);
    }
    const groups = Map.groupBy(due, ({ grant }) => {
      const { server, keyId, secretHash } = grant()!;
      return `${server} ${keyId} ${secretHash}`;
    });
    for (const group of groups.values()) void check(group);
  };
  return {
    admits: ({ client: { key } }: StreamRequest): boolean =>
      streams.size < limits.connections &&
      count(({ request, grant }) => request.client.key === key && !grant()) < limits.unauthenticated,
    connect(websocket: WebSocket, socket: Duplex, server: ServerName, request: StreamRequest): ConsoleStream {
      const stream = createStream({
        ...dependencies,
        websocket,
        socket,
        server,
        request,
        hasRoom: (next) => count(({ grant }) => payerOf(grant()) === payerOf(next)) < limits.viewersPerKey,
        join: (sink) => (channels.get(server) ?? openChannel(server)).join(sink),
        ended() {
          streams.delete(stream);
          if (streams.size > 0) return;
          clearTimeout(sweepTimer);
          sweepTimer = undefined;
        },
      });
      streams.add(stream);
      sweepTimer ??= setTimeout(sweep, checkMs).unref();
      if (isClosed) stream.shutDown();
      return stream;
    },
    /** Lists the last 150 lines of a console; empty without viewers. */
    history: (server: ServerName): string[] => channels.get(server)?.history() ?? [],
    stats: () => ({
      connections: streams.size,
      viewers: count(({ grant }) => grant() !== undefined),
      upstreams: [...channels.values()].filter(({ hasUpstream }) => hasUpstream()).length,
    }),
    /** Closes all streams with 1012: clients reconnect to another instance or the next process. */
    close(): void {
      isClosed = true;
      for (const stream of streams) stream.shutDown();
      for (const channel of channels.values()) channel.close();
    },
  };
}
