import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createProviders, loadProviders } from '../../../server/hosting/providers.ts';
import type { Provider } from '../../../server/hosting/providers/types.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { createProxmoxUpstream, failure, proxmoxToken } from '../../helpers/upstream-proxmox.ts';
import type { ProxmoxUpstream } from '../../helpers/upstream-proxmox.ts';
import { createStateClock } from '../../helpers/state-clock.ts';
import { createTestLog, until } from '../../helpers/upstream.ts';
import { failureOf, testFaults } from '../../helpers/fault-suite.ts';
import { testVpsProvider } from './vps-suite.ts';

/** Creates the provider from a file, since the certificates are loaded with it. */
function createProxmox(
  upstream: ProxmoxUpstream,
  {
    secret = proxmoxToken.secret,
    stop = 'shutdown',
    timeoutMs = 20_000,
    withCa = true,
    clock = createStateClock(),
  } = {},
): Provider {
  const folder = temporaryFolder();
  const file = join(folder, 'providers.yaml');
  writeFileSync(join(folder, 'pve.pem'), upstream.certificates.ca);
  const token = `token_id: "${proxmoxToken.id}", token_secret: "\${PVE_SECRET}"`;
  const pve = `{ type: proxmox, url: "${upstream.url}", ${token}, stop: ${stop}${withCa ? ', ca_file: pve.pem' : ''} }`;
  writeFileSync(file, `providers: { pve: ${pve} }\n`);
  const config = loadProviders(file, { PVE_SECRET: secret });
  const provider = createProviders(config, { dataDir: folder, log: createTestLog().log, timeoutMs, clock }).get('pve')!;
  onTestFinished(() => provider.close());
  return provider;
}

const verbs = {
  qemu: { start: 'start', stop: 'shutdown', reset: 'reset' },
  lxc: { start: 'start', stop: 'shutdown', reset: 'reboot' },
} as const;

describe.each([
  { kind: 'virtual machines', type: 'qemu', vmid: '100', node: 'pve1' },
  { kind: 'containers', type: 'lxc', vmid: '101', node: 'pve2' },
] as const)('$kind', ({ kind, type, vmid, node }) => {
  testVpsProvider(`Proxmox with ${kind}`, async () => {
    const upstream = await createProxmoxUpstream();
    const actions = () => upstream.seen.filter(({ method }) => method === 'POST');
    const clock = createStateClock();
    return {
      provider: createProxmox(upstream, { clock }),
      pass: clock.pass,
      ref: vmid,
      unknownRef: '999',
      arrived: (action) => {
        const path = `/api2/json/nodes/${node}/${type}/${vmid}/status/${verbs[type][action]}`;
        return until(action, () => actions().at(-1)?.path === path);
      },
      actions: () => actions().length,
    };
  });
});

testFaults(
  'Proxmox',
  (['start', 'stop', 'reset'] as const).map((action) => ({
    name: action,
    run: (provider) => provider.vps!.power('100', action),
    method: 'POST',
    path: `/api2/json/nodes/pve1/qemu/100/status/${verbs.qemu[action]}`,
    headers: { authorization: `PVEAPIToken=${proxmoxToken.id}=${proxmoxToken.secret}`, 'content-length': '0' },
  })),
  async () => {
    const upstream = await createProxmoxUpstream();
    return { upstream, create: (timeoutMs) => createProxmox(upstream, { timeoutMs }), secrets: [proxmoxToken.secret] };
  },
);

test('a certificate of an unknown CA is refused before the token is sent', async () => {
  const upstream = await createProxmoxUpstream();
  const provider = createProxmox(upstream, { withCa: false });
  const error = await failureOf(provider.vps!.power('100', 'start'));
  expect(error).toMatchObject({ outcome: 'refused', message: 'The request could not be completed' });
  expect(String(error.cause)).toMatch(/certificate/i);
  expect(upstream.seen).toEqual([]);
  expect(await provider.check()).toMatchObject([{ level: 'warn' }]);
});

test.each(['poweroff', 'stop'])('stop: %s cuts the power', async (stop) => {
  const upstream = await createProxmoxUpstream();
  await createProxmox(upstream, { stop }).vps!.power('100', 'stop');
  expect(upstream.seen.at(-1)!.path).toBe('/api2/json/nodes/pve1/qemu/100/status/stop');
});

test('a VPS that moved to another node is found', async () => {
  const upstream = await createProxmoxUpstream();
  const provider = createProxmox(upstream);
  await provider.vps!.power('100', 'start');
  upstream.vms[0]!.node = 'pve3';
  await provider.vps!.power('100', 'start');
  expect(upstream.seen.at(-1)!.path).toBe('/api2/json/nodes/pve3/qemu/100/status/start');
});

test.each([
  ['a template is never started', '900', 'pve1'],
  ['a node name that could change the path is never requested', '100', '../../access'],
])('%s', async (_, ref, node) => {
  const upstream = await createProxmoxUpstream();
  upstream.vms[0]!.node = node;
  expect(await failureOf(createProxmox(upstream).vps!.power(ref, 'start'))).toMatchObject({ outcome: 'refused' });
  expect(upstream.seen.map(({ method }) => method)).toEqual(['GET']);
});

test.each([
  [500, 'VM 100 not running', 'refused'],
  [500, "unable to find configuration file for VM 100 on node 'pve1'", 'refused'],
  [500, 'got no worker upid - start worker failed', 'unknown'],
  [501, "Method 'POST /x' not implemented", 'refused'],
  [595, 'Connection refused', 'refused'],
  [596, 'TLS handshake failed', 'refused'],
  [597, 'Broken pipe', 'unknown'],
  [599, 'Too many redirections', 'unknown'],
] as const)('%i %s: %s', async (status, reason, outcome) => {
  const upstream = await createProxmoxUpstream();
  upstream.fail(failure(status, reason), ({ method }) => method === 'POST');
  const error = await failureOf(createProxmox(upstream).vps!.power('100', 'reset'));
  expect(error).toMatchObject({ outcome, message: 'The request could not be completed' });
  expect(String(error.cause)).toContain(reason);
});

test('the error message is also read from the body, where 5.2.0 and later put it', async () => {
  const upstream = await createProxmoxUpstream();
  const body = JSON.stringify({ data: null, message: 'VM 100 not running\n' });
  upstream.fail({ status: 500, reason: 'Internal Server Error', body }, ({ method }) => method === 'POST');
  expect(await failureOf(createProxmox(upstream).vps!.power('100', 'reset'))).toMatchObject({ outcome: 'refused' });
});

test.each(['drop', 'hang', 'huge', 'garbage'] as const)(
  'a lookup that fails with %s is a definite failure',
  async (fault) => {
    const upstream = await createProxmoxUpstream();
    const provider = createProxmox(upstream, { timeoutMs: fault === 'hang' ? 1000 : 20_000 });
    // On a busy machine a TLS handshake takes longer than the lookup may.
    if (fault === 'hang') await provider.check();
    upstream.forget();
    upstream.fail(fault, ({ method }) => method === 'GET');
    const error = await failureOf(provider.vps!.power('100', 'reset'));
    expect(error).toMatchObject({ outcome: 'refused', message: 'The request could not be completed' });
    await until('the lookup arrived', () => upstream.seen.length > 0);
    expect(upstream.seen.map(({ method }) => method)).toEqual(['GET']);
  },
);

test('a wrong token and one without permissions are findings', async () => {
  const upstream = await createProxmoxUpstream();
  const wrong = await createProxmox(upstream, { secret: 'another-secret' }).check();
  expect(wrong).toMatchObject([{ level: 'error', message: 'The token is not accepted: status 401' }]);
  upstream.fail({ status: 595 });
  const busy = { level: 'warn', message: 'Proxmox answers with status 595', isUnreachable: true };
  expect(await createProxmox(upstream).check()).toMatchObject([busy]);
  upstream.fail({ status: 200, body: '{"data":[]}' });
  expect(await createProxmox(upstream).check()).toMatchObject([{ level: 'warn' }]);
});
