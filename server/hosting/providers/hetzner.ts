import { z } from 'zod';
import { createActionClient } from '../../upstream/actions.ts';
import {
  ForeignInt,
  createListReader,
  openUpstream,
  parseJson,
  parseReply,
  toProviderError,
} from '../../upstream/client.ts';
import type { Outcome, Reply } from '../../upstream/client.ts';
import { createQuota } from '../../upstream/quota.ts';
import { createReadClient } from '../../upstream/reads.ts';
import { Secret, UpstreamUrl } from '../../upstream/address.ts';
import { assertRef, checkCredential, createStateReader } from './types.ts';
import type { PowerState, Provider, ProviderOptions, ProviderType, VpsAction } from './types.ts';

/** The settings of a Hetzner Cloud project. */
export const HetznerSettings = z.object({
  /** A read/write token of one project. */
  token: Secret,
  url: UpstreamUrl.default('https://api.hetzner.cloud/v1'),
  /** `shutdown` sends an ACPI request, which a VPS may ignore; `poweroff` cuts the power. */
  stop: z.enum(['shutdown', 'poweroff']).default('shutdown'),
});
export type HetznerSettings = z.infer<typeof HetznerSettings>;

const refs = { kind: 'vps', pattern: /^[1-9]\d{0,15}$/, meaning: 'the number of a server in the project' } as const;

/** VPS in a Hetzner Cloud project. */
export const hetzner: ProviderType<HetznerSettings> = {
  settings: () => HetznerSettings,
  secrets: ['token'],
  refs,
  create: createHetzner,
};

const ActionReply = z.object({ action: z.object({ status: z.enum(['running', 'success', 'error']) }) });
const Server = z.object({ id: ForeignInt, name: z.string().catch(''), status: z.string().nullable() });
const Servers = z.object({
  servers: z.array(z.unknown()),
  meta: z.object({ pagination: z.object({ next_page: ForeignInt.nullish() }) }).nullish(),
});
const Failure = z.object({ error: z.object({ code: z.string() }) });

/** Error codes of actions that were not started, whatever the status. */
const refusals = new Set(['conflict', 'locked', 'maintenance', 'resource_locked', 'unsupported_error']);

/** Error codes after which the action may have taken effect, whatever the status. */
const ambiguous = new Set(['bad_gateway', 'server_error', 'service_error', 'timeout', 'unavailable']);

/** Power states by status. Other statuses, such as `migrating` or `rebuilding`, are neither on nor off. */
const states = new Map<string, PowerState>([
  ['running', 'running'],
  ['initializing', 'starting'],
  ['starting', 'starting'],
  ['stopping', 'stopping'],
  ['off', 'offline'],
]);

/** Hetzner's maximum page size, and enough bytes for such a page. */
const pageSize = 50;
const pageBytes = 4 * 1024 * 1024;

function createHetzner(settings: HetznerSettings, options: ProviderOptions): Provider {
  const quota = createQuota(options.clock?.now);
  const account = openUpstream({
    name: options.upstream,
    baseUrl: settings.url,
    headers: { authorization: `Bearer ${settings.token}` },
    timeoutMs: options.timeoutMs,
    quota,
    credentialStatuses: [401, 403],
    judgeError: ({ text }, byStatus) => (parseJson(text, Failure) ? byStatus : undefined),
  });
  const actions = createActionClient(account);
  const reads = createReadClient(account);
  const readServers = createListReader(Server, (message) => options.log.warn(message));
  /** Reads all pages of the servers of the project. */
  const list = async () => {
    const entries: unknown[] = [];
    for (let page: number | null | undefined = 1; page;) {
      const path: string = `/servers?per_page=${pageSize}&page=${page}`;
      const reply: Reply = await reads.request('GET', path, { maxBytes: pageBytes });
      const { servers, meta } = parseReply(reply, Servers);
      entries.push(...servers);
      // Any other page number could loop forever.
      const next = meta?.pagination.next_page;
      page = next === page + 1 ? next : undefined;
    }
    const listed = readServers(entries);
    return { listed, missed: entries.length - listed.length };
  };
  const paths: Record<VpsAction, string> = { start: 'poweron', stop: settings.stop, reset: 'reset' };
  return {
    vps: {
      async power(ref, action, sendOptions) {
        assertRef(refs, ref);
        const reply = await actions.post(`/servers/${ref}/actions/${paths[action]}`, sendOptions);
        if (reply.status < 200 || reply.status > 299) throw toProviderError(reply, toOutcome(reply));
        // In the documentation's samples running actions have an `error` too, so only the status counts.
        const status = parseJson(reply.text, ActionReply)?.action.status;
        if (status !== 'running' && status !== 'success') throw toProviderError(reply, 'unknown');
      },
      state: createStateReader({
        refs,
        read: async () =>
          new Map((await list()).listed.map(({ id, status }) => [String(id), states.get(status ?? '') ?? 'unknown'])),
        intervalMs: 5000,
        lagMs: 0,
        hasRoom: quota.hasRoom,
        clock: options.clock,
      }),
    },
    check: () =>
      checkCredential({
        upstream: 'Hetzner Cloud',
        ask: () => reads.request('GET', '/servers?per_page=1'),
        judge: () => ({ level: 'info', message: 'The token is accepted (write access cannot be checked)' }),
        refusedAdvice: 'put a project token with read and write access into PROVIDERS_FILE, and restart',
      }),
    async listRefs() {
      const { listed, missed } = await list();
      return { names: new Map(listed.map(({ id, name }) => [String(id), name])), missed };
    },
    close: account.close,
  };
}

function toOutcome({ status, text }: Reply): Outcome {
  const code = parseJson(text, Failure)?.error.code ?? '';
  if (refusals.has(code)) return 'refused';
  return status < 500 && status !== 408 && !ambiguous.has(code) ? 'refused' : 'unknown';
}
