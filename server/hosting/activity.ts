import { hash } from 'node:crypto';
import type { z } from 'zod';
import type { HostingActionResponse, HostingActivityResponse } from '#contract/hosting.ts';
import { Problem } from '../problem.ts';
import type { ActionPosition, ActionRecord, Store } from '../store/types.ts';

type HostingAction = z.output<typeof HostingActionResponse>;

/** Reads the actions of a key. Unfinished actions count as lost after the maximum duration. */
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
    /** Finds an action of a key by its request ID. Throws `not_found`. */
    async find(keyId: string, requestId: string): Promise<HostingAction> {
      const found = await audit.findAction(keyId, requestId);
      if (!found) throw new Problem('not_found', 'This API key has no action with this request ID');
      return toAction(found);
    },
    /** Reads a page of actions, newest first. Throws `validation_error` if the cursor is invalid. */
    async list(keyId: string, limit: number, after?: string): Promise<z.output<typeof HostingActivityResponse>> {
      const position = after === undefined ? undefined : parseActionCursor(keyId, after);
      const found = await audit.actionsOf(keyId, limit + 1, position);
      const page = found.slice(0, limit);
      const next = found.length > limit ? toActionCursor(keyId, page.at(-1)!).toString('base64url') : null;
      return { success: true, activity: page.map(toAction), next };
    },
  };
}

/** Encodes time and ID of an action, and a hash that makes the cursor invalid for other keys. */
function toActionCursor(keyId: string, { requestedAt, actionId }: ActionPosition): Buffer {
  const position = Buffer.from(requestedAt.toString(16).padStart(12, '0') + actionId.replaceAll('-', ''), 'hex');
  const check = hash('sha256', Buffer.concat([Buffer.from(keyId), position]), 'buffer').subarray(0, 8);
  return Buffer.concat([position, check]);
}

function parseActionCursor(keyId: string, cursor: string): ActionPosition {
  const bytes = Buffer.from(cursor, 'base64url');
  const actionId = bytes.toString('hex', 6, 22).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  const position = { requestedAt: Number.parseInt(bytes.toString('hex', 0, 6), 16), actionId };
  if (toActionCursor(keyId, position).equals(bytes)) return position;
  throw new Problem('validation_error', 'Query parameter after must be the next of an earlier page of this key');
}
