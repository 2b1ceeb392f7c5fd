import type { ServerName } from '#contract/api-keys.ts';
import type { Cancel, Clock } from './clock.ts';
import type { CheckAccess } from '../../keys/access.ts';
import type { Viewer } from './session.ts';

/** An open stream whose key is checked regularly. */
export interface WatchedStream extends Pick<Viewer, 'keyId' | 'mode' | 'onAccess'> {
  readonly server: ServerName;
}

/** Watches the key of an open stream; returns a function that ends the watch. */
export type AccessWatch = (stream: WatchedStream) => Cancel;

/** Streams of a revoked key must be closed within 5 s, which leaves 3 s for a slow store. */
const intervalMs = 2000;

/** How long streams stay open while the store does not respond: enough for its restart. */
const graceMs = 30_000;

/** The streams of one key on one server. */
interface Group {
  readonly streams: Set<WatchedStream>;
  checking: boolean;
  /** When the oldest check without a result started. */
  failingSince: number | undefined;
}

/** Creates a watch that checks each key and server every 2 s while there are streams. */
export function createAccessWatch(
  checkAccess: CheckAccess,
  clock: Clock,
  onFailure: (message: string, error: unknown) => void,
): AccessWatch {
  const groups = new Map<string, Group>();
  let cancel: Cancel | undefined;
  /** Whether this sweep has reported a failure of the store: one line is enough for a thousand keys. */
  let reported = false;

  const check = async (group: Group): Promise<void> => {
    group.checking = true;
    group.failingSince ??= clock.now();
    const [stream] = group.streams;
    const writes = group.streams.values().some(({ mode }) => mode() === 'read_write');
    try {
      const access = await checkAccess(stream!.keyId, stream!.server, writes ? 'read_write' : 'read');
      group.failingSince = undefined;
      for (const { onAccess } of group.streams) onAccess(access);
    } catch (error) {
      if (!reported) onFailure('the access of open console streams could not be checked', error);
      reported = true;
    } finally {
      group.checking = false;
    }
  };
  const sweep = (): void => {
    cancel = clock.after(intervalMs, sweep);
    reported = false;
    for (const group of groups.values()) {
      if (clock.now() - (group.failingSince ?? clock.now()) >= graceMs)
        for (const { onAccess } of group.streams) onAccess('unknown');
      else if (!group.checking) void check(group);
    }
  };

  return (stream) => {
    const name = `${stream.keyId} ${stream.server}`;
    const group = groups.get(name) ?? { streams: new Set(), checking: false, failingSince: undefined };
    groups.set(name, group);
    group.streams.add(stream);
    cancel ??= clock.after(intervalMs, sweep);
    return () => {
      group.streams.delete(stream);
      if (group.streams.size === 0) groups.delete(name);
      if (groups.size > 0) return;
      cancel?.();
      cancel = undefined;
    };
  };
}
