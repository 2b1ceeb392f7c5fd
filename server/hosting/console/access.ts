import type { ServerName } from '#contract/api-keys.ts';
import type { Cancel, Clock } from './clock.ts';
import type { CheckAccess } from '../../keys/access.ts';
import type { Viewer } from './session.ts';

/** An open stream whose key is checked regularly. */
export interface WatchedStream extends Pick<Viewer, 'keyId' | 'grant' | 'onAccess'> {
  readonly server: ServerName;
}

/** Watches the key of an open stream; returns a function that ends the watch. */
export type AccessWatch = (stream: WatchedStream) => Cancel;

/** Streams of a revoked key, or of an old secret, must be closed within 5 s, which leaves 3 s for a slow store. */
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
    // A rotated key has two secrets while they overlap.
    const bySecret = Map.groupBy(group.streams, ({ grant }) => grant().secretHash);
    try {
      await Promise.all(bySecret.values().map((streams) => checkStreams(checkAccess, streams)));
      group.failingSince = undefined;
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

/** Checks streams of one secret and server, with one query. */
async function checkStreams(checkAccess: CheckAccess, streams: readonly WatchedStream[]): Promise<void> {
  const grants = streams.map(({ grant }) => grant());
  const claim = grants.find(({ mode }) => mode === 'read_write') ?? grants[0]!;
  const access = await checkAccess(claim);
  for (const { grant, onAccess } of streams) {
    // In between, the stream may have been renewed with another secret.
    if (grant().secretHash === claim.secretHash) onAccess(access);
  }
}
