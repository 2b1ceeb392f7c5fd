import { cpSync, lutimesSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import GithubSlugger from 'github-slugger';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { offline } from '../helpers/app.ts';
import { describeInstalled } from '../helpers/installed.ts';
import { findFreePort } from '../helpers/free-port.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import { metricNames, prometheusProgram, promtool } from '../helpers/metrics.ts';
import { mountSmall } from '../helpers/permitted.ts';
import { describePostgres, setReadOnly } from '../helpers/postgres.ts';
import { article, buildProject, startProgram, temporaryFolder, validProject, writeFiles } from '../helpers/project.ts';
import { createKumaUpstream } from '../helpers/upstream-kuma.ts';
import { failure } from '../helpers/upstream-panel.ts';
import { openStream } from '../hosting/instances.ts';
import { copyProject } from '../server/shared.ts';
import { startProcess } from '../server/process.ts';
import { readManifest } from '../server/targets.ts';

const patient = { timeout: 120_000, interval: 200 };

/** Folder of examples/prometheus. */
const example = resolve(import.meta.dirname, '../../examples/prometheus');

type Prometheus = Awaited<ReturnType<typeof startPrometheus>>;

/** Starts Prometheus with the example's files, changing only waits and the addresses of instances. */
async function startPrometheus(commands: string, metricsPorts: readonly number[]) {
  const folder = temporaryFolder();
  cpSync(example, folder, { recursive: true });
  for (const name of ['prometheus.yml', 'alerts.yml']) {
    const file = join(folder, name);
    // Shorten all waits, but keep the expressions.
    let text = readFileSync(file, 'utf8').replaceAll('_interval: 15s', '_interval: 1s');
    text = text.replaceAll(/for: \d+m$/gm, 'for: 1s');
    for (const [at, port] of metricsPorts.entries()) text = text.replace(`127.0.0.1:${9464 + at}`, `127.0.0.1:${port}`);
    writeFileSync(file, text);
  }
  const port = await findFreePort();
  const options = [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const { output } = startProgram(join(commands, 'prometheus'), options, { cwd: folder });
  const read = async <Data>(path: string): Promise<Data> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    const { status, data, error } = (await answer.json()) as { status: string; data: Data; error?: string };
    if (status !== 'success') throw new Error(`${path}: ${error}`);
    return data;
  };
  // Until Prometheus answers, failures show its log.
  const ready = () => fetch(`http://127.0.0.1:${port}/-/ready`).then(({ ok }) => ok, output);
  await expect.poll(ready, patient).toBe(true);
  return {
    async query(expression: string) {
      type Sample = { metric: Record<string, string>; value: [number, string] };
      return (await read<{ result: Sample[] }>(`query?query=${encodeURIComponent(expression)}`)).result;
    },
    /** Lists firing alerts as `name upstream`, sorted. */
    async firing() {
      const { alerts } = await read<{ alerts: { state: string; labels: Record<string, string> }[] }>('alerts');
      const found = alerts.filter(({ state }) => state === 'firing');
      const names = found.map(({ labels }) => [labels['alertname'], labels['upstream']].filter(Boolean).join(' '));
      return [...new Set(names)].toSorted();
    },
  };
}

interface WatchOptions {
  readonly databaseUrl?: string;
  /** Folder of the data. */
  readonly folder?: string;
  readonly settings?: Readonly<Record<string, string>>;
  /** Called before the instances start. */
  readonly prepare?: (root: string, world: Awaited<ReturnType<typeof createHostingWorld>>) => Promise<unknown> | void;
}

/** Two instances with a common store, monitored by Prometheus. */
async function watchInstances(commands: string, options: WatchOptions = {}) {
  const { databaseUrl, folder = temporaryFolder() } = options;
  const root = await copyProject();
  const world = await createHostingWorld(folder, { databaseUrl });
  const ports = await Promise.all(Array.from({ length: 4 }, findFreePort));
  const settings = { DIST_DIR: join(root, 'dist'), ...offline, SHUTDOWN_GRACE_SECONDS: '0', RATELIMIT_BURST: '100000' };
  await options.prepare?.(root, world);
  const start = async (index: 0 | 1) => {
    const own = { PORT: String(ports[index]), METRICS_PORT: String(ports[index + 2]) };
    const instance = startProcess({ ...settings, ...world.settings, ...options.settings, ...own });
    await instance.listening();
    return instance;
  };
  const instances = [await start(0), await start(1)] as const;
  const key = await world.issueKey();
  const ask = (path: string, method = 'GET', index: 0 | 1 = 0) =>
    fetch(`http://127.0.0.1:${ports[index]}${path}`, { method, headers: { Authorization: `Bearer ${key}` } });
  const prometheus = await startPrometheus(commands, ports.slice(2));
  await expect.poll(async () => (await prometheus.query('up == 1')).length, patient).toBe(2);
  return { root, world, ports, key, start, instances, ask, prometheus };
}

type Watched = Awaited<ReturnType<typeof watchInstances>>;

const startGame = '/v1/hosting/game/power/mine/start';

/** Waits until exactly these alerts fire; repeats `ask` like visitors. */
async function expectFiring(
  prometheus: Prometheus,
  names: readonly string[],
  again: () => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  const look = async () => {
    await again();
    return prometheus.firing();
  };
  await expect.poll(look, patient).toEqual(names);
}

/** Requests of each kind, so all panels show data. */
async function makeTraffic({ ask, ports, key }: Watched): Promise<void> {
  for (const path of ['/v1/blog/list', '/v1/plans', '/v1/nothing', '/v1/key', '/health']) {
    for (let count = 0; count < 5; count += 1) await ask(path);
  }
  await ask(startGame, 'POST');
  const viewer = await openStream({ port: ports[0]!, key });
  onTestFinished(() => viewer.socket.terminate());
}

const dashboard = JSON.parse(readFileSync(join(example, 'dashboard.json'), 'utf8')) as {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
};

interface Rule {
  readonly alert: string;
  readonly for: string;
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

const alerts = readFileSync(join(example, 'alerts.yml'), 'utf8');
const { rules } = (parse(alerts) as { groups: { rules: Rule[] }[] }).groups[0]!;

test('each alert and its section of the runbook name each other', () => {
  const page = readFileSync(resolve(example, '../../docs/runbook.md'), 'utf8');
  const slugger = new GithubSlugger();
  const anchors = Array.from(page.matchAll(/^## (.+)$/gm), ([, heading]) => slugger.slug(heading!));
  for (const { alert, annotations } of rules) {
    const [file, anchor] = annotations.runbook.split('#');
    expect({ alert, file }).toEqual({ alert, file: 'docs/runbook.md' });
    expect(anchors).toContain(anchor);
    expect(page).toMatch(new RegExp(`^\\|.*\`${alert}\`.*\\(#${anchor}\\) +\\|$`, 'm'));
  }
});

describeInstalled(prometheusProgram, (commands) => {
  test("the example's files are valid, and contain no address or secret", () => {
    expect(promtool(commands(), ['check', 'config', join(example, 'prometheus.yml')])).toContain('SUCCESS');
    expect(promtool(commands(), ['check', 'rules', join(example, 'alerts.yml')])).toContain('12 rules found');
    expect(alerts).not.toMatch(/\d+\.\d+\.\d+\.\d+|https?:|labels\.instance|\$value/);
    expect(dashboard.templating.list).toContainEqual(
      expect.objectContaining({ name: 'datasource', type: 'datasource' }),
    );
  });

  test('each alert waits before firing, so a restart or a single failure does not cause one', () => {
    const file = join(temporaryFolder(), 'waits.yml');
    const series = (name: string, labels = '') => `hosting_api_${name}{job="hosting-api", instance="a"${labels}}`;
    const requests = (route: string, status: number) =>
      series('http_requests_total', `, route="${route}", method="GET", status="${status}"`);
    const calls = (outcome: string) => series('upstream_calls_total', `, upstream="panel", outcome="${outcome}"`);
    const refused = series('upstream_credentials_refused', ', upstream="panel"');
    const up = (instance: string) => `up{job="hosting-api", instance="${instance}"}`;
    const [ok, failed] = [requests('/v1/key', 200), requests('/v1/key', 500)];
    /** Each alert, a time before and after it fires, and a fault that begins in the first or second minute. */
    const cases: [alert: string, quiet: string, loud: string, values: Record<string, string>][] = [
      ['HostingApiInstanceDown', '1m', '3m', { [up('a')]: '1 0x20', [up('b')]: '1x20' }],
      ['HostingApiDown', '1m', '3m', { [up('a')]: '1 0x20', [up('b')]: '0x20' }],
      ['HostingApiUpstreamFails', '5m', '7m', { [refused]: '0 1x20' }],
      ['HostingApiUpstreamFails', '5m', '8m', { [calls('timeout')]: '0+1x20', [calls('ok')]: '5x20' }],
      ['HostingApiErrors', '5m', '8m', { [failed]: '0+2x20', [ok]: '0+98x20' }],
      ['HostingApiSearchesFail', '5m', '8m', { [requests('/v1/domains/search', 502)]: '0+1x20' }],
      ['HostingApiStatusUnknown', '5m', '8m', { [requests('/v1/status', 503)]: '0+1x20' }],
      ['HostingApiLogLinesDropped', '2m', '4m', { [series('log_lines_dropped_total')]: '0 0 9x20' }],
      ['HostingApiStoreFails', '1m', '3m', { [series('store_answers')]: '1 0x20' }],
      ['HostingApiStoreWentBack', '1m', '3m', { [series('store_went_back_total')]: '0 0 1x20' }],
      ['HostingApiKeysChanged', '4m', '7m', { [series('key_changes_total', ', actor="operator"')]: '0+100x20' }],
      ['HostingApiReleaseOld', '9m', '12m', { [series('release_timestamp_seconds')]: '-86400x20' }],
      ['HostingApiDiskFull', '9m', '12m', { [series('disk_free_ratio', ', folder="DIST_DIR"')]: '0.2 0.09x20' }],
    ];
    expect([...new Set(cases.map(([alert]) => alert))]).toEqual(rules.map(({ alert }) => alert));
    for (const [alert, quiet, loud, values] of cases) {
      const count = `count(ALERTS{alertstate="firing"}) or vector(0)`;
      const only = `count(ALERTS{alertname="${alert}", alertstate="firing"}) or vector(0)`;
      const expected = (expr: string, at: string, value: number) => ({
        expr,
        eval_time: at,
        exp_samples: [{ labels: '{}', value }],
      });
      const tests = [
        {
          interval: '1m',
          input_series: Object.entries(values).map(([name, given]) => ({ series: name, values: given })),
          promql_expr_test: [expected(count, quiet, 0), expected(only, loud, 1), expected(count, loud, 1)],
        },
      ];
      const rulesFile = join(example, 'alerts.yml');
      writeFileSync(file, JSON.stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests }));
      expect(promtool(commands(), ['test', 'rules', file]), alert).toContain('SUCCESS');
    }
  });

  test('a single failure, or a few at once, is no alert at any time', () => {
    const file = join(temporaryFolder(), 'single.yml');
    const requests = (route: string, status: number) =>
      `hosting_api_http_requests_total{job="hosting-api", route="${route}", status="${status}"}`;
    const calls = (upstream: string, outcome: string) =>
      `hosting_api_upstream_calls_total{job="hosting-api", upstream="${upstream}", outcome="${outcome}"}`;
    const [single, few, steady] = ['0x20 1x200', '0x20 1 2 3x200', '5x220'];
    const worlds = [
      { [calls('whois', 'timeout')]: single, [calls('whois', 'ok')]: steady },
      { [calls('chat', 'server_error')]: single },
      { [calls('rdap', 'broken')]: few },
      { [requests('/v1/plans', 500)]: single, [requests('/v1/plans', 200)]: '0x8 1x8 2x8 3x8 4x200' },
      { [requests('/v1/domains/search', 502)]: few },
      { [requests('/v1/status', 503)]: few },
    ];
    const times = Array.from({ length: 180 }, (_, at) => `${at * 15}s`);
    const tests = worlds.map((series) => ({
      interval: '15s',
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      promql_expr_test: times.map((at) => ({
        expr: 'count(ALERTS{alertstate="firing"}) or vector(0)',
        eval_time: at,
        exp_samples: [{ labels: '{}', value: 0 }],
      })),
    }));
    const rulesFile = join(example, 'alerts.yml');
    writeFileSync(file, JSON.stringify({ rule_files: [rulesFile], evaluation_interval: '15s', tests }));
    expect(promtool(commands(), ['test', 'rules', file])).toContain('SUCCESS');
  });

  test('the dashboard has data in all panels', async () => {
    const watched = await watchInstances(commands());
    const { ports, prometheus } = watched;
    await makeTraffic(watched);
    await expectFiring(prometheus, []);
    const scraped = await (await fetch(`http://127.0.0.1:${ports[2]}/metrics`)).text();
    const names = new Set([...metricNames(scraped), 'up']);
    for (const { title, targets } of dashboard.panels) {
      for (const { expr } of targets) {
        const used = expr.match(/\b(?:hosting_api|nodejs|process)_\w+|\bup\b/g)!;
        expect(
          used.filter((name) => !names.has(name.replace(/_bucket$/, ''))),
          title,
        ).toEqual([]);
        const values = async () => (await prometheus.query(expr)).filter(({ value }) => value[1] !== 'NaN').length;
        await expect.poll(values, { ...patient, message: `${title}: ${expr}` }).toBeGreaterThan(0);
      }
    }
  });

  test('a refused credential and 5xx are alerts, until they are fixed', async () => {
    const settings = { POWER_RATELIMIT_BURST: '1000' };
    const { world, ask, prometheus } = await watchInstances(commands(), { settings });
    const act = async (status: number) => expect((await ask(startGame, 'POST')).status).toBe(status);
    await act(200);
    await expectFiring(prometheus, []);
    world.panel.fail(failure(401, 'AuthenticationException', ''));
    // A series that begins with its first error has no rate before the second error.
    await expectFiring(prometheus, ['HostingApiErrors', 'HostingApiUpstreamFails panel'], () => act(502));
    world.panel.fail(undefined);
    await act(200);
    await expectFiring(prometheus, [], () => Promise.all(Array.from({ length: 100 }, () => ask('/v1/plans'))));
  });

  test('an unreachable upstream, failing searches and an unknown status are alerts, until they are fixed', async () => {
    const kuma = await createKumaUpstream();
    kuma.fail('drop');
    const { world, ask, prometheus } = await watchInstances(commands(), {
      settings: { ...kuma.settings, POWER_RATELIMIT_BURST: '1000', DOMAIN_RATELIMIT_BURST: '100000' },
      prepare: async (root, { panel }) => {
        panel.fail('drop');
        const dead = `lookup: { rdap: "http://127.0.0.1:${await findFreePort()}" }`;
        const domains = String(validProject['catalog/domains.yaml']).replace(/^( {2}\.com: \{)/m, `$1 ${dead},`);
        writeFiles(root, { 'catalog/domains.yaml': domains });
        await buildProject(root);
      },
    });
    const search = () => ask('/v1/domains/search?domain=quiet-harbour.com');
    const visit = () => Promise.all([search(), ask('/v1/status'), ask(startGame, 'POST'), ask('/v1/plans')]);
    expect((await visit()).map(({ status }) => status)).toEqual([502, 503, 502, 200]);
    await expectFiring(
      prometheus,
      [
        'HostingApiErrors',
        'HostingApiSearchesFail',
        'HostingApiStatusUnknown',
        'HostingApiUpstreamFails panel',
        'HostingApiUpstreamFails rdap',
        'HostingApiUpstreamFails uptime-kuma',
      ],
      visit,
    );
    world.panel.fail(undefined);
    kuma.fail(undefined);
    await expectFiring(
      prometheus,
      ['HostingApiErrors', 'HostingApiSearchesFail', 'HostingApiUpstreamFails rdap'],
      visit,
    );
  });

  test('an old release, a full disk and lost log lines are alerts', async (context) => {
    const folder = mountSmall(context, 'size=32m');
    const { root, instances, ask, prometheus } = await watchInstances(commands(), { folder });
    const yesterday = Date.now() / 1000 - 86_500;
    lutimesSync(join(root, 'dist/current'), yesterday, yesterday);
    await expectFiring(prometheus, ['HostingApiReleaseOld']);
    const before = readManifest(root).id;
    writeFiles(root, { 'content/blog/news/today.md': article({ title: 'Today', date: '2026-11-20' }, 'New.\n') });
    await buildProject(root);
    expect(readManifest(root).id).not.toBe(before);
    await expectFiring(prometheus, []);
    // Built on a day before the articles' dates.
    await buildProject(root, { now: '2026-02-01' });
    await expectFiring(prometheus, ['HostingApiReleaseOld']);
    await buildProject(root);
    await expectFiring(prometheus, []);

    const large = join(folder, 'large');
    writeFileSync(large, Buffer.alloc(29 * 1024 * 1024));
    await expectFiring(prometheus, ['HostingApiDiskFull']);
    rmSync(large);
    await expectFiring(prometheus, []);

    instances[0].child.stdout.pause();
    const talk = () => Promise.all(Array.from({ length: 500 }, () => ask(`/v1/plans?${'x'.repeat(900)}`)));
    await expectFiring(prometheus, ['HostingApiLogLinesDropped'], talk);
  });

  test('one stopped instance is a warning, two are critical', async () => {
    const { instances, start, prometheus } = await watchInstances(commands());
    instances[0].child.kill('SIGKILL');
    await expectFiring(prometheus, ['HostingApiInstanceDown']);
    instances[1].child.kill('SIGKILL');
    await expectFiring(prometheus, ['HostingApiDown']);
    await start(0);
    await expectFiring(prometheus, ['HostingApiInstanceDown']);
    await start(1);
    await expectFiring(prometheus, []);
  });

  describePostgres((postgres) => {
    test('a read-only store is an alert, a restart is not', async () => {
      const databaseUrl = await postgres().createDatabase();
      const { instances, start, ask, prometheus } = await watchInstances(commands(), { databaseUrl });
      await setReadOnly(databaseUrl, 'on');
      await expectFiring(prometheus, ['HostingApiStoreFails']);
      // The other instance may have noticed it first.
      await expect.poll(async () => (await ask('/ready')).status, patient).toBe(503);
      await setReadOnly(databaseUrl, 'off');
      await expectFiring(prometheus, []);

      instances[0].child.kill('SIGTERM');
      await instances[0].ended();
      await start(0);
      expect((await ask('/v1/key')).status).toBe(200);
      await expectFiring(prometheus, []);
    });
  });
});
