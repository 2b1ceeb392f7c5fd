import { hash } from 'node:crypto';
import type { z } from 'zod';
import type { HostingActionResponse, HostingActivityResponse } from '#contract/hosting.ts';
import { Problem } from '../problem.ts';
import type { ActionPosition, ActionRecord, Store } from '../store/types.ts';

type HostingAction = z.output<typeof HostingActionResponse>;

/** Creates what reads a key's own actions. One without an end after the maximum duration was lost with its process. */
export function createActivity(audit: Store['audit'], maxDurationMs: number) {
  const toStatus = ({ requestedAt, outcome }: ActionRecord): HostingAction['status'] => {
    if (outcome === null) return Date.now() - requestedAt > maxDurationMs ? 'unknown' : 'running';
    if (outcome === 'ok') return 'accepted';
    return outcome === 'unknown' ? 'unknown' : 'failed';
  };
  const toAction = (record: ActionRecord): HostingAction => {
    const { requestId, action, server, requestedAt, finishedAt } = record;
    return {
      success: true,
      request_id: requestId,
      action,
      server,
      status: toStatus(record),
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
    /** A page, newest first, after the one with a cursor. Throws `validation_error` if the cursor is wrong. */
    async list(keyId: string, limit: number, after?: string): Promise<z.output<typeof HostingActivityResponse>> {
      const position = after === undefined ? undefined : parseCursor(keyId, after);
      const found = await audit.actionsOf(keyId, limit + 1, position);
      const page = found.slice(0, limit);
      const next = found.length > limit ? toCursor(keyId, page.at(-1)!).toString('base64url') : null;
      return { success: true, activity: page.map(toAction), next };
    },
  };
}

/** The cursor after an action: its time, its id, and a hash with the key, so that one of another key is refused. */
function toCursor(keyId: string, { requestedAt, actionId }: ActionPosition): Buffer {
  const position = Buffer.from(requestedAt.toString(16).padStart(12, '0') + actionId.replaceAll('-', ''), 'hex');
  const check = hash('sha256', Buffer.concat([Buffer.from(keyId), position]), 'buffer').subarray(0, 8);
  return Buffer.concat([position, check]);
}

function parseCursor(keyId: string, cursor: string): ActionPosition {
  const bytes = Buffer.from(cursor, 'base64url');
  const actionId = bytes.toString('hex', 6, 22).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  const position = { requestedAt: Number.parseInt(bytes.toString('hex', 0, 6), 16), actionId };
  if (toCursor(keyId, position).equals(bytes)) return position;
  throw new Problem('validation_error', 'Query parameter after must be the next of an earlier page of this key');
}
