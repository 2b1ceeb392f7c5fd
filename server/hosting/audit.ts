import { hash } from 'node:crypto';
import type { z } from 'zod';
import type { HostingActionResponse, HostingActivityResponse } from '#contract/hosting.ts';
import { Problem } from '../problem.ts';
import type { ActionPosition, ActionRecord, AuditEntry, Store } from '../store/types.ts';

/** A change of an API key or a server. */
export interface Change extends Partial<Pick<AuditEntry, 'keyId' | 'server'>> {
  /** The command, for instance `keys rotate`. */
  readonly action: string;
  /** The new values, without secrets; null ones are left out of the log. */
  readonly values?: Readonly<Record<string, string | null>>;
}

/**
 * Creates what makes and audits changes of an actor. `apply` returns false for an unknown key or server, and `exists` for a taken one.
 * Without the entry before it, no change is made; `onFailure` gets the error of the one after it. Returns whether it was made.
 */
export function createAuditedChange(options: {
  readonly audit: Store['audit'];
  readonly actor: string;
  readonly onFailure: (error: unknown) => void;
}) {
  const { audit, actor, onFailure } = options;
  return async (
    { action, keyId = null, server = null, values = {} }: Change,
    apply: () => Promise<boolean | void | 'exists'>,
  ): Promise<boolean> => {
    const pairs = Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [`${name}=${value}`]));
    const entry = { actor, action, keyId, server, detail: pairs.join(' ') || null, requestId: null, ip: null };
    const finish = await audit.begin(entry, onFailure);
    try {
      const result = await apply();
      await finish(result === 'exists' ? result : result === false ? 'not_found' : 'ok');
      return result !== false && result !== 'exists';
    } catch (error) {
      // The store may have made the change before the connection was lost.
      await finish('unknown');
      throw error;
    }
  };
}

type HostingAction = z.output<typeof HostingActionResponse>;

/** Creates what reads the key's own actions. One without an end after the maximum duration was lost with its process. */
export function createActivity(audit: Store['audit'], maxDurationMs: number) {
  const toAction = ({ requestId, action, server, requestedAt, finishedAt, outcome }: ActionRecord): HostingAction => {
    const isLost = outcome === null && Date.now() - requestedAt > maxDurationMs;
    const ended = outcome === 'ok' ? 'accepted' : outcome === 'unknown' || isLost ? 'unknown' : 'failed';
    return {
      success: true,
      request_id: requestId,
      action,
      server,
      status: outcome === null && !isLost ? 'running' : ended,
      requested_at: new Date(requestedAt).toISOString(),
      finished_at: finishedAt === null ? null : new Date(finishedAt).toISOString(),
    };
  };
  return {
    /** Throws `not_found` if the key has no action with this request id. */
    async find(keyId: string, requestId: string): Promise<HostingAction> {
      const found = await audit.findAction(keyId, requestId);
      if (!found) throw new Problem('not_found', 'This API key has no action with this request ID');
      return toAction(found);
    },
    /** A page, newest first, after the one that ended with a cursor. Throws `validation_error` if the cursor is wrong. */
    async list(keyId: string, limit: number, after?: string): Promise<z.output<typeof HostingActivityResponse>> {
      const position = after === undefined ? undefined : parseCursor(keyId, after);
      // One more than the page says whether there is a next one.
      const found = await audit.actionsOf(keyId, limit + 1, position);
      const page = found.slice(0, limit);
      const next = found.length > limit ? toCursor(keyId, page.at(-1)!) : null;
      return { success: true, activity: page.map(toAction), next };
    },
  };
}

const timeBytes = 6;
const idBytes = 16;
const checkBytes = 8;

/**
 * The cursor after an action: its time and id, and a hash of both with the key, so that a mistyped cursor and one of another
 * key are refused. It is no secret: a forged one only shows the key its own actions.
 */
function toCursor(keyId: string, { requestedAt, actionId }: ActionPosition): string {
  const position = Buffer.alloc(timeBytes + idBytes);
  position.writeUIntBE(requestedAt, 0, timeBytes);
  position.write(actionId.replaceAll('-', ''), timeBytes, 'hex');
  return Buffer.concat([position, checkOf(keyId, position)]).toString('base64url');
}

function parseCursor(keyId: string, cursor: string): ActionPosition {
  const bytes = Buffer.from(cursor, 'base64url');
  const position = bytes.subarray(0, timeBytes + idBytes);
  if (!checkOf(keyId, position).equals(bytes.subarray(timeBytes + idBytes))) {
    throw new Problem('validation_error', 'Query parameter after must be the next of an earlier page of this key');
  }
  const actionId = position.toString('hex', timeBytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  return { requestedAt: position.readUIntBE(0, timeBytes), actionId };
}

function checkOf(keyId: string, position: Buffer): Buffer {
  return hash('sha256', Buffer.concat([Buffer.from(keyId), position]), 'buffer').subarray(0, checkBytes);
}
