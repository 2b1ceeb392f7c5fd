import { z } from 'zod';
import { unknownStats } from '#contract/console-stream.ts';
import { createActionClient } from '../../../upstream/actions.ts';
import {
  createListReader,
  offline,
  openUpstream,
  parseJson,
  parseReply,
  toProviderError,
  toRefusal,
} from '../../../upstream/client.ts';
import type { Outcome, Quota, Reply, RequestOptions } from '../../../upstream/client.ts';
import { createQuota } from '../../../upstream/quota.ts';
import { createReadClient } from '../../../upstream/reads.ts';
import type { ReadClient } from '../../../upstream/reads.ts';
import { createTokenBucket } from '../../../token-bucket.ts';
import { Secret, UpstreamUrl } from '../../../upstream/address.ts';
import { toLogEnd } from '../game-log.ts';
import { assertRef, checkCredential, createStateReader, notAvailable } from '../types.ts';
import type { CheckResult, Provider, ProviderOptions, ProviderType } from '../types.ts';
import { WingsState, canWrite, defaultTimings, openPanelSession, resourcesMs } from './session.ts';
import type { ConsoleTimings, PanelSession } from './session.ts';

/** The settings of a Pterodactyl or Pelican panel. */
const PterodactylSettings = z.object({
  url: UpstreamUrl,
  /** A client key of a user with control.console, control.start, control.stop and control.restart. */
  token: Secret,
  /** A client key of a user with only websocket.connect. Without this key there are no consoles. */
  read_only_token: Secret.optional(),
});
type PterodactylSettings = z.infer<typeof PterodactylSettings>;

interface PterodactylOptions extends ProviderOptions {
  readonly timings?: Partial<ConsoleTimings>;
}

const refs = {
  kind: 'game',
  pattern: /^[\dA-Fa-f]{8}(?:(?:-[\dA-Fa-f]{4}){3}-[\dA-Fa-f]{12})?$/,
  meaning: 'the identifier of a server in the panel (8 hexadecimal digits, or the whole UUID)',
} as const;

/** Game servers of a Pterodactyl or Pelican panel. */
export const pterodactyl: ProviderType<PterodactylSettings, PterodactylOptions> = {
  settings: () => PterodactylSettings,
  secrets: ['token', 'read_only_token'],
  refs,
  create: createPterodactyl,
};

const Failure = z.object({ errors: z.tuple([z.object({ code: z.string(), detail: z.string() })], z.unknown()) });
const Resources = z.object({ attributes: z.object({ current_state: z.string() }) });
const Account = z.object({ attributes: z.object({ admin: z.boolean() }) });
const ListedServer = z.object({ attributes: z.object({ identifier: z.string(), server_owner: z.boolean() }) });
const Servers = z.object({ data: z.array(ListedServer) });
const Entries = z.object({ data: z.array(z.unknown()) });
const Server = z.object({ meta: z.object({ user_permissions: z.array(z.string()) }) });

const stoppedStates = new Set(['offline', 'created', 'exited', 'dead', 'removing']);

/** The panel's error codes for an unreadable file; the second is Pelican's. */
const fileFailures = new Set(['FileSizeTooLargeException', 'FileNotFoundException']);

/** A panel returns files of at most 4 MiB (files/contents). */
const logFileBytes = 4 * 1024 * 1024 + 1024;

/**
 * A panel issues 5 tokens a minute per server, for all users together. A burst of three plus two a minute is at most
 * four in any minute, and leaves one for the owner or a renewal. Renewals are not counted: tokens are renewed every 8
 * minutes by default, and panels with shorter-lived tokens have other limits.
 */
const attempts = { burst: 3, perWindow: 2 };

function createPterodactyl(settings: PterodactylSettings, options: PterodactylOptions): Provider {
  const { timeoutMs, upstream, log, clock, createBucket = createTokenBucket } = options;
  const timings: ConsoleTimings = { ...defaultTimings, ...options.timings };
  const now = clock?.now ?? (() => performance.now());
  const { origin } = new URL(settings.url);
  // No Origin header: with the panel's own origin, Laravel Sanctum requires a session and a CSRF token.
  const openAccount = (token: string, accountQuota?: Quota) =>
    openUpstream({
      name: upstream,
      baseUrl: `${settings.url}/api/client`,
      headers: { authorization: `Bearer ${token}` },
      timeoutMs,
      isOwnError: (text) => parseJson(text, Failure) !== undefined,
      quota: accountQuota,
    });
  const quota = createQuota(now);
  const account = openAccount(settings.token, quota);
  const actions = createActionClient(account);
  const client = createReadClient(account);
  const readOnly = settings.read_only_token;
  const reader = readOnly === undefined ? undefined : createReadClient(openAccount(readOnly));
  const rps = (attempts.perWindow * 1000) / timings.windowMs;
  const budget = createBucket({ name: 'panel', rps, burst: attempts.burst });
  /** Open consoles with the refs of their servers. */
  const sessions = new Map<PanelSession, string>();
  /** The console credential has write access, so consoles stay closed. */
  let readerCanWrite = false;
  let isClosed = false;
  const shareState = createStateReader({
    refs,
    groupOf: (ref) => ref,
    async read(ref) {
      const { data = 'unknown' } = WingsState.safeParse(await readState(client, pathOf(ref)));
      return new Map([[ref, data]]);
    },
    intervalMs: resourcesMs,
    lagMs: resourcesMs,
    hasRoom: quota.hasRoom,
    clock,
  });
  return {
    game: {
      async power(ref, action, sendOptions) {
        const body = { signal: action };
        const reply = await actions.post(`${pathOf(ref)}/power`, { body, ...sendOptions });
        // Exactly 204: a 200 may come from a proxy or a login page.
        if (reply.status !== 204) throw toProviderError(reply, toOutcome(reply));
      },
      async command(ref, command, sendOptions = {}) {
        const path = pathOf(ref);
        const { signal, trace } = sendOptions;
        // If the read fails, send the command anyway and let the panel decide.
        const read = () => readState(client, path, { timeoutMs: timeoutMs / 4, signal, trace }).catch(() => undefined);
        const isOffline = async (): Promise<boolean> => stoppedStates.has((await read()) ?? '');
        // Pelican (its keys do not start with ptlc_) answers 204 to commands for offline servers.
        if (!settings.token.startsWith('ptlc_') && (await isOffline())) throw toRefusal(`${ref} is offline`, offline);
        quota.assertRoom();
        const reply = await actions.post(`${path}/command`, { body: { command }, ...sendOptions });
        if (reply.status === 204) return;
        // The panel's error for an offline server, and for a proxy's 502, which may follow a forwarded command.
        const isAmbiguous = reply.status === 502 && failureOf(reply).code === 'HttpException';
        if (isAmbiguous && (await isOffline())) throw toProviderError(reply, 'refused', { message: offline });
        const code = isDenied(reply) ? 'provider_permission_denied' : 'provider_error';
        throw toProviderError(reply, toOutcome(reply), { code });
      },
      async state(ref, maxAgeMs) {
        const after = now() - maxAgeMs;
        const proofs = sessions.entries().map(([session, its]) => (its === ref ? session.state(after) : undefined));
        return proofs.find((state) => state !== undefined) ?? (await shareState(ref, maxAgeMs));
      },
      latestLog: (ref, file) => readLog(client, ref, file),
      openConsole(ref, events, isResumed = false) {
        if (readerCanWrite || isClosed || !reader || !refs.pattern.test(ref)) {
          const later = setImmediate(() => events.ended(notAvailable));
          return { stats: () => Promise.resolve(unknownStats), close: () => clearImmediate(later) };
        }
        const path = pathOf(ref);
        const consume = () => budget.consume(origin + path);
        const leave = () => sessions.delete(session);
        const panel = { client: reader, path, origin, timings, consume, leave, log: log.child({ ref }), now };
        const session = openPanelSession({ ...panel, events, isResumed });
        sessions.set(session, ref);
        return session;
      },
    },
    async check() {
      const panel = await checkPanel(client, reader);
      readerCanWrite = panel.readerCanWrite ?? readerCanWrite;
      if (readerCanWrite) for (const session of sessions.keys()) session.refuse(notAvailable);
      return panel.findings;
    },
    listRefs: () => listIdentifiers(client, (message) => log.warn(message)),
    async close() {
      isClosed = true;
      for (const session of sessions.keys()) session.close();
      await Promise.all([account.close(), reader?.close()]);
    },
  };
}

function pathOf(ref: string): string {
  assertRef(refs, ref);
  return `/servers/${ref}`;
}

/** Reads the state of a server; undefined while it is suspended, being installed or being transferred. */
async function readState(client: ReadClient, path: string, options?: RequestOptions): Promise<string | undefined> {
  const reply = await client.request('GET', `${path}/resources`, options);
  if (reply.status === 409 && failureOf(reply).code === 'ServerStateConflictException') return undefined;
  return parseReply(reply, Resources).attributes.current_state;
}

async function readLog(client: ReadClient, ref: string, file: string | null): Promise<string | undefined> {
  const path = new URLSearchParams({ file: `/${(file ?? 'logs/latest.log').replace(/^\/+/, '')}` });
  const reply = await client.request('GET', `${pathOf(ref)}/files/contents?${path.toString()}`, {
    maxBytes: logFileBytes,
    headers: { accept: 'application/json, text/plain' },
  });
  // A proxy may answer with an HTML page and status 200.
  const isPage = reply.headers.get('content-type')?.startsWith('text/html');
  if (reply.status === 200 && !isPage) return toLogEnd(Buffer.from(reply.text));
  const { code } = failureOf(reply);
  // Wings' errors for a missing file, a folder or a file that is too large.
  const noFile = fileFailures.has(code) || (reply.status < 500 && code === 'DaemonConnectionException');
  if (isDenied(reply) || noFile) return undefined;
  throw toProviderError(reply, 'refused');
}

function failureOf({ text }: Reply): { code: string; detail: string } {
  return parseJson(text, Failure)?.errors[0] ?? { code: '', detail: '' };
}

/** Returns true if the key lacks a permission on the server. */
function isDenied(reply: Reply): boolean {
  // A wrong kind of key or a forbidden address is a mistake in our configuration.
  return reply.status === 403 && !/application API key|IP address/i.test(failureOf(reply).detail);
}

function toOutcome({ status }: Reply): Outcome {
  // A 4xx comes from the panel before its call to the node; after other errors the node may have acted.
  return status >= 400 && status < 500 && status !== 408 ? 'refused' : 'unknown';
}

const listSize = 100;
/** Enough for the largest panels; each page costs a request of the panel's budget. */
const maxPages = 50;

/** Lists the servers of a key; undefined for administrators, who have access to unlisted servers. */
async function listIdentifiers(
  client: ReadClient,
  warn: (message: string) => void,
): Promise<ReadonlySet<string> | undefined> {
  const account = await client.request('GET', '/account');
  if (parseJson(account.text, Account)?.attributes.admin !== false) return undefined;
  const found = new Set<string>();
  const readServers = createListReader(ListedServer, warn);
  for (let page = 1; page <= maxPages; page += 1) {
    // oxlint-disable-next-line no-await-in-loop
    const { data } = parseReply(await client.request('GET', `?per_page=${listSize}&page=${page}`), Entries);
    for (const { attributes } of readServers(data)) found.add(attributes.identifier);
    if (data.length < listSize) return found;
  }
  return undefined;
}

/** Checks the credentials of a panel; `readerCanWrite` is undefined if unknown. Never throws. */
async function checkPanel(client: ReadClient, reader: ReadClient | undefined) {
  const findings: CheckResult[] = await checkKey(client, 'token');
  if (!reader) {
    findings.push({
      level: 'warn',
      message: 'There is no read_only_token, so consoles are not available',
      advice: 'set read_only_token in PROVIDERS_FILE to a client key of a user with only websocket.connect',
    });
    return { findings, readerCanWrite: false };
  }
  const [found] = await checkKey(reader, 'read_only_token');
  findings.push(found);
  // The only warning about an accepted key: its user is an administrator.
  const isAdmin = found.level === 'warn' && !found.isUnreachable;
  if (found.level !== 'info' && !isAdmin) return { findings, readerCanWrite: undefined };
  const readerCanWrite = isAdmin || (await canWriteAnyServer(reader));
  if (readerCanWrite === true) {
    findings.push({
      level: 'error',
      message:
        'The read_only_token may do more than read, so no console is opened: give its user only websocket.connect',
      advice: 'remove all other permissions from the user of the read_only_token',
    });
  } else if (readerCanWrite === undefined) {
    findings.push({
      level: 'warn',
      message: 'The panel does not show the permissions of the read_only_token',
      advice: 'check the panel: it must list the servers of the read_only_token and show the first of them',
      isUnreachable: true,
    });
  }
  return { findings, readerCanWrite };
}

async function checkKey(client: ReadClient, name: string) {
  return await checkCredential({
    name,
    upstream: `The panel (asked with the ${name})`,
    ask: () => client.request('GET', '/account', { credentialStatuses: [401, 403] }),
    judge(text) {
      if (!parseJson(text, Account)?.attributes.admin) return { level: 'info', message: `The ${name} is accepted` };
      const message = `The ${name} belongs to an administrator and can control every server of the panel`;
      const advice = `set ${name} to a key of a user who is a subuser of the servers, not an administrator`;
      return { level: 'warn', message, advice };
    },
    refusedAdvice: `create a client key in the panel, allowed from this machine's address, and set ${name} to it`,
    unreachable: [
      `The panel cannot be reached with the ${name}`,
      `check that this machine resolves the host of its url, may connect to it and trusts its certificate (asked with the ${name})`,
    ],
  });
}

/** Checks the permissions of a key on its first server. Each console token is checked again later. */
async function canWriteAnyServer(reader: ReadClient): Promise<boolean | undefined> {
  try {
    const servers = parseJson((await reader.request('GET', `?per_page=${listSize}`)).text, Servers)?.data;
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
