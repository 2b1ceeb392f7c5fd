import { randomBytes } from 'node:crypto';
import type { Database, Query, Row, Value } from './database.ts';
import { StoreError } from './error.ts';
import { ApiKeyRow, AuditRow, IdempotencyRow, SecretRow, ServerRow, parseRow } from './records.ts';
import type { ApiKeyRecord, AuditEntry, AuditFilter, ServerRecord, Store } from './types.ts';

const dayMs = 24 * 60 * 60 * 1000;
const minuteMs = 60 * 1000;
const touchPatienceMs = 200;
const auditPage = 1000;

const apiKeyColumns = `id, secret_hash AS "secretHash", previous_hash AS "previousHash",
  previous_until AS "previousUntil", label, servers, scopes, created_at AS "createdAt", expires_at AS "expiresAt",
  revoked_at AS "revokedAt", last_used_at AS "lastUsedAt"`;
const serverColumns = 'server, provider, ref, log_file AS "logFile"';
const auditColumns = `id, logged_at AS "at", phase, key_id AS "keyId", action, server, request_id AS "requestId", ip,
  outcome, ms, detail`;

/** The store over the tables of an open database. Whatever must be atomic is one statement, and so is atomic between processes too. */
export function createStore({ query, close }: Database): Store {
  return {
    apiKeys: createApiKeys(query),
    servers: createServers(query),
    idempotency: createIdempotency(query),
    audit: createAudit(query),
    async secret(name) {
      const read = async (): Promise<string | undefined> => {
        const [row] = await query('SELECT value FROM hosting_secrets WHERE name = $1', [name]);
        return row && parseRow(SecretRow, row, 'hosting_secrets', name).value;
      };
      const known = await read();
      if (known !== undefined) return known;
      await query('INSERT INTO hosting_secrets (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
        name,
        randomBytes(32).toString('base64url'),
      ]);
      const made = await read();
      if (made === undefined) throw new StoreError(`the secret ${JSON.stringify(name)} cannot be kept`);
      return made;
    },
    close,
  };
}

function toApiKey(row: Row): ApiKeyRecord {
  return parseRow(ApiKeyRow, row, 'hosting_api_keys', String(row['id']));
}

function toServer(row: Row): ServerRecord {
  return parseRow(ServerRow, row, 'hosting_servers', String(row['server']));
}

function createApiKeys(query: Query): Store['apiKeys'] {
  const noted = new Map<string, number>();
  return {
    async create(key) {
      await query(
        `INSERT INTO hosting_api_keys (id, secret_hash, previous_hash, previous_until, label, servers, scopes,
          created_at, expires_at, revoked_at, last_used_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
        [
          key.id,
          key.secretHash,
          key.previousHash,
          key.previousUntil,
          key.label,
          JSON.stringify(key.servers),
          JSON.stringify(key.scopes),
          key.createdAt,
          key.expiresAt,
          key.revokedAt,
          key.lastUsedAt,
        ],
      );
    },
    async find(id) {
      const [row] = await query(`SELECT ${apiKeyColumns} FROM hosting_api_keys WHERE id = $1`, [id]);
      return row && toApiKey(row);
    },
    async list() {
      return (await query(`SELECT ${apiKeyColumns} FROM hosting_api_keys ORDER BY created_at, id`)).map(toApiKey);
    },
    async rotate(id, secretHash, previousUntil) {
      const rows = await query(
        `UPDATE hosting_api_keys SET previous_hash = secret_hash, previous_until = $3, secret_hash = $2
          WHERE id = $1 RETURNING id`,
        [id, secretHash, previousUntil],
      );
      return rows.length > 0;
    },
    async revoke(id, at) {
      const rows = await query(
        'UPDATE hosting_api_keys SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1 RETURNING id',
        [id, at],
      );
      return rows.length > 0;
    },
    async touch(id, at) {
      const minute = Math.floor(at / minuteMs) * minuteMs;
      if ((noted.get(id) ?? -1) >= minute) return;
      // Only real keys come here, but a bound costs nothing.
      if (noted.size > 10_000) noted.clear();
      noted.set(id, minute);
      const write = query(
        'UPDATE hosting_api_keys SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)',
        [id, minute],
      ).catch((error: unknown) => {
        noted.delete(id);
        throw error;
      });
      await atMost(touchPatienceMs, write);
    },
  };
}

/** Waits for work, but no longer than a time: what takes longer goes on unattended, and its failure too is nobody's concern. */
async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise((resolve) => (timer = setTimeout(resolve, ms)));
  try {
    await Promise.race([work, patience]);
  } finally {
    clearTimeout(timer);
  }
}

function createServers(query: Query): Store['servers'] {
  return {
    async put({ server, provider, ref, logFile }) {
      await query(
        `INSERT INTO hosting_servers (server, provider, ref, log_file) VALUES ($1, $2, $3, $4)
          ON CONFLICT (server) DO UPDATE
          SET provider = excluded.provider, ref = excluded.ref, log_file = excluded.log_file`,
        [server, provider, ref, logFile],
      );
    },
    async find(server) {
      const [row] = await query(`SELECT ${serverColumns} FROM hosting_servers WHERE server = $1`, [server]);
      return row && toServer(row);
    },
    async list(kind) {
      const rows = await query(`SELECT ${serverColumns} FROM hosting_servers WHERE server LIKE $1 ORDER BY server`, [
        kind === undefined ? '%' : `${kind}:%`,
      ]);
      return rows.map(toServer);
    },
    async remove(server) {
      return (await query('DELETE FROM hosting_servers WHERE server = $1 RETURNING server', [server])).length > 0;
    },
  };
}

function createIdempotency(query: Query): Store['idempotency'] {
  return {
    async begin(apiKeyId, key, fingerprint, now, deadline) {
      // The record may be freed between the two statements; a client cannot make that happen time and again.
      for (let attempt = 0; attempt < 10; attempt += 1) {
        const begun = await query(
          `INSERT INTO hosting_idempotency (api_key_id, idempotency_key, fingerprint, begun_at, deadline)
            VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (api_key_id, idempotency_key) DO UPDATE
            SET fingerprint = excluded.fingerprint, begun_at = excluded.begun_at, deadline = excluded.deadline,
              status = NULL, body = NULL
            WHERE hosting_idempotency.begun_at < $6
            RETURNING api_key_id`,
          [apiKeyId, key, fingerprint, now, deadline, now - dayMs],
        );
        if (begun.length > 0) return { state: 'begun' };
        const [row] = await query(
          `SELECT fingerprint, deadline, status, body FROM hosting_idempotency
            WHERE api_key_id = $1 AND idempotency_key = $2`,
          [apiKeyId, key],
        );
        if (row) return parseRow(IdempotencyRow, row, 'hosting_idempotency', `${apiKeyId} ${key}`);
      }
      throw new StoreError('an Idempotency-Key is claimed and freed without end');
    },
    async finish(apiKeyId, key, { status, body }) {
      // The first answer stays: a client may have been given it already.
      await query(
        `UPDATE hosting_idempotency SET status = $3, body = $4
          WHERE api_key_id = $1 AND idempotency_key = $2 AND status IS NULL`,
        [apiKeyId, key, status, body],
      );
    },
    async release(apiKeyId, key) {
      await query('DELETE FROM hosting_idempotency WHERE api_key_id = $1 AND idempotency_key = $2 AND status IS NULL', [
        apiKeyId,
        key,
      ]);
    },
    async purge(before) {
      await query('DELETE FROM hosting_idempotency WHERE begun_at < $1', [before]);
    },
  };
}

function createAudit(query: Query): Store['audit'] {
  async function* entries({ server, since }: AuditFilter): AsyncGenerator<AuditEntry> {
    let last = { at: since ?? 0, id: 0 };
    for (;;) {
      const values: Value[] = [last.at, last.id, auditPage];
      if (server !== undefined) values.push(server);
      const rows = await query(
        `SELECT ${auditColumns} FROM hosting_audit
          WHERE (logged_at, id) > ($1, $2) ${server === undefined ? '' : 'AND server = $4'}
          ORDER BY logged_at, id LIMIT $3`,
        values,
      );
      for (const row of rows) {
        const { id, ...entry } = parseRow(AuditRow, row, 'hosting_audit', String(row['id']));
        last = { at: entry.at, id };
        yield entry;
      }
      if (rows.length < auditPage) return;
    }
  }
  return {
    async append(entry) {
      await query(
        `INSERT INTO hosting_audit (logged_at, phase, key_id, action, server, request_id, ip, outcome, ms, detail)
          VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
        [
          entry.at,
          entry.phase,
          entry.keyId,
          entry.action,
          entry.server,
          entry.requestId,
          entry.ip,
          entry.outcome,
          entry.ms === null ? null : Math.round(entry.ms),
          entry.detail,
        ],
      );
    },
    async list(filter) {
      return Array.fromAsync(entries(filter));
    },
    entries,
  };
}
