export type { ApiKeyRecord } from './api-keys.ts';
export type { ActionPosition, ActionRecord, AuditEntry } from './audit.ts';
export type { ArticleVotes } from './feedback.ts';
export type { IdempotentAnswer, IdempotentClaim } from './idempotency.ts';
export type { ServerRecord } from './servers.ts';
export type { StreamTokenRecord } from './stream-tokens.ts';
export type { Store } from './index.ts';
