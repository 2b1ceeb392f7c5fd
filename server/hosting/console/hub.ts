import type { ServerName } from '#contract/api-keys.ts';
import type { ConsoleEvents, ConsoleSource } from '../providers/types.ts';
import { createChannel } from './channel.ts';
import type { Channel, Outlet, Seat } from './channel.ts';
import type { Clock } from './clock.ts';

/** The consoles that are being followed, each by one upstream that all its viewers share. */
export interface Hub {
  /** Takes a seat at a console; the first viewer opens its upstream. */
  join(server: ServerName, outlet: Outlet): Seat;
  /** The last lines of a console, as far as it is being followed; opens nothing. */
  history(server: ServerName): string[];
  /** How many upstreams are open. */
  upstreams(): number;
  close(): void;
}

/** What a hub is made of. */
export interface HubOptions {
  /** Opens the console of a server. What it rejects with is told to viewers by {@link HubOptions.describe}. */
  readonly openSource: (server: ServerName, events: ConsoleEvents) => Promise<ConsoleSource>;
  readonly describe: (error: unknown) => string;
  readonly clock: Clock;
  readonly random: () => number;
}

/** Creates a hub that follows nothing yet. */
export function createHub({ openSource, ...options }: HubOptions): Hub {
  const channels = new Map<ServerName, Channel>();
  const create = (server: ServerName): Channel => {
    const channel = createChannel({
      ...options,
      open: (events) => openSource(server, events),
      abandoned: () => channels.delete(server),
    });
    channels.set(server, channel);
    return channel;
  };
  return {
    join: (server, outlet) => (channels.get(server) ?? create(server)).join(outlet),
    history: (server) => channels.get(server)?.history() ?? [],
    upstreams: () => channels.values().reduce((count, channel) => count + Number(channel.hasUpstream()), 0),
    close() {
      for (const channel of channels.values()) channel.close();
      channels.clear();
    },
  };
}
