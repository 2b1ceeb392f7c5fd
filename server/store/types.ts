export type { ActionPosition, ActionRecord, AuditEntry } from './audit.ts';
export type {
  ArticleVotes,
  IdempotentAnswer,
  IdempotentClaim,
  NewServer,
  ServerRecord,
  Store,
  StreamTokenRecord,
} from './index.ts';
export type { ApiKeyRecord, OperatorToken, SecretRecords } from './keys.ts';
