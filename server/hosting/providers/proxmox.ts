import { z } from 'zod';
import { createClient } from '../../upstream/client.ts';
import type { Client, Reply } from '../../upstream/client.ts';
import { readBeforeAction, parseJson, toProviderError, toRefusal } from '../../upstream/reply.ts';
import { UpstreamUrl } from '../../upstream/settings.ts';
import type { Outcome } from '../../upstream/error.ts';
import { refs } from './refs.ts';
import type { Finding, Provider, VpsAction } from './types.ts';

/** The settings of a Proxmox VE cluster; `certificates` is the schema that reads the file at `ca_file`. */
export function proxmoxSettings(certificates: z.ZodType<string>) {
  return z.strictObject({
    type: z.literal('proxmox'),
    /** The URL of any node, without the path of the API. */
    url: UpstreamUrl,
    /** USER@REALM!NAME. */
    token_id: z
      .string()
      .regex(/^[^\s@!:/;%]+@[^\s@!:/;%]+![^\s@!:/;%=]+$/, 'must be USER@REALM!NAME')
      .regex(/^[\x21-\x7E]+$/, 'must be visible ASCII characters without spaces'),
    // Proxmox reads the header up to a semicolon and decodes its percent signs (pve-http-server, extract_auth_value).
    token_secret: z
      .string()
      .regex(/^[\x21-\x7E]+$/, 'must be visible ASCII characters without spaces')
      .regex(/^[^;%]+$/, 'must be without ; and %'),
    /** The trusted CA certificates; default the public ones. */
    ca_file: certificates.optional(),
    /** `shutdown` sends an ACPI request, which the VPS may ignore; `poweroff` (stop in Proxmox) cuts the power. */
    stop: z.enum(['shutdown', 'poweroff', 'stop']).default('shutdown'),
  });
}

export type ProxmoxSettings = z.infer<ReturnType<typeof proxmoxSettings>>;

const Vm = z.object({
  vmid: z.int(),
  node: z.string().regex(/^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/),
  type: z.enum(['qemu', 'lxc']),
  template: z.union([z.literal(0), z.literal(1)]).optional(),
});
const Resources = z.object({ data: z.array(z.unknown()) });
const Started = z.object({ data: z.string().startsWith('UPID:') });
const Failure = z.object({ message: z.string() });

/** Creates the provider of VPS in a Proxmox VE cluster, virtual machines and containers; a server's `ref` is its vmid. */
export function createProxmox(settings: ProxmoxSettings, options: { readonly timeoutMs: number }): Provider {
  const client = createClient({
    baseUrl: `${settings.url}/api2/json`,
    headers: { authorization: `PVEAPIToken=${settings.token_id}=${settings.token_secret}` },
    timeoutMs: options.timeoutMs,
    ...(settings.ca_file !== undefined && { ca: settings.ca_file }),
  });
  const stop = settings.stop === 'shutdown' ? 'shutdown' : 'stop';
  // Containers have no reset; reboot is the one call that stops and starts them.
  const verbs: Record<'qemu' | 'lxc', Record<VpsAction, string>> = {
    qemu: { start: 'start', stop, reset: 'reset' },
    lxc: { start: 'start', stop, reset: 'reboot' },
  };
  return {
    vps: {
      async power(ref, action, deadline, confirm) {
        const { node, type } = await findVm(client, ref, deadline);
        const reply = await client.request('POST', `/nodes/${node}/${type}/${ref}/status/${verbs[type][action]}`, {
          signal: deadline,
          confirm,
        });
        if (reply.status < 200 || reply.status > 299) throw toProviderError(reply, toOutcome(reply));
        if (!parseJson(reply.text, Started)) throw toProviderError(reply, 'unknown');
      },
    },
    async check(): Promise<Finding[]> {
      try {
        const reply = await client.request('GET', '/cluster/resources?type=vm', { maxBytes: resourcesBytes });
        const count = reply.status === 200 ? parseJson(reply.text, Resources)?.data.length : undefined;
        if (count === undefined)
          return [{ level: 'error', message: `The token is not accepted: status ${reply.status}` }];
        if (count > 0) return [{ level: 'info', message: `The token is accepted and sees ${count} VPS` }];
        return [
          { level: 'warn', message: 'The token sees no VPS: it and its user both need VM.Audit and VM.PowerMgmt' },
        ];
      } catch {
        return [{ level: 'warn', message: 'Proxmox cannot be reached, or its certificate is not trusted' }];
      }
    },
    close: () => client.close(),
  };
}

/** Enough for a cluster with 20,000 VPS. */
const resourcesBytes = 8 * 1024 * 1024;

/** Finds the node of a VPS. This precedes every action, since a VPS may migrate between nodes. */
async function findVm(client: Client, ref: string, signal: AbortSignal | undefined): Promise<z.infer<typeof Vm>> {
  if (!refs.proxmox.pattern.test(ref)) throw toRefusal(`"${ref}" is not a vmid of Proxmox`);
  const reply = await readBeforeAction(
    client.request('GET', '/cluster/resources?type=vm', { maxBytes: resourcesBytes, signal }),
  );
  const resources = reply.status === 200 ? parseJson(reply.text, Resources) : undefined;
  if (!resources) throw toProviderError(reply, 'refused');
  for (const resource of resources.data) {
    const vm = Vm.safeParse(resource).data;
    if (vm?.vmid !== Number(ref)) continue;
    if (vm.template === 1) throw toRefusal(`${ref} is a template of Proxmox`);
    return vm;
  }
  throw toRefusal(`Proxmox lists no VPS ${ref}: it does not exist, or the token lacks VM.Audit on it`);
}

/** Texts of a 500 from before Proxmox starts a task (qemu-server and pve-container, API2). */
const refusals = /not running|unable to find configuration file|configuration file .* does not exist/i;

function toOutcome({ status, statusText, text }: Reply): Outcome {
  if (status < 500) return status === 408 ? 'unknown' : 'refused';
  // 501: no such path. 595 and 596: the node could not connect to the node of the VPS.
  if (status === 501 || status === 595 || status === 596) return 'refused';
  // The error message is in the status line, and since pve-http-server 5.2.0 also in the body.
  return status === 500 && refusals.test(parseJson(text, Failure)?.message ?? statusText) ? 'refused' : 'unknown';
}
