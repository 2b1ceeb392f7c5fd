import { globSync, readFileSync } from 'node:fs';
import { getDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import type { BlockList } from 'node:net';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { listSettings, readEnv } from '../../server/env.ts';
import type { Env } from '../../server/env.ts';
import { EnvError, readServiceVersion } from '../../server/settings.ts';
import { createTestApp } from '../helpers/app.ts';
import { temporaryFolder, writeFiles } from '../helpers/project.ts';
import { askJson } from './ask.ts';
import { sharedProject } from './shared.ts';
import packageJson from '../../package.json' with { type: 'json' };

/** Reads the problems of wrong settings. */
function problemsOf(source: Record<string, string>): string[] {
  try {
    readEnv(source);
  } catch (error) {
    if (error instanceof EnvError) return error.message.split('\n');
    throw error;
  }
  return [];
}

/** Writes the value of a setting to a file. */
function fileWith(content: string): string {
  const folder = temporaryFolder();
  writeFiles(folder, { setting: content });
  return join(folder, 'setting');
}

describe('the version', () => {
  const commit = '0123456789abcdef0123456789abcdef01234567';
  const long = `${packageJson.version}+0123456789ab`;
  test.each<[string, Record<string, string>, string]>([
    ['a commit', { '.git/HEAD': `${commit}\n` }, long],
    ['a branch', { '.git/HEAD': 'ref: refs/heads/main\n', '.git/refs/heads/main': `${commit}\n` }, long],
    [
      'a packed branch',
      { '.git/HEAD': 'ref: refs/heads/a\n', '.git/packed-refs': `# pack-refs\n${commit} refs/heads/a\n` },
      long,
    ],
    ['an archive', { COMMIT: `${commit}\n` }, long],
    ['a checkout of the file of archives alone', { COMMIT: '$Format:%H$\n' }, packageJson.version],
    ['nothing', {}, packageJson.version],
  ])('of %s', (_, files, expected) => {
    const root = temporaryFolder();
    writeFiles(root, files);
    expect(readServiceVersion(root)).toBe(expected);
  });

  test('is the version of git in /v1/info and the log', async () => {
    const here = readServiceVersion(resolve(import.meta.dirname, '../..'));
    const app = await createTestApp({ root: await sharedProject(), settings: { SERVICE_VERSION: '' } });
    expect((await askJson(app, '/v1/info')).json).toEqual({ version: here });
    expect(JSON.stringify(app.log())).toContain(here);
  });
});

/** The value of a setting; networks are compared by their rules. */
type Expected<Value> = Value extends BlockList ? readonly string[] : Value;

/** A setting: the default, valid texts with their values, and wrong texts with their message. */
interface Row<Value> {
  readonly preset?: Expected<Value>;
  readonly valid: Readonly<Record<string, Expected<Value>>>;
  readonly wrong?: readonly [message?: RegExp, ...texts: string[]];
  /** Other settings that the valid texts need. */
  readonly needs?: Readonly<Record<string, string>>;
}

const words = (text: string): string[] => text.split(' ');
const number = /: must be (?:a whole number|at (?:least|most) \d+)$/;
const baseUrl = /: must be an http or https URL without user, query and fragment$/;
const upstreamUrl =
  /: must be an https:\/\/ URL without (?:a user|user, query and fragment) \(http:\/\/ only on loopback\)$/;
const kuma = { UPTIME_KUMA_URL: 'https://status.example.com', UPTIME_KUMA_STATUS_PAGE: 'main' };

const rows: { readonly [Name in keyof Env]-?: Row<NonNullable<Env[Name]>> } = {
  PORT: {
    preset: 3000,
    valid: { '0': 0, '65535': 65_535 },
    wrong: [number, 'eighty', '-1', '65536', '80.5', '80 81', 'NaN', 'Infinity', '80x', '--1'],
  },
  HOST: {
    preset: '127.0.0.1',
    valid: { '::': '::', localhost: 'localhost' },
    wrong: [
      /: must be an IP/,
      'my host',
      'my_host',
      'http://localhost',
      '127.0.0.1:80',
      '-x',
      'a,b',
      '::1%lo',
      '::%lo',
    ],
  },
  METRICS_PORT: {
    valid: { '0': 0, '9464': 9464 },
    wrong: [/: must (?:differ from PORT|be (?:a whole number|at most 65535))$/, '3000', '-1', '65536', 'on'],
  },
  OPERATOR_PORT: {
    valid: { '0': 0, '3001': 3001 },
    wrong: [/: must (?:differ from other ports|be (?:a whole number|at most 65535))$/, '3000', '-1', '65536', 'on'],
  },
  OPERATOR_HOST: {
    preset: '127.0.0.1',
    valid: { '10.0.0.5': '10.0.0.5', 'billing-net': 'billing-net' },
    wrong: [/: must be an IP/, 'my host', '::1%lo'],
  },
  DIST_DIR: { preset: 'dist', valid: { '/srv/dist': '/srv/dist' } },
  DATA_DIR: { preset: '.data', valid: { '/srv/data': '/srv/data' } },
  CONTENT_DIR: { preset: 'content', valid: { '/srv/site/content': '/srv/site/content' } },
  CATALOG_DIR: { preset: 'catalog', valid: { '/srv/site/catalog': '/srv/site/catalog' } },
  RELEASE_CACHE_BYTES: {
    preset: 33_554_432,
    valid: { '0': 0, '1099511627776': 2 ** 40 },
    wrong: [number, '-1', '32M'],
  },
  SERVICE_VERSION: {
    preset: readServiceVersion(resolve(import.meta.dirname, '../..')),
    valid: { '2.0.0+build.7': '2.0.0+build.7' },
  },
  CORS_ORIGINS: {
    preset: [],
    valid: {
      '*': ['*'],
      ' https://a.example , http://b.example:8080,': ['https://a.example', 'http://b.example:8080'],
    },
    wrong: [
      /: must be \*, or origins/,
      'www.example.com',
      'https://a.example/',
      'https://a.example/x',
      'https://*.example',
      '*.example',
      'null',
      'a b',
    ],
  },
  ALLOW_LOCAL_ORIGINS: {
    preset: false,
    valid: { true: true, TRUE: true, '1': true, false: false, '0': false },
    wrong: [/: must be true or false$/, 'maybe', '2', 'tru'],
  },
  TRUSTED_PROXIES: {
    preset: [],
    valid: {
      '10.0.0.1': ['Subnet: IPv4 10.0.0.1/32'],
      '10.0.0.0/8,192.168.0.0/16': ['Subnet: IPv4 192.168.0.0/16', 'Subnet: IPv4 10.0.0.0/8'],
      ' ::1 , fd00::/8 ': ['Subnet: IPv6 fd00::/8', 'Subnet: IPv6 ::1/128'],
      '0.0.0.0/0': ['Subnet: IPv4 0.0.0.0/0'],
    },
    wrong: [
      /: must be IP addresses and networks/,
      ...words(
        'proxy.example 10.0.0 10.0.0.256 10.0.0.0/33 10.0.0.0/-1 10.0.0.0/ 10.0.0.0/8.5 10.0.0.0/x 10.0.0.0/8/16',
      ),
      ...words('::1/129 :::1 [::1] *'),
      '10.0.0.1 10.0.0.2',
      '10.0.0.1, nonsense',
    ],
  },
  RATELIMIT_RPS: { preset: 50, valid: { '1': 1 }, wrong: [number, '0', '-5', '0.5', '1000001', 'fast'] },
  RATELIMIT_BURST: {
    preset: 100,
    valid: { '1000000': 1_000_000 },
    wrong: [number, '0', '-5', '0.5', '1000001', 'big'],
  },
  CONTENT_RATELIMIT_RPS: { valid: { '1': 1 }, wrong: [number, '0', '1000001', 'fast'] },
  CONTENT_RATELIMIT_BURST: { valid: { '1000000': 1_000_000 }, wrong: [number, '0', '1000001', 'big'] },
  POWER_RATELIMIT_RPS: { preset: 1, valid: { '1': 1 }, wrong: [number, '0', '1000001', 'slow'] },
  POWER_RATELIMIT_BURST: { preset: 5, valid: { '1000000': 1_000_000 }, wrong: [number, '0', '1000001', 'big'] },
  READ_RATELIMIT_RPS: { preset: 2, valid: { '1': 1 }, wrong: [number, '0', '1000001'] },
  READ_RATELIMIT_BURST: { preset: 20, valid: { '1000000': 1_000_000 }, wrong: [number, '0', '1000001'] },
  DOMAIN_RATELIMIT_RPS: { preset: 2, valid: { '5': 5 }, wrong: [number, '0', '1000001'] },
  DOMAIN_RATELIMIT_BURST: { preset: 10, valid: { '1': 1 }, wrong: [number, '0', '1000001'] },
  FEEDBACK_RATELIMIT_WINDOW_SECONDS: {
    preset: 30,
    valid: { '86400': 86_400 },
    wrong: [number, '0', '-30', '86401', '0.5'],
  },
  FEEDBACK_RATELIMIT_BURST: { preset: 1, valid: { '3': 3 }, wrong: [number, '0', 'many'] },
  MAX_FEEDBACK_BODY_BYTES: { preset: 32_768, valid: { '1': 1 }, wrong: [number, '0', '1048577', '32k'] },
  CHAT_FEEDBACK_WEBHOOK_URL: {
    valid: { 'https://chat.example.com/hook?key=1': 'https://chat.example.com/hook?key=1' },
    wrong: [upstreamUrl, 'discord.com/api', 'http://discord.com/api', 'ftp://x', 'https://u:p@chat.example.com/hook'],
  },
  CHAT_FEEDBACK_WEBHOOK_KIND: {
    preset: 'discord',
    valid: { mattermost: 'mattermost' },
    wrong: [/: must be discord, slack or mattermost$/, 'teams', 'Discord'],
  },
  DOMAIN_PRICES: {
    preset: 'catalog',
    valid: { fossbilling: 'fossbilling' },
    needs: { FOSSBILLING_URL: 'https://billing.example.com' },
    wrong: [/: must be catalog, whmcs or fossbilling$/, 'WHMCS', 'live'],
  },
  WHMCS_URL: {
    valid: { 'https://billing.example.com/whmcs/': 'https://billing.example.com/whmcs' },
    wrong: [
      upstreamUrl,
      ...words('billing.example.com http://b.example.com https://u:p@b.example.com https://b.example.com?x'),
    ],
  },
  WHMCS_IDENTIFIER: { valid: { abc: 'abc' }, wrong: [/: must be visible ASCII characters/, 'a b', 'ä'] },
  WHMCS_SECRET: { valid: { 'abc-123': 'abc-123' }, wrong: [/: must be visible ASCII characters/, 'a b', 'ä'] },
  FOSSBILLING_URL: {
    valid: { 'http://127.0.0.1:8080': 'http://127.0.0.1:8080' },
    wrong: [upstreamUrl, 'http://billing.example.com', 'https://b.example.com/#x', 'https://b.example.com/?x'],
  },
  UPTIME_KUMA_URL: {
    valid: {
      'https://status.example.com/': 'https://status.example.com',
      'http://kuma:3001/': 'http://kuma:3001',
      'http://10.0.0.5:3001': 'http://10.0.0.5:3001',
      'http://[fd00::5]:3001': 'http://[fd00::5]:3001',
    },
    needs: { UPTIME_KUMA_STATUS_PAGE: 'main' },
    wrong: [
      /must be an https:\/\/ URL .*\(http:\/\/ only to a name or a private address\)$/,
      'http://198.41.0.4',
      'https://s.example.com/?x',
      'https://u@s.example.com',
    ],
  },
  UPTIME_KUMA_STATUS_PAGE: {
    valid: { 'My-Page-2': 'my-page-2' },
    needs: { UPTIME_KUMA_URL: 'https://status.example.com' },
    wrong: [/: must be the slug of a status page$/, '-main', 'main/x', 'a b'],
  },
  STATUS_FILE: { valid: { '/srv/status.json': '/srv/status.json' } },
  RDAP_BOOTSTRAP_URL: {
    preset: 'https://data.iana.org/rdap/dns.json',
    valid: { off: 'off', 'http://localhost:8080/dns.json': 'http://localhost:8080/dns.json' },
    wrong: [/: /, 'on', 'http://data.iana.org/rdap/dns.json'],
  },
  DNS_SERVERS: {
    valid: {
      off: 'off',
      '9.9.9.9, 127.0.0.1:5353, ::1, [2620:fe::9]:53': ['9.9.9.9', '127.0.0.1:5353', '::1', '[2620:fe::9]:53'],
      'fe80::1%eth0,[fe80::1%eth0]:53,2620:fe::9': ['fe80::1%eth0', '[fe80::1%eth0]:53', '2620:fe::9'],
    },
    wrong: [
      /: must be off, or IP addresses/,
      'dns.example.com',
      '9.9.9.9:0',
      '9.9.9.9:65536',
      'off,9.9.9.9',
      '[9.9.9.9]:53',
      '::1:5353',
      'fe80::1',
      '[fe80::1]:53',
    ],
  },
  PUBLIC_URL: {
    valid: {
      'https://api.example.com/hosting': 'https://api.example.com/hosting',
      'http://API.example.com:80/hosting/': 'http://api.example.com/hosting',
    },
    wrong: [
      baseUrl,
      ...words(
        'api.example.com ws://api.example.com /v1 https:// https://api.example.com?x=1 https://api.example.com#',
      ),
      ...words('https://api.example.com/hosting? https://api.example.com/#top https://user@api.example.com'),
      'https://user:password@api.example.com',
    ],
  },
  SITE_URL: {
    valid: { 'https://www.example.com/': 'https://www.example.com' },
    wrong: [
      baseUrl,
      ...words('www.example.com https://www.example.com/?page=1 https://www.example.com/#x https://u@x.example'),
    ],
  },
  SITE_NAME: { preset: 'Hosting API', valid: { 'Nord & Co': 'Nord & Co' } },
  SUPPORT_URL: {
    valid: { 'https://Help.example.com/?a=1': 'https://help.example.com/?a=1' },
    wrong: [/: must be an http or https URL without a user$/, 'help', 'mailto:a@b.example', 'https://a@b.example'],
  },
  DATABASE_CONNECTIONS: { preset: 8, valid: { 2: 2, 50: 50 }, wrong: [number, '1', '51', 'x'] },
  DATABASE_URL: {
    valid: {
      'postgres://user@db.example.com/hosting': 'postgres://user@db.example.com/hosting',
      'postgresql:///hosting': 'postgresql:///hosting',
    },
    wrong: [/: must be a URL such as postgres:/, 'mysql://db.example.com/hosting', 'hosting', '/var/db'],
  },
  PROVIDERS_FILE: {
    valid: { [import.meta.filename]: import.meta.filename },
    wrong: [/: (?:the file cannot be read \(ENOENT\)|must be a regular file)$/, '/nowhere/providers.yaml', '/'],
  },
  UPSTREAM_TIMEOUT_SECONDS: { preset: 20, valid: { '600': 600 }, wrong: [number, '0', '601', '20s'] },
  // Node.js fires timers beyond 24 days immediately.
  CONSOLE_TOKEN_TTL_SECONDS: { preset: 600, valid: { '86400': 86_400 }, wrong: [number, '4', '86401', '10m'] },
  AUDIT_RETENTION_DAYS: { valid: { '365': 365 }, wrong: [number, '0', '36501'] },
  LOG_LEVEL: {
    preset: 'info',
    valid: { silent: 'silent' },
    wrong: [/: must be trace, debug, info, warn, error or silent$/, 'loud', 'INFO', 'information'],
  },
  LOG_FORMAT: { valid: { pretty: 'pretty' }, wrong: [/: must be pretty or json$/, 'xml', 'JSON'] },
  KEEP_ALIVE_SECONDS: { preset: 65, valid: { '1': 1, '620': 620 }, wrong: [number, '0', '86401'] },
  SHUTDOWN_DELAY_SECONDS: { preset: 0, valid: { '0': 0 }, wrong: [number, '-1', '3601'] },
  SHUTDOWN_GRACE_SECONDS: { preset: 10, valid: { '0': 0 }, wrong: [number, '-1', '3601', 'long', '1.5'] },
};
const settings = Object.entries<Row<unknown>>(rows).map(([name, row]) => ({
  name,
  needs: {},
  wrong: [] as const,
  ...row,
}));

/** Reads settings, with networks as rules. */
function read(source: Record<string, string>): Record<string, unknown> {
  const env = readEnv(source);
  return { ...env, TRUSTED_PROXIES: env.TRUSTED_PROXIES.rules };
}

test('the settings have the documented defaults', () => {
  const presets = settings.flatMap(({ name, preset }) => (preset === undefined ? [] : [[name, preset]]));
  expect(read({})).toEqual(Object.fromEntries(presets));
  expect(listSettings().map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(rows)));
});

test('an empty setting counts as unset, and an unknown setting is ignored', () => {
  const empty = Object.fromEntries(settings.flatMap(({ name }) => [name, `${name}_FILE`]).map((name) => [name, '']));
  expect(read({ ...empty, UNKNOWN: 'x', PORT_FILES: 'x', npm_config_port: '1' })).toEqual(read({}));
});

test('the program reads every setting', () => {
  const code = globSync('{server,generator}/**/*.ts').map((file) => readFileSync(file, 'utf8'));
  // Remove the declarations.
  const text = code.join('\n').replaceAll(/^ {2}[A-Z_]+:/gm, '');
  const unread = Object.keys(rows).filter((name) => {
    // As a property, by destructuring, or by name.
    const reads = [`\\.${name}\\b`, `[{,]\\s*${name}\\s*[:,}]`, `read(?:Variable)?\\('${name}'`];
    return !new RegExp(reads.join('|')).test(text);
  });
  expect(unread).toEqual([]);
});

test('the settings are immutable', () => {
  const env = readEnv({});
  expect(() => Object.assign(env, { PORT: 1 })).toThrow(TypeError);
  expect(env.PORT).toBe(3000);
});

const valid = settings.flatMap(({ name, needs, valid: values }) =>
  Object.entries(values).map(([text, value]) => [name, text, value, needs] as const),
);

test.each(valid)('%s may be %j', (name, text, value, needs) => {
  expect(read({ ...needs, [name]: text })).toEqual({ ...read({}), ...needs, [name]: value });
  expect(read({ ...needs, [`${name}_FILE`]: fileWith(`\n  ${text}\t\r\n`) })).toEqual(read({ ...needs, [name]: text }));
});

/** Characters that end a line, change a terminal or hide text. */
const controls = '\n\r\t\0\u001B\u007F\u0085\u009B\u2028\u2029\u202E\u2066';

describe.each(settings)('$name', ({ name, needs, valid: values, wrong: [message, ...texts] }) => {
  const text = Object.keys(values)[0]!.trim();

  test.each(texts)('%j is refused by name, from the environment or a file', (given) => {
    const problems = problemsOf({ ...needs, [name]: given });
    expect(problems).toEqual([expect.stringMatching(message!)]);
    expect(problems[0]).toMatch(new RegExp(`^${name}: `));
    expect(problemsOf({ ...needs, [`${name}_FILE`]: fileWith(given) })).toEqual(problems);
  });

  test('with both a value and a file is refused', () => {
    const problems = problemsOf({ ...needs, [name]: text, [`${name}_FILE`]: fileWith(text) });
    expect(problems).toEqual([`${name}: is set twice, directly and by ${name}_FILE`]);
  });

  test('with a control character is refused in one line without its value', () => {
    for (const control of controls) {
      const given = text + control + text;
      const problems = problemsOf({ ...needs, [name]: given });
      expect(problems[0]).toBe(`${name}: must be one line without control characters`);
      expect(problemsOf({ ...needs, [`${name}_FILE`]: fileWith(given) })).toEqual(problems);
    }
  });
});

test.each([
  ['whmcs', ['WHMCS_URL', 'WHMCS_IDENTIFIER', 'WHMCS_SECRET']],
  ['fossbilling', ['FOSSBILLING_URL']],
])('DOMAIN_PRICES=%s requires its settings', (source, names) => {
  expect(problemsOf({ DOMAIN_PRICES: source })).toEqual(
    names.map((name) => `${name}: must be set with DOMAIN_PRICES=${source}`),
  );
});

test('UPTIME_KUMA_URL and UPTIME_KUMA_STATUS_PAGE require each other', () => {
  const { UPTIME_KUMA_URL, UPTIME_KUMA_STATUS_PAGE } = kuma;
  expect(problemsOf({ UPTIME_KUMA_URL })).toEqual(['UPTIME_KUMA_STATUS_PAGE: must be set with UPTIME_KUMA_URL']);
  expect(problemsOf({ UPTIME_KUMA_STATUS_PAGE })).toEqual([
    'UPTIME_KUMA_URL: must be set with UPTIME_KUMA_STATUS_PAGE',
  ]);
  expect(problemsOf(kuma)).toEqual([]);
});

test('each connection attempt of the process has 2.5 s', () => {
  expect(getDefaultAutoSelectFamilyAttemptTimeout()).toBe(2500);
});

test('all wrong settings are reported, one line each, without values', () => {
  const names = ['PORT', 'CORS_ORIGINS', 'ALLOW_LOCAL_ORIGINS', 'TRUSTED_PROXIES', 'RATELIMIT_RPS'];
  names.push('RATELIMIT_BURST', 'LOG_LEVEL', 'LOG_FORMAT', 'SHUTDOWN_GRACE_SECONDS');
  const wrong = Object.fromEntries(names.map((name) => [name, `hunter2-${name}`]));
  const lines = problemsOf({ ...wrong, HOST_FILE: 'hunter2', DIST_DIR_FILE: temporaryFolder() });
  const unreadable = ['HOST_FILE', 'DIST_DIR_FILE'];
  expect(lines.map((line) => line.split(':')[0]!).toSorted()).toEqual([...names, ...unreadable].toSorted());
  expect(lines).toContain('HOST_FILE: the file cannot be read (ENOENT)');
  expect(lines.join()).not.toContain('hunter2');
});

test('a file that cannot be read, or is empty, is named with the reason', () => {
  const [missing, empty] = ['/run/credentials/hosting-api@3000.service/database-url', fileWith(' \n')];
  expect(problemsOf({ HOST_FILE: missing })).toEqual([`HOST_FILE: ${missing} cannot be read (ENOENT)`]);
  expect(problemsOf({ HOST_FILE: empty })).toEqual([`HOST_FILE: ${empty} is empty`]);
});

test.each(['/dev/zero', '/dev/tty', '/etc'])('%s is refused as the file of a setting', (file) => {
  expect(problemsOf({ HOST_FILE: file })).toContain('HOST_FILE: must be a regular file of at most 64 KiB');
});
