import { expect, test } from 'vitest';
import type { HetznerSettings } from '../../../server/hosting/providers/hetzner.ts';
import { failureOf, testFaults } from '../../helpers/fault-suite.ts';
import { openProvider } from '../../helpers/provider.ts';
import { createHetznerUpstream, failure, hetznerToken } from '../../helpers/upstream-hetzner.ts';
import { until } from '../../helpers/upstream.ts';
import { testVpsProvider } from './vps-suite.ts';

async function prepare(changes: Partial<HetznerSettings> = {}) {
  const upstream = await createHetznerUpstream();
  return { upstream, ...openProvider({ ...upstream.settings, ...changes }) };
}

const verbs = { start: 'poweron', stop: 'shutdown', reset: 'reset' };

testVpsProvider('Hetzner Cloud', async () => {
  const { upstream, provider, clock } = await prepare();
  const actions = () => upstream.seen.filter(({ path }) => path.includes('/actions/'));
  return {
    provider,
    pass: clock.pass,
    ref: '42',
    unknownRef: '43',
    arrived: (action) => until(action, () => actions().at(-1)?.path === `/v1/servers/42/actions/${verbs[action]}`),
    actions: () => actions().filter(({ path }) => path.includes('/42/')).length,
  };
});

testFaults(
  'Hetzner Cloud',
  (['start', 'stop', 'reset'] as const).map((action) => ({
    name: action,
    run: (provider) => provider.vps!.power('42', action),
    method: 'POST',
    path: `/v1/servers/42/actions/${verbs[action]}`,
    headers: { authorization: `Bearer ${hetznerToken}`, 'content-length': '0' },
  })),
  async () => {
    const upstream = await createHetznerUpstream();
    const create = () => openProvider(upstream.settings).provider;
    return { upstream, create, secrets: [hetznerToken] };
  },
);

test('stop cuts the power if the operator configured poweroff', async () => {
  const { upstream, vps } = await prepare({ stop: 'poweroff' });
  await vps.power('42', 'stop');
  expect(upstream.seen.map(({ path }) => path)).toEqual(['/v1/servers/42/actions/poweroff']);
});

test.each([
  [423, 'locked', 'refused'],
  [409, 'conflict', 'refused'],
  [403, 'token_readonly', 'refused'],
  [503, 'maintenance', 'refused'],
  [500, 'server_error', 'unknown'],
  [400, 'timeout', 'unknown'],
  [422, 'unavailable', 'unknown'],
] as const)('%i %s: the error code decides that the outcome is %s', async (status, code, outcome) => {
  const { upstream, vps } = await prepare();
  upstream.fail(failure(status, code));
  const error = await failureOf(vps.power('42', 'reset'));
  expect(error).toMatchObject({ outcome, message: 'The request could not be completed' });
  expect(String(error.cause)).toContain(code);
  expect(upstream.seen).toHaveLength(1);
});

test('a wrong token and an unreachable upstream are findings, not errors', async () => {
  const { provider: wrong } = await prepare({ token: 'another-token' });
  const refused = { level: 'error', message: 'The token is not accepted: status 401' };
  expect(await wrong.check()).toMatchObject([refused]);
  const { upstream, provider } = await prepare();
  upstream.fail({ status: 503 });
  const busy = { level: 'warn', message: 'Hetzner Cloud answers with status 503', isUnreachable: true };
  expect(await provider.check()).toMatchObject([busy]);
  await upstream.stop();
  expect(await provider.check()).toMatchObject([{ level: 'warn' }]);
});
