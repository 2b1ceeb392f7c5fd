import type { AuditEntry } from '../store/types.ts';
import { CommandError, defineStrictCommand, show } from './command.ts';
import { parseDuration, parseServer, parseTime } from './inputs.ts';
import { doubtServer } from './known.ts';

/** `audit`: what was done with the API keys, the newest last. */
export const auditCommand = defineStrictCommand({
  meta: { name: 'audit', description: 'Prints the audit log, the newest last.' },
  args: {
    server: { type: 'string', valueHint: 'game:ID', description: 'only of this server' },
    since: {
      type: 'string',
      valueHint: 'T',
      description: 'only from this time on: YYYY-MM-DD, an ISO time, or 24h for the last 24 hours',
    },
    json: { type: 'boolean', default: false, description: 'print a JSON object a line' },
  },
  async run({ args }, { withStore, print, explain }) {
    const server = args.server === undefined ? undefined : parseServer(args.server);
    const since = args.since === undefined ? undefined : parseSince(args.since);
    await withStore(async (store) => {
      let found = false;
      const filter = { ...(server === undefined ? {} : { server }), ...(since === undefined ? {} : { since }) };
      for await (const entry of store.audit.entries(filter)) {
        found = true;
        // One by one: a log may be far larger than memory, and a pipe slower than the store.
        await print(args.json ? JSON.stringify({ ...entry, at: toIso(entry) }) : render(entry));
      }
      // Silence would be read as "nothing was done". No error, as the log outlives its servers.
      const doubt = found || server === undefined ? undefined : await doubtServer(store, server);
      if (doubt !== undefined) explain(`warning: ${doubt}`);
    });
  },
});

function parseSince(text: string): number {
  const ago = parseDuration(text);
  const time = ago === undefined ? parseTime(text) : Date.now() - ago;
  if (time === undefined) {
    throw new CommandError('--since must be a date (YYYY-MM-DD), an ISO time such as 2030-01-31T12:00Z, or 24h');
  }
  return Math.max(time, 0);
}

function toIso({ at }: AuditEntry): string {
  return new Date(at).toISOString();
}

function render(entry: AuditEntry): string {
  const { phase, action, server, keyId, ip, requestId, outcome, ms, detail } = entry;
  const parts = [toIso(entry), phase, action, server, `key=${keyId}`, `ip=${ip}`, `request=${requestId}`];
  if (outcome !== null) parts.push(`outcome=${outcome}`);
  if (ms !== null) parts.push(`${ms}ms`);
  if (detail !== null) parts.push(JSON.stringify(detail));
  return show(parts.join('  '));
}
