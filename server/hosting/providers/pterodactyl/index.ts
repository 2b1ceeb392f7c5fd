import { z } from 'zod';
import { unknownStats } from '#contract/console-stream.ts';
import {
  createClient,
  notAvailable,
  offline,
  parseJson,
  toProviderError,
  toRefusal,
} from '../../../upstream/client.ts';
import { shareAccount } from '../../../upstream/quota.ts';
import type { Client, Reply, RequestOptions, Outcome } from '../../../upstream/client.ts';
import type { Logger } from '../../../log.ts';
import { createTokenBucket } from '../../../token-bucket.ts';
import type { CreateBucket } from '../../../token-bucket.ts';
import { toLogEnd } from '../game-log.ts';
import { checkPanel, listIdentifiers } from './check.ts';
import { defaultTimings, openSession } from './session.ts';
import type { ConsoleTimings, Session } from './session.ts';
import { Secret, UpstreamUrl } from '../../../upstream/address.ts';
import { createStateReader } from '../state-reader.ts';
import { refs } from '../types.ts';
import type {
  ConsoleEvents,
  ConsoleSource,
  GameProvider,
  PowerState,
  Provider,
  ProviderOptions,
  StateReport,
} from '../types.ts';

/** The settings of a Pterodactyl or Pelican panel. */
export const PterodactylSettings = z.strictObject({
  type: z.literal('pterodactyl'),
  url: UpstreamUrl,
  /** The client key of a user with control.console, control.start, control.stop, control.restart on the servers. */
  token: Secret,
  /** The client key of a user with only websocket.connect; without it there are no consoles. */
  read_only_token: Secret.optional(),
});
export type PterodactylSettings = z.infer<typeof PterodactylSettings>;

/** Dependencies of the provider. */
export interface PterodactylOptions extends ProviderOptions {
  readonly log: Logger;
  readonly timings?: Partial<ConsoleTimings>;
  /** Creates the buckets of the panel's budgets; default in memory. */
  readonly createBucket?: CreateBucket | undefined;
}

const Failure = z.object({ errors: z.tuple([z.object({ code: z.string(), detail: z.string() })], z.unknown()) });
const Resources = z.object({ attributes: z.object({ current_state: z.string() }) });

/** States in which a server accepts no commands. */
const stoppedStates = new Set(['offline', 'created', 'exited', 'dead', 'removing']);

/** The power states that a panel reports. Pelican's `missing` is a node that does not answer; others are Docker's. */
const powerStates: ReadonlyMap<string, PowerState> = new Map([
  ['running', 'running'],
  ['starting', 'starting'],
  ['stopping', 'stopping'],
  ['offline', 'offline'],
]);

/** For how long a panel repeats the answer of a node, so that a read sooner would report nothing new. */
const resourcesMs = 20_000;

/** The panel's error codes for a file that it cannot return; the second is Pelican's. */
const fileFailures = new Set(['FileSizeTooLargeException', 'FileNotFoundException']);

/** A panel returns files of at most 4 MiB (files/contents). */
const logFileBytes = 4 * 1024 * 1024 + 1024;

/** Creates the provider of game servers of a panel; a server's `ref` is its UUID there, or the first 8 digits. */
export function createPterodactyl(settings: PterodactylSettings, options: PterodactylOptions): Provider {
  const { timeoutMs, upstream } = options;
  // Without an Origin: with the panel's own, Laravel Sanctum requires a session and a CSRF token.
  const connect = (token: string): Client =>
    createClient({
      baseUrl: `${settings.url}/api/client`,
      headers: { authorization: `Bearer ${token}` },
      timeoutMs,
      upstream,
    });
  const now = options.clock?.now ?? (() => performance.now());
  const account = shareAccount(connect(settings.token), now);
  const client = account.others;
  const reader = settings.read_only_token === undefined ? undefined : connect(settings.read_only_token);
  const consoles = createConsoles(reader, settings.url, { ...options, now });
  const readState = createStateReader({
    read: async (ref) => new Map([[ref, await readResources(client, ref)]]),
    intervalMs: resourcesMs,
    lagMs: resourcesMs,
    hasRoom: account.hasRoom,
    clock: options.clock,
  });

  const game: GameProvider = {
    async power(ref, action, sendOptions) {
      const body = { signal: action };
      const reply = await account.power.request('POST', `${pathOf(ref)}/power`, { body, ...sendOptions });
      // Exactly 204: a 200 may be from a proxy or a login page.
      if (reply.status !== 204) throw toProviderError(reply, toOutcome(reply));
    },
    async command(ref, command, sendOptions = {}) {
      const path = pathOf(ref);
      const { signal, trace } = sendOptions;
      const isOffline = (): Promise<boolean> => isStopped(client, path, { timeoutMs: timeoutMs / 4, signal, trace });
      // Pelican, whose keys do not start with ptlc_, answers 204 to commands for offline servers.
      if (!settings.token.startsWith('ptlc_') && (await isOffline())) throw toRefusal(`${ref} is offline`, offline);
      const reply = await client.request('POST', `${path}/command`, { body: { command }, ...sendOptions });
      if (reply.status === 204) return;
      // This is the error for an offline server, and for a 502 of a proxy that may have forwarded the command.
      const isAmbiguous = reply.status === 502 && failureOf(reply).code === 'HttpException';
      if (isAmbiguous && (await isOffline())) throw toProviderError(reply, 'refused', { message: offline });
      const code = isDenied(reply) ? 'provider_permission_denied' : 'provider_error';
      throw toProviderError(reply, toOutcome(reply), { code });
    },
    async state(ref, maxAgeMs) {
      return consoles.state(ref, maxAgeMs) ?? (await readState(ref, ref, maxAgeMs));
    },
    latestLog: (ref, file) => readLog(client, ref, file),
    openConsole: (...args) => consoles.open(...args),
  };
  return {
    game,
    async check() {
      const { findings, readerCanWrite } = await checkPanel(client, reader);
      if (readerCanWrite !== undefined) consoles.lock(readerCanWrite);
      return findings;
    },
    listRefs: () => listIdentifiers(client),
    async close() {
      consoles.close();
      await Promise.all([client.close(), reader?.close()]);
    },
  };
}

/**
 * A panel issues 5 tokens a minute for a server, to all its users together. A burst of three and two more a minute are at
 * most four in any minute, which leaves one for the owner or a renewal. Renewals are not counted: default tokens need one
 * in 8 minutes, and panels with shorter ones have other limits.
 */
const attempts = { burst: 3, perWindow: 2 };

/** Creates the consoles of a panel. Without a read-only credential, each ends at once. */
function createConsoles(
  client: Client | undefined,
  url: string,
  { log, now, createBucket = createTokenBucket, ...options }: PterodactylOptions & { readonly now: () => number },
) {
  const { origin } = new URL(url);
  const timings: ConsoleTimings = { ...defaultTimings, ...options.timings };
  const rps = (attempts.perWindow * 1000) / timings.windowMs;
  const budget = createBucket({ name: 'panel', rps, burst: attempts.burst });
  const sessions = new Map<Session, string>();
  let isLocked = false;
  let isClosed = false;
  return {
    open(ref: string, events: ConsoleEvents, isResumed = false): ConsoleSource {
      if (isLocked || isClosed || !client || !refs.pterodactyl.pattern.test(ref)) return endAtOnce(events);
      const path = pathOf(ref);
      const session = openSession({
        client,
        path,
        origin,
        timings,
        events,
        isResumed,
        consume: () => budget.consume(origin + path),
        leave: () => sessions.delete(session),
        log: log.child({ ref }),
        lagMs: resourcesMs,
        now,
      });
      sessions.set(session, ref);
      return session;
    },
    /** The state that an open console of a server proves; undefined if there is none. */
    state(ref: string, maxAgeMs: number): StateReport | undefined {
      const after = now() - maxAgeMs;
      for (const [session, its] of sessions) if (its === ref && session.state(after)) return session.state(after);
      return undefined;
    },
    /** Ends all consoles and opens no more while the credential is not read-only, and opens them again once it is. */
    lock(next: boolean): void {
      isLocked = next;
      if (isLocked) for (const session of sessions.keys()) session.refuse(notAvailable);
    },
    /** Ends all consoles without an event. */
    close(): void {
      isClosed = true;
      for (const session of sessions.keys()) session.close();
    },
  };
}

function endAtOnce(events: ConsoleEvents): ConsoleSource {
  const later = setImmediate(() => events.ended(notAvailable));
  return { stats: () => Promise.resolve(unknownStats), close: () => clearImmediate(later) };
}

function pathOf(ref: string): string {
  const { pattern, meaning } = refs.pterodactyl;
  if (!pattern.test(ref)) throw toRefusal(`"${ref}" is not ${meaning}`);
  return `/servers/${ref}`;
}

/** Whether a server is certainly not running. A failed read returns false, and leaves the decision to the action. */
async function isStopped(client: Client, path: string, limits: RequestOptions): Promise<boolean> {
  const reply = await client.request('GET', `${path}/resources`, limits).catch(() => undefined);
  const state = reply?.status === 200 ? parseJson(reply.text, Resources)?.attributes.current_state : undefined;
  return state !== undefined && stoppedStates.has(state);
}

/** Reads the power state of a server. The panel refuses while it is suspended, installed or moved. */
async function readResources(client: Client, ref: string): Promise<PowerState> {
  const reply = await client.request('GET', `${pathOf(ref)}/resources`);
  if (reply.status === 409 && failureOf(reply).code === 'ServerStateConflictException') return 'unknown';
  const found = reply.status === 200 ? parseJson(reply.text, Resources) : undefined;
  if (!found) throw toProviderError(reply, 'refused');
  return powerStates.get(found.attributes.current_state) ?? 'unknown';
}

async function readLog(client: Client, ref: string, file: string | null): Promise<string | undefined> {
  const path = new URLSearchParams({ file: `/${(file ?? 'logs/latest.log').replace(/^\/+/, '')}` });
  const reply = await client.request('GET', `${pathOf(ref)}/files/contents?${path.toString()}`, {
    maxBytes: logFileBytes,
    headers: { accept: 'application/json, text/plain' },
  });
  // An HTML page of a proxy is no log, even with the status 200.
  const isPage = reply.headers.get('content-type')?.startsWith('text/html');
  if (reply.status === 200 && !isPage) return toLogEnd(Buffer.from(reply.text));
  const { code } = failureOf(reply);
  // Errors of Wings for a file that is missing, a folder or too large.
  const noFile = fileFailures.has(code) || (reply.status < 500 && code === 'DaemonConnectionException');
  if (isDenied(reply) || noFile) return undefined;
  throw toProviderError(reply, 'refused');
}

function failureOf({ text }: Reply): { code: string; detail: string } {
  return parseJson(text, Failure)?.errors[0] ?? { code: '', detail: '' };
}

/** Whether the key lacks a permission on the server. A wrong kind of key or a forbidden address is our mistake. */
function isDenied(reply: Reply): boolean {
  return reply.status === 403 && !/application API key|IP address/i.test(failureOf(reply).detail);
}

/** A 4xx comes from the panel, before it calls its node; with other errors the node may have acted. */
function toOutcome({ status }: Reply): Outcome {
  return status >= 400 && status < 500 && status !== 408 ? 'refused' : 'unknown';
}
