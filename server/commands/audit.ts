import { once } from 'node:events';
import type { AuditEntry } from '../store/types.ts';
import type { Command } from './command.ts';
import { CommandError, defineStrictCommand, show } from './command.ts';
import { parseDuration, parseServer, parseTime } from './inputs.ts';
import { withStore } from './with-store.ts';
import type { OpenStore } from './with-store.ts';

/** `audit`: what was done with the API keys, the newest last. */
export function createAuditCommand(open: OpenStore): Command {
  return defineStrictCommand({
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
    async run({ args }) {
      const filter = {
        ...(args.server === undefined ? {} : { server: parseServer(args.server) }),
        ...(args.since === undefined ? {} : { since: parseSince(args.since) }),
      };
      await withStore(open, async (store) => {
        for await (const entry of store.audit.entries(filter)) {
          const line = args.json ? JSON.stringify({ ...entry, at: toIso(entry) }) : render(entry);
          // A log may be far larger than memory, and a pipe slower than the store.
          if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain');
        }
      });
    },
  });
}

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
