import type {
  ApiKeyRecord,
  AuditEntry,
  ChildKey,
  IdempotentClaim,
  Store,
  StreamTokenRecord,
} from '../../server/store/types.ts';

/** A valid API key, with the given fields replaced. */
export function apiKey(fields: Partial<ApiKeyRecord> = {}): ApiKeyRecord {
  return {
    id: 'AbCdEfGhIj01',
    secretHash: 'a'.repeat(64),
    previousHash: null,
    previousUntil: null,
    label: 'Panel of Marit',
    servers: ['game:survival', 'vps:42'],
    scopes: ['game-power:read_write', 'vps-power:read'],
    createdAt: 1_800_000_000_000,
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
    widenedBy: [],
    managesKeys: false,
    ...fields,
  };
}

/** A valid child key of {@link apiKey}, with the given fields replaced. */
export function childKey(fields: Partial<ChildKey> = {}): ChildKey {
  const { widenedBy: _, managesKeys: __, ...key } = apiKey({ id: 'KlMnOpQrSt23', secretHash: 'c'.repeat(64) });
  return { ...key, parentId: 'AbCdEfGhIj01', parentHash: 'a'.repeat(64), slot: null, networks: [], ...fields };
}

/** Gives a key another secret; its present secret stays valid until `previousUntil`. */
export async function rotateKey(apiKeys: Store['apiKeys'], id: string, secretHash: string, previousUntil: number) {
  const key = (await apiKeys.find(id))!;
  return await apiKeys.update(id, { secretHash, previousHash: key.secretHash, previousUntil }, key);
}

/** An entry of the audit log, with the given fields replaced. */
export function auditEntry(fields: Partial<AuditEntry> = {}): AuditEntry {
  return {
    at: 1_800_000_000_000,
    actionId: null,
    phase: 'requested',
    actor: null,
    keyId: 'AbCdEfGhIj01',
    action: 'game-power:start',
    server: 'game:survival',
    requestId: 'a-request',
    ip: '2001:db8::1',
    outcome: null,
    ms: null,
    detail: null,
    ...fields,
  };
}

/** A stream token that is valid for ten minutes, with the given fields replaced. */
export function streamToken(fields: Partial<StreamTokenRecord> = {}): StreamTokenRecord {
  return {
    tokenHash: '0'.repeat(64),
    keyId: 'AbCdEfGhIj01',
    secretHash: 'a'.repeat(64),
    server: 'game:survival',
    mode: 'read_write',
    issuedAt: 1_800_000_000_000,
    expiresAt: 1_800_000_600_000,
    ...fields,
  };
}

/** The first request with an Idempotency-Key, with the given fields replaced. */
export function claim(fields: Partial<IdempotentClaim> = {}): IdempotentClaim {
  const now = 1_800_000_000_000;
  const request = { fingerprint: 'print', requestId: 'a-request' };
  return { apiKeyId: 'k', key: 'one', ...request, now, deadline: now + 20_000, ...fields };
}

/** The end of an action, for the log. */
export const end = { request_id: 'a-request', server: 'game:survival', action: 'start', outcome: 'ok' };
