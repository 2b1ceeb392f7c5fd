import type { Query, Value } from './database.ts';
import { AuditRow, parseRow } from './records.ts';
import type { AuditEntry, AuditFilter, Store } from './types.ts';

const auditPage = 1000;

const auditColumns = `id, logged_at AS "at", phase, key_id AS "keyId", action, server, request_id AS "requestId", ip,
  outcome, ms, detail`;

/** The audit log, over an open database. */
export function createAudit(query: Query): Store['audit'] {
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
