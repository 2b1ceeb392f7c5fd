import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  realpathSync,
  readFileSync,
  readdirSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import type { TestContext } from 'vitest';
import { runCommand, runHere } from '../commands/run-command.ts';
import { findFreePort } from '../helpers/free-port.ts';
import { article, buildProject, temporaryFolder, writeFiles } from '../helpers/project.ts';
import { createWhmcsUpstream, refusal, whmcsCredential } from '../helpers/upstream-whmcs.ts';
import { createUpstream } from '../helpers/upstream.ts';
import type { Finding } from '../../server/doctor/run.ts';
import { createInstallation } from './installation.ts';
import type { Installation } from './installation.ts';

/** Everything below a folder: its path, kind, size, time and content. */
function photograph(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => {
      const path = join(folder, name);
      const { mode, size, mtimeMs } = lstatSync(path);
      const content = lstatSync(path).isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : '';
      return `${name} ${mode} ${size} ${mtimeMs} ${content}`;
    })
    .toSorted();
}

test('before the start of a new version, the server of the one before is no fault', async () => {
  const installation = await createInstallation();
  await installation.start();
  const settings = { ...installation.settings, SERVICE_VERSION: '1.2.4', STATUS_FILE: '' };
  const { status, stdout } = await runHere(['doctor', '--running', '--before-start'], settings);
  expect({ status, stdout }).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('until it is restarted with 1.2.4'),
  });
});

test('an installation whose server runs has no fault, and the table says what was seen', async () => {
  const installation = await createInstallation();
  await installation.start();
  await expect.poll(() => existsSync(installation.settings['STATUS_FILE']!)).toBe(true);
  const { status, findings, stderr } = await installation.examine();
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(findings.map(({ check, state, seen }) => `${check}: ${state}: ${seen.replaceAll(/\d+/g, 'N')}`)).toEqual([
    'settings: ok: valid; version N.N.N',
    'clock: ok: after the release was built',
    'clock of an upstream: ok: agrees with an upstream within N s',
    expect.stringMatching(/^disk of DATA_DIR, DIST_DIR, STATUS_FILE: ok: /),
    'rights: ok: no other user of this machine can read what is secret',
    'store: ok: SQLite, whole; WAL',
    'tables: ok: version N',
    expect.stringMatching(/^release: ok: \w+ is whole$/),
    'release age: ok: no article is scheduled',
    'rollback: ok: there is no earlier release to go back to',
    'server: ok: it runs with version N.N.N and this release',
    expect.stringMatching(/^PUBLIC_URL: skipped: this machine does not reach it/),
    'metrics: ok: the server answers with them',
    'provider panel: ok: The token is accepted',
    'provider panel: ok: The read_only_token is accepted',
    'provider cloud: ok: The token is accepted; whether it may write cannot be seen',
    'servers: ok: each of N has a provider',
    'shared servers: ok: none that was not confirmed',
    'refs of panel: ok: it knows each of N servers',
    'refs of cloud: ok: it knows each of N servers',
    'API keys: ok: N are valid',
    'status source: ok: Uptime Kuma says up',
    expect.stringMatching(/^STATUS_FILE: ok: written N s ago$/),
    'webhook: ok: Discord has it',
    'domain prices: skipped: they are in catalog/domains.yaml',
    'DNS: skipped: DNS_SERVERS is off',
    'domain look-ups: skipped: `npm run domains -- doctor` asks the registry of each TLD',
  ]);
  const { stdout } = await runHere(['doctor'], installation.settings);
  expect(stdout).toMatch(/^CHECK +RESULT +SEEN\n/);
  expect(stdout).toMatch(/\nrollback +hint +there is no earlier release to go back to\n/);
  expect(stdout).toMatch(/\n\nrollback: keep some: `npm run releases -- prune --keep 3` leaves three\n$/);
});

test('the doctor writes nothing, whether the server runs or not, and posts nothing', async () => {
  const installation = await createInstallation();
  await installation.world.store.close();
  const before = photograph(installation.root);
  expect((await installation.examine()).faults).toEqual([]);
  expect(photograph(installation.root)).toEqual(before);
  const { panel, hetzner } = installation.world;
  const seen = [panel, hetzner, installation.kuma, installation.chat].flatMap((upstream) => upstream.seen);
  expect(seen.length).toBeGreaterThan(5);
  expect(seen.filter(({ method }) => method !== 'GET')).toEqual([]);
});

test('before the first start there is no store, and none is created', async () => {
  const installation = await createInstallation();
  const DATA_DIR = join(temporaryFolder(), 'a', 'b');
  const { faults, findings } = await installation.examine({ DATA_DIR, PROVIDERS_FILE: '' });
  expect(faults).toEqual([]);
  expect(findings.find(({ check }) => check === 'store')?.seen).toBe('there is none yet: the first start creates it');
  expect(() => lstatSync(DATA_DIR)).toThrow('ENOENT');
});

test('wrong settings are a fault each, and nothing else is checked', async () => {
  const installation = await createInstallation();
  const { status, findings } = await installation.examine({ RATELIMIT_RPS: 'hunter2', HOST: 'a b', PUBLICURL: 'x' });
  expect(status).toBe(1);
  expect(findings.map(({ check, state, seen }) => `${check}: ${state}: ${seen}`)).toEqual([
    'settings: fault: HOST: must be an IP address or a host name',
    'settings: fault: RATELIMIT_RPS: must be a whole number',
    'settings: fault: PUBLICURL is not a setting and has no effect: did you mean PUBLIC_URL?',
    'all others: skipped: the server does not start with these settings',
  ]);
});

/** A fault: what is done to an installation, and what the doctor must then say. */
interface Fault {
  /** Breaks the installation; returns settings to change. */
  readonly make: (installation: Installation) => Promise<Record<string, string> | void> | Record<string, string> | void;
  readonly finds: readonly [check: string, seen: string | RegExp, advice: string | RegExp];
  /** Other checks that find a fault for the same reason. */
  readonly also?: readonly string[];
}

/** Changes one record of a server in the store. */
const setServer =
  (server: string, change: string) =>
  ({ world }: Installation) =>
    world.change(`UPDATE hosting_servers SET ${change} WHERE server = '${server}'`);

const day = 86_400_000;

const faults: Readonly<Record<string, Fault>> = {
  'a misspelt setting': {
    make: () => ({ RATELIMIT_BRUST: 'hunter2' }),
    finds: [
      'settings',
      'RATELIMIT_BRUST is not a setting and has no effect: did you mean RATELIMIT_BURST?',
      'rename RATELIMIT_BRUST, or remove it',
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
  'proxies that are everybody': {
    make: () => ({ TRUSTED_PROXIES: '0.0.0.0/0' }),
    finds: ['settings', /^TRUSTED_PROXIES trusts everybody/, 'name the addresses of your proxies alone'],
  },
  'a PUBLIC_URL of another service': {
    async make(installation) {
      await installation.start();
      return { PUBLIC_URL: (await createUpstream(() => ({ status: 404 }))).url };
    },
    finds: ['PUBLIC_URL', 'another service answers there', /^set PUBLIC_URL/],
  },
  'no build for a day': {
    make({ root }) {
      const before = new Date(Date.now() - 2 * day);
      utimesSync(join(root, 'dist/current/manifest.json'), before, before);
    },
    finds: ['release age', 'no build made or confirmed it for a day', /timer/],
  },
  'a DNS that does not answer': {
    make: () => ({ DNS_SERVERS: '127.0.0.1:9' }),
    finds: ['DNS', 'no resolver answers, so that domain searches fail', /DNS_SERVERS/],
  },
  'a clock in the past': {
    make({ root }) {
      const later = new Date(Date.now() + 3 * day);
      utimesSync(join(root, 'dist/current/manifest.json'), later, later);
    },
    finds: ['clock', 'it is 72 h before the release was built', /NTP/],
  },
  'a clock that differs from that of an upstream': {
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
  'a database of a newer program': {
    make: ({ world }) =>
      world.change('INSERT INTO hosting_migrations (version, applied_at, min_version) VALUES (999, 1, 999)'),
    finds: ['tables', /^a newer version of this program wrote the database/, /^install the version of the program/],
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
    finds: ['release age', 'an article of 2026-02-01 is not online: no release was built since', /timer/],
  },
  'another program on the port': {
    make: async () => ({ PORT: new URL((await createUpstream(() => ({ status: 404 }))).url).port }),
    finds: ['server', /^another program listens on port \d+$/, /PORT/],
  },
  'a server that was not restarted': {
    make: (installation) => installation.start().then(() => ({ SERVICE_VERSION: '1.2.4' })),
    finds: ['server', 'it runs another version than 1.2.4, which is installed here', 'restart it'],
  },
  'a server with another release': {
    async make(installation) {
      await installation.start();
      const other = await createInstallation();
      writeFiles(other.root, { 'content/blog/news/third.md': article({ title: 'Third' }, 'Now.\n') });
      await buildProject(other.root);
      return { DIST_DIR: join(other.root, 'dist') };
    },
    finds: ['server', 'it serves another release than DIST_DIR/current', /new release rejected/],
  },
  'another program on the port of the metrics': {
    make: async () => ({ METRICS_PORT: new URL((await createUpstream(() => ({ status: 200 }))).url).port }),
    finds: ['metrics', /^another program listens on METRICS_PORT \d+$/, /METRICS_PORT/],
  },
  'a server that runs without its metrics': {
    make: (installation) => installation.start().then(() => ({ METRICS_PORT: '3' })),
    finds: ['metrics', /^the server has no metrics on port \d+$/, /^restart it/],
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
    finds: ['provider panel', /^The read_only_token may do more than read/, /take all other permissions/],
  },
  'an upstream that answers with errors': {
    make: ({ world }) => world.hetzner.fail({ status: 503, body: 'hunter2' }),
    finds: ['provider cloud', 'Hetzner Cloud answers with status 503', /see what fails there/],
  },
  'an upstream that cannot be reached': {
    make: ({ world }) => world.hetzner.stop().then(() => ({})),
    finds: ['provider cloud', 'Hetzner Cloud cannot be reached', /connect/],
  },
  'an upstream that takes the connection and never answers': {
    make({ world }) {
      world.panel.fail('hang');
      return { UPSTREAM_TIMEOUT_SECONDS: '1' };
    },
    finds: ['provider panel', 'The panel cannot be reached with the token', /connect/],
    // On a busy machine a second is too short for the others too.
    also: ['provider cloud', 'refs of cloud', 'refs of panel'],
  },
  'servers without providers': {
    make: () => ({ PROVIDERS_FILE: '' }),
    finds: [
      'servers',
      'PROVIDERS_FILE is not set, so no action reaches game:mine, game:theirs, vps:mine, vps:theirs',
      /^set PROVIDERS_FILE/,
    ],
  },
  'a server of a provider that does not exist': {
    make: setServer('game:mine', "provider = 'panell'"),
    finds: [
      'servers',
      'game:mine leads nowhere: PROVIDERS_FILE has no provider panell (did you mean "panel"?)',
      /servers -- add game:mine --provider NAME --ref REF --replace/,
    ],
  },
  'a ref that is impossible': {
    make: setServer('vps:mine', "ref = 'x'"),
    finds: [
      'servers',
      'vps:mine leads nowhere: a ref of hetzner is the number of a server of the project',
      /servers -- add vps:mine/,
    ],
    also: ['refs of cloud'],
  },
  'a ref that the provider does not know': {
    make: setServer('vps:mine', "ref = '43'"),
    finds: ['refs of cloud', 'it does not show vps:mine to our credential', /deleted there/],
  },
  'a game server that the panel does not know': {
    make: setServer('game:theirs', "ref = '0123abcd'"),
    finds: ['refs of panel', 'it does not show game:theirs to our credential', /deleted there/],
  },
  'a key of a server that does not exist': {
    make: ({ world }) => world.issueKey({ servers: ['game:gone'] }).then(() => ({})),
    finds: ['API keys', /^servers that do not exist are named by \w{12}$/, /keys -- update ID/],
  },
  'an Uptime Kuma that fails': {
    make: ({ kuma }) => kuma.fail({ status: 500, body: 'hunter2' }),
    finds: ['status source', 'Uptime Kuma: not an answer of a status page', /published/],
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
    finds: ['status source', 'there is no monitor, so that /v1/status is 503', /catalog\/status\.yaml/],
  },
  'a STATUS_FILE in a folder that does not exist': {
    make: ({ root }) => ({ STATUS_FILE: join(root, 'none/status.json') }),
    finds: ['STATUS_FILE', /^this user cannot write to /, /create the folder/],
  },
  'a STATUS_FILE that is not written': {
    async make(installation) {
      await installation.start();
      const old = join(installation.root, 'old.json');
      writeFileSync(old, '{"status":"up"}');
      utimesSync(old, new Date(Date.now() - 600_000), new Date(Date.now() - 600_000));
      return { STATUS_FILE: old };
    },
    finds: ['STATUS_FILE', 'the server wrote it 10 minutes ago', /log of the server/],
  },
  'a webhook that Discord does not have': {
    make: ({ chat }) => chat.fail({ status: 404, body: 'hunter2' }),
    finds: ['webhook', 'Discord does not have it: status 404', /create a webhook/],
  },
  'a webhook of another kind': {
    make: () => ({ CHAT_FEEDBACK_WEBHOOK_KIND: 'mattermost' }),
    finds: ['webhook', 'the URL is not one of a mattermost webhook', /CHAT_FEEDBACK_WEBHOOK_KIND/],
  },
  'a webhook of a host that does not answer': {
    async make() {
      const url = `http://127.0.0.1:${await findFreePort()}/hooks/hunter2`;
      return { CHAT_FEEDBACK_WEBHOOK_KIND: 'mattermost', CHAT_FEEDBACK_WEBHOOK_URL: url };
    },
    finds: ['webhook', 'the chat cannot be reached (ECONNREFUSED)', /connect/],
  },
  'a billing system that refuses us': {
    async make() {
      const { upstream } = await createWhmcsUpstream();
      upstream.fail(refusal('Invalid IP 10.0.0.1 hunter2', 403));
      return {
        DOMAIN_PRICES: 'whmcs',
        WHMCS_URL: upstream.url,
        WHMCS_IDENTIFIER: whmcsCredential.identifier,
        WHMCS_SECRET: whmcsCredential.secret,
      };
    },
    finds: ['domain prices', 'the billing system does not answer as it should', /whmcs settings/],
  },
};

test.each(Object.entries(faults))(
  '%s is found, with what to do',
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
  expect(found).toMatchObject([{ check: 'provider panel', seen: 'The panel cannot be reached with the token' }]);
  expect(findings).toContainEqual({ check: 'refs of panel', state: 'skipped', seen: 'it does not answer' });
});

test('keys that expired long ago are a hint, and no fault', async () => {
  const installation = await createInstallation();
  const expired = await installation.world.issueKey({ expiresAt: Date.now() - 91 * day });
  const { status, findings } = await installation.examine();
  expect(status).toBe(0);
  expect(findings).toContainEqual({
    check: 'API keys',
    state: 'ok',
    seen: `expired for more than 90 days: ${expired.split('_')[1]}`,
    advice: 'revoke what is not renewed: `npm run keys -- revoke ID`',
  });
});

test('without a status page the monitors of the catalog are the source of the status', async () => {
  const installation = await createInstallation();
  const { findings } = await installation.examine({ UPTIME_KUMA_URL: '', UPTIME_KUMA_STATUS_PAGE: '' });
  expect(findings).toContainEqual({ check: 'status source', state: 'ok', seen: '1 of catalog/status.yaml' });
});

/** Creates a folder that every user may enter, below that of temporary files. */
function createOpenFolder(): string {
  const created = temporaryFolder();
  for (let folder = created; folder.startsWith(tmpdir()) && folder !== tmpdir(); folder = dirname(folder)) {
    chmodSync(folder, 0o755);
  }
  return created;
}

/** What the doctor says of the rights, without a secret. */
function toRights(stdout: string): Finding[] {
  expect(stdout).not.toContain('hunter2');
  return (JSON.parse(stdout) as Finding[]).filter(({ check }) => check === 'rights');
}

/** What the doctor says of the rights, in a folder with this .env that every user can read. */
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

test('an .env with a secret that every user can read is found', async (context) => {
  const installation = await createInstallation();
  for (const folder of [installation.settings['DATA_DIR']!, installation.root, join(installation.root, '..')]) {
    chmodSync(folder, 0o755);
  }
  const found = await examineRights('PANEL_TOKEN=hunter2', installation.settings, context);
  expect(found.map(({ seen, advice }) => `${seen}: ${advice}`)).toEqual([
    expect.stringMatching(/^other users can look into DATA_DIR.*: chmod 700 /),
    expect.stringMatching(/^every user can read \.env, which holds a secret: chmod o-rwx .*\.env$/),
    expect.stringMatching(/^every user can read PROVIDERS_FILE, which holds a secret: chmod o-rwx .*providers\.yaml$/),
  ]);
});

test('the PROVIDERS_FILE that is shipped holds no secret, whatever its comments say', async (context) => {
  const PROVIDERS_FILE = resolve(import.meta.dirname, '../../examples/systemd/providers.yaml');
  const found = await examineRights('LOG_LEVEL=info', { PROVIDERS_FILE }, context);
  expect(found.map(({ state }) => state)).toEqual(['ok']);
});

test('the advice for a file of another owner leaves the service its right to read it', async (context) => {
  if (process.getuid!() !== 0) context.skip('only root can give a file away');
  const file = join(temporaryFolder(), 'providers.yaml');
  writeFileSync(file, '# The token:\nproviders: { cloud: { type: hetzner, token: hunter2 } }\n', { mode: 0o644 });
  chmodSync(dirname(file), 0o755);
  chownSync(file, 65_534, 65_534);
  const [found] = await examineRights('LOG_LEVEL=info', { PROVIDERS_FILE: file }, context);
  expect(found).toMatchObject({
    seen: 'every user can read PROVIDERS_FILE, which holds a secret',
    advice: `chown root:$(id -gn root) ${file} && chmod 640 ${file}`,
  });
});

test('an .env that every user can read holds no secret in a duration, a file name or an empty value', async (context) => {
  const lines = ['CONSOLE_TOKEN_TTL_SECONDS=60', 'PANEL_TOKEN_FILE=/run/secrets/panel', 'PANEL_TOKEN=', 'MONKEY=1'];
  expect(await examineRights(lines.join('\n'), {}, context)).toMatchObject([
    { state: 'ok', seen: 'no other user of this machine can read what is secret' },
  ]);
});

test.each([
  ['is found by its name', 0o755, 0o644],
  ['is found in a folder that others may enter, and not list', 0o711, 0o644],
  ['is no fault in a folder that only its owner may enter', 0o700, 0o644],
  ['is no fault if it is closed itself', 0o755, 0o640],
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
      ? ['no other user of this machine can read what is secret', undefined]
      : [`every user can read ${file}, which holds a secret`, `chmod o-rwx ${file}`],
  ]);
});

test('a server that has not written STATUS_FILE yet is a hint, and no fault', async () => {
  const installation = await createInstallation();
  await installation.start();
  const { findings } = await installation.examine({ STATUS_FILE: join(installation.root, 'later.json') });
  expect(findings.find(({ check }) => check === 'STATUS_FILE')).toEqual({
    check: 'STATUS_FILE',
    state: 'ok',
    seen: 'the server has not written it yet',
    advice: expect.stringMatching(/^if it stays so, see the log/),
  });
});

test('a release that is a folder cannot be rolled back', async () => {
  const installation = await createInstallation();
  const dist = join(temporaryFolder(), 'dist');
  cpSync(realpathSync(join(installation.root, 'dist/current')), join(dist, 'current'), { recursive: true });
  expect((await installation.examine({ DIST_DIR: dist })).faults).toMatchObject([
    { check: 'rollback', seen: expect.stringMatching(/^DIST_DIR\/current is a folder/) },
  ]);
});
