import { describe, expect, test } from 'vitest';
import type { Provider } from '../../../server/hosting/providers/types.ts';
import { stopTimeouts } from '../../helpers/clock.ts';
import { openProvider } from '../../helpers/provider.ts';
import { createPanelUpstream, failure, panelKeys } from '../../helpers/upstream-panel.ts';
import type { PanelUpstream } from '../../helpers/upstream-panel.ts';
import { isPost, until } from '../../helpers/upstream.ts';
import type { Seen } from '../../helpers/upstream.ts';
import { failureOf, testFaults } from '../../helpers/fault-suite.ts';
import { testGameProvider } from './provider-suite.ts';

describe.each([
  { name: 'Pterodactyl', isPelican: false },
  { name: 'Pelican', isPelican: true },
])('$name', ({ name, isPelican }) => {
  testGameProvider(name, async () => {
    const upstream = await createPanelUpstream({ isPelican });
    const { provider, clock } = openProvider(upstream.settings);
    let seen = 0;
    return {
      provider,
      pass: clock.pass,
      ref: upstream.wings.uuid,
      unknownRef: '00000000-0000-4000-8000-000000000000',
      async arrived(action) {
        await until(action, () => upstream.signals.length > seen);
        seen += 1;
        if (upstream.signals.at(-1) !== action) throw new Error(`${upstream.signals.at(-1)} came instead`);
      },
      actions: () => upstream.signals.length,
      commands: () => upstream.commands,
      print: (...lines) => lines.forEach((line) => upstream.wings.print(line)),
    };
  });
});

const uuid = 'd3b07384-d9a0-4c9b-8f4e-2f6f0c7e1a55';

const call = (name: string, body: object) => ({
  method: 'POST',
  path: `/api/client/servers/${uuid}/${name}`,
  body,
  headers: { authorization: `Bearer ${panelKeys.write}`, 'content-type': 'application/json' },
});

testFaults(
  'Pterodactyl',
  [
    ...(['start', 'stop', 'restart', 'kill'] as const).map((action) => ({
      ...call('power', { signal: action }),
      name: action,
      run: (provider: Provider) => provider.game!.power(uuid, action),
    })),
    {
      ...call('command', { command: 'say hi' }),
      name: 'command',
      run: (provider) => provider.game!.command(uuid, 'say hi'),
    },
  ],
  async () => {
    const upstream = await createPanelUpstream({ uuid });
    upstream.wings.become('running');
    return { upstream, secrets: [panelKeys.write] };
  },
);

const always = Number.POSITIVE_INFINITY;
const isLookup = ({ path }: Seen): boolean => path.endsWith('/resources');

async function prepare() {
  const upstream = await createPanelUpstream();
  upstream.wings.become('running');
  const reads = () => upstream.seen.filter(isLookup).length;
  return { upstream, ...openProvider(upstream.settings), ref: upstream.wings.uuid, reads };
}

describe('commands that the panel refuses', () => {
  test('a missing permission on this server has its own error code', async () => {
    const { upstream, game, ref } = await prepare();
    upstream.users.get(panelKeys.write)!.permissions = ['websocket.connect'];
    expect(await failureOf(game.command(ref, 'list'))).toMatchObject({
      code: 'provider_permission_denied',
      outcome: 'refused',
      message: 'Console commands are not available for this server',
    });
    // A power action without the permission is a configuration error.
    expect(await failureOf(game.power(ref, 'start'))).toMatchObject({ code: 'provider_error', outcome: 'refused' });
  });

  test.each([
    [403, 'AccessDeniedHttpException', 'You are attempting to use an application API key on an endpoint'],
    [403, 'AccessDeniedHttpException', 'This IP address (192.0.2.1) does not have permission to access the API'],
    [401, 'AuthenticationException', 'Unauthenticated.'],
    [404, 'NotFoundHttpException', 'Not found.'],
    [409, 'ServerStateConflictException', 'This server is currently suspended'],
  ])('%i %s "%s" is a provider error', async (status, code, detail) => {
    const { upstream, game, ref } = await prepare();
    upstream.fail(failure(status, code, detail), isPost);
    const error = await failureOf(game.command(ref, 'list'));
    expect(error).toMatchObject({ code: 'provider_error', outcome: 'refused' });
    expect(error.message).toBe('The request could not be completed');
    expect(String(error.cause)).toContain(detail);
  });

  test.each([
    [502, 'DaemonConnectionException'],
    [504, 'DaemonConnectionException'],
    [500, 'ConnectionException'],
  ])('%i %s has an unknown outcome', async (status, code) => {
    const { upstream, game, ref } = await prepare();
    upstream.fail(failure(status, code, 'Could not establish a connection'), isPost);
    expect(await failureOf(game.command(ref, 'list'))).toMatchObject({ code: 'provider_error', outcome: 'unknown' });
  });
});

describe("a 502 with the panel's message for an offline server", () => {
  // A proxy's 502 gets the same message, although the node may have received the command.
  const answer = failure(502, 'HttpException', 'Server must be online in order to send commands.');
  const count = (upstream: PanelUpstream) => [
    upstream.seen.filter(isPost).length,
    upstream.seen.filter(isLookup).length,
  ];

  test.each(['running', 'starting', 'stopping', 'missing'])(
    'has an unknown outcome if the server is %s, and the command is not repeated',
    async (state) => {
      const { upstream, game, ref } = await prepare();
      upstream.wings.become(state);
      upstream.fail(answer, isPost);
      const error = await failureOf(game.command(ref, 'list'));
      expect(error).toMatchObject({ code: 'provider_error', outcome: 'unknown' });
      expect(error.message).toBe('The request could not be completed');
      expect(String(error.cause)).toContain('/command: 502');
      expect(count(upstream)).toEqual([1, 1]);
    },
  );

  test.each([
    ['is the same', answer, 1],
    ['is a 502 of a proxy', { status: 502 }, 2],
    ['never comes', 'hang', 1],
    ['breaks off', 'drop', 2],
  ] as const)('has an unknown outcome if the answer to the lookup %s', async (_, fault, lookups) => {
    const { upstream, game, ref } = await prepare();
    const advance = stopTimeouts();
    upstream.wings.become('offline');
    upstream.fail(fault, isLookup);
    const arrived = upstream.hold(isLookup);
    const failing = failureOf(game.command(ref, 'list'));
    const release = await arrived;
    if (fault === 'hang') advance(20_000);
    else release();
    expect(await failing).toMatchObject({ outcome: 'unknown', message: 'The request could not be completed' });
    expect(count(upstream)).toEqual([1, lookups]);
  });

  test('is looked up within the deadline of the action', async () => {
    const { upstream, game, ref } = await prepare();
    const deadline = new AbortController();
    const arrived = upstream.hold(isLookup);
    upstream.wings.become('offline');
    const failing = failureOf(game.command(ref, 'list', { signal: deadline.signal }));
    await arrived;
    deadline.abort();
    expect(await failing).toMatchObject({ outcome: 'unknown', message: 'The request could not be completed' });
  });
});

test.each([
  ['failed lookup', 'running', 'drop'],
  ['n unknown state', 'missing', undefined],
] as const)('a%s does not block a command of Pelican', async (_, state, fault) => {
  const upstream = await createPanelUpstream({ isPelican: true });
  upstream.wings.become(state);
  upstream.fail(fault, isLookup);
  await openProvider(upstream.settings).game.command(upstream.wings.uuid, 'list');
  expect(upstream.commands).toEqual(['list']);
});

describe('the latest log', () => {
  test("is the file in the server's record, or the default file", async () => {
    const { upstream, game, ref } = await prepare();
    upstream.files.set('/logs/latest.log', 'usual\n').set('/server logs/a&b.log', 'other\n');
    expect(await game.latestLog(ref, null)).toBe('usual\n');
    expect(await game.latestLog(ref, 'server logs/a&b.log')).toBe('other\n');
    expect(await game.latestLog(ref, '/logs/latest.log')).toBe('usual\n');
    upstream.files.set('/logs/latest.log', '');
    expect(await game.latestLog(ref, null)).toBe('');
  });

  test('returns its last 2 MiB, from a line start', async () => {
    const { upstream, game, ref } = await prepare();
    const line = `\u001B[33m${'é'.repeat(50)}\u001B[0m\n`;
    upstream.files.set('/logs/latest.log', line.repeat(30_000));
    const log = (await game.latestLog(ref, null))!;
    expect(log).toBe(line.repeat(Math.floor((2 * 1024 * 1024) / Buffer.byteLength(line))));
  });

  test('is undefined if the file is missing, too large or not readable with the key', async () => {
    const { upstream, game, ref } = await prepare();
    expect(await game.latestLog(ref, null)).toBeUndefined();
    upstream.files.set('/logs/latest.log', 'x'.repeat(4 * 1024 * 1024 + 1));
    expect(await game.latestLog(ref, null)).toBeUndefined();
    upstream.files.set('/logs/latest.log', 'short');
    upstream.users.get(panelKeys.write)!.permissions = ['control.console'];
    expect(await game.latestLog(ref, null)).toBeUndefined();
  });

  test.each([
    ['a page of a proxy', { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' }],
    ['an unreachable node', failure(504, 'DaemonConnectionException', 'Could not establish a connection')],
    ['a rejected key', failure(401, 'AuthenticationException', 'Unauthenticated.')],
    ['a key of the wrong kind', failure(403, 'AccessDeniedHttpException', 'This is an application API key')],
    ['a suspended server', failure(409, 'ServerStateConflictException', 'This server is currently suspended')],
  ])('%s is an error, not an empty log', async (_, answer) => {
    const { upstream, game, ref } = await prepare();
    upstream.fail(answer);
    expect(await failureOf(game.latestLog(ref, null))).toMatchObject({ code: 'provider_error', outcome: 'refused' });
  });
});

describe('the power state', () => {
  test.each([
    ['running', 'running'],
    ['starting', 'starting'],
    ['stopping', 'stopping'],
    ['offline', 'offline'],
    ['missing', 'unknown'],
    ['exited', 'unknown'],
    ['paused', 'unknown'],
    ['__proto__', 'unknown'],
  ])('a server that is %s is %s', async (state, expected) => {
    const { upstream, game, ref } = await prepare();
    upstream.wings.become(state);
    expect((await game.state(ref, always)).state).toBe(expected);
  });

  test('the state of a server that the panel has suspended is unknown', async () => {
    const { upstream, game, ref } = await prepare();
    upstream.conflict = 'This server is currently suspended and the functionality requested is unavailable.';
    expect((await game.state(ref, always)).state).toBe('unknown');
  });

  test('another 409 is a failure', async () => {
    const { upstream, game, ref } = await prepare();
    upstream.fail(failure(409, 'HttpException', 'no'));
    expect(await failureOf(game.state(ref, always))).toMatchObject({ code: 'provider_error' });
  });

  test('the resources of a server are read at most every 20 s', async () => {
    const { game, ref, clock, reads } = await prepare();
    const read = () => Promise.all(Array.from({ length: 10 }, () => game.state(ref, always)));
    await read();
    clock.pass(19_999);
    await read();
    expect(reads()).toBe(1);
    clock.pass(1);
    await read();
    expect(reads()).toBe(2);
  });

  test('states that the panel has cached before an action are not reported, nor read', async () => {
    const { upstream, game, ref, clock, reads } = await prepare();
    upstream.wings.become('running');
    upstream.resourcesMs = always;
    expect((await game.state(ref, always)).state).toBe('running');
    clock.pass(30_000);
    await game.power(ref, 'stop');
    for (const since of [0, 6000, 13_000]) {
      expect((await game.state(ref, since)).state).toBe('unknown');
      clock.pass(7000);
    }
    expect(reads()).toBe(1);
    upstream.resourcesMs = 0;
    expect((await game.state(ref, 21_000)).state).toBe('offline');
  });
});
