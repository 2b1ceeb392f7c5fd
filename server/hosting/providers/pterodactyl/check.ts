import { z } from 'zod';
import type { Client } from '../../../upstream/client.ts';
import { canWrite } from './grant.ts';
import { parseJson } from '../../../upstream/reply.ts';
import type { Finding } from '../types.ts';

const Account = z.object({ attributes: z.object({ admin: z.boolean() }) });
const Servers = z.object({
  data: z.array(z.object({ attributes: z.object({ identifier: z.string(), server_owner: z.boolean() }) })),
});
const Server = z.object({ meta: z.object({ user_permissions: z.array(z.string()) }) });

/** What was found out about the credentials of a panel. */
export interface PanelCheck {
  readonly findings: Finding[];
  /** Whether the read-only credential is more than that; no console may be opened by it then. */
  readonly readerCanWrite: boolean;
}

/** Looks at the credentials of a panel. Never throws. */
export async function checkPanel(client: Client, reader: Client | undefined): Promise<PanelCheck> {
  const token = await checkKey(client, 'token');
  if (!reader) {
    const missing = { level: 'warn', message: 'There is no read_only_token, and so no console' } as const;
    return { findings: [token.finding, missing], readerCanWrite: false };
  }
  const readOnly = await checkKey(reader, 'read_only_token');
  const findings = [token.finding, readOnly.finding];
  const readerCanWrite = readOnly.admin || (readOnly.finding.level === 'info' && (await mayWriteSomewhere(reader)));
  if (readerCanWrite) {
    const message =
      'The read_only_token may do more than read, so no console is opened: give its user websocket.connect alone';
    findings.push({ level: 'error', message });
  }
  return { findings, readerCanWrite };
}

function find(level: Finding['level'], message: string, admin = false) {
  return { finding: { level, message }, admin };
}

async function checkKey(client: Client, name: string) {
  try {
    const { status, text } = await client.request('GET', '/account');
    if (status !== 200) return find('error', `The ${name} is not accepted: status ${status}`);
    if (!parseJson(text, Account)?.attributes.admin) return find('info', `The ${name} is accepted`);
    return find('warn', `The ${name} is an administrator's: it reaches every server of the panel`, true);
  } catch {
    return find('warn', `The panel cannot be reached with the ${name}`);
  }
}

/** A look at the servers that a key sees, and at its permissions on the first; each console's token is looked at anyway. */
async function mayWriteSomewhere(reader: Client): Promise<boolean> {
  try {
    const servers = parseJson((await reader.request('GET', '?per_page=100')).text, Servers)?.data ?? [];
    if (servers.some(({ attributes }) => attributes.server_owner)) return true;
    const id = servers[0]?.attributes.identifier;
    if (id === undefined) return false;
    const server = parseJson((await reader.request('GET', `/servers/${encodeURIComponent(id)}`)).text, Server);
    return canWrite(server?.meta.user_permissions ?? []);
  } catch {
    return false;
  }
}
