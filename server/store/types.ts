import type { Scope, ServerKind, ServerName } from '#contract/api-keys.ts';

/** An API key as it is kept: its secrets only as SHA-256. Times are milliseconds since 1970. */
export interface ApiKeyRecord {
  readonly id: string;
  /** SHA-256 of the secret, in hexadecimal digits. */
  readonly secretHash: string;
  /** The secret before the last rotation, which is good until `previousUntil`. */
  readonly previousHash: string | null;
  readonly previousUntil: number | null;
  readonly label: string;
  readonly servers: readonly ServerName[];
  readonly scopes: readonly Scope[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** To the minute. */
  readonly lastUsedAt: number | null;
}

/** Which provider runs a customer's server, and under what name. */
export interface ServerRecord {
  readonly server: ServerName;
  /** A name of PROVIDERS_FILE. */
  readonly provider: string;
  /** What the provider calls the server. */
  readonly ref: string;
  /** Path of the newest log on a game server; null for the provider's usual one. */
  readonly logFile: string | null;
}

/** One line of the audit log: an action before it is sent (`requested`), or after it (`finished`). */
export interface AuditEntry {
  readonly at: number;
  readonly phase: 'requested' | 'finished';
  readonly keyId: string;
  readonly action: string;
  readonly server: ServerName;
  readonly requestId: string;
  readonly ip: string;
  /** `ok`, the code of the problem, or `unknown` where nobody knows whether it took effect; null before it is over. */
  readonly outcome: string | null;
  readonly ms: number | null;
  /** The first 64 characters of a console command, else null. */
  readonly detail: string | null;
}

/** What a request with an Idempotency-Key came to. */
export interface IdempotentAnswer {
  readonly status: number;
  /** The body, as it was sent. */
  readonly body: string;
}

/** What stands under an Idempotency-Key. */
export type IdempotencyState =
  /** Nothing did: the caller is the first, and runs the request. */
  | { readonly state: 'begun' }
  /** The first is under way until its deadline; past it, it died with its outcome unknown. */
  | { readonly state: 'running'; readonly fingerprint: string; readonly deadline: number }
  | { readonly state: 'answered'; readonly fingerprint: string; readonly answer: IdempotentAnswer };

/** A reader's vote. */
export interface Vote {
  /** Path of the article; empty where it names none. */
  readonly path: string;
  /** In UTC, as YYYY-MM-DD. */
  readonly day: string;
  readonly helpful: boolean;
}

/** How an article was voted on. */
export interface ArticleVotes {
  readonly path: string;
  readonly helpful: number;
  readonly unhelpful: number;
}

/** Which audit entries are wanted; the newest last. */
export interface AuditFilter {
  readonly server?: ServerName;
  readonly since?: number;
}

/**
 * What the service remembers. Several instances may share one store: what one writes, the others see at their next
 * call. Every method throws where the store cannot be reached; a record that is not what it must be throws too.
 */
export interface Store {
  readonly apiKeys: {
    create(key: ApiKeyRecord): Promise<void>;
    find(id: string): Promise<ApiKeyRecord | undefined>;
    /** All keys, the oldest first. */
    list(): Promise<ApiKeyRecord[]>;
    /** Gives a key a new secret, and keeps the old one until `previousUntil`; false where there is no such key. */
    rotate(id: string, secretHash: string, previousUntil: number): Promise<boolean>;
    /** Revokes a key for good; false where there is no such key, true also where it was revoked before. */
    revoke(id: string, at: number): Promise<boolean>;
    /** Notes that a key was used; does nothing where that minute is noted already. */
    touch(id: string, at: number): Promise<void>;
  };
  readonly servers: {
    /** Adds or replaces a server. */
    put(server: ServerRecord): Promise<void>;
    find(server: ServerName): Promise<ServerRecord | undefined>;
    /** All servers, or those of a kind, by name. */
    list(kind?: ServerKind): Promise<ServerRecord[]>;
    remove(server: ServerName): Promise<boolean>;
  };
  readonly idempotency: {
    /** Claims a key in one atomic step; of many callers at once exactly one has `begun`. Records older than 24 h count for nothing. */
    begin(apiKeyId: string, key: string, fingerprint: string, now: number, deadline: number): Promise<IdempotencyState>;
    /** Stores the answer that later requests are given. */
    finish(apiKeyId: string, key: string, answer: IdempotentAnswer): Promise<void>;
    /** Frees a key whose request came to nothing. */
    release(apiKeyId: string, key: string): Promise<void>;
    /** Removes the records from before a time. */
    purge(before: number): Promise<void>;
  };
  readonly audit: {
    append(entry: AuditEntry): Promise<void>;
    list(filter: AuditFilter): Promise<AuditEntry[]>;
    /** The same, without ever holding the whole log in memory. */
    entries(filter: AuditFilter): AsyncIterable<AuditEntry>;
  };
  readonly feedback: {
    /** Counts a vote; who gave it is not kept. */
    count(vote: Vote): Promise<void>;
    /** The votes on each article, from a day on or all. */
    report(filter: { readonly since?: string | undefined }): Promise<ArticleVotes[]>;
  };
  /** A random secret of 256 bits in base64url, made at the first call and the same for all instances ever after. */
  secret(name: string): Promise<string>;
  close(): Promise<void>;
}
