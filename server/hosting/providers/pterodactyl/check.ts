import { z } from 'zod';
import type { Client } from '../../../upstream/client.ts';
import { canWrite } from './session.ts';
import { parseJson, toProviderError } from '../../../upstream/client.ts';
import { checkCredential } from '../types.ts';
import type { CheckResult } from '../types.ts';

const Account = z.object({ attributes: z.object({ admin: z.boolean() }) });
const Servers = z.object({
  data: z.array(z.object({ attributes: z.object({ identifier: z.string(), server_owner: z.boolean() }) })),
});
const Server = z.object({ meta: z.object({ user_permissions: z.array(z.string()) }) });

/**
 * Checks the credentials of a panel. `readerCanWrite` says whether the read-only one can write; then no console may use it. It
 * is undefined if that could not be seen. Never throws.
 */
export async function checkPanel(
  client: Client,
  reader: Client | undefined,
): Promise<{ readonly findings: CheckResult[]; readonly readerCanWrite: boolean | undefined }> {
  const token = await checkKey(client, 'token');
  if (!reader) return { findings: [token.found, withoutReader], readerCanWrite: false };
  const readOnly = await checkKey(reader, 'read_only_token');
  const findings = [token.found, readOnly.found];
  if (readOnly.found.level !== 'info' && !readOnly.isAdmin) return { findings, readerCanWrite: undefined };
  const readerCanWrite = readOnly.isAdmin || (await canWriteAnyServer(reader));
  if (readerCanWrite === false) return { findings, readerCanWrite };
  return { findings: [...findings, readerCanWrite ? tooMuch : unseenRights], readerCanWrite };
}

const withoutReader: CheckResult = {
  level: 'warn',
  message: 'There is no read_only_token, so consoles are not available',
  advice: 'set the client key of a user with only websocket.connect as read_only_token in PROVIDERS_FILE',
};

const tooMuch: CheckResult = {
  level: 'error',
  message: 'The read_only_token may do more than read, so no console is opened: give its user only websocket.connect',
  advice: 'take all other permissions from the user of the read_only_token',
};

const unseenRights: CheckResult = {
  level: 'warn',
  message: 'The panel does not show what the read_only_token may do',
  advice: 'see what fails in the panel: it must list the servers of the read_only_token, and show the first of them',
  isUnreachable: true,
};

async function checkKey(client: Client, name: string) {
  let isAdmin = false;
  const found = await checkCredential({
    name,
    upstream: `The panel asked with the ${name}`,
    ask: () => client.request('GET', '/account', { credentialStatuses: [401, 403] }),
    judge(text) {
      isAdmin = parseJson(text, Account)?.attributes.admin ?? false;
      if (!isAdmin) return { level: 'info', message: `The ${name} is accepted` };
      const message = `The ${name} is an administrator's: it reaches every server of the panel`;
      const advice = `use a key of a user who is no administrator, and a subuser of the servers, as ${name}`;
      return { level: 'warn', message, advice };
    },
    refusedAdvice: `create a client key in the panel, allowed from the address of this machine, and set it as ${name}`,
    unreachable: [
      `The panel cannot be reached with the ${name}`,
      `see that this machine may connect to the url of PROVIDERS_FILE, resolves its name and trusts its certificate (asked with the ${name})`,
    ],
  });
  return { found, isAdmin };
}

const listSize = 100;
/** More servers than one panel has: each page costs a request of its budget. */
const maxPages = 50;

/** Lists the identifiers of all servers of a key; undefined for an administrator, who reaches others too. */
export async function listIdentifiers(client: Client): Promise<ReadonlySet<string> | undefined> {
  const account = await client.request('GET', '/account');
  if (parseJson(account.text, Account)?.attributes.admin !== false) return undefined;
  const found = new Set<string>();
  for (let page = 1; page <= maxPages; page += 1) {
    // oxlint-disable-next-line no-await-in-loop
    const reply = await client.request('GET', `?per_page=${listSize}&page=${page}`);
    const list = reply.status === 200 ? parseJson(reply.text, Servers) : undefined;
    if (!list) throw toProviderError(reply, 'refused');
    for (const { attributes } of list.data) found.add(attributes.identifier);
    if (list.data.length < listSize) return found;
  }
  return undefined;
}

/**
 * Checks the servers of a key, and its permissions on the first; undefined if the panel does not show them. Each console's
 * token is checked when it is opened.
 */
async function canWriteAnyServer(reader: Client): Promise<boolean | undefined> {
  try {
    const servers = parseJson((await reader.request('GET', '?per_page=100')).text, Servers)?.data;
    if (!servers) return undefined;
    if (servers.some(({ attributes }) => attributes.server_owner)) return true;
    const id = servers[0]?.attributes.identifier;
    if (id === undefined) return false;
    const server = parseJson((await reader.request('GET', `/servers/${encodeURIComponent(id)}`)).text, Server);
    return server && canWrite(server.meta.user_permissions);
  } catch {
    return undefined;
  }
}
