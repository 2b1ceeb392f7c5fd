import { createUpstream, json } from './upstream.ts';
import type { Answer } from './upstream.ts';
import { createCertificates } from './upstream-tls.ts';

/** The accepted token. */
export const proxmoxToken = { id: 'hosting@pve!api', secret: '8d4cf7a2-1b7e-4b0e-9d55-0f2f6d1e7c11' };

/** A guest in the cluster. */
interface ProxmoxVm {
  readonly vmid: number;
  node: string;
  readonly type: 'qemu' | 'lxc';
  readonly template?: 0 | 1;
  status: string;
  lock?: string;
}

/**
 * Starts a stand-in for a Proxmox cluster with VM 100 on pve1, container 101 on pve2 and template 900, over TLS with a
 * certificate from a private CA. Returns the provider's settings too.
 */
export async function createProxmoxUpstream() {
  const certificates = createCertificates();
  const vms: ProxmoxVm[] = [
    { vmid: 100, node: 'pve1', type: 'qemu', template: 0, status: 'running' },
    { vmid: 101, node: 'pve2', type: 'lxc', template: 0, status: 'running' },
    { vmid: 900, node: 'pve1', type: 'qemu', template: 1, status: 'stopped' },
  ];
  const upstream = await createUpstream(
    ({ method, path, headers, body }) => {
      const api = '/api2/json';
      if (headers.authorization !== `PVEAPIToken=${proxmoxToken.id}=${proxmoxToken.secret}`) {
        return { status: 401, reason: 'Authentication failed!' };
      }
      if (method === 'GET' && path === `${api}/cluster/resources?type=vm`) {
        const data = vms.map((vm) => ({ id: `${vm.type}/${vm.vmid}`, name: 'vps', ...vm }));
        return json(200, { data: [{ id: 'qemu/7', type: 'qemu' }, ...data] });
      }
      const [, node, type, vmid, verb = ''] =
        /^\/api2\/json\/nodes\/(\w+)\/(\w+)\/(\d+)\/status\/(\w+)$/.exec(path) ?? [];
      const vm = vms.find((candidate) => String(candidate.vmid) === vmid && candidate.type === type);
      if (method !== 'POST' || !vm) return failure(501, `Method 'POST ${path}' not implemented`);
      if (type === 'lxc' && verb === 'reset') return failure(501, `Method 'POST ${path}' not implemented`);
      if (vm.node !== node) {
        return failure(500, `unable to find configuration file for VM ${vmid} on node '${node}'`);
      }
      // Proxmox returns 400 for unknown parameters.
      if (body !== '') return failure(400, 'Parameter verification failed.');
      vm.status = /stop|shutdown/.test(verb) ? 'stopped' : 'running';
      const upid = `UPID:${node}:003A0001:07296561:6853C531:qm${verb}:${vmid}:${proxmoxToken.id}:`;
      return json(200, { data: upid });
    },
    { tls: certificates },
  );
  const { id, secret } = proxmoxToken;
  const token = { token_id: id, token_secret: secret, ca_file: certificates.ca };
  const settings = { type: 'proxmox', url: upstream.url, ...token, stop: 'shutdown' } as const;
  return Object.assign(upstream, { vms, settings });
}

/**
 * Creates a Proxmox error. The message is the reason phrase; the body is empty before version 5.2.0 of its HTTP server.
 */
export function failure(status: number, reason: string): Answer {
  return { status, reason, headers: { connection: 'close' }, body: '{"data":null}' };
}
