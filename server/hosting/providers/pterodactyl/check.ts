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

/** The result of checking the credentials of a panel. */
export interface PanelCheck {
  readonly findings: Finding[];
  /** Whether the read-only credential can write; then no console may use it. */
  readonly readerCanWrite: boolean;
}

/** Checks the credentials of a panel. Never throws. */
export async function checkPanel(client: Client, reader: Client | undefined): Promise<PanelCheck> {
  const token = await checkKey(client, 'token');
  if (!reader) {
    const missing = { level: 'warn', message: 'There is no read_only_token, so consoles are not available' } as const;
    return { findings: [token.finding, missing], readerCanWrite: false };
  }
  const readOnly = await checkKey(reader, 'read_only_token');
  const findings = [token.finding, readOnly.finding];
  const readerCanWrite = readOnly.admin || (readOnly.finding.level === 'info' && (await canWriteAnyServer(reader)));
  if (readerCanWrite) {
    const message =
      'The read_only_token may do more than read, so no console is opened: give its user only websocket.connect';
    findings.push({ level: 'error', message });
  }
  return { findings, readerCanWrite };
}

function toResult(level: Finding['level'], message: string, admin = false) {
  return { finding: { level, message }, admin };
}

async function checkKey(client: Client, name: string) {
  try {
    const { status, text } = await client.request('GET', '/account');
    if (status !== 200) return toResult('error', `The ${name} is not accepted: status ${status}`);
    if (!parseJson(text, Account)?.attributes.admin) return toResult('info', `The ${name} is accepted`);
    return toResult('warn', `The ${name} is an administrator's: it reaches every server of the panel`, true);
  } catch {
    return toResult('warn', `The panel cannot be reached with the ${name}`);
  }
}

/** Checks the servers of a key, and its permissions on the first. Each console's token is checked when it is opened. */
async function canWriteAnyServer(reader: Client): Promise<boolean> {
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
