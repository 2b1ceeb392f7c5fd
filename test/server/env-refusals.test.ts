import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../helpers/project.ts';
import { fileWith, problemsOf } from './settings.ts';

const numberMessage = /: must be (?:a whole number|at (?:least|most) \d+)$/;

test.each<[string, RegExp, string[]]>([
  ['PORT', numberMessage, ['eighty', '-1', '65536', '80.5', '80 81', 'NaN', 'Infinity', '80x', '--1']],
  ['METRICS_PORT', /: must (?:not be PORT|be (?:a whole number|at most 65535))$/, ['3000', '-1', '65536', 'on']],
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
