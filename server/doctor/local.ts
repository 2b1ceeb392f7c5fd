import { randomBytes } from 'node:crypto';
import { lstat, readFile, readdir, realpath, stat, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { Environment } from '#common/environment.ts';
import { listNames } from '#common/suggest.ts';
import { askResolvers } from '../domains/lookup/dns.ts';
import { createPriceSource } from '../domains/prices.ts';
import { describeMisspelt, findMisspeltSettings, readEnv } from '../env.ts';
import type { Env } from '../env.ts';
import { keyedOrigins } from '../http/request.ts';
import { findRecordProblem, holdsSecret, normalizeRef, readProviders } from '../hosting/providers.ts';
import { isActive } from '../keys/authorize.ts';
import type { ServerRecord } from '../store/types.ts';
import { EnvError } from '../settings.ts';
import { createUptimeKuma } from '../status/uptime-kuma.ts';
import { ProviderError } from '../upstream/client.ts';
import { isLoopback } from '../upstream/address.ts';
import {
  codeOf,
  createVisit,
  installCertificate,
  isCertificateError,
  judgeCertificate,
  judgeSkew,
  setClock,
} from './client.ts';
import { findExisting, isFree, isWritable, openInstallation, toSkipped, visitHere } from './installation.ts';
import type { Expected, Installation } from './installation.ts';
import { countOf, fault, faultEach, hint, ok, runChecks, skipped } from './run.ts';
import type { DoctorResult, Checks, NamedResult } from './run.ts';

/** Checks this installation, running or not, without writing a file or sending an action. */
export async function examineInstallation(
  environment: Environment,
  options: Expected & Pick<Installation, 'installed'>,
): Promise<readonly NamedResult[]> {
  let env: Env;
  try {
    env = readEnv(environment);
  } catch (error) {
    if (!(error instanceof EnvError)) throw error;
    const advice = 'correct the setting in the environment or in .env; docs/settings.md lists all settings';
    const problems = error.message.split('\n').map((line) => ({ check: 'settings', ...fault(line, advice) }));
    return [...problems, { check: 'other checks', ...skipped('the server cannot start with these settings') }];
  }
  await using opened = new AsyncDisposableStack();
  const installation = openInstallation(env, environment, { ...options, opened });
  return await runChecks(installationChecks, () => installation, toSkipped);
}

/**
 * Measures the clock skew of an upstream in ms; NaN if unknown, undefined without an upstream. Accepts any certificate,
 * because a wrong clock makes valid ones look invalid; sends no credential.
 */
async function readUpstreamSkew({ env, providers }: Installation): Promise<number | undefined> {
  const { value: reports = [] } = await providers();
  const { true: reachable = [], false: silent = [] } = Object.groupBy(reports, ({ answers }) => `${answers}`);
  // Silent upstreams last: each may take its full timeout.
  const urls = [...reachable, { url: env.UPTIME_KUMA_URL }, ...silent].flatMap(({ url }) => url ?? []);
  for (const url of urls) {
    const asked = Date.now();
    const seen = await createVisit(new URL(url), false)('/').catch(() => undefined);
    const skewMs = Date.parse(seen?.header('date') ?? '') - (asked + Date.now()) / 2;
    if (!Number.isNaN(skewMs)) return skewMs;
  }
  return urls.length > 0 ? Number.NaN : undefined;
}

const hourMs = 3_600_000;
const gibibyte = 1024 ** 3;

/** The maximum number of unlisted servers that are asked for one by one. */
const maxAsked = 20;

const unusedDays = 90;

/** Variables with a secret: our settings, and variables that a PROVIDERS_FILE refers to. */
const secretName =
  /^(?:DATABASE_URL|PGPASSWORD|CHAT_FEEDBACK_WEBHOOK_URL|WHMCS_IDENTIFIER)$|(?:^|_)(?:TOKEN|SECRET|PASSWORD|KEY)$/;

/** The path of a Discord webhook; a path with `/slack` at its end takes Slack messages. */
const discordPath = /^\/api\/(?:v\d+\/)?webhooks\/\d+\/[^/]+(?!.*\/slack$)/;

/** The checks of an installation. */
export const installationChecks = {
  settings({ env, environment }) {
    const { HOST: host, PUBLIC_URL: url, TRUSTED_PROXIES: trusted } = env;
    const found = findMisspeltSettings(environment).map((setting) =>
      fault(describeMisspelt(setting), `rename or remove ${setting.name}`),
    );
    if (url === undefined && (host === '0.0.0.0' || host === '::')) {
      const advice = 'set PUBLIC_URL to the address that clients use, such as https://api.example.com';
      found.push(fault('PUBLIC_URL is not set: clients cannot reach the URL of a console stream', advice));
    }
    if (isPublic(env) && !url!.startsWith('https:')) {
      const seen = 'PUBLIC_URL is not https: API keys and consoles travel in plain text';
      found.push(fault(seen, 'serve the API over https, and set PUBLIC_URL to that address'));
    }
    // A public service that listens on loopback must be behind a proxy on this machine.
    if (isPublic(env) && isLoopback(host) && !trusted.check('127.0.0.1') && !trusted.check('::1', 'ipv6')) {
      const seen = 'TRUSTED_PROXIES lacks the proxy on this machine: all visitors share one rate limit';
      found.push(fault(seen, 'set TRUSTED_PROXIES=127.0.0.1,::1'));
    }
    // Documentation addresses (RFC 5737, RFC 3849): no proxy has them.
    if (trusted.check('203.0.113.1') || trusted.check('2001:db8::1', 'ipv6')) {
      const seen = 'TRUSTED_PROXIES trusts every address: clients can spoof their IP';
      found.push(fault(seen, 'list only the addresses of your proxies in TRUSTED_PROXIES'));
    }
    return found.length > 0 ? found : ok(`valid; version ${env.SERVICE_VERSION}`);
  },
  origins({ env: { CORS_ORIGINS: listed, PUBLIC_URL: url, ALLOW_LOCAL_ORIGINS: allowsLocal } }) {
    const named = [...keyedOrigins(listed, url), ...(allowsLocal ? ['localhost'] : [])];
    if (named.length === 0) return ok('CORS_ORIGINS names no origin: pages of no other origin may use API keys');
    return ok(`pages of ${named.join(', ')} may use API keys`);
  },
  async clock({ env }) {
    // A machine without a clock battery boots in the past.
    const built = await readBuildTime(env);
    if (built === undefined) return skipped('there is no release to compare the clock with');
    const hours = (built - Date.now()) / hourMs;
    if (hours <= 1) return ok('later than the build of the release');
    return fault(`the clock is ${Math.round(hours)} h behind the build of the release`, setClock);
  },
  async 'clock of an upstream'(installation) {
    const { results } = await installation.store();
    if (results.some(({ check, state }) => check === 'clock of the store' && state === 'fault'))
      return skipped('the clock differs from the clock of the store already');
    const skewMs = await readUpstreamSkew(installation);
    if (skewMs === undefined) return skipped('no upstream is configured');
    if (Number.isNaN(skewMs)) return skipped('no upstream sends the time');
    return judgeSkew('an upstream', skewMs);
  },
  disk: ({ env }) => checkDisks(env),
  async rights({ env: { DATA_DIR, PROVIDERS_FILE: providers }, environment, installed }) {
    /** Names of files with a secret, by path. */
    const files = new Map<string, string>();
    // systemd loads these for the service (LoadCredential=). Users who cannot list the folder can open a known name.
    const credentials = resolve(dirname(installed), 'credentials');
    const addCredential = (name: string) => files.set(join(credentials, name), join(credentials, name));
    for (const name of await readdir(credentials).catch(() => [])) addCredential(name);
    for (const [name, path] of Object.entries(environment)) {
      const secret = name.replace(/_FILE$/, '');
      addCredential(secret.toLowerCase().replaceAll('_', '-'));
      if (path && secret !== name && secretName.test(secret)) files.set(path, name);
    }
    // A path (PANEL_TOKEN_FILE) or a duration (CONSOLE_TOKEN_TTL_SECONDS) is not a secret and does not match.
    const dotenv = Object.entries(parseEnv(await readFile('.env', 'utf8').catch(() => '')));
    if (dotenv.some(([name, value]) => secretName.test(name) && value !== '')) files.set('.env', '.env');
    if (providers !== undefined && holdsSecret(readProviders(providers) ?? {})) files.set(providers, 'PROVIDERS_FILE');
    const folder = resolve(DATA_DIR);
    // Only the host of a container can change the rights of mounted secrets.
    for (const path of files.keys()) if (path.startsWith('/run/secrets/')) files.delete(path);
    const found = await Promise.all([
      checkClosed(folder, '700', `other users can access DATA_DIR (${folder})`),
      ...[...files].map(([path, name]) =>
        checkClosed(path, '640', `every user can read ${name}, which holds a secret`),
      ),
    ]);
    const faults = found.flat();
    return faults.length > 0 ? faults : ok('no other user of this machine can read a secret');
  },
  store: async ({ store }) => (await store()).results,
  release: async ({ release }) => (await release()).results,
  async 'release age'({ env, release }) {
    const { value: current } = await release();
    if (!current) return [];
    const { nextChangeAt: next } = current;
    const advice = 'run `npm run build`, and find out why the build timer (after midnight UTC) did not run';
    // The nightly build starts at 00:01 UTC and takes minutes.
    if (next !== null && Date.now() > Date.parse(next) + hourMs)
      return fault(`an article dated ${next} is not online: no release was built since then`, advice);
    // A build without changes updates this time, too.
    const built = await readBuildTime(env);
    if (isPublic(env) && built !== undefined && Date.now() - built > 25 * hourMs)
      return fault('no build has succeeded for a day', advice);
    return ok(next === null ? 'no article is scheduled' : `the next scheduled article is dated ${next}`);
  },
  async rollback({ env: { DIST_DIR: dist } }) {
    const link = await lstat(join(dist, 'current')).catch(() => undefined);
    if (link && !link.isSymbolicLink()) {
      const advice = 'copy the folder releases/ and then the link current: `rsync -a` preserves links';
      return fault('DIST_DIR/current is a folder, not a link: releases cannot be switched atomically', advice);
    }
    return ok('releases can be switched');
  },
  server: async ({ server }) => (await server()).results,
  async PUBLIC_URL({ env: { PUBLIC_URL: url }, server }) {
    if (url === undefined) return [];
    if (!(await server()).value) return skipped('the server is not running');
    try {
      const health = await createVisit(new URL(url))('/health');
      if (health.fields.status === 'healthy') return judgeCertificate(health);
      return fault('another service answers at PUBLIC_URL', 'correct PUBLIC_URL, or the proxy at that address');
    } catch (error) {
      const code = codeOf(error);
      if (!isCertificateError(code)) return skipped(`this machine cannot reach PUBLIC_URL (${code})`);
      return fault(`clients reject the certificate (${code})`, installCertificate);
    }
  },
  metrics: (installation) => checkPort(installation, 'METRICS_PORT'),
  async "operators' port"(installation) {
    const answers = await checkPort(installation, 'OPERATOR_PORT');
    if (installation.env.OPERATOR_PORT === undefined) return answers;
    const valid = ((await installation.store()).value?.operators ?? []).filter((token) => isActive(token, Date.now()));
    const isExposed = !isLoopback(installation.env.OPERATOR_HOST);
    const open = valid.filter(({ networks }) => isExposed && networks.length === 0);
    const unused = valid.filter((one) => (one.lastUsedAt ?? one.createdAt) < Date.now() - unusedDays * 86_400_000);
    const protect = 'put TLS in front (examples/nginx/operators.conf), and close the port itself to other machines';
    const replace = 'replace the token: `npm run operators -- create` with --network, `npm run operators -- revoke ID`';
    const revoke = 'revoke tokens that no program needs: `npm run operators -- revoke ID`';
    return [
      answers,
      ...(isExposed ? [hint('other machines can reach OPERATOR_HOST: tokens need TLS in front', protect)] : []),
      ...faultEach(open, ({ id }) => [`token ${id} may be used from any address`, replace]),
      ...unused.map(({ id }) => hint(`token ${id} has not been used for ${unusedDays} days`, revoke)),
    ];
  },
  providers: async ({ providers }) => (await providers()).results,
  async servers({ env: { PROVIDERS_FILE: file }, store }) {
    const { value: records } = await store();
    if (!records) return skipped('the store cannot be read');
    // Only `npm start` runs the demo servers.
    const real = records.servers.filter(({ provider }) => file !== undefined || provider !== 'demo');
    const demos = records.servers.length;
    if (real.length === 0) return ok(demos > 0 ? `${countOf(demos, 'demo server')} of \`npm start\`` : 'no servers');
    if (file === undefined) {
      const seen = `PROVIDERS_FILE is not set: no action reaches ${listNames(real.map(({ server }) => server))}`;
      return fault(seen, 'set PROVIDERS_FILE, or remove the servers: `npm run servers -- remove game:ID`');
    }
    const written = readProviders(file);
    if (!written) return skipped('PROVIDERS_FILE cannot be read');
    const wrong = real.filter((record) => findRecordProblem(record, written) !== undefined);
    if (wrong.length === 0) return ok(`${countOf(real.length, 'server')} with a provider`);
    return faultEach(wrong, (record) => {
      const add = `npm run servers -- add ${record.server} --provider NAME --ref REF --replace`;
      const seen = `${record.server} cannot be reached: ${findRecordProblem(record, written)}`;
      return [seen, `correct the record: \`${add}\``];
    });
  },
  async 'shared servers'({ env: { PROVIDERS_FILE: file }, store }) {
    const { servers = [] } = (await store()).value ?? {};
    const written = file === undefined ? undefined : readProviders(file);
    const targetOf = ({ provider, ref }: ServerRecord) => `${provider} ${normalizeRef(provider, ref, written)}`;
    const byTarget = Map.groupBy(servers, targetOf);
    const found = servers.flatMap((record) => {
      const twin = byTarget.get(targetOf(record))!.find(({ server }) => server !== record.server);
      return record.shared === 'unconfirmed' && twin ? [{ ...record, twin }] : [];
    });
    if (found.length === 0) return ok('no unconfirmed duplicates');
    return faultEach(found, ({ server, provider, ref, twin }) => {
      const add = `\`npm run servers -- add ${server} --provider ${provider} --ref ${ref} --replace --shared\``;
      const refs = twin.ref === ref ? 'have the same provider and ref' : `are one server: ${ref} and ${twin.ref}`;
      const seen = `${server} and ${twin.server} ${refs}`;
      return [seen, `correct one of the two records, or confirm the duplicate: ${add}`];
    });
  },
  async refs({ env: { PROVIDERS_FILE: file }, store, providers }) {
    const written = file === undefined ? undefined : readProviders(file);
    const { servers = [] } = (await store()).value ?? {};
    const { value: reports = [] } = await providers();
    const found = reports.map(async ({ name, provider, answers }): Promise<DoctorResult[]> => {
      const own = servers.filter((record) => record.provider === name);
      if (own.length === 0 || !provider.listRefs) return [];
      const named = (result: DoctorResult): DoctorResult[] => [{ ...result, check: `refs of ${name}` }];
      if (!answers) return named(skipped('the provider does not answer'));
      const known = await provider.listRefs().catch((error: unknown) => error as Partial<ProviderError>);
      if (!('names' in known)) {
        const why = known.answered === undefined ? '' : ` (status ${known.answered})`;
        return named(skipped(`the provider does not list its servers to the token${why}`));
      }
      const unlisted = own.filter(({ ref }) => !known.names.has(normalizeRef(name, ref, written)));
      // A role of Pelican gives access to servers that are in no list.
      const has = (ref: string) => provider.hasRef?.(ref).catch(() => true);
      const asked = await Promise.all(unlisted.slice(0, maxAsked).map(async ({ ref }) => Boolean(await has(ref))));
      const missing = asked.every(Boolean) ? [] : unlisted.filter((_, index) => asked[index] !== true);
      const unasked = Math.max(0, unlisted.length - maxAsked);
      if (missing.length === 0) return named(ok(`${countOf(own.length - unasked, 'server')} found`));
      const seen = `the token cannot see ${listNames(missing.map(({ server }) => server))}`;
      const advice = 'check that the servers still exist, and that the user of the token may access them';
      return named(fault(seen, advice));
    });
    return (await Promise.all(found)).flat();
  },
  async 'API keys'({ store }) {
    const { value: records } = await store();
    if (!records) return [];
    const known = new Set<string>(records.servers.map(({ server }) => server));
    const valid = records.apiKeys.filter((key) => isActive(key, Date.now()));
    const lost = valid.filter(({ servers }) => servers.some((server) => !known.has(server))).map(({ id }) => id);
    if (lost.length === 0) return ok(countOf(valid.length, 'valid key'));
    const update = 'add the servers, or change the keys: `npm run keys -- update ID --server game:ID`';
    return fault(`keys of servers that do not exist: ${listNames(lost)}`, update);
  },
  async 'status source'({ env: { UPTIME_KUMA_URL: url, UPTIME_KUMA_STATUS_PAGE: page }, release }) {
    if (url === undefined || page === undefined) {
      const { value: current } = await release();
      if (!current) return skipped('there is no release with monitors');
      const count = current.status.monitors.length;
      if (count > 0) return ok(`${countOf(count, 'monitor')} in catalog/status.yaml`);
      const advice =
        'add a monitor to catalog/status.yaml and build, or set UPTIME_KUMA_URL and UPTIME_KUMA_STATUS_PAGE';
      return fault('there is no monitor: /v1/status answers 503', advice);
    }
    const kuma = createUptimeKuma({ url, page });
    try {
      return ok(`Uptime Kuma reports ${(await kuma.read()).status}`);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      const advice =
        'check that the status page is published and has monitors, and that this machine can reach the URL without a redirect or a login';
      return fault(`Uptime Kuma: ${error.message}`, advice);
    } finally {
      await kuma.close();
    }
  },
  async STATUS_FILE({ env: { STATUS_FILE: file }, server }) {
    if (file === undefined) return [];
    const folder = resolve(dirname(file));
    if (!isWritable(folder))
      return fault(`this user cannot write to ${folder}`, "create the folder, owned by the server's user");
    const { value: isRunning } = await server();
    const found = await stat(file).catch(() => undefined);
    if (found && !found.isFile())
      return fault('STATUS_FILE is not a regular file', 'set STATUS_FILE to a file in an existing folder');
    const advice = 'search the server log for STATUS_FILE and for the status of the platform';
    if (!found && !isRunning) return ok('not written yet: the server is not running');
    // The server may have started just now; its uptime is unknown here.
    if (!found) return hint('the server has not written the file yet', `if the file stays missing, ${advice}`);
    const ageMs = Date.now() - found.mtimeMs;
    if (!isRunning || ageMs <= 120_000) return ok(`last written ${Math.round(ageMs / 1000)} s ago`);
    // A running server writes the file every 15 s while the status is known.
    return fault(`last written ${Math.round(ageMs / 60_000)} minutes ago`, advice);
  },
  async webhook({ env: { CHAT_FEEDBACK_WEBHOOK_URL: text, CHAT_FEEDBACK_WEBHOOK_KIND: kind } }) {
    if (text === undefined) return skipped('CHAT_FEEDBACK_WEBHOOK_URL is not set: votes are only counted');
    const { origin, pathname } = new URL(text);
    const isDiscord = discordPath.test(pathname);
    if (isDiscord !== (kind === 'discord')) {
      const advice = 'set CHAT_FEEDBACK_WEBHOOK_KIND to the chat of the URL, or copy the URL again';
      return fault(`the URL is not a ${kind} webhook`, advice);
    }
    try {
      // Discord describes a webhook on GET; other chats have no request without a side effect.
      const { status, fields } = await createVisit(new URL(origin))(isDiscord ? pathname : '/');
      if (!isDiscord) return ok('the host is reachable; only a vote tests the webhook');
      if (status === 200) return ok('the webhook exists');
      // The page of a proxy has no message.
      const isOwn = fields['message'] !== undefined;
      if (!isOwn || (status !== 401 && status !== 404)) return skipped(`Discord answers ${status}`);
      const advice = 'create a webhook in the channel settings, and set CHAT_FEEDBACK_WEBHOOK_URL to its URL';
      return fault(`the webhook does not exist: Discord answers ${status}`, advice);
    } catch (error) {
      // Omit the message: it may contain the URL, which is a secret.
      const { code = 'no answer' } = error as NodeJS.ErrnoException;
      const advice = 'check that this machine can resolve the host name and connect to the chat';
      return fault(`the chat is unreachable (${code})`, advice);
    }
  },
  async 'domain prices'({ env }) {
    const notes: string[] = [];
    const source = createPriceSource(env, { warn: (_, note) => notes.push(note) });
    if (!source) return skipped('the prices are in catalog/domains.yaml');
    const advice = `check the ${env.DOMAIN_PRICES} settings, and that the system allows the address of this machine`;
    try {
      const { size } = await source.read();
      const seen = [...(size > 0 ? [countOf(size, 'TLD')] : []), ...notes].join('; ');
      if (size === 0 && notes.length === 0) return fault('no TLD has complete prices in EUR for one year', advice);
      if (size === 0) return fault(seen, 'correct this in the billing system');
      return notes.length > 0 ? hint(seen, 'correct these TLDs in the billing system') : ok(seen);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      const seen = `the billing system does not send a valid answer${error.answered ? `, but status ${error.answered}` : ''}`;
      return fault(seen, advice);
    } finally {
      await source.close();
    }
  },
  async DNS({ env: { DNS_SERVERS: servers } }) {
    if (servers === 'off') return skipped('DNS_SERVERS is off');
    const options = { servers, timeoutMs: 3000, signal: AbortSignal.timeout(10_000) };
    const advice = 'correct DNS_SERVERS, or /etc/resolv.conf';
    const randoms = askResolvers(`x${randomBytes(12).toString('hex')}.com`, options);
    // .com always exists: a resolver without an answer for .com fails every search.
    const asked = askResolvers('com', options).map(async (ask, at) => {
      const reply = await ask();
      const resolver = `the ${at === 0 ? 'first' : 'second'} resolver`;
      if (reply === 'delegated') {
        if ((await randoms[at]!()) !== 'delegated') return [];
        const seen = `${resolver} has name servers for a name that does not exist: every domain counts as taken`;
        return fault(seen, advice);
      }
      if (reply !== 'timeout' && reply !== 'unreachable')
        return fault(`${resolver} refuses to resolve .com`, 'allow this machine to use the resolver');
      const fails = reply === 'timeout' ? 'does not answer' : 'cannot be reached';
      return fault(`${resolver} ${fails}: searches are slow or fail`, advice);
    });
    const found = (await Promise.all(asked)).flat();
    return found.length > 0 ? found : ok(`${countOf(asked.length, 'resolver')} answer`);
  },
  'domain look-ups': () => skipped('run `npm run domains -- doctor` to query the registry of each TLD'),
} satisfies Checks<Installation>;

/** Checks that the server answers on another of its ports. */
async function checkPort({ env, server }: Installation, setting: 'METRICS_PORT' | 'OPERATOR_PORT') {
  const port = env[setting];
  if (!port) return skipped(port === 0 ? `${setting} is 0: the port is unknown` : `${setting} is not set`);
  const [host, path, served] =
    setting === 'METRICS_PORT' ? [env.HOST, '/metrics', 'metrics'] : [env.OPERATOR_HOST, '/health', 'operators'];
  const { value: isRunning } = await server();
  const found = await visitHere(host, port)(path).catch(codeOf);
  if (isFree(found) && !isRunning) return ok('not running (port is free)');
  if (isFree(found))
    return fault(`the server does not serve ${served} on port ${port}`, `restart the server to apply ${setting}`);
  if (isRunning && typeof found === 'object' && found.status === 200) return ok(`the server serves ${served}`);
  return fault(`${setting} ${port} is in use by another program`, `choose another ${setting}, or stop the program`);
}

/** Checks free disk space, once per file system. */
export async function checkDisks(env: Pick<Env, 'DATA_DIR' | 'DIST_DIR' | 'STATUS_FILE'>): Promise<DoctorResult[]> {
  const { DATA_DIR, DIST_DIR, STATUS_FILE } = env;
  const folders = { DATA_DIR, DIST_DIR, ...(STATUS_FILE !== undefined && { STATUS_FILE: dirname(STATUS_FILE) }) };
  const found = await Promise.all(
    Object.entries(folders).map(async ([name, path]) => ({ name, ...(await findExisting(resolve(path))) })),
  );
  const disks = [...Map.groupBy(found, ({ device }) => device).values()].map(async (same) => {
    // File systems without a fixed number of inodes report 0 of 0.
    const { bavail, blocks, bsize, ffree: inodes, files: allInodes } = await statfs(same[0]!.folder);
    const check = `disk of ${same.map(({ name }) => name).join(', ')}`;
    const left = `${formatBytes(bavail * bsize)} of ${formatBytes(blocks * bsize)} left`;
    if (isScarce(bavail * bsize, blocks * bsize, gibibyte)) {
      const prune = '`npm run releases -- prune --keep 3` removes old releases';
      return { check, ...fault(left, `free some space: ${prune}; check logs and backups, too`) };
    }
    if (!isScarce(inodes, allInodes, 20_000)) return { check, ...ok(left) };
    const advice = 'remove small files: most of them are in old releases';
    return { check, ...fault(`${inodes} of ${allInodes} inodes left`, advice) };
  });
  return await Promise.all(disks);
}

/** Scarce means less than 10 % and less than the absolute minimum: 10 % of a big disk is plenty. */
const isScarce = (left: number, all: number, few: number): boolean => left < few && left < all * 0.1;

const formatBytes = (bytes: number): string =>
  bytes < gibibyte ? `${Math.floor(bytes / 1024 ** 2)} MiB` : `${(bytes / gibibyte).toFixed(1)} GiB`;

const isPublic = ({ PUBLIC_URL: url }: Env): boolean => url !== undefined && !isLoopback(new URL(url).hostname);

async function readBuildTime({ DIST_DIR: dist }: Env): Promise<number | undefined> {
  return (await stat(join(dist, 'current', 'manifest.json')).catch(() => undefined))?.mtimeMs;
}

/** Reports a path other users can read, with a chmod/chown command that keeps the service user's access. */
async function checkClosed(path: string, mode: '640' | '700', seen: string): Promise<DoctorResult[]> {
  if (!(await isOpen(path, mode === '640' ? 0o004 : 0o007))) return [];
  // Numbers: in a container, a user may have no name.
  const [uid, gid] = [process.getuid!(), process.getgid!()];
  const isOwn = (await stat(path)).uid === uid;
  const file = resolve(path);
  if (mode === '700') return [fault(seen, `${isOwn ? '' : `chown ${uid}:${gid} ${file} && `}chmod 700 ${file}`)];
  return [fault(seen, isOwn ? `chmod o-rwx ${file}` : `chown root:${gid} ${file} && chmod 640 ${file}`)];
}

/** Checks that other users have one of these rights on an existing path and can reach it. */
async function isOpen(path: string, rights: number): Promise<boolean> {
  const target = path && (await realpath(path).catch(() => ''));
  if (target === '' || !((await stat(target)).mode & rights)) return false;
  return target === '/' || (await isOpen(dirname(target), 0o001));
}
