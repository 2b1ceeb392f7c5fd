import { z } from 'zod';
import { Scope, ServerName } from '#contract/api-keys.ts';
import type { Row } from './database.ts';
import { StoreError } from './error.ts';
import type { ApiKeyRecord, ArticleVotes, AuditEntry, IdempotencyState, ServerRecord } from './types.ts';

const Time = z.int().nonnegative();
const Hash = z.string().regex(/^[0-9a-f]{64}$/);

const Json = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue('must be JSON');
    return z.NEVER;
  }
});

/** A row of hosting_api_keys. */
export const ApiKeyRow = z
  .strictObject({
    id: z.string().min(1),
    secretHash: Hash,
    previousHash: Hash.nullable(),
    previousUntil: Time.nullable(),
    label: z.string(),
    servers: Json.pipe(z.array(ServerName)),
    scopes: Json.pipe(z.array(Scope)),
    createdAt: Time,
    expiresAt: Time.nullable(),
    revokedAt: Time.nullable(),
    lastUsedAt: Time.nullable(),
  })
  .refine((key) => (key.previousHash === null) === (key.previousUntil === null)) satisfies z.ZodType<ApiKeyRecord>;

/** A row of hosting_servers. */
export const ServerRow = z.strictObject({
  server: ServerName,
  provider: z.string().min(1),
  ref: z.string().min(1),
  logFile: z.string().min(1).nullable(),
}) satisfies z.ZodType<ServerRecord>;

/** A row of hosting_audit, with its place in the log. */
export const AuditRow = z.strictObject({
  id: z.int().positive(),
  at: Time,
  phase: z.enum(['requested', 'finished']),
  keyId: z.string(),
  action: z.string(),
  server: ServerName,
  requestId: z.string(),
  ip: z.string(),
  outcome: z.string().nullable(),
  ms: Time.nullable(),
  detail: z.string().nullable(),
}) satisfies z.ZodType<AuditEntry>;

/** The votes on an article, summed up over rows of hosting_feedback. */
export const FeedbackRow = z.strictObject({
  path: z.string(),
  helpful: z.int().nonnegative(),
  unhelpful: z.int().nonnegative(),
}) satisfies z.ZodType<ArticleVotes>;

/** A row of hosting_idempotency. */
export const IdempotencyRow = z
  .strictObject({
    fingerprint: z.string(),
    deadline: Time,
    status: z.int().min(100).max(599).nullable(),
    body: z.string().nullable(),
  })
  .transform(({ fingerprint, deadline, status, body }, context): IdempotencyState => {
    if (status !== null && body !== null) return { state: 'answered', fingerprint, answer: { status, body } };
    if (status === null && body === null) return { state: 'running', fingerprint, deadline };
    context.addIssue('must have both a status and a body, or neither');
    return z.NEVER;
  });

/** A row of hosting_secrets. */
export const SecretRow = z.strictObject({ value: z.string().regex(/^[A-Za-z0-9_-]{43}$/) });

/** Checks a row on its way out; throws a {@link StoreError} that says which record is broken, and nothing of what it holds. */
export function parseRow<Schema extends z.ZodType>(
  schema: Schema,
  row: Row,
  table: string,
  id: string,
): z.output<Schema> {
  const result = schema.safeParse(row);
  if (!result.success) throw new StoreError(`the record ${JSON.stringify(id)} of ${table} is corrupted`);
  return result.data;
}
