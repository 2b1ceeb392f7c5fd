import { globSync, readFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { listSettings, readEnv, readVersion } from '../../server/env.ts';
import { EnvError } from '../../server/settings.ts';
import { createTestApp } from '../helpers/app.ts';
import { temporaryFolder, writeFiles } from '../helpers/project.ts';
import { askJson } from './ask.ts';
import { sharedProject } from './shared.ts';
import packageJson from '../../package.json' with { type: 'json' };

/** The problems that wrong settings cause. */
function problemsOf(source: Record<string, string>): string[] {
  try {
    readEnv(source);
  } catch (error) {
    if (error instanceof EnvError) return error.message.split('\n');
    throw error;
  }
  return [];
}

/** A file with the value of a setting. */
function fileWith(content: string): string {
  const folder = temporaryFolder();
  writeFiles(folder, { setting: content });
  return join(folder, 'setting');
}

const settings = listSettings().map(({ name }) => name);

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
    [
      'a further work tree',
      {
        '.git': 'gitdir: main/.git/worktrees/one\n',
        'main/.git/worktrees/one/HEAD': 'ref: refs/heads/a\n',
        'main/.git/worktrees/one/commondir': '../..\n',
        'main/.git/refs/heads/a': `${commit}\n`,
      },
      long,
    ],
    ['an archive', { COMMIT: `${commit}\n` }, long],
    ['a checkout of the file of archives alone', { COMMIT: '$Format:%H$\n' }, packageJson.version],
    ['nothing', {}, packageJson.version],
  ])('of %s', (_, files, expected) => {
    const root = temporaryFolder();
    writeFiles(root, files);
    expect(readVersion(root)).toBe(expected);
  });

  test('is that of git, and /v1/info and the log say it', async () => {
    const here = readVersion(resolve(import.meta.dirname, '../..'));
    const app = await createTestApp({ root: await sharedProject(), settings: { SERVICE_VERSION: '' } });
    expect((await askJson(app, '/v1/info')).json).toEqual({ version: here });
    expect(JSON.stringify(app.log())).toContain(here);
  });
});

test('the settings have the documented defaults', () => {
  expect(readEnv({})).toEqual({
    PORT: 3000,
    HOST: '127.0.0.1',
    DIST_DIR: 'dist',
    RELEASE_CACHE_BYTES: 33_554_432,
    SERVICE_VERSION: readVersion(resolve(import.meta.dirname, '../..')),
    CORS_ORIGINS: ['*'],
    ALLOW_LOCAL_ORIGINS: false,
    TRUSTED_PROXIES: new BlockList(),
    RATELIMIT_RPS: 50,
    RATELIMIT_BURST: 100,
    POWER_RATELIMIT_RPS: 1,
    POWER_RATELIMIT_BURST: 5,
    READ_RATELIMIT_RPS: 2,
    READ_RATELIMIT_BURST: 20,
    FEEDBACK_RATELIMIT_WINDOW_SECONDS: 30,
    FEEDBACK_RATELIMIT_BURST: 1,
    MAX_FEEDBACK_BODY_BYTES: 32_768,
    CHAT_FEEDBACK_WEBHOOK_KIND: 'discord',
    DOMAIN_RATELIMIT_RPS: 2,
    DOMAIN_RATELIMIT_BURST: 10,
    DOMAIN_PRICES: 'catalog',
    RDAP_BOOTSTRAP_URL: 'https://data.iana.org/rdap/dns.json',
    SITE_NAME: 'Hosting API',
    CONTENT_DIR: 'content',
    CATALOG_DIR: 'catalog',
    DATA_DIR: '.data',
    UPSTREAM_TIMEOUT_SECONDS: 20,
    CONSOLE_TOKEN_TTL_SECONDS: 600,
    LOG_LEVEL: 'info',
    SHUTDOWN_DELAY_SECONDS: 0,
    SHUTDOWN_GRACE_SECONDS: 10,
  });
  expect(readEnv({}).TRUSTED_PROXIES.rules).toEqual([]);
});

test('an empty setting counts as unset, and an unknown one is ignored', () => {
  const empty = Object.fromEntries(
    settings.flatMap((name) => [
      [name, ''],
      [`${name}_FILE`, ''],
    ]),
  );
  expect(readEnv({ ...empty, UNKNOWN: 'x', PORT_FILES: 'x', npm_config_port: '1' })).toEqual(readEnv({}));
});

test('every setting is read by the program', () => {
  const declared = ['server/env.ts', 'server/store/database.ts'];
  const files = globSync('{server,generator}/**/*.ts').filter((file) => !declared.includes(file));
  const code = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  const unread = settings.filter((name) => {
    // As a property, by destructuring, or by name.
    const reads = [`\\.${name}\\b`, `[{,]\\s*${name}\\s*[:,}]`, `read(?:Variable)?\\('${name}'`];
    return !new RegExp(reads.join('|')).test(code);
  });
  expect(unread).toEqual([]);
});

test('the settings are immutable', () => {
  const env = readEnv({});
  expect(() => Object.assign(env, { PORT: 1 })).toThrow(TypeError);
  expect(env.PORT).toBe(3000);
});

/** Texts of settings, and what they mean. */
const accepted: readonly [name: string, text: string, value: unknown][] = [
  ['PORT', '0', 0],
  ['METRICS_PORT', '0', 0],
  ['METRICS_PORT', '9464', 9464],
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
  ['POWER_RATELIMIT_RPS', '1', 1],
  ['POWER_RATELIMIT_BURST', '1000000', 1_000_000],
  ['FEEDBACK_RATELIMIT_WINDOW_SECONDS', '86400', 86_400],
  ['FEEDBACK_RATELIMIT_BURST', '3', 3],
  ['MAX_FEEDBACK_BODY_BYTES', '1', 1],
  ['CHAT_FEEDBACK_WEBHOOK_URL', 'https://chat.example.com/hook?key=1', 'https://chat.example.com/hook?key=1'],
  ['CHAT_FEEDBACK_WEBHOOK_KIND', 'mattermost', 'mattermost'],
  ['STATUS_FILE', '/srv/status.json', '/srv/status.json'],
  ['DOMAIN_RATELIMIT_RPS', '5', 5],
  ['DOMAIN_RATELIMIT_BURST', '1', 1],
  ['WHMCS_URL', 'https://billing.example.com/whmcs/', 'https://billing.example.com/whmcs'],
  ['FOSSBILLING_URL', 'http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ['WHMCS_SECRET', 'abc-123', 'abc-123'],
  ['RDAP_BOOTSTRAP_URL', 'off', 'off'],
  ['RDAP_BOOTSTRAP_URL', 'http://localhost:8080/dns.json', 'http://localhost:8080/dns.json'],
  ['DNS_SERVERS', 'off', 'off'],
  [
    'DNS_SERVERS',
    '9.9.9.9, 127.0.0.1:5353, ::1, [2620:fe::9]:53',
    ['9.9.9.9', '127.0.0.1:5353', '::1', '[2620:fe::9]:53'],
  ],
  ['PUBLIC_URL', 'https://api.example.com/hosting', 'https://api.example.com/hosting'],
  ['PUBLIC_URL', 'http://API.example.com:80/hosting/', 'http://api.example.com/hosting'],
  ['SITE_URL', 'https://www.example.com/', 'https://www.example.com'],
  ['SITE_NAME', 'Nord & Co', 'Nord & Co'],
  ['SUPPORT_URL', 'https://Help.example.com/?a=1', 'https://help.example.com/?a=1'],
  ['CONTENT_DIR', '/srv/site/content', '/srv/site/content'],
  ['CATALOG_DIR', '/srv/site/catalog', '/srv/site/catalog'],
  ['DATA_DIR', '/srv/data', '/srv/data'],
  ['DATABASE_URL', 'postgres://user@db.example.com/hosting', 'postgres://user@db.example.com/hosting'],
  ['DATABASE_URL', 'postgresql:///hosting', 'postgresql:///hosting'],
  ['PROVIDERS_FILE', import.meta.filename, import.meta.filename],
  ['UPSTREAM_TIMEOUT_SECONDS', '600', 600],
  ['CONSOLE_TOKEN_TTL_SECONDS', '86400', 86_400],
  ['LOG_LEVEL', 'silent', 'silent'],
  ['LOG_FORMAT', 'pretty', 'pretty'],
  ['SHUTDOWN_DELAY_SECONDS', '0', 0],
  ['AUDIT_RETENTION_DAYS', '365', 365],
  ['READ_RATELIMIT_RPS', '1', 1],
  ['READ_RATELIMIT_BURST', '1000000', 1_000_000],
  ['SHUTDOWN_GRACE_SECONDS', '0', 0],
  ['WHMCS_IDENTIFIER', 'abc', 'abc'],
];

test.each(accepted)('%s may be %j', (name, text, value) => {
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

test.each([
  ['whmcs', ['WHMCS_URL', 'WHMCS_IDENTIFIER', 'WHMCS_SECRET']],
  ['fossbilling', ['FOSSBILLING_URL']],
])('DOMAIN_PRICES=%s requires its settings', (source, names) => {
  expect(problemsOf({ DOMAIN_PRICES: source })).toEqual(
    names.map((name) => `${name}: must be set with DOMAIN_PRICES=${source}`),
  );
});

test('UPTIME_KUMA_URL and UPTIME_KUMA_STATUS_PAGE require each other', () => {
  const url = { UPTIME_KUMA_URL: 'https://status.example.com' };
  const page = { UPTIME_KUMA_STATUS_PAGE: 'main' };
  expect(problemsOf(url)).toEqual(['UPTIME_KUMA_STATUS_PAGE: must be set with UPTIME_KUMA_URL']);
  expect(problemsOf(page)).toEqual(['UPTIME_KUMA_URL: must be set with UPTIME_KUMA_STATUS_PAGE']);
  expect(problemsOf({ ...url, ...page })).toEqual([]);
});

test('a setting with both a value and a file is refused', () => {
  const kuma = { UPTIME_KUMA_URL: 'https://status.example.com', UPTIME_KUMA_STATUS_PAGE: 'main' };
  const texts = new Map([...accepted.map(([name, text]) => [name, text] as const), ...Object.entries(kuma)]);
  texts.set('TRUSTED_PROXIES', '10.0.0.1');
  for (const { name, preset } of listSettings()) {
    const text = texts.get(name) ?? preset;
    const lines = problemsOf({ ...kuma, [name]: text, [`${name}_FILE`]: fileWith(text) });
    expect(lines).toEqual([`${name}: is set twice, directly and by ${name}_FILE`]);
  }
});

const numberMessage = /: must be (?:a whole number|at (?:least|most) \d+)$/;

test.each<[string, RegExp, string[]]>([
  ['PORT', numberMessage, ['eighty', '-1', '65536', '80.5', '80 81', 'NaN', 'Infinity', '80x', '--1']],
  ['METRICS_PORT', /: must (?:not be PORT|be (?:a whole number|at most 65535))$/, ['3000', '-1', '65536', 'on']],
  ['HOST', /: must be/, ['my host', 'my_host', 'http://localhost', '127.0.0.1:80', '-x', 'a,b']],
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
  ['RATELIMIT_RPS', numberMessage, ['0', '-5', '0.5', '1000001', 'fast']],
  ['RATELIMIT_BURST', numberMessage, ['0', '-5', '0.5', '1000001', 'big']],
  ['POWER_RATELIMIT_RPS', numberMessage, ['0', '1000001', 'slow']],
  ['POWER_RATELIMIT_BURST', numberMessage, ['0', '1000001', 'big']],
  ['FEEDBACK_RATELIMIT_WINDOW_SECONDS', numberMessage, ['0', '-30', '86401', '0.5']],
  ['FEEDBACK_RATELIMIT_BURST', numberMessage, ['0', 'many']],
  ['MAX_FEEDBACK_BODY_BYTES', numberMessage, ['0', '1048577', '32k']],
  [
    'CHAT_FEEDBACK_WEBHOOK_URL',
    /: must be an https:/,
    ['discord.com/api', 'http://discord.com/api', 'ftp://x', 'https://u:p@chat.example.com/hook'],
  ],
  ['CHAT_FEEDBACK_WEBHOOK_KIND', /: must be discord, slack or mattermost$/, ['teams', 'Discord']],
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
  [
    'PUBLIC_URL',
    /: must be an http or https URL without user, query and fragment$/,
    [
      'api.example.com',
      'ws://api.example.com',
      '/v1',
      'https://',
      'https://api.example.com?x=1',
      'https://api.example.com/hosting?',
      'https://api.example.com/#top',
      'https://api.example.com#',
      'https://user@api.example.com',
      'https://user:password@api.example.com',
    ],
  ],
  [
    'SITE_URL',
    /: must be an http or https URL without user, query and fragment$/,
    ['www.example.com', 'https://www.example.com/?page=1', 'https://user@www.example.com'],
  ],
  [
    'SUPPORT_URL',
    /: must be an http or https URL without a user$/,
    ['help', 'mailto:a@b.example', 'https://a@b.example'],
  ],
  ['DATABASE_URL', /: must be a URL such as postgres:/, ['mysql://db.example.com/hosting', 'hosting', '/var/db']],
  ['PROVIDERS_FILE', /: the file cannot be read$/, ['/nowhere/providers.yaml', '/']],
  ['UPSTREAM_TIMEOUT_SECONDS', numberMessage, ['0', '601', '20s']],
  // Node.js fires timers of more than 24 days at once.
  ['CONSOLE_TOKEN_TTL_SECONDS', numberMessage, ['4', '86401', '10m']],
  ['LOG_LEVEL', /: must be trace, debug, info, warn, error or silent$/, ['loud', 'INFO', 'information']],
  ['LOG_FORMAT', /: must be pretty or json$/, ['xml', 'JSON']],
  ['SHUTDOWN_GRACE_SECONDS', numberMessage, ['-1', '3601', 'long', '1.5']],
])('%s with a wrong value is refused by name, from the environment or a file', (name, message, wrong) => {
  expect(wrong.filter((text) => problemsOf({ [name]: text }).length === 0)).toEqual([]);
  for (const text of wrong) {
    const problems = problemsOf({ [name]: text });
    expect(problems).toEqual([expect.stringMatching(message)]);
    expect(problems[0]).toMatch(new RegExp(`^${name}: `));
    expect(problemsOf({ [`${name}_FILE`]: fileWith(text) })).toEqual(problems);
  }
});

describe('a base URL with', () => {
  const names = ['PUBLIC_URL', 'SITE_URL', 'WHMCS_URL', 'FOSSBILLING_URL', 'UPTIME_KUMA_URL'];
  const rest = { UPTIME_KUMA_STATUS_PAGE: 'main' };

  test.each([
    ['a query', 'https://x.example.com/base?hunter2=1'],
    ['a fragment', 'https://x.example.com/base#hunter2'],
    ['a user', 'https://hunter2@x.example.com/base'],
    ['a line break', 'https://x.example.com/hunter2\nbase'],
  ])('%s is refused by name', (_, url) => {
    const own = { ...Object.fromEntries(names.map((name) => [name, url])), ...rest };
    const lines = problemsOf(own);
    expect(new Set(lines.map((line) => line.split(':')[0]))).toEqual(new Set(names));
    expect(lines.join()).not.toContain('hunter2');
  });
});

/** Characters that end a line, change a terminal or hide text. */
const controls = '\n\r\t\0\u001B\u007F\u0085\u009B\u2028\u2029\u202E\u2066';

test.each([
  ['SERVICE_VERSION', '1.2'],
  ['DIST_DIR', 'dist'],
  ['DATA_DIR', '.data'],
  ['STATUS_FILE', '/srv/status.json'],
  ['PROVIDERS_FILE', import.meta.filename],
  ['PUBLIC_URL', 'https://api.example.com'],
  ['DATABASE_URL', 'postgres://db.example.com/hosting'],
  ['CHAT_FEEDBACK_WEBHOOK_URL', 'https://chat.example.com/hook'],
  ['RDAP_BOOTSTRAP_URL', 'https://data.example.com/dns.json'],
  ['WHMCS_SECRET', 'secret'],
  ['CORS_ORIGINS', 'https://www.example.com'],
  ['TRUSTED_PROXIES', '10.0.0.1'],
  ['LOG_LEVEL', 'info'],
])('%s with a control character in it is refused by name, in one line without its value', (name, text) => {
  for (const control of controls) {
    const wrong = `${text.slice(0, -1)}${control}${text.slice(-1)}`;
    const problems = [`${name}: must be one line without control characters`];
    expect(problemsOf({ [name]: wrong })).toEqual(problems);
    expect(problemsOf({ [`${name}_FILE`]: fileWith(wrong) })).toEqual(problems);
  }
});

test('wrong settings are all reported, one line each, without values, and with unreadable files, whose paths are not shown', () => {
  const names = ['PORT', 'CORS_ORIGINS', 'ALLOW_LOCAL_ORIGINS', 'TRUSTED_PROXIES', 'RATELIMIT_RPS'];
  names.push('RATELIMIT_BURST', 'LOG_LEVEL', 'LOG_FORMAT', 'SHUTDOWN_GRACE_SECONDS');
  const wrong = Object.fromEntries(names.map((name) => [name, `hunter2-${name}`]));
  const lines = problemsOf({ ...wrong, HOST_FILE: '/nowhere/hunter2', DIST_DIR_FILE: temporaryFolder() });
  const unreadable = ['HOST_FILE', 'DIST_DIR_FILE'];
  expect(lines.map((line) => line.split(':')[0]!).toSorted()).toEqual([...names, ...unreadable].toSorted());
  expect(lines).toContain('HOST_FILE: the file cannot be read, or is empty');
  expect(lines.join()).not.toMatch(/hunter2|nowhere/);
});

test.each(['/dev/zero', '/dev/tty', '/etc'])('%s is no file of a setting', (file) => {
  expect(problemsOf({ HOST_FILE: file })).toContain('HOST_FILE: must be a regular file of at most 64 KiB');
});
