import { BlockList } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EnvError, readEnv } from '../../server/env.ts';
import { temporaryFolder, writeFiles } from '../helpers/project.ts';
import packageJson from '../../package.json' with { type: 'json' };

const unset = ['LOG_FORMAT', 'PUBLIC_URL', 'DATABASE_URL', 'PROVIDERS_FILE', 'DNS_SERVERS', 'FOSSBILLING_URL'].concat([
  'WHMCS_URL',
  'WHMCS_IDENTIFIER',
  'WHMCS_SECRET',
]);
const settings = Object.keys(readEnv({})).concat(unset);

function problemsOf(source: Record<string, string>): string[] {
  try {
    readEnv(source);
  } catch (error) {
    if (error instanceof EnvError) return error.message.split('\n');
    throw error;
  }
  return [];
}

/** A file that holds a setting. */
function fileWith(content: string): string {
  const folder = temporaryFolder();
  writeFiles(folder, { setting: content });
  return join(folder, 'setting');
}

test('the settings have the defaults of the documentation', () => {
  expect(readEnv({})).toEqual({
    PORT: 3000,
    HOST: '127.0.0.1',
    DIST_DIR: 'dist',
    SERVICE_VERSION: packageJson.version,
    CORS_ORIGINS: ['*'],
    ALLOW_LOCAL_ORIGINS: false,
    TRUSTED_PROXIES: new BlockList(),
    RATELIMIT_RPS: 50,
    RATELIMIT_BURST: 100,
    RATELIMIT_BLOCK_SECONDS: 0,
    POWER_RATELIMIT_RPS: 1,
    POWER_RATELIMIT_BURST: 5,
    DOMAIN_RATELIMIT_RPS: 2,
    DOMAIN_RATELIMIT_BURST: 10,
    DOMAIN_PRICES: 'catalog',
    RDAP_BOOTSTRAP_URL: 'https://data.iana.org/rdap/dns.json',
    DATA_DIR: '.data',
    UPSTREAM_TIMEOUT_SECONDS: 20,
    CONSOLE_TOKEN_TTL_SECONDS: 600,
    LOG_LEVEL: 'info',
    SHUTDOWN_GRACE_SECONDS: 10,
  });
  expect(readEnv({}).TRUSTED_PROXIES.rules).toEqual([]);
});

test('an empty setting counts as not set, and an unknown one does not count', () => {
  const empty = Object.fromEntries(
    settings.flatMap((name) => [
      [name, ''],
      [`${name}_FILE`, ''],
    ]),
  );
  expect(readEnv({ ...empty, UNKNOWN: 'x', PORT_FILES: 'x', npm_config_port: '1' })).toEqual(readEnv({}));
});

test('the settings cannot be changed', () => {
  const env = readEnv({});
  expect(() => Object.assign(env, { PORT: 1 })).toThrow(TypeError);
  expect(env.PORT).toBe(3000);
});

test.each<[string, string, unknown]>([
  ['PORT', '0', 0],
  ['PORT', '65535', 65_535],
  ['HOST', '::', '::'],
  ['HOST', 'localhost', 'localhost'],
  ['DIST_DIR', '/srv/dist', '/srv/dist'],
  ['SERVICE_VERSION', '2.0.0+build.7', '2.0.0+build.7'],
  ['CORS_ORIGINS', '*', ['*']],
  ['CORS_ORIGINS', ' https://a.example , http://b.example:8080,', ['https://a.example', 'http://b.example:8080']],
  ['ALLOW_LOCAL_ORIGINS', 'true', true],
  ['ALLOW_LOCAL_ORIGINS', 'TRUE', true],
  ['ALLOW_LOCAL_ORIGINS', '1', true],
  ['ALLOW_LOCAL_ORIGINS', 'false', false],
  ['ALLOW_LOCAL_ORIGINS', '0', false],
  ['RATELIMIT_RPS', '1', 1],
  ['RATELIMIT_BURST', '1000000', 1_000_000],
  ['RATELIMIT_BLOCK_SECONDS', '86400', 86_400],
  ['POWER_RATELIMIT_RPS', '1', 1],
  ['POWER_RATELIMIT_BURST', '1000000', 1_000_000],
  ['DOMAIN_RATELIMIT_RPS', '5', 5],
  ['DOMAIN_RATELIMIT_BURST', '1', 1],
  ['WHMCS_URL', 'https://billing.example.com/whmcs/', 'https://billing.example.com/whmcs'],
  ['FOSSBILLING_URL', 'http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ['WHMCS_SECRET', 'abc-123', 'abc-123'],
  ['RDAP_BOOTSTRAP_URL', 'http://localhost:8080/dns.json', 'http://localhost:8080/dns.json'],
  ['DNS_SERVERS', 'off', 'off'],
  [
    'DNS_SERVERS',
    '9.9.9.9, 127.0.0.1:5353, ::1, [2620:fe::9]:53',
    ['9.9.9.9', '127.0.0.1:5353', '::1', '[2620:fe::9]:53'],
  ],
  ['PUBLIC_URL', 'https://api.example.com/hosting', 'https://api.example.com/hosting'],
  ['DATA_DIR', '/srv/data', '/srv/data'],
  ['DATABASE_URL', 'postgres://user@db.example.com/hosting', 'postgres://user@db.example.com/hosting'],
  ['PROVIDERS_FILE', '/etc/providers.yaml', '/etc/providers.yaml'],
  ['UPSTREAM_TIMEOUT_SECONDS', '600', 600],
  ['CONSOLE_TOKEN_TTL_SECONDS', '86400', 86_400],
  ['LOG_LEVEL', 'silent', 'silent'],
  ['LOG_FORMAT', 'pretty', 'pretty'],
  ['SHUTDOWN_GRACE_SECONDS', '0', 0],
])('%s may be %j', (name, text, value) => {
  expect(readEnv({ [name]: text })).toEqual({ ...readEnv({}), [name]: value });
  expect(readEnv({ [`${name}_FILE`]: fileWith(`\n  ${text}\t\r\n`) })).toEqual(readEnv({ [name]: text }));
});

test.each([
  ['10.0.0.1', ['Subnet: IPv4 10.0.0.1/32']],
  ['10.0.0.0/8,192.168.0.0/16', ['Subnet: IPv4 192.168.0.0/16', 'Subnet: IPv4 10.0.0.0/8']],
  [' ::1 , fd00::/8 ', ['Subnet: IPv6 fd00::/8', 'Subnet: IPv6 ::1/128']],
  ['0.0.0.0/0', ['Subnet: IPv4 0.0.0.0/0']],
])('TRUSTED_PROXIES may be %j', (text, rules) => {
  expect(readEnv({ TRUSTED_PROXIES: text }).TRUSTED_PROXIES.rules).toEqual(rules);
});

const whole = /: must be (?:a whole number|at (?:least|most) \d+)$/;

test.each<[string, RegExp, string[]]>([
  ['PORT', whole, ['eighty', '-1', '65536', '80.5', '80 81', 'NaN', 'Infinity', '80x', '--1']],
  ['HOST', /: must be/, ['my host', 'http://localhost', '127.0.0.1:80', '-x', 'a,b']],
  [
    'CORS_ORIGINS',
    /: must be \*, or origins/,
    ['www.example.com', 'https://a.example/', 'https://a.example/x', 'https://*.example', '*.example', 'null', 'a b'],
  ],
  ['ALLOW_LOCAL_ORIGINS', /: must be true or false$/, ['maybe', '2', 'tru']],
  [
    'TRUSTED_PROXIES',
    /: must be IP addresses and networks/,
    [
      'proxy.example',
      '10.0.0',
      '10.0.0.256',
      '10.0.0.0/33',
      '10.0.0.0/-1',
      '10.0.0.0/',
      '10.0.0.0/8.5',
      '10.0.0.0/x',
      '10.0.0.0/8/16',
      '::1/129',
      ':::1',
      '[::1]',
      '10.0.0.1 10.0.0.2',
      '10.0.0.1, nonsense',
      '*',
    ],
  ],
  ['RATELIMIT_RPS', whole, ['0', '-5', '0.5', '1000001', 'fast']],
  ['RATELIMIT_BURST', whole, ['0', '-5', '0.5', '1000001', 'big']],
  ['RATELIMIT_BLOCK_SECONDS', whole, ['-1', '86401', '1m', '0.1']],
  ['POWER_RATELIMIT_RPS', whole, ['0', '1000001', 'slow']],
  ['POWER_RATELIMIT_BURST', whole, ['0', '1000001', 'big']],
  ['DOMAIN_PRICES', /: must be catalog, whmcs or fossbilling$/, ['WHMCS', 'live']],
  [
    'WHMCS_URL',
    /: must be an https:/,
    ['billing.example.com', 'http://billing.example.com', 'https://u:p@b.example.com'],
  ],
  [
    'DNS_SERVERS',
    /: must be off, or IP addresses/,
    ['dns.example.com', '9.9.9.9:0', '9.9.9.9:65536', 'off,9.9.9.9', '[9.9.9.9]:53'],
  ],
  ['PUBLIC_URL', /: must be an http or https URL$/, ['api.example.com', 'ws://api.example.com', '/v1', 'https://']],
  ['DATABASE_URL', /: must be a URL such as postgres:/, ['mysql://db.example.com/hosting', 'hosting', '/var/db']],
  ['UPSTREAM_TIMEOUT_SECONDS', whole, ['0', '601', '20s']],
  // A timer of more than 24 days would be over at once.
  ['CONSOLE_TOKEN_TTL_SECONDS', whole, ['4', '86401', '10m']],
  ['LOG_LEVEL', /: must be trace, debug, info, warn, error or silent$/, ['loud', 'INFO', 'information']],
  ['LOG_FORMAT', /: must be pretty or json$/, ['xml', 'JSON']],
  ['SHUTDOWN_GRACE_SECONDS', whole, ['-1', '3601', 'long', '1.5']],
])('%s is refused by name where it is wrong, directly or in a file', (name, message, wrong) => {
  expect(wrong.filter((text) => problemsOf({ [name]: text }).length === 0)).toEqual([]);
  for (const text of wrong) {
    const problems = problemsOf({ [name]: text });
    expect(problems).toEqual([expect.stringMatching(message)]);
    expect(problems[0]).toMatch(new RegExp(`^${name}: `));
    expect(problemsOf({ [`${name}_FILE`]: fileWith(text) })).toEqual(problems);
  }
});

describe('all that is wrong', () => {
  const wrong = {
    PORT: 'hunter2-a',
    CORS_ORIGINS: 'hunter2-b',
    ALLOW_LOCAL_ORIGINS: 'hunter2-c',
    TRUSTED_PROXIES: 'hunter2-d',
    RATELIMIT_RPS: 'hunter2-e',
    RATELIMIT_BURST: 'hunter2-f',
    RATELIMIT_BLOCK_SECONDS: 'hunter2-g',
    LOG_LEVEL: 'hunter2-h',
    LOG_FORMAT: 'hunter2-i',
    SHUTDOWN_GRACE_SECONDS: 'hunter2-j',
  };

  test('is reported at once, a line each, and never with a value', () => {
    const lines = problemsOf(wrong);
    expect(new Set(lines.map((line) => line.split(':')[0]))).toEqual(new Set(Object.keys(wrong)));
    expect(lines).toHaveLength(Object.keys(wrong).length);
    expect(lines.join()).not.toContain('hunter2');
  });

  test('is reported beside files that cannot be read, which are not named', () => {
    const lines = problemsOf({ ...wrong, HOST_FILE: '/nowhere/hunter2', DIST_DIR_FILE: temporaryFolder() });
    expect(lines).toHaveLength(Object.keys(wrong).length + 2);
    expect(lines).toContain('HOST_FILE: the file cannot be read, or is empty');
    expect(lines).toContain('DIST_DIR_FILE: the file cannot be read, or is empty');
    expect(lines.join()).not.toMatch(/hunter2|nowhere/);
  });
});

test.each([
  ['whmcs', ['WHMCS_URL', 'WHMCS_IDENTIFIER', 'WHMCS_SECRET']],
  ['fossbilling', ['FOSSBILLING_URL']],
])('DOMAIN_PRICES=%s names what it needs', (source, names) => {
  expect(problemsOf({ DOMAIN_PRICES: source })).toEqual(
    names.map((name) => `${name}: must be set with DOMAIN_PRICES=${source}`),
  );
});

test('a setting that is given directly and by a file is refused', () => {
  for (const name of settings) {
    const lines = problemsOf({ [name]: readDefault(name), [`${name}_FILE`]: fileWith(readDefault(name)) });
    expect(lines).toEqual([`${name}: is set twice, directly and by ${name}_FILE`]);
  }
});

/** A text that is right for a setting. */
function readDefault(name: string): string {
  const texts: Record<string, string> = {
    LOG_FORMAT: 'json',
    TRUSTED_PROXIES: '10.0.0.1',
    PUBLIC_URL: 'https://api.example.com',
    DATABASE_URL: 'postgres://db.example.com/hosting',
    PROVIDERS_FILE: 'providers.yaml',
    DNS_SERVERS: '9.9.9.9',
    WHMCS_URL: 'https://billing.example.com',
    FOSSBILLING_URL: 'https://billing.example.com',
    WHMCS_IDENTIFIER: 'abc',
    WHMCS_SECRET: 'def',
  };
  return texts[name] ?? String(readEnv({})[name as 'PORT']);
}
