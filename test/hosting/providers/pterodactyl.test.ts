import { describe, expect, test } from 'vitest';
import type { Provider } from '../../../server/hosting/providers/types.ts';
import { stopTimeouts } from '../../helpers/clock.ts';
import { openProvider } from '../../helpers/provider.ts';
import { createPanelUpstream, failure, panelKeys } from '../../helpers/upstream-panel.ts';
import type { PanelUpstream } from '../../helpers/upstream-panel.ts';
import { createCertificates } from '../../helpers/upstream-tls.ts';
import { createUpstream, isPost, json, until } from '../../helpers/upstream.ts';
import type { Seen } from '../../helpers/upstream.ts';
import { failureOf, testFaults } from '../../helpers/fault-suite.ts';
import { followConsole, recordConsole } from './console-recorder.ts';
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
const offline = 'The server must be online to receive commands';
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
    [403, 'DaemonConnectionException', 'An error occurred on the remote host: You are not authorized'],
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

describe('a command to Pelican, which accepts all commands', () => {
  const old = 60_000;
  test.each([
    // The state of the server, of the resources, the time since an action, the fault of a read, the outcome, and the answer.
    ['running', 'running', old, undefined, 'sent'],
    ['offline', 'offline', old, undefined, offline],
    ['running', 'offline', 5000, undefined, 'unknown'],
    ['offline', 'running', 5000, undefined, 'unknown'],
    ['running', 'missing', old, undefined, 'unknown'],
    ['running', 'running', old, 'resources', 'unknown'],
    ['running', 'running', old, 'account', 'unknown'],
  ] as const)(
    'the server is %s, the panel says %s, %i ms after an action (fault: %s): %s',
    async (state, said, ms, fault, expected) => {
      const upstream = await createPanelUpstream({ isPelican: true });
      const { game } = openProvider(upstream.settings);
      upstream.resourcesMs = always;
      upstream.wings.become(said);
      await game.state(upstream.wings.uuid, always);
      upstream.wings.become(state);
      if (fault) upstream.fail('drop', ({ path }) => path.endsWith(fault));
      const sending = game.command(upstream.wings.uuid, 'list', { sinceLastAction: async () => ms });
      const result = await sending.then(
        () => 'sent',
        ({ outcome, message }) => (outcome === 'refused' ? message : outcome),
      );
      expect(result).toBe(expected);
      expect(upstream.seen.filter(isPost)).toHaveLength(expected === offline ? 0 : 1);
    },
  );

  test.each(['running', 'offline'])('is decided by an open console: %s', async (state) => {
    const upstream = await createPanelUpstream({ isPelican: true });
    const { game } = openProvider(upstream.settings);
    await followConsole(game, upstream.wings.uuid);
    const after = { sinceLastAction: async () => 0 };
    if (state === 'running') await game.power(upstream.wings.uuid, 'start');
    const sending = game.command(upstream.wings.uuid, 'list', after);
    expect(
      await sending.then(
        () => 'running',
        ({ message }) => (message === offline ? 'offline' : message),
      ),
    ).toBe(state);
    expect(upstream.seen.filter(isLookup)).toHaveLength(0);
  });

  test('does not depend on the form of the key', async () => {
    const upstream = await createPanelUpstream({ isPelican: true });
    upstream.users.set(panelKeys.write, upstream.users.get(panelKeys.pelican)!);
    const { game } = openProvider({ ...upstream.settings, token: panelKeys.write });
    expect((await failureOf(game.command(upstream.wings.uuid, 'list'))).message).toBe(offline);
  });
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

  test.each([
    ['the file', 'logs/latest.log', { '/logs/other.log': '' }, 2],
    ['its folder', 'logs/latest.log', { '/server.jar': '' }, 3],
    ['the file in the root', 'latest.log', { '/server.jar': '' }, 2],
    ['the file, which is a folder', 'logs', { '/logs/latest.log': '' }, 2],
  ])('is undefined for a minute if it lacks %s', async (_, file, files, requests) => {
    const { upstream, game, ref, clock } = await prepare();
    for (const [path, content] of Object.entries(files)) upstream.files.set(path, content);
    for (const ms of [0, 59_000, 2000]) {
      clock.pass(ms);
      expect(await game.latestLog(ref, file)).toBeUndefined();
    }
    expect(upstream.seen).toHaveLength(2 * requests);
  });

  test('of which the folders do not explain a failure of the node is an error', async () => {
    const { upstream, game, ref } = await prepare();
    upstream.files.set('/logs/latest.log', 'log\n');
    upstream.fail(failure(500, 'DaemonConnectionException', '(code: 500)'), ({ path }) => path.includes('contents'));
    expect(await failureOf(game.latestLog(ref, null))).toMatchObject({ code: 'provider_error' });
    upstream.fail(failure(500, 'DaemonConnectionException', '(code: 500)'));
    expect(await failureOf(game.latestLog(ref, 'a/b/c/d/e'))).toMatchObject({ code: 'provider_error' });
    expect(upstream.seen).toHaveLength(2 + 4);
  });

  test('of up to 8 MiB is read, and a larger one than the panel returns is an error that says so', async () => {
    const { upstream, game, ref } = await prepare();
    upstream.files.set('/logs/latest.log', `${'x'.repeat(99)}\n`.repeat(75_000));
    const message = 'The log is larger than the panel returns';
    expect(await failureOf(game.latestLog(ref, null))).toMatchObject({ code: 'provider_error', message });
    upstream.fileBytes = always;
    expect(await game.latestLog(ref, null)).toBe(`${'x'.repeat(99)}\n`.repeat(Math.floor((2 * 1024 * 1024) / 100)));
  });

  test.each([
    ['file.read-content', ['file.read']],
    ['file.read', ['file.read-content']],
  ])('without the permission %s is noted once in the log', async (permission, permissions) => {
    const { upstream, game, ref, lines } = await prepare();
    upstream.users.get(panelKeys.write)!.permissions = permissions;
    for (const _ of [1, 2]) await game.latestLog(ref, null).catch(() => undefined);
    expect(lines()).toMatchObject([{ msg: expect.stringContaining('lacks a permission'), ref, permission }]);
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
    expect(await failureOf(game.latestLog(ref, null))).toMatchObject({ code: 'provider_error' });
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

test.each([
  ['suspended', 'The server is suspended by the panel'],
  ['not yet completed its installation process', 'The server is not installed (yet)'],
  ['restoring from a backup', 'The server is being restored'],
  ['being transferred to a new machine', 'The server is being moved'],
  ['The node of this server is currently under maintenance', "The server's node is in maintenance"],
  ['gesperrt', 'The request could not be completed'],
])('a locked server (%s) refuses actions and logs with the reason', async (conflict, message) => {
  const { upstream, game, ref } = await prepare();
  upstream.conflict = conflict;
  for (const run of [() => game.power(ref, 'start'), () => game.command(ref, 'list'), () => game.latestLog(ref, null)])
    expect(await failureOf(run())).toMatchObject({ code: 'provider_error', outcome: 'refused', message });
});

test.each([
  [
    'the limit of the panel',
    { ...failure(429, 'ThrottleRequestsException', ''), headers: { 'retry-after': '59' } },
    '59',
  ],
  ['a limit in front of it', { status: 429, headers: { 'retry-after': '59' } }, undefined],
])('at %s an action is refused', async (_, answer, wait) => {
  const { upstream, game, ref } = await prepare();
  upstream.fail(answer);
  const { outcome, headers } = await failureOf(game.power(ref, 'start'));
  expect([outcome, headers['Retry-After']]).toEqual(['refused', wait]);
});

test('a certificate of an unknown CA is refused before the token is sent, and named by the check', async () => {
  const upstream = await createUpstream(() => json(200, {}), { tls: createCertificates() });
  const { provider, game } = openProvider({ type: 'pterodactyl', url: upstream.url, token: panelKeys.write });
  const error = await failureOf(game.power('1a7ce997', 'start'));
  expect(error.outcome).toBe('refused');
  expect(String(error.cause)).toContain('SELF_SIGNED_CERT_IN_CHAIN');
  const [finding] = await provider.check();
  expect(finding).toMatchObject({ level: 'warn', advice: expect.stringContaining('trusts its certificate') });
  expect(upstream.seen).toEqual([]);
});

describe('the list of servers', () => {
  /** A panel whose list moves between two pages, and its windows of two pages. */
  async function prepareList(total: number, admin = false) {
    const ids = Array.from({ length: total }, (_, index) => (index + 0x10000000).toString(16));
    let left = 3;
    const upstream = await createUpstream(({ path }) => {
      if (path.endsWith('/account')) return json(200, { attributes: { id: 1, admin } });
      left -= 1;
      const tooMany = failure(429, 'ThrottleRequestsException', 'Too Many Attempts.');
      if (left === 0) return { ...tooMany, headers: { 'retry-after': '59' } };
      const page = Number(new URLSearchParams(path.split('?')[1]).get('page'));
      // The panel moves servers changed since the last page to the end.
      ids.push(...ids.splice(0, 7));
      const data = ids.slice((page - 1) * 50, page * 50).map((identifier) => ({
        attributes: { identifier, name: `server ${identifier}` },
      }));
      return json(200, { data, meta: { pagination: { total: String(total) } } });
    });
    const { provider, clock } = openProvider({ type: 'pterodactyl', url: upstream.url, token: panelKeys.write });
    return { provider, clock, upstream };
  }

  test('is read again if servers moved between its pages, in the next window if necessary', async () => {
    const { provider, clock } = await prepareList(131);
    const before = clock.now();
    const { names, missed } = await provider.listRefs!();
    expect([names.size, missed]).toEqual([131, 0]);
    expect(names.get('10000000')).toBe('server 10000000');
    expect(clock.now() - before).toBe(59_000);
  });

  test('has all servers of the panel for an administrator, with a warning', async () => {
    const { provider, upstream } = await prepareList(2, true);
    const { names, warning } = await provider.listRefs!();
    expect([names.size, warning]).toEqual([2, expect.stringContaining('belongs to an administrator')]);
    expect(upstream.seen.map(({ path }) => path).at(-1)).toContain('?type=admin-all&per_page=50&page=1');
  });

  test('is read three times at most, and tells how many servers it does not show', async () => {
    const { provider, upstream } = await prepareList(50);
    const page = json(200, { data: [], meta: { pagination: { total: 9 } } });
    upstream.fail(page, ({ path }) => path.includes('page='));
    expect(await provider.listRefs!()).toEqual({ names: new Map(), missed: 9 });
    expect(upstream.seen).toHaveLength(4);
  });
});

test.each([
  ['a challenge', 403, '<!DOCTYPE html><title>Just a moment...</title>'],
  ['nothing', 403, ''],
  ['other JSON', 403, '{"error":"blocked by firewall"}'],
  ['a login', 401, '<html>'],
  ['a wrong path', 404, '<html>'],
  ['a conflict', 409, '<html>'],
])('%s of a proxy in front of the panel (%i) is not an answer of the panel', async (_, status, body) => {
  const { upstream, provider, game, ref } = await prepare();
  upstream.fail({ status, body });
  for (const run of [
    () => game.power(ref, 'start'),
    () => game.command(ref, 'list'),
    () => game.latestLog(ref, null),
  ]) {
    const error = await failureOf(run());
    expect(error).toMatchObject({ code: 'provider_error', outcome: 'refused' });
    expect(String(error.cause)).toContain(`${status}`);
    expect(String(error.cause)).toContain('from a proxy or firewall in front of it');
  }
  expect(await failureOf(game.state(ref, always))).toMatchObject({ code: 'provider_error' });
  expect(await provider.check()).toMatchObject([{ level: 'warn', isUnreachable: true }, { isUnreachable: true }]);
  const record = recordConsole(game, ref);
  await until('the console reports', () => record.events.length > 0);
  // A gap: the console is opened again.
  expect(record.events).toEqual(['gap: the game panel is busy']);
});
