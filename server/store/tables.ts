import { randomBytes } from 'node:crypto';
import { createAudit } from './audit.ts';
import type { Database, Query, Row } from './database.ts';
import { StoreError } from './error.ts';
import { createFeedback } from './feedback.ts';
import { createIdempotency } from './idempotency.ts';
import { ApiKeyRow, SecretRow, ServerRow, parseRow } from './records.ts';
import type { ApiKeyRecord, ServerRecord, Store } from './types.ts';

const minuteMs = 60 * 1000;
const touchPatienceMs = 200;

const apiKeyColumns = `id, secret_hash AS "secretHash", previous_hash AS "previousHash",
  previous_until AS "previousUntil", label, servers, scopes, created_at AS "createdAt", expires_at AS "expiresAt",
  revoked_at AS "revokedAt", last_used_at AS "lastUsedAt"`;
const serverColumns = 'server, provider, ref, log_file AS "logFile"';

/** The store over the tables of an open database. Whatever must be atomic is one statement, and so is atomic between processes too. */
export function createStore({ query, close }: Database): Store {
  return {
    apiKeys: createApiKeys(query),
    servers: createServers(query),
    idempotency: createIdempotency(query),
    audit: createAudit(query),
    feedback: createFeedback(query),
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
