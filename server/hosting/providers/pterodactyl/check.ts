import { WebSocket } from 'ws';
import { z } from 'zod';
import type { Logger } from '../../../log.ts';
import { ForeignInt, ProviderError, createListReader, parseJson, parseReply } from '../../../upstream/client.ts';
import type { Reply } from '../../../upstream/client.ts';
import type { ReadClient } from '../../../upstream/reads.ts';
import { checkCredential } from '../types.ts';
import type { CheckResult, StateClock } from '../types.ts';
import { Permissions, canWrite, failureOf, parseToken } from './answers.ts';
import type { HandshakeError, NodeSockets } from './sockets.ts';

/** An account: the kind of its panel, and whether its user is an administrator. */
export const Account = z
  .object({ attributes: z.looseObject({ admin: z.boolean() }) })
  .transform(({ attributes: { admin, root_admin: isRoot, id } }) => {
    return { isPelican: isRoot !== undefined || id === undefined, isAdmin: admin || isRoot === true };
  });
const ListedServer = z.object({
  attributes: z.object({ identifier: z.string(), name: z.string().catch(''), node: z.string().optional() }),
});
type ListedServer = z.infer<typeof ListedServer>['attributes'];
const Page = z.object({ data: z.array(z.unknown()), meta: z.object({ pagination: z.object({ total: ForeignInt }) }) });
const Server = z.object({ meta: z.object({ user_permissions: Permissions }) });

const pageSize = 50;
/** A server with the variables of its egg has up to 42 kB. */
const pageBytes = 8 * 1024 * 1024;
/** Lists have no order: a server that changes between two pages may be on both or on none. */
const maxPasses = 3;

/** Lists the servers that a key reaches, by their identifiers. */
export async function listServers(client: ReadClient, log: Pick<Logger, 'warn'>, sleep: StateClock['sleep']) {
  const { isAdmin } = parseReply(await client.request('GET', '/account'), Account);
  const servers = new Map<string, ListedServer>();
  let total = Infinity;
  const readServers = createListReader(ListedServer, (message) => log.warn(message));
  /** Reads a page, if necessary in the next window of the panel's limit. */
  const readPage = async (page: number, tries = 3): Promise<z.infer<typeof Page>> => {
    try {
      // To others, panels answer this type with an empty list.
      const path = `?${isAdmin ? 'type=admin-all&' : ''}per_page=${pageSize}&page=${page}`;
      return parseReply(await client.request('GET', path, { maxBytes: pageBytes }), Page);
    } catch (error) {
      const seconds = error instanceof ProviderError ? Number(error.headers['Retry-After'] ?? 0) : 0;
      if (seconds === 0 || tries === 0) throw error;
      await sleep(seconds * 1000);
      return await readPage(page, tries - 1);
    }
  };
  for (let pass = 1; pass <= maxPasses && servers.size < total; pass += 1) {
    for (let page = 1, isLast = false; !isLast; page += 1) {
      const { data, meta } = await readPage(page);
      ({ total } = meta.pagination);
      for (const { attributes } of readServers(data)) servers.set(attributes.identifier, attributes);
      isLast = data.length === 0 || page * pageSize >= total;
    }
  }
  return { servers, isAdmin, missed: Math.max(0, total - servers.size) };
}

/** Describes the key of an administrator. */
export const describeAdmin = (name: string): string =>
  `The ${name} belongs to an administrator and can control every server of the panel`;

/** Faults that the panel names, by its code. */
const reasons: Readonly<Record<string, readonly [reason: string, advice: string]>> = {
  TwoFactorAuthRequiredException: ['it requires a second factor of this user', 'require one of administrators alone'],
  ThrottleRequestsException: ['its limit is used up', 'raise APP_API_CLIENT_RATELIMIT in the settings of the panel'],
  HttpException: ['it is in maintenance', 'run `php artisan up` once the panel is updated'],
};

/** The maximum number of servers whose permissions and nodes are checked. */
const maxServers = 5;

/** Checks a key, and reads its permissions on its first servers. */
async function checkUser(client: ReadClient, name: string) {
  const get = (path: string): Promise<Reply> => client.request('GET', path, { credentialStatuses: [401, 403] });
  let account: z.infer<typeof Account> | undefined;
  let listed: ListedServer[] | undefined;
  const findings: CheckResult[] = await checkCredential({
    name,
    upstream: `The panel (asked with the ${name})`,
    async ask() {
      const reply = await get('/account');
      account = reply.status === 200 ? parseJson(reply.text, Account) : undefined;
      // A required second factor does not apply to the account.
      const list = account ? await get(`?per_page=${maxServers}`) : reply;
      const entries = list.status === 200 ? parseJson(list.text, Page)?.data : undefined;
      const read = entries && createListReader(ListedServer, () => undefined)(entries);
      listed = read?.slice(0, maxServers).map(({ attributes }) => attributes);
      return list.status === 200 ? reply : list;
    },
    explain(reply) {
      const { code } = failureOf(reply);
      const [reason, advice] = reasons[code] ?? [code, 'see storage/logs of the panel'];
      return code === '' ? undefined : { reason, advice, isPermanent: reply.status === 400 };
    },
    judge() {
      if (account?.isAdmin === false) return { level: 'info', message: `The ${name} is accepted` };
      const advice = `set ${name} to a key of a user who is a subuser of the servers, not an administrator`;
      return account && { level: 'warn', message: describeAdmin(name), advice };
    },
    refusedAdvice: `create a client key in the panel, allowed from this machine's address, and set ${name} to it`,
  });
  const readServer = async ({ identifier }: ListedServer) => {
    const reply = await get(`/servers/${encodeURIComponent(identifier)}`).catch(() => undefined);
    const { user_permissions: permissions } = parseJson(reply?.text ?? '', Server)?.meta ?? {};
    return { identifier, status: reply?.status, permissions };
  };
  const replies = account?.isAdmin ? [] : await Promise.all((listed ?? []).map(readServer));
  const servers = replies.filter(({ status }) => status === 200);
  if (replies.some(({ status }) => status !== 200 && status !== 404)) {
    const message = `The panel does not show the permissions of the ${name}`;
    findings.push({ level: 'warn', message, advice: 'see storage/logs of the panel', isUnreachable: true });
  }
  /** Names wrong permissions and their servers; undefined if there are none. */
  const findWrong = (toWrong: (permissions: readonly string[] | undefined) => readonly string[]) => {
    const found = servers.map(({ identifier, permissions }) => ({ identifier, names: toWrong(permissions) }));
    const wrong = found.filter(({ names }) => names.length > 0);
    const names = new Set(wrong.flatMap((server) => server.names));
    const on = wrong.map(({ identifier }) => identifier).join(', ');
    return wrong.length > 0 ? `${[...names].join(', ')} on ${on}` : undefined;
  };
  return { findings, ...account, listed, findWrong };
}

/** Opens a socket of each node of the listed servers, as consoles do. Never throws. */
async function checkNodes(
  reader: ReadClient,
  listed: readonly ListedServer[],
  sockets: NodeSockets,
): Promise<CheckResult[]> {
  const nodes = Map.groupBy(listed, ({ node, identifier }) => node ?? identifier);
  const checked = Array.from(nodes, async ([node, [server]]): Promise<CheckResult[]> => {
    const ref = server!.identifier;
    const path = `/servers/${encodeURIComponent(ref)}/websocket`;
    const known = sockets.find(ref);
    const reply = known === undefined && (await reader.request('GET', path, { retry: false }).catch(() => undefined));
    const token = reply ? parseToken(reply) : undefined;
    if (typeof token === 'object') sockets.remember(ref, token.url, token.issuer);
    const url = sockets.find(ref);
    // A refused token is not about the node.
    if (url === undefined) return [];
    const { signal } = new AbortController();
    const opened = await sockets.open(ref, url, signal).catch((error: HandshakeError) => error);
    if (opened instanceof WebSocket) {
      opened.terminate();
      return [];
    }
    const message = `The consoles of node ${node} cannot be opened: ${new URL(url).host}: ${opened.message}`;
    const advice = 'check that this machine reaches that address and trusts its certificate, and the node its panel';
    return [{ level: 'warn', message, advice }];
  });
  return (await Promise.all(checked)).flat();
}

const actions = ['control.console', 'control.start', 'control.stop', 'control.restart'];
const needed = [...actions, 'file.read-content', 'file.read'];

/** Checks the credentials of a panel, and the sockets of its nodes. Never throws. */
export async function checkPanel(client: ReadClient, reader: ReadClient | undefined, sockets: NodeSockets) {
  const { findings, isPelican, listed = [], findWrong } = await checkUser(client, 'token');
  const missing = findWrong((found = ['*']) => needed.filter((name) => !found.includes(name) && !found.includes('*')));
  if (missing !== undefined) {
    // Only needed to tell a missing log from other failures.
    const level = missing.startsWith('file.read on') ? 'info' : 'warn';
    const advice = 'give this to the user of the token on each server: docs/reference.md has a recipe';
    findings.push({ level, message: `The token lacks ${missing}`, advice });
  }
  if (!reader) {
    findings.push({
      level: 'warn',
      message: 'There is no read_only_token, so consoles are not available',
      advice: 'set read_only_token in PROVIDERS_FILE to a client key of a user with only websocket.connect',
    });
    return { findings, isPelican, isReaderAdmin: false };
  }
  const user = await checkUser(reader, 'read_only_token');
  findings.push(...user.findings);
  const excess = user.findWrong((found = ['unreadable permissions']) => found.filter((name) => canWrite([name])));
  const prefix = 'The read_only_token may do more than read';
  const advice = 'remove all other permissions from the user of the read_only_token';
  if (user.isAdmin) findings.push({ level: 'error', message: `${prefix}, so no console is opened`, advice });
  else if (excess !== undefined)
    findings.push({ level: 'warn', message: `${prefix} (${excess}): these consoles stay closed`, advice });
  else if (user.listed?.length === 0 && listed.length > 0) {
    const message = 'The user of the read_only_token is on none of the servers, so no console is opened';
    findings.push({ level: 'warn', message, advice: 'add the user to each server with websocket.connect alone' });
  }
  // The tokens of an administrator open no console.
  if (!user.isAdmin) findings.push(...(await checkNodes(reader, user.listed ?? [], sockets)));
  return { findings, isPelican, isReaderAdmin: user.isAdmin };
}
