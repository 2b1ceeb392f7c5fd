import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  realpathSync,
  readFileSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import type { TestContext } from 'vitest';
import { runCommand, runHere } from '../commands/run-command.ts';
import { findFreePort } from '../helpers/free-port.ts';
import { article, buildProject, temporaryFolder, writeFiles } from '../helpers/project.ts';
import { createDnsUpstream } from '../helpers/upstream-dns.ts';
import type { DnsAnswer, DnsRecord } from '../helpers/upstream-dns.ts';
import { failure, panelKeys } from '../helpers/upstream-panel.ts';
import { createWhmcsUpstream, refusal } from '../helpers/upstream-whmcs.ts';
import { createUpstream, json } from '../helpers/upstream.ts';
import type { Seen } from '../helpers/upstream.ts';
import type { NamedResult } from '../../server/doctor/run.ts';
import { providerTypes } from '../../server/hosting/providers.ts';
import { createToken } from '../operators/operators.ts';
import { createInstallation } from './installation.ts';
import type { Installation } from './installation.ts';

/** Lists the files below a folder with mode, size, time and hash. */
function takeSnapshot(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => {
      const path = join(folder, name);
      const { mode, size, mtimeMs } = lstatSync(path);
      const content = lstatSync(path).isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : '';
      return `${name} ${mode} ${size} ${mtimeMs} ${content}`;
    })
    .toSorted();
}

test('with --before-start, a running server of the previous version is not a fault', async () => {
  const installation = await createInstallation();
  await installation.start();
  const settings = { ...installation.settings, SERVICE_VERSION: '1.2.4', STATUS_FILE: '' };
  const { status, stdout } = await runHere(['doctor', '--running', '--before-start'], settings);
  expect({ status, stdout }).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('until the restart with 1.2.4'),
  });
});

test('an installation with a running server has no fault, and the table describes each check', async () => {
  const installation = await createInstallation();
  await installation.start();
  await expect.poll(() => existsSync(installation.settings['STATUS_FILE']!)).toBe(true);
  const { status, findings, stderr } = await installation.examine();
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(findings.map(({ check, state, seen }) => `${check}: ${state}: ${seen.replaceAll(/\d+/g, 'N')}`)).toEqual([
    'settings: ok: valid; version N.N.N',
    'origins: ok: pages of https://api.example.com may use API keys',
    'clock: ok: later than the build of the release',
    'clock of an upstream: ok: agrees with an upstream within N s',
    expect.stringMatching(/^disk of DATA_DIR, DIST_DIR, STATUS_FILE: ok: /),
    'rights: ok: no other user of this machine can read a secret',
    'store: ok: SQLite, intact',
    'tables: ok: version N',
    expect.stringMatching(/^release: ok: \w+ is complete$/),
    'release age: ok: no article is scheduled',
    'rollback: ok: releases can be switched',
    'server: ok: version N.N.N is running with this release',
    expect.stringMatching(/^PUBLIC_URL: skipped: this machine cannot reach PUBLIC_URL/),
    'metrics: ok: the server serves metrics',
    "operators' port: skipped: OPERATOR_PORT is not set",
    'provider panel: ok: The token is accepted',
    'provider panel: ok: The read_only_token is accepted',
    'provider cloud: ok: The token is accepted (write access cannot be checked)',
    'servers: ok: N servers with a provider',
    'shared servers: ok: no unconfirmed duplicates',
    'refs of panel: ok: N servers found',
    'refs of cloud: ok: N servers found',
    'API keys: ok: N valid key',
    'status source: ok: Uptime Kuma reports up',
    expect.stringMatching(/^STATUS_FILE: ok: last written N s ago$/),
    'webhook: ok: the webhook exists',
    'domain prices: skipped: the prices are in catalog/domains.yaml',
    'DNS: skipped: DNS_SERVERS is off',
    'domain look-ups: skipped: run `npm run domains -- doctor` to query the registry of each TLD',
  ]);
  const { stdout } = await runHere(['doctor'], installation.settings);
  expect(stdout).toMatch(/^CHECK +RESULT +SEEN\n/);
});

test('the doctor writes no file and posts nothing', async () => {
  const installation = await createInstallation();
  await installation.world.store.close();
  const before = takeSnapshot(installation.root);
  expect((await installation.examine()).faults).toEqual([]);
  expect(takeSnapshot(installation.root)).toEqual(before);
  const { panel, hetzner } = installation.world;
  const seen = [panel, hetzner, installation.kuma, installation.chat].flatMap((upstream) => upstream.seen);
  expect(seen.length).toBeGreaterThan(5);
  expect(seen.filter(({ method }) => method !== 'GET')).toEqual([]);
});

test('before the first start the doctor creates no store', async () => {
  const installation = await createInstallation();
  const DATA_DIR = join(temporaryFolder(), 'a', 'b');
  const { faults, findings } = await installation.examine({ DATA_DIR, PROVIDERS_FILE: '' });
  expect(faults).toEqual([]);
  expect(findings.find(({ check }) => check === 'store')?.seen).toBe('no database yet: the first start creates it');
  expect(() => lstatSync(DATA_DIR)).toThrow('ENOENT');
});

test('each wrong setting is a fault, and the other checks are skipped', async () => {
  const installation = await createInstallation();
  const { status, findings } = await installation.examine({ RATELIMIT_RPS: 'hunter2', HOST: 'a b', PUBLICURL: 'x' });
  expect(status).toBe(1);
  expect(findings.map(({ check, state, seen }) => `${check}: ${state}: ${seen}`)).toEqual([
    'settings: fault: HOST: must be an IP address without a zone, or a host name',
    'settings: fault: RATELIMIT_RPS: must be a whole number',
    'settings: fault: PUBLICURL is not a setting and has no effect: did you mean PUBLIC_URL?',
    'other checks: skipped: the server cannot start with these settings',
  ]);
});

/** A fault of an installation, and the expected result of the doctor. */
interface Fault {
  /** Breaks the installation; returns settings to change. */
  readonly make: (installation: Installation) => Promise<Record<string, string> | void> | Record<string, string> | void;
  readonly finds: readonly [check: string, seen: string | RegExp, advice: string | RegExp];
  /** Other checks that fail for the same reason. */
  readonly also?: readonly string[];
}

/** Changes the record of a server in the store. */
const setServer =
  (server: string, change: string) =>
  ({ world }: Installation) =>
    world.change(`UPDATE hosting_servers SET ${change} WHERE server = '${server}'`);

const day = 86_400_000;

const delegation: DnsRecord = { owner: 'com', type: 'NS', data: 'a.gtld-servers.net' };
const resolver = async (answer: DnsAnswer) => (await createDnsUpstream(() => answer)).address;

const faults: Readonly<Record<string, Fault>> = {
  'a misspelt setting': {
    make: () => ({ RATELIMIT_BRUST: 'hunter2' }),
    finds: [
      'settings',
      'RATELIMIT_BRUST is not a setting and has no effect: did you mean RATELIMIT_BURST?',
      'rename or remove RATELIMIT_BRUST',
    ],
  },
  'a public address without PUBLIC_URL': {
    make: () => ({ HOST: '0.0.0.0', PUBLIC_URL: '' }),
    finds: ['settings', /^PUBLIC_URL is not set/, /^set PUBLIC_URL/],
  },
  'a PUBLIC_URL in plain text': {
    make: () => ({ PUBLIC_URL: 'http://api.example.com' }),
    finds: ['settings', /^PUBLIC_URL is not https/, /https/],
  },
  'a proxy on this machine that is not trusted': {
    make: () => ({ TRUSTED_PROXIES: '' }),
    finds: ['settings', /^TRUSTED_PROXIES lacks the proxy on this machine/, 'set TRUSTED_PROXIES=127.0.0.1,::1'],
  },
  'a TRUSTED_PROXIES with every address': {
    make: () => ({ TRUSTED_PROXIES: '0.0.0.0/0' }),
    finds: ['settings', /^TRUSTED_PROXIES trusts every address/, /^list only the addresses of your proxies/],
  },
  'a PUBLIC_URL of another service': {
    async make(installation) {
      await installation.start();
      return { PUBLIC_URL: (await createUpstream(() => ({ status: 404 }))).url };
    },
    finds: ['PUBLIC_URL', 'another service answers at PUBLIC_URL', /^correct PUBLIC_URL/],
  },
  'no build for a day': {
    make({ root }) {
      const before = new Date(Date.now() - 2 * day);
      utimesSync(join(root, 'dist/current/manifest.json'), before, before);
    },
    finds: ['release age', 'no build has succeeded for a day', /timer/],
  },
  'a closed first resolver': {
    make: async () => ({ DNS_SERVERS: `127.0.0.1:9,${await resolver({ answers: [delegation] })}` }),
    finds: ['DNS', 'the first resolver cannot be reached: searches are slow or fail', /DNS_SERVERS/],
  },
  'a silent second resolver': {
    make: async () => ({ DNS_SERVERS: `${await resolver({ answers: [delegation] })},${await resolver('silence')}` }),
    finds: ['DNS', 'the second resolver does not answer: searches are slow or fail', /DNS_SERVERS/],
  },
  'a resolver that refuses queries': {
    make: async () => ({ DNS_SERVERS: await resolver({ code: 5 }) }),
    finds: ['DNS', 'the first resolver refuses to resolve .com', /allow this machine/],
  },
  'a DNS resolver that finds every name': {
    async make() {
      const answers = (owner: string) => [{ owner, type: 'NS' as const, data: 'ns1.example.net' }];
      return { DNS_SERVERS: (await createDnsUpstream((name) => ({ answers: answers(name) }))).address };
    },
    finds: ['DNS', /^the first resolver has name servers for a name that does not exist/, /DNS_SERVERS/],
  },
  'a clock in the past': {
    make({ root }) {
      const later = new Date(Date.now() + 3 * day);
      utimesSync(join(root, 'dist/current/manifest.json'), later, later);
    },
    finds: ['clock', 'the clock is 72 h behind the build of the release', /NTP/],
  },
  'a clock that differs from the clock of an upstream': {
    make({ world, kuma }) {
      const date = new Date(Date.now() + 3_600_000).toUTCString();
      for (const upstream of [world.panel, world.hetzner, kuma]) {
        upstream.fail({ status: 200, headers: { date }, body: '{}' }, ({ path }) => path === '/');
      }
    },
    finds: ['clock of an upstream', /^an upstream is 3[56]\d\d s ahead of this machine$/, /NTP/],
  },
  'a damaged database': {
    make({ settings, world }) {
      const file = join(settings['DATA_DIR']!, 'hosting.sqlite');
      world.change('PRAGMA wal_checkpoint(TRUNCATE)');
      writeFileSync(file, readFileSync(file).fill(0xff, 4096, 8192));
    },
    finds: ['store', /^the database (?:is damaged$|.* cannot be used: )/, /store -- restore FILE/],
  },
  'a database of a newer version': {
    make: ({ world }) =>
      world.change('INSERT INTO hosting_migrations (version, applied_at, min_version) VALUES (999, 1, 999)'),
    finds: ['tables', /^a newer version of this program wrote the database/, /^install the version/],
  },
  'a WAL that is never emptied': {
    make: ({ world }) =>
      world.change(
        `PRAGMA wal_autocheckpoint = 0; CREATE TABLE ballast (bytes BLOB);
          INSERT INTO ballast VALUES (randomblob(70000000)); DELETE FROM ballast; DROP TABLE ballast`,
      ),
    finds: ['store', /^hosting\.sqlite-wal has \d+ MiB$/, /lsof/],
  },
  'a damaged release': {
    make({ root }) {
      const file = join(root, 'dist/current/public/v1/plans.json');
      chmodSync(file, 0o644);
      writeFileSync(file, readFileSync(file, 'utf8').replace('Small', 'Smale'));
    },
    finds: ['release', /plans\.json: the file does not match the manifest$/, /releases -- rollback/],
  },
  'no release': {
    make: () => ({ DIST_DIR: temporaryFolder() }),
    finds: ['release', /there is no release at/, /npm run build/],
  },
  'a scheduled article that is not online': {
    async make({ root }) {
      writeFiles(root, { 'content/blog/news/third.md': article({ title: 'Third', date: '2026-02-01' }, 'Now.\n') });
      await buildProject(root, { now: '2026-01-15' });
    },
    finds: ['release age', 'an article dated 2026-02-01 is not online: no release was built since then', /timer/],
  },
  'another program on the port': {
    make: async () => ({ PORT: new URL((await createUpstream(() => ({ status: 404 }))).url).port }),
    finds: ['server', /^PORT \d+ is in use by another program$/, /PORT/],
  },
  'a server that was not restarted': {
    make: (installation) => installation.start().then(() => ({ SERVICE_VERSION: '1.2.4' })),
    finds: ['server', 'the server runs another version than the installed 1.2.4', 'restart the server'],
  },
  'a server with another release': {
    async make(installation) {
      await installation.start();
      const other = await createInstallation();
      writeFiles(other.root, { 'content/blog/news/third.md': article({ title: 'Third' }, 'Now.\n') });
      await buildProject(other.root);
      return { DIST_DIR: join(other.root, 'dist') };
    },
    finds: ['server', 'the server serves another release than DIST_DIR/current', /new release rejected/],
  },
  'another program on the port of the metrics': {
    make: async () => ({ METRICS_PORT: new URL((await createUpstream(() => ({ status: 200 }))).url).port }),
    finds: ['metrics', /^METRICS_PORT \d+ is in use by another program$/, /METRICS_PORT/],
  },
  'a running server without metrics': {
    make: (installation) => installation.start().then(() => ({ METRICS_PORT: '3' })),
    finds: ['metrics', /^the server does not serve metrics on port \d+$/, /^restart the server/],
  },
  "another program on the operators' port": {
    make: async () => ({ OPERATOR_PORT: new URL((await createUpstream(() => ({ status: 200 }))).url).port }),
    finds: ["operators' port", /^OPERATOR_PORT \d+ is in use by another program$/, /^choose another OPERATOR_PORT/],
  },
  "a running server without the operators' port": {
    make: (installation) => installation.start().then(() => ({ OPERATOR_PORT: '4' })),
    finds: ["operators' port", 'the server does not serve operators on port 4', /^restart the server/],
  },
  "a token for any address at an operators' port that other machines reach": {
    async make({ world }) {
      await createToken(world, 'open', '--right', 'keys');
      await createToken(world, 'bound', '--right', 'keys', '--network', '10.0.0.0/8');
      return { OPERATOR_PORT: '4', OPERATOR_HOST: '0.0.0.0' };
    },
    finds: ["operators' port", /^token \w+ may be used from any address$/, /^replace the token: .* --network/],
  },
  'a mistake in PROVIDERS_FILE': {
    make({ root }) {
      writeFiles(root, { 'wrong.yaml': 'providers:\n  panel: { type: pterodactil, token: "hunter2" }\n' });
      return { PROVIDERS_FILE: join(root, 'wrong.yaml') };
    },
    finds: ['providers', /wrong\.yaml:2:/, /docs\/reference\.md/],
    also: ['servers'],
  },
  'a refused credential': {
    make: ({ world }) => world.panel.users.clear(),
    finds: ['provider panel', 'The token is not accepted: status 401', /client key/],
    also: ['provider panel'],
  },
  'a read-only credential that may write': {
    make: ({ world }) => void [...world.panel.users.values()].at(-1)!.permissions.push('control.console'),
    finds: ['provider panel', /^The read_only_token may do more than read/, /remove all other permissions/],
  },
  'a second factor that the panel requires': {
    make: ({ world }) => {
      const required = failure(400, 'TwoFactorAuthRequiredException', 'Two-factor authentication is required');
      world.panel.fail(required, ({ path }) => !path.endsWith('/account'));
    },
    finds: [
      'provider panel',
      'The panel (asked with the token) answers with status 400: it requires a second factor of this user',
      /administrators alone/,
    ],
    also: ['provider panel'],
  },
  'a panel behind a redirect': {
    make: ({ world }) => world.panel.fail({ status: 301, headers: { location: 'https://panel.example.com/x?y=z' } }),
    finds: ['provider panel', /answers with status 301, a redirect to https:\/\/panel\.example\.com\/x$/, /its url/],
  },
  'a password in front of the panel': {
    make: ({ world }) =>
      world.panel.fail({ status: 401, headers: { 'www-authenticate': 'Basic realm="Staff"' }, body: '<html>' }),
    finds: [
      'provider panel',
      /status 401 from a proxy or firewall in front of it, which asks for a password$/,
      /proxy/,
    ],
  },
  'a panel in maintenance': {
    make: ({ world }) => world.panel.fail(failure(503, 'HttpException', 'Service Unavailable')),
    finds: ['provider panel', /status 503: it is in maintenance$/, /artisan up/],
  },
  'a panel whose database is locked': {
    make: ({ world }) => world.panel.fail(failure(500, 'QueryException', 'hunter2')),
    finds: ['provider panel', /status 500: QueryException$/, /storage\/logs/],
  },
  'a token without some permissions': {
    make: ({ world }) => void (world.panel.users.get(panelKeys.write)!.permissions = ['control.start']),
    finds: [
      'provider panel',
      /^The token lacks control\.console, control\.stop, control\.restart, file\.read-content, file\.read on \w{8}$/,
      /docs\/reference\.md/,
    ],
  },
  'a read-only user of no server': {
    make: ({ world }) => {
      const meta = { pagination: { total: 0 } };
      const isReader = ({ headers, path }: Seen) =>
        `${headers.authorization}`.includes(panelKeys.read) && path.includes('?');
      world.panel.fail(json(200, { data: [], meta }), isReader);
    },
    finds: ['provider panel', /on none of the servers/, /websocket\.connect alone/],
  },
  'a firewall in front of the cloud': {
    make: ({ world }) => world.hetzner.fail({ status: 403, body: '{"error":"blocked"}' }),
    finds: ['provider cloud', 'Hetzner Cloud answers with status 403 from a proxy or firewall in front of it', /proxy/],
  },
  'an upstream that answers with errors': {
    make: ({ world }) => world.hetzner.fail({ status: 503, body: 'hunter2' }),
    finds: ['provider cloud', /^Hetzner Cloud answers with status 503 from a proxy/, /check the upstream/],
  },
  'an upstream that cannot be reached': {
    make: ({ world }) => world.hetzner.stop().then(() => ({})),
    finds: ['provider cloud', 'Hetzner Cloud cannot be reached', /connect/],
  },
  'an upstream that accepts the connection but never answers': {
    make({ world }) {
      world.panel.fail('hang');
      return { UPSTREAM_TIMEOUT_SECONDS: '1' };
    },
    finds: ['provider panel', 'The panel (asked with the token) cannot be reached', /connect/],
    // On a busy machine a second is too short for other checks, too.
    also: ['provider cloud', 'refs of cloud', 'refs of panel'],
  },
  'servers without providers': {
    make: () => ({ PROVIDERS_FILE: '' }),
    finds: [
      'servers',
      'PROVIDERS_FILE is not set: no action reaches game:mine, game:theirs, vps:mine, vps:theirs',
      /^set PROVIDERS_FILE/,
    ],
  },
  'a server of a provider that does not exist': {
    make: setServer('game:mine', "provider = 'panell'"),
    finds: [
      'servers',
      'game:mine cannot be reached: PROVIDERS_FILE has no provider panell (did you mean "panel"?)',
      /servers -- add game:mine --provider NAME --ref REF --replace/,
    ],
  },
  'an impossible ref': {
    make: setServer('vps:mine', "ref = 'x'"),
    finds: [
      'servers',
      'vps:mine cannot be reached: the ref x is invalid for hetzner: use the number of a server in the project',
      /servers -- add vps:mine/,
    ],
    also: ['refs of cloud'],
  },
  'a ref that the provider does not list': {
    make: setServer('vps:mine', "ref = '43'"),
    finds: ['refs of cloud', 'the token cannot see vps:mine', /still exist/],
  },
  'a game server that the panel does not list': {
    make: setServer('game:theirs', "ref = '0123abcd'"),
    finds: ['refs of panel', 'the token cannot see game:theirs', /still exist/],
  },
  'a key of a server that does not exist': {
    make: ({ world }) => world.issueKey({ servers: ['game:gone'] }).then(() => ({})),
    finds: ['API keys', /^keys of servers that do not exist: \w{12}$/, /keys -- update ID/],
  },
  'an Uptime Kuma that fails': {
    make: ({ kuma }) => kuma.fail({ status: 500, body: 'hunter2' }),
    finds: ['status source', 'Uptime Kuma: not an answer of a status page', /published.*redirect or a login/],
  },
  'a status page without monitors': {
    make: ({ kuma }) => kuma.monitors.clear(),
    finds: ['status source', 'Uptime Kuma: no monitor is on the page', /published/],
  },
  'no monitor at all': {
    async make({ root }) {
      writeFiles(root, { 'catalog/status.yaml': 'monitors: []\nmaintenance: []\n' });
      await buildProject(root, { allowEmpty: true });
      return { UPTIME_KUMA_URL: '', UPTIME_KUMA_STATUS_PAGE: '' };
    },
    finds: ['status source', 'there is no monitor: /v1/status answers 503', /catalog\/status\.yaml/],
  },
  'a STATUS_FILE in a folder that does not exist': {
    make: ({ root }) => ({ STATUS_FILE: join(root, 'none/status.json') }),
    finds: ['STATUS_FILE', /^this user cannot write to /, /create the folder/],
  },
  'an outdated STATUS_FILE': {
    async make(installation) {
      await installation.start();
      const old = join(installation.root, 'old.json');
      writeFileSync(old, '{"status":"up"}');
      utimesSync(old, new Date(Date.now() - 600_000), new Date(Date.now() - 600_000));
      return { STATUS_FILE: old };
    },
    finds: ['STATUS_FILE', 'last written 10 minutes ago', /server log/],
  },
  'a webhook that does not exist': {
    make: ({ chat }) => chat.fail(json(404, { message: 'hunter2', code: 10_015 })),
    finds: ['webhook', 'the webhook does not exist: Discord answers 404', /create a webhook/],
  },
  'a webhook of another kind': {
    make: () => ({ CHAT_FEEDBACK_WEBHOOK_KIND: 'mattermost' }),
    finds: ['webhook', 'the URL is not a mattermost webhook', /CHAT_FEEDBACK_WEBHOOK_KIND/],
  },
  'a webhook of a host that does not answer': {
    async make() {
      const url = `http://127.0.0.1:${await findFreePort()}/hooks/hunter2`;
      return { CHAT_FEEDBACK_WEBHOOK_KIND: 'mattermost', CHAT_FEEDBACK_WEBHOOK_URL: url };
    },
    finds: ['webhook', 'the chat is unreachable (ECONNREFUSED)', /connect/],
  },
  'a billing system that refuses our address': {
    async make() {
      const { upstream, settings } = await createWhmcsUpstream();
      upstream.fail(refusal('Invalid IP 10.0.0.1 hunter2', 403));
      return settings;
    },
    finds: ['domain prices', 'the billing system does not send a valid answer, but status 403', /whmcs settings/],
  },
  'a billing system whose default currency is not EUR': {
    async make() {
      const currency = { error: null, result: { code: 'USD' } };
      return { DOMAIN_PRICES: 'fossbilling', FOSSBILLING_URL: (await createUpstream(() => json(200, currency))).url };
    },
    finds: ['domain prices', 'the default currency of FOSSBilling must be EUR, and is USD', /in the billing system/],
  },
};

test.each(Object.entries(faults))(
  '%s is found, with a remedy',
  async (_name, { make, finds: [check, seen, advice], also }) => {
    const installation = await createInstallation();
    const { status, faults: found, stderr, findings } = await installation.examine((await make(installation)) ?? {});
    expect(status).toBe(1);
    expect(stderr).toMatch(/^\d+ of \d+ checks found a fault\n$/);
    expect(found).toContainEqual({
      check,
      state: 'fault',
      seen: typeof seen === 'string' ? seen : expect.stringMatching(seen),
      advice: typeof advice === 'string' ? advice : expect.stringMatching(advice),
    });
    expect(found.map((one) => one.check).filter((one) => one !== check && !also?.includes(one))).toEqual([]);
    expect(JSON.stringify(findings)).not.toMatch(/hunter2|whmcs-secret/);
  },
);

test('a panel that is down is one fault', async () => {
  const installation = await createInstallation();
  await installation.world.panel.stop();
  const { faults: found, findings } = await installation.examine();
  expect(found).toMatchObject([
    { check: 'provider panel', seen: 'The panel (asked with the token) cannot be reached' },
  ]);
  expect(findings).toContainEqual({ check: 'refs of panel', state: 'skipped', seen: 'the provider does not answer' });
});

test('a machine whose only upstream is down has no time to compare', async () => {
  const installation = await createInstallation();
  await Promise.all([installation.world.panel.stop(), installation.world.hetzner.stop()]);
  const { findings } = await installation.examine({ UPTIME_KUMA_URL: '', UPTIME_KUMA_STATUS_PAGE: '' });
  expect(findings).toContainEqual({
    check: 'clock of an upstream',
    state: 'skipped',
    seen: 'no upstream sends the time',
  });
});

test("the running operators' port answers; tokens unused for 90 days, and a port without TLS, are hints", async () => {
  const installation = await createInstallation();
  const { world, settings } = installation;
  const bound = ['--right', 'keys', '--network', '127.0.0.0/8'];
  const { id } = await createToken(world, 'billing', ...bound);
  const used = await createToken(world, 'used', ...bound);
  const open = await createToken(world, 'open', '--right', 'keys');
  settings['OPERATOR_PORT'] = String(await findFreePort());
  await installation.start();
  const look = async (changes = {}) => {
    const { status, findings } = await installation.examine(changes);
    expect(status).toBe(0);
    return findings.flatMap(({ check, seen, advice }) => (check === "operators' port" ? [[seen, advice]] : []));
  };
  const serves = ['the server serves operators', undefined];
  expect(await look()).toEqual([serves]);
  await runHere(['operators', 'revoke', open.id], world.settings);
  world.change(`UPDATE hosting_operators SET created_at = ${Date.now() - 91 * day}`);
  world.change(`UPDATE hosting_operators SET last_used_at = ${Date.now() - 89 * day} WHERE id = '${used.id}'`);
  expect(await look({ OPERATOR_HOST: '0.0.0.0' })).toEqual([
    serves,
    ['other machines can reach OPERATOR_HOST: tokens need TLS in front', expect.stringMatching(/operators\.conf/)],
    [
      `token ${id} has not been used for 90 days`,
      'revoke tokens that no program needs: `npm run operators -- revoke ID`',
    ],
  ]);
});

test("the records of a store from before the operators' port are read", async () => {
  const installation = await createInstallation();
  installation.world.change(`DROP TABLE hosting_operators; ALTER TABLE hosting_api_keys DROP COLUMN widened_by;
    DROP INDEX hosting_servers_made_by; ALTER TABLE hosting_servers DROP COLUMN made_by;
    ALTER TABLE hosting_servers DROP COLUMN suspended_by;
    DELETE FROM hosting_migrations WHERE version = (SELECT MAX(version) FROM hosting_migrations)`);
  const { faults: found, findings } = await installation.examine({ OPERATOR_PORT: '4' });
  expect(found).toEqual([]);
  expect(findings.find(({ check }) => check === 'tables')?.seen).toMatch(/: the next start migrates the tables$/);
});

test('without a status page the monitors of the catalog are the source of the status', async () => {
  const installation = await createInstallation();
  const { findings } = await installation.examine({ UPTIME_KUMA_URL: '', UPTIME_KUMA_STATUS_PAGE: '' });
  expect(findings).toContainEqual({ check: 'status source', state: 'ok', seen: '1 monitor in catalog/status.yaml' });
});

/** Creates a temporary folder that every user may enter. */
function createOpenFolder(): string {
  const created = temporaryFolder();
  for (let folder = created; folder.startsWith(tmpdir()) && folder !== tmpdir(); folder = dirname(folder)) {
    chmodSync(folder, 0o755);
  }
  return created;
}

/** Parses the results of the rights check, and asserts that no secret is printed. */
function toRights(stdout: string): NamedResult[] {
  expect(stdout).not.toContain('hunter2');
  return (JSON.parse(stdout) as NamedResult[]).filter(({ check }) => check === 'rights');
}

/** Checks the rights in a folder with a world-readable .env. */
async function examineRights(dotenv: string, env: Record<string, string>, context: TestContext) {
  const cwd = createOpenFolder();
  writeFiles(cwd, { '.env': `${dotenv}\n` });
  chmodSync(join(cwd, '.env'), 0o644);
  const places = { DIST_DIR: join(cwd, 'dist'), DATA_DIR: join(cwd, 'data') };
  const { stdout } = await runCommand(['doctor', '--json'], { cwd, env: { ...places, ...env } });
  const found = toRights(stdout);
  const isClosed = dotenv.includes('hunter2') && found[0]?.state === 'ok';
  if (isClosed) context.skip('the folder of temporary files is closed to other users');
  return found;
}

test('a world-readable .env with a secret is a fault', async (context) => {
  const installation = await createInstallation();
  for (const folder of [installation.settings['DATA_DIR']!, installation.root, join(installation.root, '..')]) {
    chmodSync(folder, 0o755);
  }
  const found = await examineRights('PANEL_TOKEN=hunter2', installation.settings, context);
  expect(found.map(({ seen, advice }) => `${seen}: ${advice}`)).toEqual([
    expect.stringMatching(/^other users can access DATA_DIR.*: chmod 700 /),
    expect.stringMatching(/^every user can read \.env, which holds a secret: chmod o-rwx .*\.env$/),
    expect.stringMatching(/^every user can read PROVIDERS_FILE, which holds a secret: chmod o-rwx .*providers\.yaml$/),
  ]);
});

test('the example PROVIDERS_FILE counts as free of secrets, despite its comments', async (context) => {
  const PROVIDERS_FILE = resolve(import.meta.dirname, '../../examples/systemd/providers.yaml');
  const found = await examineRights('LOG_LEVEL=info', { PROVIDERS_FILE }, context);
  expect(found.map(({ state }) => state)).toEqual(['ok']);
});

test.for(Object.values(providerTypes).flatMap<string>(({ secrets }) => secrets))(
  'a world-readable PROVIDERS_FILE with a literal %s is a fault',
  async (field, context) => {
    const file = join(temporaryFolder(), 'providers.yaml');
    writeFileSync(file, `providers: { one: { ${field}: hunter2 } }\n`, { mode: 0o644 });
    chmodSync(dirname(file), 0o755);
    const [found] = await examineRights('LOG_LEVEL=info', { PROVIDERS_FILE: file }, context);
    expect(found).toMatchObject({ seen: 'every user can read PROVIDERS_FILE, which holds a secret' });
  },
);

test('the advice for a file of another owner keeps the file readable for the service', async (context) => {
  if (process.getuid!() !== 0) context.skip('only root can give a file away');
  const file = join(temporaryFolder(), 'providers.yaml');
  writeFileSync(file, '# The token:\nproviders: { cloud: { type: hetzner, token: hunter2 } }\n', { mode: 0o644 });
  chmodSync(dirname(file), 0o755);
  chownSync(file, 65_534, 65_534);
  const [found] = await examineRights('LOG_LEVEL=info', { PROVIDERS_FILE: file }, context);
  expect(found).toMatchObject({
    seen: 'every user can read PROVIDERS_FILE, which holds a secret',
    advice: `chown root:0 ${file} && chmod 640 ${file}`,
  });
});

test('in a container, a user without a name and mounted secrets are fine, and no advice names npm', async (context) => {
  if (process.getuid!() !== 0) context.skip('only root can become another user');
  const mounted = `/run/secrets/hosting-api-${randomUUID()}`;
  mkdirSync('/run/secrets', { recursive: true });
  writeFileSync(mounted, 'whsec-hunter2', { mode: 0o644 });
  onTestFinished(() => rmSync(mounted));
  const cwd = createOpenFolder();
  mkdirSync(join(cwd, 'data'));
  chmodSync(join(cwd, 'data'), 0o755);
  chownSync(join(cwd, 'data'), 54_321, 54_321);
  const env = { DATA_DIR: 'data', DIST_DIR: 'dist', WHMCS_SECRET_FILE: mounted, PATH: cwd };
  const main = resolve(import.meta.dirname, '../../server/commands/main.js');
  const run = promisify(execFile)(process.execPath, [main, 'doctor', '--json'], { cwd, env, uid: 54_321, gid: 54_321 });
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  expect(toRights(stdout).map(({ seen, advice }) => [seen, advice])).toEqual([
    [`other users can access DATA_DIR (${join(cwd, 'data')})`, `chmod 700 ${join(cwd, 'data')}`],
  ]);
  expect(stdout).toContain(
    'run `node generator/main.js build`, or go back with `node generator/main.js releases rollback`',
  );
  expect(stdout).not.toContain('npm');
});

test('a duration, a file name or an empty value in a world-readable .env is not a secret', async (context) => {
  const lines = ['CONSOLE_TOKEN_TTL_SECONDS=60', 'PANEL_TOKEN_FILE=/run/secrets/panel', 'PANEL_TOKEN=', 'MONKEY=1'];
  expect(await examineRights(lines.join('\n'), {}, context)).toMatchObject([
    { state: 'ok', seen: 'no other user of this machine can read a secret' },
  ]);
});

test.each([
  ['is a fault if world-readable', 0o755, 0o644],
  ['is a fault in a folder that others may enter but not list', 0o711, 0o644],
  ['is fine in a folder that only its owner may enter', 0o700, 0o644],
  ['is fine if other users cannot read the file', 0o755, 0o640],
])('a credential that systemd loads for the service %s', async (_name, folderMode, mode) => {
  const etc = createOpenFolder();
  writeFiles(etc, { 'settings.env': '', 'credentials/panel-token': 'hunter2\n', 'credentials/closed': 'hunter2\n' });
  const file = join(etc, 'credentials/panel-token');
  chmodSync(file, mode);
  chmodSync(join(etc, 'credentials/closed'), 0o600);
  chmodSync(dirname(file), folderMode);
  const settings = { DATA_DIR: join(etc, 'data'), DIST_DIR: join(etc, 'dist'), PANEL_TOKEN: 'hunter2' };
  const { stdout } = await runHere(['doctor', '--json'], settings, { installed: join(etc, 'settings.env') });
  expect(toRights(stdout).map(({ seen, advice }) => [seen, advice])).toEqual([
    folderMode === 0o700 || mode === 0o640
      ? ['no other user of this machine can read a secret', undefined]
      : [`every user can read ${file}, which holds a secret`, `chmod o-rwx ${file}`],
  ]);
});

test('a STATUS_FILE that a running server has not written yet is a hint, not a fault', async () => {
  const installation = await createInstallation();
  await installation.start();
  const { findings } = await installation.examine({ STATUS_FILE: join(installation.root, 'later.json') });
  expect(findings.find(({ check }) => check === 'STATUS_FILE')).toEqual({
    check: 'STATUS_FILE',
    state: 'ok',
    seen: 'the server has not written the file yet',
    advice: expect.stringMatching(/^if the file stays missing, search the server log/),
  });
});

test('a `current` that is a folder is a fault', async () => {
  const installation = await createInstallation();
  const dist = join(temporaryFolder(), 'dist');
  cpSync(realpathSync(join(installation.root, 'dist/current')), join(dist, 'current'), { recursive: true });
  expect((await installation.examine({ DIST_DIR: dist })).faults).toMatchObject([
    { check: 'rollback', seen: expect.stringMatching(/^DIST_DIR\/current is a folder/) },
  ]);
});
