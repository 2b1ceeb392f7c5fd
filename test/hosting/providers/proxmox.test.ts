import { describe, expect, test } from 'vitest';
import { stopTimeouts } from '../../helpers/clock.ts';
import { failureOf, testFaults } from '../../helpers/fault-suite.ts';
import { openProvider } from '../../helpers/provider.ts';
import { createProxmoxUpstream, failure, proxmoxToken } from '../../helpers/upstream-proxmox.ts';
import { isPost, until } from '../../helpers/upstream.ts';
import { testVpsProvider } from './provider-suite.ts';

const always = Number.POSITIVE_INFINITY;

type Upstream = Awaited<ReturnType<typeof createProxmoxUpstream>>;

async function prepare(changes: { [Name in keyof Upstream['settings']]?: string | undefined } = {}) {
  const upstream = await createProxmoxUpstream();
  const settings = { ...upstream.settings, ...changes } as Upstream['settings'];
  return { upstream, ...openProvider(settings) };
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
    const actions = () => upstream.seen.filter(isPost);
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
  async () => ({ upstream: await createProxmoxUpstream(), secrets: [proxmoxToken.secret] }),
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

test.each<[string, Record<string, unknown>, string | undefined]>([
  ['its number as a text', { vmid: '100' }, 'running'],
  ['no template', { template: undefined }, 'running'],
  ['an empty template', { template: '' }, 'running'],
  ['the template 0 as a text', { template: '0' }, 'running'],
  ['the template null', { template: null }, 'running'],
  ['the template 1 as a text', { template: '1' }, undefined],
  ['the status null', { status: null }, 'unknown'],
  ['an unreadable number', { vmid: 'x' }, undefined],
])('a VPS with %s has the state %s', async (_, changes, expected) => {
  const { upstream, provider, vps, written } = await prepare();
  Object.assign(upstream.vms[0]!, changes);
  const state = (ref: string) =>
    vps.state(ref, always).then(
      (report) => report.state,
      () => undefined,
    );
  expect([await state('100'), await state('101')]).toEqual([expected, 'running']);
  // One entry of the stand-in is always unreadable.
  expect((await provider.listRefs!()).missed).toBe(changes['vmid'] === 'x' ? 2 : 1);
  expect(written().match(/\d entries of a list cannot be read/g)).toEqual([
    `${changes['vmid'] === 'x' ? 2 : 1} entries of a list cannot be read`,
  ]);
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
  upstream.fail(failure(status, reason), isPost);
  const error = await failureOf(vps.power('100', 'reset'));
  expect(error).toMatchObject({ outcome, message: 'The request could not be completed' });
  expect(String(error.cause)).toContain(reason);
});

test('the error message is also read from the body (5.2.0 and later)', async () => {
  const { upstream, vps } = await prepare();
  const body = JSON.stringify({ data: null, message: 'VM 100 not running\n' });
  upstream.fail({ status: 500, reason: 'Internal Server Error', body }, isPost);
  expect(await failureOf(vps.power('100', 'reset'))).toMatchObject({ outcome: 'refused' });
});

test.each(['drop', 'hang', 'huge', 'garbage'] as const)(
  'a lookup that fails with %s is a definite failure',
  async (fault) => {
    const { upstream, vps } = await prepare();
    const advance = stopTimeouts();
    upstream.fail(fault, ({ method }) => method === 'GET');
    const arrived = upstream.hold();
    const failed = failureOf(vps.power('100', 'reset'));
    const release = await arrived;
    if (fault === 'hang') advance(20_000);
    else release();
    expect(await failed).toMatchObject({ outcome: 'refused', message: 'The request could not be completed' });
    expect(upstream.seen.filter(isPost)).toEqual([]);
  },
);

test('a wrong token and a token without permissions are reported', async () => {
  const { provider: wrong } = await prepare({ token_secret: 'another-secret' });
  const refused = { level: 'error', message: 'The token is not accepted: status 401' };
  expect(await wrong.check()).toMatchObject([refused]);
  const { upstream, provider } = await prepare();
  upstream.fail({ status: 595 });
  const busy = { level: 'warn', message: 'Proxmox answers with status 595', isUnreachable: true };
  expect(await provider.check()).toMatchObject([busy]);
  upstream.fail({ status: 200, body: '{"data":[]}' });
  const both = {
    message: expect.stringMatching(/VM\.Audit and VM\.PowerMgmt$/),
    advice: expect.stringMatching(/^grant/),
  };
  expect(await provider.check()).toMatchObject([{ level: 'warn', ...both }]);
});

describe('the power state', () => {
  test.each([
    ['running', 'running'],
    ['stopped', 'offline'],
    ['prelaunch', 'starting'],
    ['paused', 'unknown'],
    ['internal-error', 'unknown'],
    ['unknown', 'unknown'],
    [undefined, 'unknown'],
  ])('a VPS with the status %s is %s', async (status, expected) => {
    const { upstream, vps } = await prepare();
    Object.assign(upstream.vms[0]!, { status });
    expect((await vps.state('100', always)).state).toBe(expected);
  });

  test('one list of all VPS is shared for 5 s, without templates', async () => {
    const { upstream, vps, clock } = await prepare();
    upstream.vms[1]!.status = 'stopped';
    const read = () => Promise.all(['100', '101'].map(async (ref) => (await vps.state(ref, always)).state));
    expect(await read()).toEqual(['running', 'offline']);
    await failureOf(vps.state('900', always));
    clock.pass(4999);
    await read();
    expect(upstream.seen).toHaveLength(1);
    clock.pass(1);
    await read();
    expect(upstream.seen).toHaveLength(2);
  });

  test('states that nodes published before an action are not reported', async () => {
    const { upstream, vps, clock } = await prepare({ stop: 'stop' });
    await vps.power('100', 'stop');
    // The node has not published the stop yet.
    upstream.vms[0]!.status = 'running';
    for (const since of [0, 5000, 8999]) {
      clock.pass(since === 0 ? 0 : 4000);
      expect((await vps.state('100', since)).state).toBe('unknown');
    }
    upstream.vms[0]!.status = 'stopped';
    clock.pass(10_000);
    expect((await vps.state('100', 19_000)).state).toBe('offline');
  });
});
