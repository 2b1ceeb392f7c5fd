import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { resolve } from 'node:path';
import { z } from 'zod';
import { createActionClient } from '../../upstream/actions.ts';
import {
  ForeignInt,
  createListReader,
  openUpstream,
  parseJson,
  parseReply,
  toProviderError,
  toRefusal,
} from '../../upstream/client.ts';
import type { Outcome, Reply } from '../../upstream/client.ts';
import { createReadClient } from '../../upstream/reads.ts';
import { Secret, UpstreamUrl } from '../../upstream/address.ts';
import { assertRef, checkCredential, createStateReader } from './types.ts';
import type { PowerState, Provider, ProviderOptions, ProviderType, SendOptions, VpsAction } from './types.ts';

/** Creates the schema of the settings of a Proxmox VE cluster; paths are relative to `folder`. */
function proxmoxSettings(folder: string) {
  const certificates = z.string().transform((path, context) => {
    try {
      const pem = readFileSync(resolve(folder, path), 'utf8');
      void new X509Certificate(pem);
      return pem;
    } catch {
      context.addIssue('must be the path of a readable file with certificates in PEM');
      return z.NEVER;
    }
  });
  return z.object({
    /** The URL of any node, without the path of the API. */
    url: UpstreamUrl,
    token_id: z
      .string()
      .regex(/^[^\s@!:/;%]+@[^\s@!:/;%]+![^\s@!:/;%=]+$/, 'must be USER@REALM!NAME')
      .regex(/^[\x21-\x7E]+$/, 'must be visible ASCII characters without spaces'),
    // Proxmox cuts the header at a semicolon and decodes percent signs (pve-http-server, extract_auth_value).
    token_secret: Secret.regex(/^[^;%]+$/, 'must be without ; and %'),
    /** The trusted CA certificates; by default the public CAs. */
    ca_file: certificates.optional(),
    /** `shutdown` sends an ACPI request, which a VPS may ignore; `poweroff` (stop in Proxmox) cuts the power. */
    stop: z.enum(['shutdown', 'poweroff', 'stop']).default('shutdown'),
  });
}

type ProxmoxSettings = z.infer<ReturnType<typeof proxmoxSettings>>;

const refs = {
  kind: 'vps',
  pattern: /^[1-9]\d{2,8}$/,
  meaning: 'the number of a VPS (vmid, 100 to 999999999)',
} as const;

/** VPS in a Proxmox VE cluster: virtual machines and containers. */
export const proxmox: ProviderType<ProxmoxSettings> = {
  settings: proxmoxSettings,
  secrets: ['token_secret'],
  refs,
  create: createProxmox,
};

const Vm = z.object({
  vmid: ForeignInt,
  name: z.string().catch(''),
  node: z.string().regex(/^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/),
  type: z.enum(['qemu', 'lxc']),
  template: z.unknown().optional(),
  /** `running` or `stopped`; for a virtual machine also a status of QEMU (qmpstatus), such as `paused`. */
  status: z.string().optional().catch(undefined),
});
const Resources = z.object({ data: z.array(z.unknown()) });
const Started = z.object({ data: z.string().startsWith('UPID:') });
const Answer = z.object({ data: z.null() });
const Failure = z.object({ message: z.string() });

/** Power states by status. With others, such as `paused`, a VPS is neither on nor off, or its node is down. */
const states = new Map<string, PowerState>([
  ['running', 'running'],
  ['prelaunch', 'starting'],
  ['stopped', 'offline'],
]);

/** Nodes publish the states of their VPS every 10 s (pvestatd), and the list is cached for some more seconds. */
const lagMs = 15_000;

function createProxmox(settings: ProxmoxSettings, options: ProviderOptions): Provider {
  const cluster = openUpstream({
    name: options.upstream,
    baseUrl: `${settings.url}/api2/json`,
    headers: { authorization: `PVEAPIToken=${settings.token_id}=${settings.token_secret}` },
    timeoutMs: options.timeoutMs,
    ca: settings.ca_file,
    // The reason phrase of a Proxmox error is its message, and the body has `data` (pve-http-server).
    judgeError: ({ status, statusText, text }, byStatus) =>
      statusText !== STATUS_CODES[status] || parseJson(text, Answer) ? byStatus : undefined,
  });
  const actions = createActionClient(cluster);
  const reads = createReadClient(cluster);
  const readVms = createListReader(Vm, (message) => options.log.warn(message));
  /** Lists all VPS visible to the token, without templates. */
  const listVms = async ({ signal, trace }: SendOptions = {}) => {
    const reply = await reads
      .request('GET', listPath, { maxBytes: listBytes, signal, trace })
      .catch((error: unknown) => {
        // Refused: an action that needs this list was not sent.
        throw toRefusal(String((error as Error).cause));
      });
    const { data } = parseReply(reply, Resources);
    const vms = readVms(data);
    return { vms: vms.filter(({ template }) => Number(template) !== 1), missed: data.length - vms.length };
  };
  const stop = settings.stop === 'shutdown' ? 'shutdown' : 'stop';
  // Containers have no reset; reboot is their only call that stops and starts them.
  const verbs: Record<'qemu' | 'lxc', Record<VpsAction, string>> = {
    qemu: { start: 'start', stop, reset: 'reset' },
    lxc: { start: 'start', stop, reset: 'reboot' },
  };
  return {
    vps: {
      async power(ref, action, sendOptions = {}) {
        assertRef(refs, ref);
        // Its node is found before every action, since a VPS may migrate.
        const found = (await listVms(sendOptions)).vms.find(({ vmid }) => vmid === Number(ref));
        const reasons = 'it does not exist, is a template, or the token lacks VM.Audit on it';
        if (!found) throw toRefusal(`Proxmox lists no VPS ${ref}: ${reasons}`);
        const { node, type } = found;
        const path = `/nodes/${node}/${type}/${ref}/status/${verbs[type][action]}`;
        const reply = await actions.post(path, sendOptions);
        if (reply.status < 200 || reply.status > 299) throw toProviderError(reply, toOutcome(reply));
        if (!parseJson(reply.text, Started)) throw toProviderError(reply, 'unknown');
      },
      state: createStateReader({
        refs,
        read: async () =>
          new Map(
            (await listVms()).vms.map(({ vmid, status = '' }) => [String(vmid), states.get(status) ?? 'unknown']),
          ),
        intervalMs: 5000,
        lagMs,
        clock: options.clock,
      }),
    },
    check: () =>
      checkCredential({
        upstream: 'Proxmox',
        ask: () => reads.request('GET', listPath, { maxBytes: listBytes }),
        judge(text) {
          const count = parseJson(text, Resources)?.data.length;
          if (count === undefined) return undefined;
          if (count > 0) return { level: 'info', message: `The token is accepted and sees ${count} VPS` };
          const message = 'The token sees no VPS: both the token and its user need VM.Audit and VM.PowerMgmt';
          const advice =
            'grant both on /vms to the user and to the token: with privilege separation a token needs its own';
          return { level: 'warn', message, advice };
        },
        refusedAdvice: 'put the token_id and token_secret of an unexpired token into PROVIDERS_FILE, and restart',
        unreachableAdvice: ': set ca_file to the CA of the cluster',
      }),
    async listRefs() {
      const { vms, missed } = await listVms();
      return { names: new Map(vms.map(({ vmid, name }) => [String(vmid), name])), missed };
    },
    close: cluster.close,
  };
}

const listPath = '/cluster/resources?type=vm';
/** Enough for a cluster of 20,000 VPS. */
const listBytes = 8 * 1024 * 1024;

/** Messages of a 500 before Proxmox starts a task (qemu-server and pve-container, API2). */
const refusals = /not running|unable to find configuration file|configuration file .* does not exist/i;

function toOutcome({ status, statusText, text }: Reply): Outcome {
  if (status < 500) return status === 408 ? 'unknown' : 'refused';
  // 501: unknown path. 595 and 596: the node could not connect to the node of the VPS.
  if (status === 501 || status === 595 || status === 596) return 'refused';
  // The error message is in the status line and, since pve-http-server 5.2.0, in the body.
  return status === 500 && refusals.test(parseJson(text, Failure)?.message ?? statusText) ? 'refused' : 'unknown';
}
