import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { unknownStats } from '#contract/console-stream.ts';
import { createActionClient } from '../../../upstream/actions.ts';
import { offline, openUpstream, parseJson, parseReply, toProviderError, toRefusal } from '../../../upstream/client.ts';
import type { Quota } from '../../../upstream/client.ts';
import { createQuota } from '../../../upstream/quota.ts';
import { createReadClient } from '../../../upstream/reads.ts';
import type { ReadClient, ReadOptions } from '../../../upstream/reads.ts';
import { createTokenBucket } from '../../../token-bucket.ts';
import { Secret, UpstreamUrl } from '../../../upstream/address.ts';
import { BusyError, assertRef, createStateReader, notAvailable } from '../types.ts';
import type { ConsoleEvents, Provider, ProviderOptions, ProviderType, SendOptions } from '../types.ts';
import { failureOf, isDenied, judgePanelError, refs, toPanelError, toShortRef } from './answers.ts';
import { Account, checkPanel, describeAdmin, listServers } from './check.ts';
import { createLogReader } from './log.ts';
import { createPlaces } from './places.ts';
import { createNodeSockets } from './sockets.ts';
import { WingsState, defaultTimings, openPanelSession, resourcesMs } from './session.ts';
import type { ConsoleTimings } from './session.ts';

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

/** Game servers of a Pterodactyl or Pelican panel. */
export const pterodactyl: ProviderType<PterodactylSettings, PterodactylOptions> = {
  settings: () => PterodactylSettings,
  secrets: ['token', 'read_only_token'],
  refs,
  normalizeRef: toShortRef,
  create: createPterodactyl,
};

const Resources = z.object({ attributes: z.object({ current_state: z.string() }) });

const stoppedStates = new Set(['offline', 'created', 'exited', 'dead', 'removing']);

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
  const sockets = createNodeSockets(settings.url, log, now);
  // No Origin header: with the panel's own origin, Laravel Sanctum requires a session and a CSRF token.
  const openAccount = (token: string, accountQuota?: Quota) =>
    openUpstream({
      name: upstream,
      baseUrl: `${settings.url}/api/client`,
      headers: { authorization: `Bearer ${token}` },
      timeoutMs,
      judgeError: judgePanelError,
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
  const sessions = new Map<ReturnType<typeof openPanelSession>, string>();
  /** The console credential belongs to an administrator, so consoles stay closed. */
  let isReaderAdmin = false;
  let isClosed = false;
  const list = () => listServers(client, log, clock?.sleep ?? sleep);
  const places = createPlaces(list, now);
  const shareState = createStateReader({
    refs,
    groupOf: (ref) => ref,
    async read(ref) {
      const state = await places.read(ref, 'state', async () => {
        // The budget may be used up while the read waits for its place.
        if (!quota.hasRoom()) throw new BusyError();
        return await readState(client, pathOf(ref));
      });
      return new Map([[ref, WingsState.safeParse(state).data ?? 'unknown']]);
    },
    intervalMs: resourcesMs,
    lagMs: resourcesMs,
    hasRoom: quota.hasRoom,
    clock,
  });
  const readLog = createLogReader(client, log, now);
  let isPelican: boolean | undefined;
  /** Finds out which panel this is; undefined while the panel does not answer. */
  const askPelican = async (sendOptions: SendOptions): Promise<boolean | undefined> => {
    if (isPelican !== undefined) return isPelican;
    const readOptions = { ...sendOptions, timeoutMs: 2000, isPartOfAction: true };
    const reply = await client.request('GET', '/account', readOptions).catch(() => undefined);
    return (isPelican = reply && parseJson(reply.text, Account)?.isPelican);
  };
  /** Returns the state that an open console knows. */
  const readOpen = async (ref: string, sentMs: number, answeredMs: number) => {
    const own = [...sessions].filter(([, its]) => its === ref);
    const states = own.map(([session]) => session.state(now() - sentMs, now() - answeredMs));
    return (await Promise.all(states)).find((state) => state !== undefined);
  };
  /** Reads the state for a command. A state that is older than the last power action proves nothing. */
  const proveState = async (ref: string, command: SendOptions): Promise<string | undefined> => {
    const open = await readOpen(ref, Infinity, Infinity);
    if (open) return open.state;
    const sinceMs = (await command.sinceLastAction?.().catch(() => 0)) ?? Infinity;
    if (sinceMs <= resourcesMs) return undefined;
    const readOptions = { ...command, timeoutMs: timeoutMs / 4, isPartOfAction: true };
    return await readState(client, pathOf(ref), readOptions).catch(() => undefined);
  };
  return {
    game: {
      async power(ref, action, sendOptions = {}) {
        if (sendOptions.keyId !== undefined) quota.charge(sendOptions.keyId);
        const reply = await actions.post(`${pathOf(ref)}/power`, { ...sendOptions, body: { signal: action } });
        // Exactly 204: a 200 may come from a proxy or a login page.
        if (reply.status !== 204) throw toPanelError(reply);
        places.resume(ref);
      },
      async command(ref, command, sendOptions = {}) {
        const path = pathOf(ref);
        const kind = await askPelican(sendOptions);
        // A command of Pelican costs a read, too.
        if (sendOptions.keyId !== undefined) quota.charge(sendOptions.keyId, kind === false ? 1 : 2);
        // Pelican answers 204 to every command, even if the server is offline or its node fails.
        const state = kind ? await proveState(ref, sendOptions) : undefined;
        if (stoppedStates.has(state ?? '')) throw toRefusal(`${ref} is offline`, offline);
        const reply = await actions.post(`${path}/command`, { ...sendOptions, body: { command } });
        if (reply.status === 204 && (kind === false || WingsState.safeParse(state).success)) return places.resume(ref);
        if (reply.status === 204) throw toProviderError(reply, 'unknown', { detail: `, while ${ref} is ${state}` });
        // The panel's error for an offline server, and for a proxy's 502, which may follow a forwarded command.
        const isAmbiguous = reply.status === 502 && failureOf(reply).code === 'HttpException';
        if (isAmbiguous && stoppedStates.has((await proveState(ref, sendOptions)) ?? ''))
          throw toProviderError(reply, 'refused', { message: offline });
        throw toPanelError(reply, isDenied(reply) ? 'provider_permission_denied' : 'provider_error');
      },
      async state(ref, maxAgeMs, { sentMs, answeredMs } = { sentMs: maxAgeMs, answeredMs: maxAgeMs }) {
        return (await readOpen(ref, sentMs, answeredMs)) ?? (await shareState(ref, maxAgeMs));
      },
      latestLog: (ref, file) => places.read(ref, 'log', async () => await readLog(pathOf(ref), file)),
      openConsole(ref, given, isResumed = false) {
        const events: ConsoleEvents = {
          ...given,
          status(state) {
            places.resume(ref);
            given.status(state);
          },
        };
        if (isReaderAdmin || isClosed || !reader || !refs.pattern.test(ref)) {
          const later = setImmediate(() => events.ended(notAvailable));
          return { stats: () => Promise.resolve(unknownStats), close: () => clearImmediate(later) };
        }
        const consume = () => budget.consume(`${origin}/servers/${toShortRef(ref)}`);
        const leave = () => sessions.delete(session);
        const panel = { client: reader, ref, sockets, timings, consume, leave, log: log.child({ ref }), now };
        const session = openPanelSession({ ...panel, events, isResumed });
        sessions.set(session, ref);
        return session;
      },
    },
    async check() {
      const panel = await checkPanel(client, reader, sockets);
      isPelican = panel.isPelican ?? isPelican;
      isReaderAdmin = panel.isReaderAdmin ?? isReaderAdmin;
      if (isReaderAdmin) for (const session of sessions.keys()) session.refuse(notAvailable);
      return panel.findings;
    },
    async listRefs() {
      const { servers, missed, isAdmin } = await list();
      const names = new Map([...servers].map(([ref, { name }]) => [ref, name]));
      return { names, missed, ...(isAdmin && { warning: describeAdmin('token') }) };
    },
    async hasRef(ref) {
      const reply = await client.request('GET', pathOf(ref));
      if (reply.status === 200 || (reply.status === 404 && reply.sender !== 'proxy')) return reply.status === 200;
      throw toPanelError(reply);
    },
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
async function readState(client: ReadClient, path: string, options?: ReadOptions): Promise<string | undefined> {
  const reply = await client.request('GET', `${path}/resources`, options);
  if (failureOf(reply).code === 'ServerStateConflictException') return undefined;
  return parseReply(reply, Resources).attributes.current_state;
}
