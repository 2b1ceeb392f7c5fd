import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DCLinter } from 'dclint';
import { validate } from 'dockerfile-utils';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readEnv } from '../../server/env.ts';
import { openStore } from '../../server/store/index.ts';
import { describePostgres, withClient } from '../helpers/postgres.ts';

const folder = resolve(import.meta.dirname, '../../examples/container');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

const { services } = parse(read('compose.yaml')) as {
  services: Record<string, { environment: Record<string, string>; stop_grace_period?: string; volumes?: string[] }>;
};

test('the Dockerfile is valid', () => {
  expect(validate(read('Dockerfile'))).toEqual([]);
});

test('the compose file follows the Compose specification', () => {
  // Style rules are warnings. The image has a name because two services share it.
  const linter = new DCLinter({ rules: { 'no-build-and-image': 0 }, quiet: true, debug: false, exclude: [] });
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

test('the image contains no secrets of the working folder', () => {
  const ignored = read('Dockerfile.dockerignore').split('\n');
  const secrets = ['.npmrc', '.env*', '*.sqlite*', 'providers.yaml', '*.key', '*.pem'];
  expect(secrets.filter((name) => !ignored.includes(`**/${name}`))).toEqual([]);
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
