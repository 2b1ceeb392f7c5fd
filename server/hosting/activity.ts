import { hash } from 'node:crypto';
import type { z } from 'zod';
import type { HostingActionResponse, HostingActivityResponse } from '#contract/activity.ts';
import { Problem } from '../problem.ts';
import type { ActionPosition, ActionRecord, Store } from '../store/types.ts';

type HostingAction = z.output<typeof HostingActionResponse>;

type ActivityPage = z.output<typeof HostingActivityResponse>;

/** Reads what became of the actions of an API key. Both methods show a key its own actions only. */
export type Activity = ReturnType<typeof createActivity>;

/** Options of the activity. */
export interface ActivityOptions {
  readonly audit: Store['audit'];
  /** The maximum duration of an action. One without an end after it was lost with its process. */
  readonly maxDurationMs: number;
  readonly now?: () => number;
}

const defaultLimit = 20;

/** Creates {@link Activity} from the audit log. */
export function createActivity({ audit, maxDurationMs, now = Date.now }: ActivityOptions) {
  const toAction = ({ requestId, action, server, requestedAt, finishedAt, outcome }: ActionRecord): HostingAction => ({
    success: true,
    request_id: requestId,
    action,
    server,
    status: toStatus(outcome, now() - requestedAt > maxDurationMs),
    requested_at: new Date(requestedAt).toISOString(),
    finished_at: finishedAt === null ? null : new Date(finishedAt).toISOString(),
  });
  return {
    /** Throws `not_found` if the key has no action with this request id. */
    async find(keyId: string, requestId: string): Promise<HostingAction> {
      const found = await audit.findAction(keyId, requestId);
      if (!found) throw new Problem('not_found', 'This API key has no action with this request ID');
      return toAction(found);
    },
    /** A page, newest first, after the one that ended with a cursor. Throws `validation_error` if the cursor is wrong. */
    async list(
      keyId: string,
      { after, limit = defaultLimit }: { readonly after?: string | undefined; readonly limit?: number | undefined },
    ): Promise<ActivityPage> {
      const position = after === undefined ? undefined : parseCursor(keyId, after);
      // One more than the page says whether there is a next one.
      const found = await audit.actionsOf(keyId, limit + 1, position);
      const page = found.slice(0, limit);
      const next = found.length > limit ? toCursor(keyId, page.at(-1)!) : null;
      return { success: true, activity: page.map(toAction), next };
    },
  };
}

/** The status of an action with this outcome in the audit log: `ok`, a problem code, `unknown`, or null without an end. */
function toStatus(outcome: string | null, isOverdue: boolean): HostingAction['status'] {
  if (outcome === null) return isOverdue ? 'unknown' : 'running';
  if (outcome === 'ok') return 'accepted';
  return outcome === 'unknown' ? 'unknown' : 'failed';
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
