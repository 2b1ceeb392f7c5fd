import type { ServerName } from '#contract/api-keys.ts';
import type { Cancel, Clock } from './clock.ts';
import type { CheckAccess } from '../../keys/access.ts';
import type { Viewer } from './session.ts';

/** A stream whose key is watched. */
export interface WatchedStream extends Pick<Viewer, 'keyId' | 'mode' | 'onAccess'> {
  readonly server: ServerName;
}

/** Watches the key of an open stream, until the function that it returns is called. */
export type AccessWatch = (stream: WatchedStream) => Cancel;

/** A revoked key's streams must be closed within 5 s: this leaves 3 s for a slow store. */
const intervalMs = 2000;

/** How long streams outlive a store that does not answer: long enough for its restart. */
const graceMs = 30_000;

/** The streams of one key to one server. */
interface Group {
  readonly streams: Set<WatchedStream>;
  asking: boolean;
  /** Since when questions went without an answer. */
  unansweredSince: number | undefined;
}

/** Creates a watch that asks every 2 s, once for each key and server, while there are streams. */
export function createAccessWatch(
  checkAccess: CheckAccess,
  clock: Clock,
  failed: (what: string, error: unknown) => void,
): AccessWatch {
  const groups = new Map<string, Group>();
  let cancel: Cancel | undefined;
  /** Whether this round has reported that the store fails: of a thousand keys it is one failure. */
  let reported = false;

  const ask = async (group: Group): Promise<void> => {
    group.asking = true;
    group.unansweredSince ??= clock.now();
    const [stream] = group.streams;
    const writes = group.streams.values().some(({ mode }) => mode() === 'read_write');
    try {
      const access = await checkAccess(stream!.keyId, stream!.server, writes ? 'read_write' : 'read');
      group.unansweredSince = undefined;
      for (const { onAccess } of group.streams) onAccess(access);
    } catch (error) {
      if (!reported) failed('the access of open console streams could not be checked', error);
      reported = true;
    } finally {
      group.asking = false;
    }
  };
  const look = (): void => {
    cancel = clock.after(intervalMs, look);
    reported = false;
    for (const group of groups.values()) {
      if (clock.now() - (group.unansweredSince ?? clock.now()) >= graceMs)
        for (const { onAccess } of group.streams) onAccess('unknown');
      else if (!group.asking) void ask(group);
    }
  };

  return (stream) => {
    const name = `${stream.keyId} ${stream.server}`;
    const group = groups.get(name) ?? { streams: new Set(), asking: false, unansweredSince: undefined };
    groups.set(name, group);
    group.streams.add(stream);
    cancel ??= clock.after(intervalMs, look);
    return () => {
      group.streams.delete(stream);
      if (group.streams.size === 0) groups.delete(name);
      if (groups.size > 0) return;
      cancel?.();
      cancel = undefined;
    };
  };
}
