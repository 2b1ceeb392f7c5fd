export type { ActionPosition, ActionRecord, AuditEntry } from './audit.ts';
export type {
  ApiKeyRecord,
  ArticleVotes,
  IdempotentAnswer,
  IdempotentClaim,
  NewServer,
  ServerRecord,
  Store,
  StreamTokenRecord,
} from './index.ts';
