import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import { watchInstallation } from '../../server/doctor/watch.ts';
import type { Watched } from '../../server/doctor/watch.ts';
import { readEnv } from '../../server/env.ts';
import { shortenTimers, stopClock } from '../helpers/clock.ts';
import { openProvider } from '../helpers/provider.ts';
import { createTestApp } from '../helpers/app.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import { article, buildProject, createProject, temporaryFolder } from '../helpers/project.ts';
import { createPanelUpstream, panelKeys } from '../helpers/upstream-panel.ts';
import type { PanelUpstream } from '../helpers/upstream-panel.ts';
import { createTestLog } from '../helpers/upstream.ts';
import { recordConsole } from '../hosting/providers/console-recorder.ts';
import { sharedProject } from '../server/shared.ts';

/** A store with these servers. */
const storeOf = (servers: readonly object[]) =>
  ({ servers: { list: () => Promise.resolve(servers) } }) as unknown as Watched['store'];

/** Watches an installation that has no faults except for the changes. */
async function watch(changes: Partial<Watched>) {
  const settings = { DIST_DIR: join(await sharedProject(), 'dist'), DATA_DIR: temporaryFolder() };
  const { log, lines, written } = createTestLog();
  shortenTimers(4 * 60_000);
  const stop = watchInstallation({
    env: readEnv(settings),
    environment: {},
    store: storeOf([]),
    releases: { current: () => ({ nextChangeAt: null }) } as unknown as Watched['releases'],
    providers: new Map(),
    isPreview: false,
    log,
    ...changes,
  });
  onTestFinished(stop);
  /** The logged faults as `level check: text`. */
  const faults = () =>
    (lines() as Record<string, string>[])
      .map(({ level, check, msg }) => `${level} ${check}: ${msg}`)
      .filter((line) => !line.includes('token is accepted'))
      .toSorted();
  return { stop, lines, written, faults };
}

/** Watches a panel, prepared by `before`. */
async function watchPanel(before: (panel: PanelUpstream) => void = () => undefined) {
  const panel = await createPanelUpstream();
  const { provider } = openProvider(panel.settings);
  const accounts = () => panel.seen.filter(({ path }) => path.endsWith('/account')).length;
  /** Waits until a check that starts after this call has ended. */
  const checked = async (): Promise<void> => {
    const began = accounts();
    await expect.poll(accounts).toBeGreaterThan(began + 4);
  };
  before(panel);
  return { panel, provider, checked, ...(await watch({ providers: new Map([['panel', provider]]) })) };
}

const refused = [
  'warn provider panel: The read_only_token is not accepted: status 401',
  'warn provider panel: The token is not accepted: status 401',
];

/** The log line for the end of a fault. */
const toOver = (line: string): string => line.replace('warn', 'info').replace(': ', ': over: ');

test('a newly refused credential is logged once, and once more when accepted again', async () => {
  const { panel, checked, faults } = await watchPanel();
  await checked();
  // Temporary errors are not logged.
  panel.fail({ status: 503 });
  await checked();
  panel.fail(undefined);
  await checked();
  expect(faults()).toEqual([]);
  const users = [...panel.users];
  panel.users.clear();
  await expect.poll(faults).toEqual(refused);
  await checked();
  // A silent or failing panel is no news about the credential.
  for (const fault of ['drop', { status: 503 }, { status: 429 }, { status: 404 }] as const) {
    panel.fail(fault);
    await checked();
    expect(faults()).toEqual(refused);
  }
  panel.fail(undefined);
  for (const [key, user] of users) panel.users.set(key, user);
  await expect.poll(faults).toEqual([...refused.map(toOver), ...refused]);
  await checked();
  expect(faults()).toHaveLength(4);
  expect(faults().join()).not.toMatch(/ptlc_|127\.0\.0\.1/);
});

test('a credential that is refused from the start is logged once', async () => {
  const { checked, faults } = await watchPanel(({ users }) => users.delete(panelKeys.write));
  await checked();
  await checked();
  expect(faults()).toEqual([refused[1]]);
});

test('a panel that is unreachable at the start is logged, and its return too', async () => {
  const { panel, checked, faults } = await watchPanel((started) => started.fail('drop'));
  // Once, not for each credential.
  const unreachable = 'warn provider panel: The panel (asked with the token) cannot be reached';
  await expect.poll(faults).toEqual([unreachable]);
  await checked();
  expect(faults()).toEqual([unreachable]);
  panel.fail(undefined);
  await expect.poll(faults).toEqual([toOver(unreachable), unreachable]);
});

test('an accepted credential is logged once, at the start', async () => {
  const { checked, written } = await watchPanel();
  await checked();
  await checked();
  expect(written().match(/"The \w+ is accepted"/g)).toEqual([
    '"The token is accepted"',
    '"The read_only_token is accepted"',
  ]);
});

test('of two refused credentials, only the end of the mended one is logged', async () => {
  const { panel, checked, faults } = await watchPanel();
  const user = panel.users.get(panelKeys.write)!;
  panel.users.clear();
  await expect.poll(faults).toEqual(refused);
  panel.users.set(panelKeys.write, user);
  await expect.poll(faults).toEqual([toOver(refused[1]!), ...refused]);
  await checked();
  expect(faults()).toHaveLength(3);
});

test('the end of a too powerful read-only credential is logged only when consoles work again', async () => {
  const { panel, provider, checked, faults } = await watchPanel();
  await checked();
  const user = panel.users.get(panelKeys.read)!;
  user.permissions.push('control.console');
  const tooMuch = expect.stringMatching(/^warn provider panel: The read_only_token may do more than read/) as string;
  await expect.poll(faults).toEqual([tooMuch]);
  const game = provider.game!;
  expect(await recordConsole(game, panel.wings.uuid).ended()).toBe('console is not available');
  // The account answers, but the permissions of the credential do not.
  panel.fail({ status: 503 }, ({ path }) => path.includes('/servers/'));
  await checked();
  expect(faults()).toEqual([tooMuch]);
  user.permissions.pop();
  panel.fail(undefined);
  const over = expect.stringMatching(/^info provider panel: over: The read_only_token may do more/) as string;
  await expect.poll(faults).toEqual([over, tooMuch]);
  panel.wings.become('running');
  const record = recordConsole(game, panel.wings.uuid);
  panel.wings.print('hello');
  await record.received('hello');
});

test('a stop during a check logs nothing', async () => {
  const { panel, provider, stop, written } = await watchPanel((started) => started.fail('hang'));
  await expect.poll(() => panel.seen.length).toBe(1);
  const before = written();
  stop();
  await provider.close();
  // Each takes as long as the interrupted check.
  for (const _ of [1, 2, 3]) await provider.check();
  expect(written()).toBe(before);
});

/** Watches a release at a time. A release without files has no build, whose time would be later. */
async function watchRelease(at: string) {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(at) });
  onTestFinished(() => void vi.useRealTimers());
  const release = { nextChangeAt: '2026-11-20' as string | null };
  let reads = 0;
  const current = () => {
    reads += 1;
    return release;
  };
  const watched = await watch({
    env: readEnv({ DIST_DIR: temporaryFolder(), DATA_DIR: temporaryFolder() }),
    releases: { current } as unknown as Watched['releases'],
  });
  /** Waits until a round of checks that starts after this call has ended. */
  const checked = async (): Promise<void> => {
    const before = reads;
    await expect.poll(() => reads).toBeGreaterThan(before + 4);
  };
  return { ...watched, release, checked };
}

test('a fault is logged at its start, once a day, at its end, and when the fault returns', async () => {
  const advance = stopClock();
  const { lines, release, checked } = await watchRelease('2026-11-21T00:00:00Z');
  let last = 0;
  const expected: unknown[] = [];
  for (const [hours, nextChangeAt, line] of [
    [0, '2026-11-20', ['warn', 'an article dated 2026-', undefined]],
    [23.9, '2026-11-20'],
    [24, '2026-11-20', ['warn', 'an article dated 2026-', 86_400]],
    [47.9, '2026-11-20'],
    [49, '2026-11-20', ['warn', 'an article dated 2026-', 49 * 3600]],
    [49, null, ['info', 'over: an article dated', 49 * 3600]],
    [49, '2026-11-20', ['warn', 'an article dated 2026-', undefined]],
  ] as const) {
    // The sum of fractions may be too small.
    advance((hours - last) * 3_600_000 + 1);
    last = hours;
    release.nextChangeAt = nextChangeAt;
    await checked();
    if (line) expected.push(line);
    expect(lines().map(({ level, msg, seconds }) => [level, String(msg).slice(0, 22), seconds])).toEqual(expected);
  }
});

test('a missing build of a scheduled article is logged, and its end when a new release is served', async () => {
  const { faults, release, checked } = await watchRelease('2026-11-19T23:59:00Z');
  vi.setSystemTime('2026-11-20T00:30:00Z');
  await checked();
  expect(faults()).toEqual([]);
  vi.setSystemTime('2026-11-20T01:01:00Z');
  const late = 'release age: an article dated 2026-11-20 is not online: no release was built since then';
  await expect.poll(faults).toEqual([`warn ${late}`]);
  release.nextChangeAt = null;
  await expect.poll(faults).toEqual([toOver(`warn ${late}`), `warn ${late}`]);
});

test('a start logs each fault of the installation once, with the text of the doctor', async () => {
  const root = createProject({
    'content/blog/news/third.md': article({ title: 'Third', date: '2026-02-01' }, 'Now.\n'),
  });
  await buildProject(root, { now: '2026-01-15' });
  const world = await createHostingWorld(root);
  world.panel.users.delete(panelKeys.write);
  await world.store.servers.put({ server: 'game:lost', provider: 'gone', ref: 'x', logFile: null });
  const app = await createTestApp({
    root,
    settings: { ...world.settings, PUBLIC_URL: 'http://api.example.com', TRUSTED_PROXIES: '::1' },
  });
  const read = () => app.log().filter(({ check, level }) => check !== undefined && level !== 'info');
  const expected = [
    'provider panel: The token is not accepted: status 401',
    'release age: an article dated 2026-02-01 is not online: no release was built since then',
    'servers: game:lost cannot be reached: PROVIDERS_FILE has no provider gone',
    'settings: PUBLIC_URL is not https: API keys and consoles travel in plain text',
  ];
  const warnings = () =>
    read()
      .map(({ check, msg }) => `${String(check)}: ${String(msg)}`)
      .toSorted();
  await expect.poll(warnings).toEqual(expected);
  expect(read().every(({ level, advice }) => level === 'warn' && typeof advice === 'string')).toBe(true);
  const listening = app.log().findIndex(({ msg }) => msg === 'listening');
  expect(app.log().findIndex(({ check }) => check !== undefined)).toBeGreaterThan(listening);
});

test('a start without faults logs no warning', async () => {
  const world = await createHostingWorld(temporaryFolder());
  chmodSync(world.settings['DATA_DIR']!, 0o700);
  const app = await createTestApp({ root: await sharedProject(), settings: world.settings });
  const accounts = () => world.panel.seen.filter(({ path }) => path.endsWith('/account')).length;
  await expect.poll(accounts).toBeGreaterThan(1);
  await app.stop();
  expect(app.log().filter(({ level }) => level !== 'info')).toEqual([]);
});

test('a stop while many servers are read logs no outage of the store', async () => {
  const world = await createHostingWorld(temporaryFolder());
  const file = new DatabaseSync(join(world.settings['DATA_DIR']!, 'hosting.sqlite'));
  file.exec(`WITH RECURSIVE numbers (at) AS (SELECT 10000 UNION ALL SELECT at + 1 FROM numbers WHERE at < 50000)
    INSERT INTO hosting_servers (server, provider, ref) SELECT 'vps:' || at, 'cloud', at FROM numbers`);
  file.close();
  const app = await createTestApp({ root: await sharedProject(), settings: world.settings });
  await app.stop();
  // The read goes on, page by page, until the closed store refuses one.
  await new Promise(setImmediate);
  expect(app.log().filter(({ level }) => level === 'error')).toEqual([]);
});

test('10,000 servers take little time, and of many faults ten are logged', async () => {
  const servers = Array.from({ length: 10_000 }, (_, at) => {
    const [number, pair] = [String(at).padStart(5, '0'), Math.floor(at / 2)];
    return { server: `vps:c${number}`, provider: 'cloud', ref: `${100_000 + pair}`, shared: 'unconfirmed' };
  });
  const began = process.cpuUsage();
  const { faults } = await watch({ store: storeOf(servers) });
  await expect.poll(() => faults().filter((line) => line.includes('shared servers'))).toHaveLength(10);
  const { user, system } = process.cpuUsage(began);
  // Comparing each server with each other takes ten times as long.
  expect(user + system).toBeLessThan(2_000_000);
  expect(faults().join('\n')).toContain(
    'vps:c00009 and vps:c00008 have the same provider and ref; the same for 9990 more',
  );
});
