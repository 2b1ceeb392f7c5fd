import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { ServerName } from '#contract/api-keys.ts';
import type { CheckAccess } from '../../keys/access.ts';
import type { Trace } from '../../trace.ts';
import type { ConsoleEvents, ConsoleSource } from '../providers/types.ts';
import { createAccessWatch } from './access.ts';
import { isForClients, toClientText } from './client-error.ts';
import { systemClock } from './clock.ts';
import type { Clock } from './clock.ts';
import { createChannel } from './channel.ts';
import type { Channel } from './channel.ts';
import type { FrameSink } from './output.ts';
import { createSession } from './session.ts';
import type { Session } from './session.ts';
import type { StreamTokens } from './token.ts';

/** The client that opened a stream. */
export interface StreamClient {
  /** The id of the request that opened it. */
  readonly requestId: string;
  readonly trace?: Trace | undefined;
  readonly address: string;
  /** The key of rate limits. */
  readonly key: string;
}

/** A console command from a stream. */
export interface StreamCommand {
  readonly server: ServerName;
  readonly keyId: string;
  readonly secretHash: string;
  readonly command: string;
  /** The id of the request that opened the stream. */
  readonly requestId: string;
  readonly ip: string;
}

/** Dependencies of the relay. */
export interface RelayDependencies {
  readonly tokens: StreamTokens;
  /** Follows the console of a server. Viewers read its errors if they are safe for clients. */
  readonly openSource: (server: ServerName, events: ConsoleEvents) => Promise<ConsoleSource>;
  /** Sends a validated command of a key whose access was just checked; applies limits and auditing. */
  readonly sendCommand: (command: StreamCommand) => Promise<void>;
  readonly checkAccess: CheckAccess;
  /** Called with failures of ours or the provider's, for the log. */
  readonly onFailure: (message: string, error: unknown) => void;
  readonly limits?: Partial<RelayLimits>;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** Relays the consoles of game servers to clients. */
export interface Relay {
  /** Whether a client may open another connection. */
  admits(client: StreamClient): boolean;
  /** Starts the stream of a connection. */
  connect(websocket: WebSocket, socket: Duplex, server: ServerName, client: StreamClient): Session;
  /** The last 150 lines of a console that has viewers; else empty. */
  history(server: ServerName): string[];
  stats(): { readonly connections: number; readonly viewers: number; readonly upstreams: number };
  /** Closes all streams with 1012, so that clients reconnect to another instance or the next process. */
  close(): void;
}

/** The limits of this process, one client and one API key. */
export interface RelayLimits {
  /** Connections of all clients and keys. */
  readonly connections: number;
  /** Connections of one client without a valid token. */
  readonly unauthenticated: number;
  /** Streams of one API key. */
  readonly viewersPerKey: number;
}

/**
 * The limits allow that after a restart all viewers of a customer's site reconnect within a second, perhaps from one
 * address. Each needs about 20 KB until its token is verified (at most 10 s); a viewer that does not read needs up to
 * 128 KiB more. So all connections of a process need at most 750 MB.
 */
const defaultLimits: RelayLimits = { connections: 5000, unauthenticated: 2000, viewersPerKey: 2000 };

/** Creates a relay without streams. */
export function createRelay(dependencies: RelayDependencies): Relay {
  const { tokens, sendCommand, checkAccess, onFailure, clock = systemClock } = dependencies;
  const limits = { ...defaultLimits, ...dependencies.limits };
  const watch = createAccessWatch(checkAccess, clock, onFailure);
  const channels = createChannels({ clock, random: Math.random, ...dependencies });
  const sessions = new Set<Session>();
  const unauthenticated = createCounter();
  const viewers = createCounter();
  const shared = { clock, tokens, checkAccess, describe: createDescribe(onFailure) };
  let closed = false;

  return {
    admits: (client) => sessions.size < limits.connections && unauthenticated.of(client.key) < limits.unauthenticated,
    connect(websocket, socket, server, client) {
      unauthenticated.add(client.key, 1);
      let leave = (): void => unauthenticated.add(client.key, -1);
      const session = createSession({
        ...shared,
        websocket,
        socket,
        server,
        hasRoom: (keyId) => viewers.of(keyId) < limits.viewersPerKey,
        enter({ sink, ...viewer }) {
          leave();
          viewers.add(viewer.keyId, 1);
          const unwatch = watch({ server, ...viewer });
          const viewing = channels.join(server, sink);
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
        sendCommand: ({ keyId, secretHash }, command) =>
          sendCommand({ server, keyId, secretHash, command, requestId: client.requestId, ip: client.address }),
      });
      sessions.add(session);
      if (closed) session.shutDown();
      return session;
    },
    history: channels.history,
    stats: () => ({ connections: sessions.size, viewers: viewers.total(), upstreams: channels.upstreams() }),
    close() {
      closed = true;
      for (const session of sessions) session.shutDown();
      channels.close();
    },
  };
}

/** Creates the channels: one for each console with viewers. */
function createChannels({
  openSource,
  onFailure,
  clock,
  random,
}: Pick<Required<RelayDependencies>, 'openSource' | 'onFailure' | 'clock' | 'random'>) {
  const channels = new Map<ServerName, Channel>();
  const create = (server: ServerName): Channel => {
    const channel = createChannel({
      open: (events) => openSource(server, events),
      describe: toClientText,
      report: (error) => onFailure('a console could not be opened', error),
      clock,
      random,
      closed: () => channels.delete(server),
    });
    channels.set(server, channel);
    return channel;
  };
  return {
    join: (server: ServerName, sink: FrameSink) => (channels.get(server) ?? create(server)).join(sink),
    history: (server: ServerName) => channels.get(server)?.history() ?? [],
    upstreams: () => channels.values().reduce((count, channel) => count + Number(channel.hasUpstream()), 0),
    close() {
      for (const channel of channels.values()) channel.close();
    },
  };
}

function createDescribe(onFailure: RelayDependencies['onFailure']): (error: unknown) => string {
  return (error) => {
    if (!isForClients(error)) onFailure('a console stream failed', error);
    return toClientText(error);
  };
}

function createCounter() {
  const counts = new Map<string, number>();
  return {
    of: (name: string): number => counts.get(name) ?? 0,
    add(name: string, change: 1 | -1): void {
      const count = (counts.get(name) ?? 0) + change;
      if (count > 0) counts.set(name, count);
      else counts.delete(name);
    },
    total: () => counts.values().reduce((sum, count) => sum + count, 0),
  };
}
