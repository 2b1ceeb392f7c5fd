import { lutimesSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { offline } from '../helpers/app.ts';
import { describeInstalled } from '../helpers/installed.ts';
import { findFreePort, listen } from '../helpers/free-port.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import { openClient } from '../helpers/console-client.ts';
import { metricNames, prometheusProgram, promtool } from '../helpers/metrics.ts';
import { describePostgres } from '../helpers/postgres.ts';
import { article, buildProject, temporaryFolder, writeFiles } from '../helpers/project.ts';
import { example, startPrometheus } from '../helpers/prometheus.ts';
import type { Prometheus } from '../helpers/prometheus.ts';
import { copyProject } from '../server/shared.ts';
import { startProcess } from '../server/process.ts';
import { readManifest } from '../server/targets.ts';

const patient = { timeout: 60_000, interval: 100 };

/** A connection to a database that takes longer, as over a bad network. */
async function createSlowLine(url: string) {
  const target = new URL(url);
  const { port, hostname } = target;
  let delayMs = 0;
  const server = createServer((client) => {
    const database = connect(Number(port), hostname);
    client.on('error', () => database.destroy()).on('close', () => database.destroy());
    database.on('error', () => undefined);
    client.pipe(database);
    // One after the other, so that their order stays.
    let last = Promise.resolve();
    const later = (work: () => void): void => void (last = last.then(() => delay(delayMs)).then(work));
    database.on('data', (chunk) => later(() => client.write(chunk)));
    database.on('close', () => later(() => client.destroy()));
  });
  target.port = String(await listen(server));
  onTestFinished(() => void server.close());
  return { url: target.href, slowDown: (ms: number) => void (delayMs = ms) };
}

/** Two instances with one PostgreSQL, whose line may become slow, and a Prometheus that watches them. */
async function watchInstances(commands: string, databaseUrl: string) {
  const root = await copyProject();
  const world = await createHostingWorld(temporaryFolder(), { databaseUrl });
  const line = await createSlowLine(databaseUrl);
  const ports = await Promise.all(Array.from({ length: 4 }, findFreePort));
  const settings = { DIST_DIR: join(root, 'dist'), ...offline, SHUTDOWN_GRACE_SECONDS: '0' };
  const start = async (index: 0 | 1) => {
    const own = { PORT: String(ports[index]), METRICS_PORT: String(ports[index + 2]), DATABASE_URL: line.url };
    const instance = startProcess({ ...settings, ...world.settings, ...own });
    await instance.listening();
    return instance;
  };
  const instances = [await start(0), await start(1)];
  const key = await world.issueKey();
  const ask = (path: string, method = 'GET', index: 0 | 1 = 0) =>
    fetch(`http://127.0.0.1:${ports[index]}${path}`, { method, headers: { Authorization: `Bearer ${key}` } });
  const prometheus = await startPrometheus(commands, ports.slice(2));
  return { root, world, line, ports, start, instances, ask, prometheus };
}

type Watched = Awaited<ReturnType<typeof watchInstances>>;

const start = '/v1/hosting/game/power/mine/start';

async function expectFiring(prometheus: Prometheus, names: readonly string[]): Promise<void> {
  await expect.poll(() => prometheus.firing(), patient).toEqual(names);
}

/** Requests of each kind, so that all panels show something. */
async function makeTraffic({ ask }: Watched): Promise<void> {
  for (const path of ['/v1/blog/list', '/v1/plans', '/v1/nothing', '/v1/key', '/health']) {
    for (let count = 0; count < 5; count += 1) await ask(path);
  }
  await ask(start, 'POST');
  const { websocket } = (await (await ask('/v1/hosting/game/console/mine/websocket')).json()) as {
    websocket: { socket_url: string; token: string };
  };
  const viewer = await openClient(websocket.socket_url);
  onTestFinished(() => viewer.socket.terminate());
  await viewer.auth(websocket.token);
}

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}

const dashboard = JSON.parse(readFileSync(join(example, 'dashboard.json'), 'utf8')) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
};

describeInstalled(prometheusProgram, (commands) => {
  test('the files of the example are valid, and none of them has an address or a secret', () => {
    expect(promtool(commands(), ['check', 'config', join(example, 'prometheus.yml')])).toContain('SUCCESS');
    expect(promtool(commands(), ['check', 'rules', join(example, 'alerts.yml')])).toContain('4 rules found');
    const alerts = readFileSync(join(example, 'alerts.yml'), 'utf8');
    expect(alerts).not.toMatch(/\d+\.\d+\.\d+\.\d+|https?:|labels\.instance|\$value/);
    expect(dashboard.templating.list).toContainEqual(
      expect.objectContaining({ name: 'datasource', type: 'datasource' }),
    );
  });

  test('each alert waits before it fires, so that a restart or a single slow call is none', () => {
    const file = join(temporaryFolder(), 'waits.yml');
    const text = readFileSync(join(example, 'alerts.yml'), 'utf8');
    expect([...text.matchAll(/for: (\S+)/g)].map(([, wait]) => wait)).toEqual(['1m', '1m', '3m', '10m']);
    const labels = 'job="hosting-api", instance="a"';
    const refused = `hosting_api_upstream_credentials_refused{${labels}, upstream="panel"}`;
    // The fault begins in the first or second minute.
    const cases = [
      { alert: 'HostingApiDown', series: `up{${labels}}`, values: '1 0x20', quiet: '1m', loud: '3m' },
      { alert: 'HostingApiCredentialRefused', series: refused, values: '0 1x20', quiet: '1m', loud: '3m' },
      {
        alert: 'HostingApiStoreSlow',
        series: `hosting_api_store_answers{${labels}}`,
        values: '1 0x20',
        quiet: '3m',
        loud: '5m',
      },
      {
        alert: 'HostingApiReleaseOld',
        series: `hosting_api_release_timestamp_seconds{${labels}}`,
        values: '-86400x20',
        quiet: '9m',
        loud: '12m',
      },
    ];
    for (const { alert, series, values, quiet, loud } of cases) {
      const count = `count(ALERTS{alertname="${alert}", alertstate="firing"}) or vector(0)`;
      const firing = (at: string, value: number) => ({
        expr: count,
        eval_time: at,
        exp_samples: [{ labels: '{}', value }],
      });
      const tests = [
        { interval: '1m', input_series: [{ series, values }], promql_expr_test: [firing(quiet, 0), firing(loud, 1)] },
      ];
      writeFileSync(
        file,
        JSON.stringify({ rule_files: [join(example, 'alerts.yml')], evaluation_interval: '1m', tests }),
      );
      expect(promtool(commands(), ['test', 'rules', file]), alert).toContain('SUCCESS');
    }
  });

  describePostgres((postgres) => {
    test(
      'each alert fires by the real fault and resolves, and the dashboard shows all',
      { timeout: 240_000 },
      async () => {
        const watched = await watchInstances(commands(), await postgres().createDatabase());
        const { root, world, line, ports, instances, ask, prometheus } = watched;
        await expect.poll(async () => (await prometheus.query('up == 1')).length, patient).toBe(2);
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

        world.panel.fail({ status: 401 });
        expect((await ask(start, 'POST')).status).toBe(502);
        await expectFiring(prometheus, ['HostingApiCredentialRefused panel']);
        world.panel.fail(undefined);
        expect((await ask(start, 'POST')).status).toBe(200);
        await expectFiring(prometheus, []);

        line.slowDown(600);
        const slow = async () => {
          await Promise.all([ask('/v1/key', 'GET', 0), ask('/v1/key', 'GET', 1)]);
          return prometheus.firing();
        };
        await expect.poll(slow, patient).toEqual(['HostingApiStoreSlow']);
        line.slowDown(0);
        // The alert looks at the last five minutes, so that it resolves when most of their calls were fast.
        const quick = async () => {
          await Promise.all(Array.from({ length: 50 }, (_, index) => ask('/v1/key', 'GET', index % 2 === 0 ? 0 : 1)));
          return prometheus.firing();
        };
        await expect.poll(quick, patient).toEqual([]);

        const yesterday = Date.now() / 1000 - 86_500;
        lutimesSync(join(root, 'dist/current'), yesterday, yesterday);
        await expectFiring(prometheus, ['HostingApiReleaseOld']);
        const before = readManifest(root).id;
        writeFiles(root, { 'content/blog/news/today.md': article({ title: 'Today', date: '2026-11-20' }, 'New.\n') });
        await buildProject(root);
        expect(readManifest(root).id).not.toBe(before);
        await expectFiring(prometheus, []);
        // Built on a day before its articles.
        await buildProject(root, { now: '2026-02-01' });
        await expectFiring(prometheus, ['HostingApiReleaseOld']);
        await buildProject(root);
        await expectFiring(prometheus, []);

        instances[0]!.child.kill('SIGKILL');
        await expectFiring(prometheus, ['HostingApiDown']);
        await watched.start(0);
        await expectFiring(prometheus, []);
      },
    );
  });
});
