import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadProviders } from '../../../server/hosting/providers.ts';
import { OperatorError } from '../../../server/problem.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { createCertificates } from '../../helpers/upstream-tls.ts';

const secret = 'a-credential-of-ours';

/** Loads a file with this text; problems are without the file name. */
function load(text: string, environment: Record<string, string> = {}) {
  const folder = temporaryFolder();
  const file = join(folder, 'providers.yaml');
  writeFileSync(file, text);
  writeFileSync(join(folder, 'pve.pem'), createCertificates().ca);
  writeFileSync(join(folder, 'broken.pem'), 'no certificate');
  try {
    return { folder, config: loadProviders(file, environment), problems: [] };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    if (error.message.includes(secret)) throw new Error('a value is in the message', { cause: error });
    return { folder, problems: error.message.split('\n').map((line) => line.replace(`${file}:`, '')) };
  }
}

const example = `
# PROVIDERS_FILE: who runs the servers. "\${NAME}" is taken from the environment.
providers:
  panel-eu: { type: pterodactyl, url: "https://panel.example.com/", token: "\${PANEL_TOKEN}", read_only_token: "\${PANEL_RO_TOKEN}" }
  fsn:      { type: hetzner, token: "\${HCLOUD_TOKEN}", url: "https://api.hetzner.cloud/v1", stop: poweroff }
  pve:      { type: proxmox, url: "https://pve.example.com:8006", token_id: "hosting@pve!api", token_secret: "\${PVE_SECRET}", ca_file: pve.pem, stop: shutdown }
  here:     { type: local, servers: { demo: { kind: game, command: [node, some-console-program.js] } } }
`;
const environment = {
  PANEL_TOKEN: 'ptlc_1',
  PANEL_RO_TOKEN: 'ptlc_2',
  HCLOUD_TOKEN: 'h1',
  PVE_SECRET: 'p1',
  PATH: '/bin',
  DATABASE_URL: secret,
};

test('every kind of provider is loaded, with values from the environment and from files', () => {
  const { config, folder } = load(example, environment);
  expect(config).toEqual({
    'panel-eu': { type: 'pterodactyl', url: 'https://panel.example.com', token: 'ptlc_1', read_only_token: 'ptlc_2' },
    fsn: { type: 'hetzner', url: 'https://api.hetzner.cloud/v1', token: 'h1', stop: 'poweroff' },
    pve: {
      type: 'proxmox',
      url: 'https://pve.example.com:8006',
      token_id: 'hosting@pve!api',
      token_secret: 'p1',
      ca_file: createCertificates().ca,
      stop: 'shutdown',
    },
    here: {
      type: 'local',
      servers: {
        demo: {
          kind: 'game',
          command: ['node', 'some-console-program.js'],
          cwd: folder,
          env: { PATH: '/bin' },
          grace_seconds: 10,
        },
      },
    },
  });
});

test('omitted fields get defaults', () => {
  const { config } = load('providers: { fsn: { type: hetzner, token: abc } }');
  expect(config).toEqual({
    fsn: { type: 'hetzner', token: 'abc', url: 'https://api.hetzner.cloud/v1', stop: 'shutdown' },
  });
});

test('every missing variable is reported with its position', () => {
  const { problems } = load(example, { PANEL_TOKEN: 'ptlc_1', HCLOUD_TOKEN: '' });
  expect(problems).toEqual([
    '4:111  the environment variable PANEL_RO_TOKEN is not set',
    '5:37  the environment variable HCLOUD_TOKEN is not set',
    '6:110  the environment variable PVE_SECRET is not set',
  ]);
});

test('a missing variable hides no other problem', () => {
  const { problems } = load('providers: { fsn: { type: hetzner, token: "${HCLOUD_TOKEN}", stop: never } }');
  expect(problems).toEqual([
    '1:43  the environment variable HCLOUD_TOKEN is not set',
    '1:68  "providers.fsn.stop" must be one of shutdown, poweroff',
  ]);
});

test('a variable may be a file, whose mistakes are reported without the content', () => {
  const folder = temporaryFolder();
  const files = { good: join(folder, 'good'), empty: join(folder, 'empty'), lines: join(folder, 'lines') };
  writeFileSync(files.good, `${secret}\n`);
  writeFileSync(files.empty, '\n');
  writeFileSync(files.lines, `${secret}\nmore\n`);
  const text = 'providers: { fsn: { type: hetzner, token: "${HCLOUD_TOKEN}" } }';
  expect(load(text, { HCLOUD_TOKEN_FILE: files.good }).config).toMatchObject({ fsn: { token: secret } });
  for (const [variables, problem] of [
    [{ HCLOUD_TOKEN_FILE: files.empty }, `_FILE: ${files.empty} is empty`],
    [{ HCLOUD_TOKEN_FILE: files.lines }, ': must be one line without control characters'],
    [{ HCLOUD_TOKEN_FILE: files.good, HCLOUD_TOKEN: secret }, ': is set twice, directly and by HCLOUD_TOKEN_FILE'],
  ] as const) {
    expect(load(text, variables).problems).toEqual([`1:43  HCLOUD_TOKEN${problem}`]);
  }
});

test('a variable may be part of a text, and its value is never parsed as YAML', () => {
  const { config } = load('providers: { fsn: { type: hetzner, token: "a-${A}-${B}", url: "https://${HOST}" } }', {
    A: '",stop:poweroff',
    B: '${A}',
    HOST: 'example.com',
  });
  expect(config).toMatchObject({
    fsn: { token: 'a-",stop:poweroff-${A}', url: 'https://example.com', stop: 'shutdown' },
  });
});

test.each(
  Object.entries({
    [`fsn: { type: hetzner, tokn: ${secret} }`]: '2:25  unknown field "providers.fsn.tokn" (did you mean "token"?)',
    [`fsn: { type: hetzner, token: x, ca_file: ${secret} }`]:
      '2:35  unknown field "providers.fsn.ca_file" (the fields are type, token, url, stop)',
    [`fsn: { type: hetzer, token: ${secret} }`]:
      '2:16  "providers.fsn.type" must be one of pterodactyl, hetzner, proxmox, local (did you mean "hetzner"?)',
    [`fsn: { type: ${secret} }`]: '2:16  "providers.fsn.type" must be one of pterodactyl, hetzner, proxmox, local',
    [`fsn: { token: ${secret} }`]: '2:8  missing field "providers.fsn.type"',
    'fsn: { type: hetzner, token: x, stop: shutdwn }':
      '2:41  "providers.fsn.stop" must be one of shutdown, poweroff (did you mean "shutdown"?)',
    'fsn: { type: hetzner, token: 12345 }': '2:32  "providers.fsn.token" must be text, not a number (put it in quotes)',
    [`fsn: { type: hetzner, token: "${secret}\\n" }`]:
      '2:32  "providers.fsn.token" must be visible ASCII characters without spaces',
    [`fsn: { type: hetzner, token: x, url: "http://${secret}.example.com" }`]:
      '2:40  "providers.fsn.url" must be an https:// URL without user, query and fragment (http:// only on loopback)',
    'fsn:': '2:7  "providers.fsn" must be a mapping of fields, not empty',
    '"a b": { type: hetzner, token: x }': '2:3  "providers.a b" must be letters, digits, dots, hyphens and underscores',
    [`pve: { type: proxmox, url: "https://x", token_id: "root", token_secret: x }`]:
      '2:53  "providers.pve.token_id" must be USER@REALM!NAME',
    [`pve: { type: proxmox, url: "https://x", token_id: "a@b!c", token_secret: x, ca_file: ${secret}.pem }`]:
      '2:88  "providers.pve.ca_file" must be the path of a readable file with certificates in PEM',
    'pve: { type: proxmox, url: "https://x", token_id: "a@b!c", token_secret: x, ca_file: broken.pem }':
      '2:88  "providers.pve.ca_file" must be the path of a readable file with certificates in PEM',
    'here: { type: local, servers: { a: { kind: game, command: [] } } }':
      '2:61  "providers.here.servers.a.command" must name a program',
    'here: { type: local, servers: { a: { kind: game, command: [node, 5] } } }':
      '2:68  "providers.here.servers.a.command[1]" must be text, not a number (put it in quotes)',
    'here: { type: local, servers: { a: { kind: game, command: [x], grace_seconds: 1.5 } } }':
      '2:81  "providers.here.servers.a.grace_seconds" must be a whole number, not a fraction',
    'here: { type: local, servers: { a: { kind: game, command: [x], graceseconds: 1 } } }':
      '2:66  unknown field "providers.here.servers.a.graceseconds" (did you mean "grace_seconds"?)',
    'here: { type: local, servers: { a: { kind: gme, command: [x] } } }':
      '2:46  "providers.here.servers.a.kind" must be one of game, vps (did you mean "game"?)',
    'here: { type: local, servers: { "../a": { kind: game, command: [x] } } }':
      '2:35  "providers.here.servers.../a" must be letters, digits, dots, hyphens and underscores',
    'fsn: { type: hetzner, token: x }\n  fsn: { type: hetzner, token: x }':
      '3:3  "fsn" is given twice (keep one of the two)',
    'a: &a { type: hetzner, token: x }\n  b: *a':
      '3:6  YAML aliases (*name) are not allowed (write out the value, or put a text that starts with * in quotes)',
    '__proto__: { type: hetzner, token: x }': '2:3  the key "__proto__" is not allowed',
    [`fsn: { token: ${secret}`]: '2:8  this { is not closed (end it with })',
    [`fsn: { type: hetzner, token: !${secret} x }`]:
      '2:32  YAML tags (!name) are not allowed (put a text that starts with ! in quotes)',
    [`fsn: { token: "\\q${secret}" }`]:
      '2:18  a backslash in double quotes must be written as \\\\ (or put the text in single quotes)',
    [`fsn: { type: hetzner, token: "\${${secret}" }`]:
      '2:32  "${" must be followed by the name of an environment variable and "}"',
  }),
)('%j is reported with its position and without the value', (text, problem) => {
  expect(load(`providers:\n  ${text}\n`).problems).toEqual([problem]);
});

describe('a file as a whole', () => {
  test('reports an empty file and a list', () => {
    expect(load('').problems).toEqual(['1:1  the YAML must be a mapping of fields, not empty']);
    expect(load('- a').problems).toEqual(['1:1  the YAML must be a mapping of fields, not a list']);
    expect(load('provider: {}').problems).toEqual(['1:1  unknown field "provider" (did you mean "providers"?)']);
  });

  test('reports an unreadable file by its name', () => {
    const file = '/nowhere/providers.yaml';
    expect(() => loadProviders(file, {})).toThrow(`PROVIDERS_FILE: ${file} cannot be read`);
  });

  test('may have no providers', () => {
    expect(load('providers: {}').config).toEqual({});
  });
});

const address = (url: string) => load(`providers: { a: { type: hetzner, token: x, url: "${url}" } }`);

test.each([
  ['http://localhost:1', 'http://localhost:1'],
  ['http://127.0.0.1:1/panel/', 'http://127.0.0.1:1/panel'],
  ['http://[::1]:1', 'http://[::1]:1'],
  ['HTTPS://Panel.Example.COM:443/', 'https://panel.example.com'],
])('the address %s is accepted', (url, expected) => {
  expect(address(url).config).toMatchObject({ a: { url: expected } });
});

test.each([
  'http://localhost.example.com',
  'http://127.0.0.1.example.com',
  'http://0.0.0.0',
  'ftp://localhost',
  'https://user:word@example.com',
  'https://example.com?x=1',
  'https://example.com#x',
  'example.com',
  '',
])('the address "%s" is rejected', (url) => {
  expect(address(url).problems).toEqual([expect.stringContaining('must be an https:// URL')]);
});
