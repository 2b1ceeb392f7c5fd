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
  const findings = [...(await checkKey(client, 'token')).findings];
  if (!reader) {
    findings.push({ level: 'warn', message: 'There is no read_only_token, and so no console' });
    return { findings, readerCanWrite: false };
  }
  const key = await checkKey(reader, 'read_only_token');
  findings.push(...key.findings);
  const readerCanWrite = key.admin || (key.accepted && (await mayWriteSomewhere(reader)));
  if (readerCanWrite) {
    findings.push({
      level: 'error',
      message:
        'The read_only_token may do more than read, so no console is opened: give its user websocket.connect alone',
    });
  }
  return { findings, readerCanWrite };
}

async function checkKey(
  client: Client,
  name: string,
): Promise<{ findings: Finding[]; accepted: boolean; admin: boolean }> {
  try {
    const reply = await client.request('GET', '/account');
    if (reply.status !== 200) {
      const message = `The ${name} is not accepted: status ${reply.status}`;
      return { findings: [{ level: 'error', message }], accepted: false, admin: false };
    }
    const admin = parseJson(reply.text, Account)?.attributes.admin ?? false;
    const findings: Finding[] = admin
      ? [{ level: 'warn', message: `The ${name} is an administrator's: it reaches every server of the panel` }]
      : [{ level: 'info', message: `The ${name} is accepted` }];
    return { findings, accepted: true, admin };
  } catch {
    const message = `The panel cannot be reached with the ${name}`;
    return { findings: [{ level: 'warn', message }], accepted: false, admin: false };
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
