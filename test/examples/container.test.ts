import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { DCLinter } from 'dclint';
import { validate } from 'dockerfile-utils';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readEnv } from '../../server/env.ts';
import { openStore } from '../../server/store/index.ts';
import { describePostgres, withClient } from '../helpers/postgres.ts';
import { runProgram, temporaryFolder } from '../helpers/project.ts';

const repository = resolve(import.meta.dirname, '../..');
const folder = join(repository, 'examples/container');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

interface Service {
  readonly command?: string[];
  readonly environment: Record<string, string>;
  readonly stop_grace_period?: string;
  readonly volumes?: string[];
  readonly ports?: string[];
  readonly profiles?: string[];
  readonly depends_on?: object;
}
/** The compose file with the default of each variable. */
const { services } = parse(read('compose.yaml').replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1'), { merge: true }) as {
  services: Record<string, Service>;
};

test('the Dockerfile is valid', () => {
  expect(validate(read('Dockerfile'))).toEqual([]);
});

test('the compose file follows the Compose specification', () => {
  // Style rules are warnings.
  const linter = new DCLinter({ rules: {}, quiet: true, debug: false, exclude: [] });
  const [result] = linter.lintFiles([join(folder, 'compose.yaml')], false);
  expect((result!.messages as { type: string }[]).filter(({ type }) => type === 'error')).toEqual([]);
});

test.each(Object.keys(services))('the service %s has a read-only file system and no capabilities', (name) => {
  expect(services[name]).toMatchObject({
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
  });
});

test('the settings of the compose file are valid, and its grace period covers the shutdown', () => {
  const { environment, stop_grace_period: grace } = services['api']!;
  const { DATABASE_URL_FILE: secret, ...settings } = environment;
  expect(secret).toBe('/run/secrets/database-url');
  const env = readEnv(settings);
  expect(Number.parseInt(grace!, 10)).toBeGreaterThanOrEqual(
    env.SHUTDOWN_DELAY_SECONDS + env.SHUTDOWN_GRACE_SECONDS + 5,
  );
});

test('an error in an article cannot stop the service: `up` neither runs a build nor waits for one', () => {
  expect(services['build']!.profiles).toEqual(['build']);
  for (const name of ['api', 'api-2']) {
    expect(services[name]!.depends_on).toEqual({ database: { condition: 'service_healthy' } });
  }
});

test('without a release, the server waits for the first build, and logs that', async () => {
  const dist = temporaryFolder();
  const [shell, option, script = ''] = services['api']!.command!;
  const [, command = ''] = /^CMD (.*)$/m.exec(read('Dockerfile'))!;
  expect(script).toContain(`exec ${(JSON.parse(command) as string[]).join(' ')}\n`);
  const run = () => {
    const commands = script.replaceAll('/dist/', `${dist}/`).replace(/exec node .*/, 'echo started');
    const child = spawn(shell!, [option!, commands], { stdio: ['ignore', 'pipe', 'pipe'] });
    return { child, output: Promise.all([readAll(child.stdout), readAll(child.stderr)]) };
  };
  const { child, output } = run();
  const message = 'there is no release yet: waiting for the first build that succeeds\n';
  expect(String(await once(child.stderr, 'data'))).toBe(message);
  mkdirSync(join(dist, 'current'));
  expect((await output)[0]).toBe('started\n');
  expect(await run().output).toEqual(['started\n', '']);
});

test('two replicas and a second installation use other ports and another network', () => {
  const { api, 'api-2': second } = services;
  expect([api!.ports, second!.ports]).toEqual([['127.0.0.1:3000:3000'], ['127.0.0.1:3001:3000']]);
  const others = { PORT: 4000, PORT_2: 4001, NETWORK: '172.31.7' };
  let text = read('compose.yaml');
  for (const [name, value] of Object.entries(others)) text = text.replaceAll(`\${${name}:-`, `\${=${value}:-`);
  expect(text.replaceAll(/\$\{=([^:}]+):-[^}]*\}/g, '$1')).not.toMatch(/\b300[01]:|172\.30/);
});

test('the image contains only the files that .dockerignore lists, and no secrets of these folders', () => {
  const lines = readFileSync(join(repository, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => /^[^#]/.test(line));
  const [all, ...others] = lines;
  expect(all).toBe('*');
  const allowed = others.filter((line) => line.startsWith('!'));
  expect(allowed.filter((line) => !existsSync(join(repository, line.slice(1))))).toEqual([]);
  const secrets = ['.*', '*.dump', '*.key', '*.pem', '*.sqlite*', 'node_modules', 'providers.yaml'];
  // Later lines win.
  expect(others.slice(allowed.length)).toEqual(secrets.map((name) => `**/${name}`));
});

/** A container of the manifest. */
interface Container {
  readonly env: { name: string; value?: string }[];
}
interface PodSpec {
  readonly securityContext: object;
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly terminationGracePeriodSeconds?: number;
}

describe('the manifest for Kubernetes', () => {
  const objects = parseAllDocuments(read('kubernetes.yaml')).map(
    (document) => document.toJS() as { apiVersion: string; kind: string; spec: Record<string, unknown> },
  );
  const find = (wanted: string) => objects.find(({ kind }) => kind === wanted)!;
  const deployed = (find('Deployment').spec as { template: { spec: PodSpec } }).template.spec;
  const { jobTemplate } = find('CronJob').spec as { jobTemplate: { spec: { template: { spec: PodSpec } } } };
  const pods = [deployed, jobTemplate.spec.template.spec];

  test('follows the types of the Kubernetes API', async () => {
    const own = temporaryFolder();
    const types = join(repository, 'node_modules/kubernetes-types');
    const texts = objects.map((object, at) => {
      const module = object.apiVersion === 'v1' ? 'core/v1' : object.apiVersion;
      return `export const object${at}: import('${types}/${module}').${object.kind} = ${JSON.stringify(object)};\n`;
    });
    writeFileSync(join(own, 'objects.ts'), texts.join(''));
    const args = ['--noEmit', '--strict', '--module', 'nodenext', '--types', '', join(own, 'objects.ts')];
    const { status, stdout } = await runProgram(join(repository, 'node_modules/.bin/tsc'), args, { cwd: own });
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  });

  test('runs without root, capabilities and a writable file system, in 256 MB', () => {
    for (const { securityContext, containers, initContainers = [], ...pod } of pods) {
      expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
      expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      for (const container of [...containers, ...initContainers]) {
        expect(container).toMatchObject({
          resources: { limits: { memory: '256Mi' } },
          securityContext: {
            readOnlyRootFilesystem: true,
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'] },
          },
        });
      }
    }
  });

  test('builds before the start and at 00:01 UTC, and routes by the probes', () => {
    const [api] = deployed.containers;
    expect(api).toMatchObject({
      readinessProbe: { httpGet: { path: '/ready' } },
      livenessProbe: { httpGet: { path: '/health' } },
    });
    expect(deployed.initContainers).toMatchObject([{ name: 'build' }]);
    expect(find('CronJob').spec).toMatchObject({ schedule: '1 0 * * *', timeZone: 'Etc/UTC' });
    for (const { containers, initContainers = [] } of pods) {
      for (const { env } of [...containers, ...initContainers]) {
        const values = env.map(({ name, value }) => [name, value]).filter(([name]) => name !== 'DATABASE_URL_FILE');
        const { SHUTDOWN_DELAY_SECONDS: delay, SHUTDOWN_GRACE_SECONDS: grace } = readEnv(
          Object.fromEntries(values) as Record<string, string>,
        );
        expect(deployed.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(delay + grace + 5);
      }
    }
  });
});

describePostgres((server) => {
  test("the service's role is not a superuser, and does not use the superuser's password", async () => {
    const { url, port, password } = server();
    const text = read('roles.sql')
      .replace(/^\\set.*$/m, '')
      .replace(`:'password'`, `'${password}'`);
    const statements = text.replaceAll(/^--.*$/gm, '').split(';');
    await withClient(url('postgres'), async (client) => {
      for (const statement of statements) await client.query(statement);
    });
    const DATABASE_URL = `postgres://hosting_api:${password}@127.0.0.1:${port}/hosting_api`;
    await (await openStore({ DATA_DIR: '', DATABASE_URL })).close();
    await withClient(DATABASE_URL, async (client) => {
      const { rows } = await client.query('SELECT rolsuper FROM pg_roles WHERE rolname = current_user');
      expect(rows).toEqual([{ rolsuper: false }]);
    });
    await expect(withClient(url('postgres'), () => Promise.resolve())).rejects.toThrow(
      'password authentication failed',
    );
    expect(services['database']!.environment).not.toHaveProperty('POSTGRES_USER');
    expect(services['database']!.volumes).toContain('./roles.sql:/docker-entrypoint-initdb.d/roles.sql:ro');
  });
});
