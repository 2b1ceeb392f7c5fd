import { expect, onTestFinished, test } from 'vitest';
import { createProviders } from '../../../server/hosting/providers.ts';
import type { Provider } from '../../../server/hosting/providers/types.ts';
import { createHetznerUpstream, failure, hetznerToken } from '../../helpers/upstream-hetzner.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { createStateClock } from '../../helpers/state-clock.ts';
import { createTestLog, until } from '../../helpers/upstream.ts';
import { failureOf, testFaults } from '../../helpers/fault-suite.ts';
import { testVpsProvider } from './vps-suite.ts';

function createHetzner(
  url: string,
  { token = hetznerToken, isHard = false, timeoutMs = 20_000, clock = createStateClock() } = {},
): Provider {
  const config = { fsn: { type: 'hetzner', url: `${url}/v1`, token, stop: isHard ? 'poweroff' : 'shutdown' } } as const;
  const providers = createProviders(config, { dataDir: temporaryFolder(), log: createTestLog().log, timeoutMs, clock });
  const provider: Provider = providers.get('fsn')!;
  onTestFinished(() => provider.close());
  return provider;
}

testVpsProvider('Hetzner Cloud', async () => {
  const upstream = await createHetznerUpstream();
  const actions = () => upstream.seen.filter(({ path }) => path.includes('/actions/'));
  const clock = createStateClock();
  return {
    provider: createHetzner(upstream.url, { clock }),
    pass: clock.pass,
    ref: '42',
    unknownRef: '43',
    arrived: (action) => {
      const verb = { start: 'poweron', stop: 'shutdown', reset: 'reset' }[action];
      return until(action, () => actions().at(-1)?.path === `/v1/servers/42/actions/${verb}`);
    },
    actions: () => actions().filter(({ path }) => path.includes('/42/')).length,
  };
});

testFaults(
  'Hetzner Cloud',
  (['start', 'stop', 'reset'] as const).map((action) => ({
    name: action,
    run: (provider) => provider.vps!.power('42', action),
    method: 'POST',
    path: `/v1/servers/42/actions/${{ start: 'poweron', stop: 'shutdown', reset: 'reset' }[action]}`,
    headers: { authorization: `Bearer ${hetznerToken}`, 'content-length': '0' },
  })),
  async () => {
    const upstream = await createHetznerUpstream();
    return { upstream, create: (timeoutMs) => createHetzner(upstream.url, { timeoutMs }), secrets: [hetznerToken] };
  },
);

test('stop cuts the power if the operator configured poweroff', async () => {
  const upstream = await createHetznerUpstream();
  await createHetzner(upstream.url, { isHard: true }).vps!.power('42', 'stop');
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
  const upstream = await createHetznerUpstream();
  upstream.fail(failure(status, code));
  const error = await failureOf(createHetzner(upstream.url).vps!.power('42', 'reset'));
  expect(error).toMatchObject({ outcome, message: 'The request could not be completed' });
  expect(String(error.cause)).toContain(code);
  expect(upstream.seen).toHaveLength(1);
});

test('a wrong token and an unreachable upstream are findings, not errors', async () => {
  const upstream = await createHetznerUpstream();
  const wrong = await createHetzner(upstream.url, { token: 'another-token' }).check();
  expect(wrong).toMatchObject([{ level: 'error', message: 'The token is not accepted: status 401' }]);
  upstream.fail({ status: 503 });
  const busy = { level: 'warn', message: 'Hetzner Cloud answers with status 503', isUnreachable: true };
  expect(await createHetzner(upstream.url).check()).toMatchObject([busy]);
  await upstream.stop();
  expect(await createHetzner(upstream.url).check()).toMatchObject([{ level: 'warn' }]);
});
