import { describe, expect, test } from 'vitest';
import { stopTimeouts } from '../../helpers/clock.ts';
import { failureOf, testFaults } from '../../helpers/fault-suite.ts';
import { openProvider } from '../../helpers/provider.ts';
import { createProxmoxUpstream, failure, proxmoxToken } from '../../helpers/upstream-proxmox.ts';
import { until } from '../../helpers/upstream.ts';
import { testVpsProvider } from './vps-suite.ts';

type Upstream = Awaited<ReturnType<typeof createProxmoxUpstream>>;

async function prepare(
  changes: { [Name in keyof Upstream['settings']]?: string | undefined } = {},
  timeoutMs = 20_000,
) {
  const upstream = await createProxmoxUpstream();
  const settings = { ...upstream.settings, ...changes } as Upstream['settings'];
  return { upstream, ...openProvider(settings, { timeoutMs }) };
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
    const { upstream, provider, clock } = await prepare();
    const actions = () => upstream.seen.filter(({ method }) => method === 'POST');
    return {
      provider,
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
    const create = () => openProvider(upstream.settings).provider;
    return { upstream, create, secrets: [proxmoxToken.secret] };
  },
);

test('a certificate of an unknown CA is refused before the token is sent', async () => {
  const { upstream, provider, vps } = await prepare({ ca_file: undefined });
  const error = await failureOf(vps.power('100', 'start'));
  expect(error).toMatchObject({ outcome: 'refused', message: 'The request could not be completed' });
  expect(String(error.cause)).toMatch(/certificate/i);
  expect(upstream.seen).toEqual([]);
  expect(await provider.check()).toMatchObject([{ level: 'warn' }]);
});

test.each(['poweroff', 'stop'])('stop: %s cuts the power', async (stop) => {
  const { upstream, vps } = await prepare({ stop });
  await vps.power('100', 'stop');
  expect(upstream.seen.at(-1)!.path).toBe('/api2/json/nodes/pve1/qemu/100/status/stop');
});

test('a VPS that moved to another node is found', async () => {
  const { upstream, vps } = await prepare();
  await vps.power('100', 'start');
  upstream.vms[0]!.node = 'pve3';
  await vps.power('100', 'start');
  expect(upstream.seen.at(-1)!.path).toBe('/api2/json/nodes/pve3/qemu/100/status/start');
});

test.each([
  ['a template is never started', '900', 'pve1'],
  ['a node name that could change the path is never requested', '100', '../../access'],
])('%s', async (_, ref, node) => {
  const { upstream, vps } = await prepare();
  upstream.vms[0]!.node = node;
  expect(await failureOf(vps.power(ref, 'start'))).toMatchObject({ outcome: 'refused' });
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
  const { upstream, vps } = await prepare();
  upstream.fail(failure(status, reason), ({ method }) => method === 'POST');
  const error = await failureOf(vps.power('100', 'reset'));
  expect(error).toMatchObject({ outcome, message: 'The request could not be completed' });
  expect(String(error.cause)).toContain(reason);
});

test('the error message is also read from the body, where 5.2.0 and later put it', async () => {
  const { upstream, vps } = await prepare();
  const body = JSON.stringify({ data: null, message: 'VM 100 not running\n' });
  upstream.fail({ status: 500, reason: 'Internal Server Error', body }, ({ method }) => method === 'POST');
  expect(await failureOf(vps.power('100', 'reset'))).toMatchObject({ outcome: 'refused' });
});

test.each(['drop', 'hang', 'huge', 'garbage'] as const)(
  'a lookup that fails with %s is a definite failure',
  async (fault) => {
    const { upstream, vps } = await prepare();
    const advance = stopTimeouts();
    upstream.fail(fault, ({ method }) => method === 'GET');
    const failed = failureOf(vps.power('100', 'reset'));
    await until('the lookup arrived', () => upstream.seen.length > 0);
    if (fault === 'hang') advance(20_000);
    expect(await failed).toMatchObject({ outcome: 'refused', message: 'The request could not be completed' });
    expect(upstream.seen.map(({ method }) => method)).toEqual(['GET']);
  },
);

test('a wrong token and one without permissions are findings', async () => {
  const { provider: wrong } = await prepare({ token_secret: 'another-secret' });
  const refused = { level: 'error', message: 'The token is not accepted: status 401' };
  expect(await wrong.check()).toMatchObject([refused]);
  const { upstream, provider } = await prepare();
  upstream.fail({ status: 595 });
  const busy = { level: 'warn', message: 'Proxmox answers with status 595', isUnreachable: true };
  expect(await provider.check()).toMatchObject([busy]);
  upstream.fail({ status: 200, body: '{"data":[]}' });
  expect(await provider.check()).toMatchObject([{ level: 'warn' }]);
});
