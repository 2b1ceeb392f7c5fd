import type { ServerName } from '#contract/api-keys.ts';
import type { Cancel, Clock } from './clock.ts';
import type { CheckAccess } from '../../keys/access.ts';
import type { StreamMode } from './token.ts';

/** A stream whose key is watched. */
export interface WatchedStream {
  readonly keyId: string;
  readonly server: ServerName;
  mode(): StreamMode;
  allow(access: 'ok' | 'read_only'): void;
  /** The key may not use the console any more. */
  deny(): void;
  /** It could not be found out for too long. */
  lapse(): void;
}

/** Watches the keys of open streams. */
export interface AccessWatch {
  add(stream: WatchedStream): void;
  remove(stream: WatchedStream): void;
  close(): void;
}

/** A revoked key's streams must be closed within 5 s: this leaves 3 s for a slow store. */
const intervalMs = 2000;

/** How long streams outlive a store that does not answer: long enough for its restart. */
const graceMs = 30_000;

interface Group {
  readonly keyId: string;
  readonly server: ServerName;
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
  /** Whether it was reported in this round that the store fails: of a thousand keys it is one failure. */
  let reported = false;

  const nameOf = ({ keyId, server }: Pick<Group, 'keyId' | 'server'>): string => `${keyId} ${server}`;
  const ask = async (group: Group): Promise<void> => {
    group.asking = true;
    group.unansweredSince ??= clock.now();
    const writes = group.streams.values().some((stream) => stream.mode() === 'read_write');
    try {
      const access = await checkAccess(group.keyId, group.server, writes ? 'read_write' : 'read');
      group.unansweredSince = undefined;
      for (const stream of group.streams) {
        if (access === 'denied') stream.deny();
        else stream.allow(access);
      }
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
        for (const stream of group.streams) stream.lapse();
      else if (!group.asking) void ask(group);
    }
  };

  const close = (): void => {
    cancel?.();
    cancel = undefined;
  };
  return {
    add(stream) {
      const { keyId, server } = stream;
      const group = groups.get(nameOf(stream));
      if (group) group.streams.add(stream);
      else {
        const streams = new Set([stream]);
        groups.set(nameOf(stream), { keyId, server, streams, asking: false, unansweredSince: undefined });
      }
      cancel ??= clock.after(intervalMs, look);
    },
    remove(stream) {
      const group = groups.get(nameOf(stream));
      group?.streams.delete(stream);
      if (group?.streams.size === 0) groups.delete(nameOf(stream));
      if (groups.size === 0) close();
    },
    close,
  };
}
