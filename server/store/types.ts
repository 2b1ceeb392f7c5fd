export type { ActionPosition, ActionRecord, AuditEntry } from './audit.ts';
export type {
  ApiKeyRecord,
  ArticleVotes,
  IdempotentAnswer,
  IdempotentClaim,
  NewServer,
  ServerRecord,
  StreamTokenRecord,
} from './records.ts';
export type { Store } from './index.ts';
