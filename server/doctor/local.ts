import { lstat, readFile, readdir, realpath, stat, statfs } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { Environment } from '#common/environment.ts';
import { isDelegated } from '../domains/lookup/dns.ts';
import { createPriceSource } from '../domains/prices/index.ts';
import { describeMisspelt, findMisspeltSettings, readEnv } from '../env.ts';
import type { Env } from '../env.ts';
import { findRecordProblem, readProviders } from '../hosting/records.ts';
import { isActive } from '../keys/authorize.ts';
import { EnvError } from '../settings.ts';
import { createUptimeKuma } from '../status/uptime-kuma.ts';
import { ProviderError } from '../upstream/client.ts';
import { isLoopback } from '../upstream/address.ts';
import {
  askTime,
  codeOf,
  createVisit,
  isCertificateError,
  isDateError,
  judgeCertificate,
  judgeSkew,
  maxSkewMs,
  setClock,
} from './client.ts';
import {
  createSilentLog,
  findExisting,
  isFree,
  isWritable,
  openInstallation,
  toSkipped,
  visitHere,
} from './installation.ts';
import type { Expected, Installation } from './installation.ts';
import { fault, hint, ok, runChecks, skipped } from './run.ts';
import type { Checks, Finding, Outcome } from './run.ts';

/**
 * Checks this installation for what visitors would notice, whether the server runs or not. It writes
 * no file, and sends no action or message.
 */
export async function examineInstallation(
  environment: Environment,
  options: Expected & Pick<Installation, 'installed'>,
): Promise<readonly Finding[]> {
  let env: Env;
  try {
    env = readEnv(environment);
  } catch (error) {
    if (!(error instanceof EnvError)) throw error;
    const advice = 'correct it in the environment or in .env; docs/settings.md lists all settings';
    const problems = error.message.split('\n').map((line) => ({ check: 'settings', ...fault(line, advice) }));
    return [...problems, { check: 'all others', ...skipped('the server does not start with these settings') }];
  }
  await using opened = new AsyncDisposableStack();
  const installation = openInstallation(env, environment, { ...options, opened });
  const findings = await runChecks(checks, () => installation, toSkipped);
  return await Promise.all(findings.map((finding) => blameClock(finding, installation)));
}

/** A finding, unless it is only that a wrong clock, which is a fault of its own, refuses the certificate of an upstream. */
async function blameClock({ url, ...finding }: Outcome & Finding, installation: Installation): Promise<Finding> {
  if (finding.state !== 'fault' || !url?.startsWith('https:')) return finding;
  const code = await createVisit(new URL(url))('/').then(() => '', codeOf);
  if (!isDateError(code) || !(Math.abs((await readUpstreamSkew(installation)) ?? 0) > maxSkewMs)) return finding;
  return { check: finding.check, ...skipped(`the clock is wrong (${code})`) };
}

/** How far an upstream is ahead of this machine, in milliseconds: NaN if none says it, undefined if none is configured. */
async function readUpstreamSkew({ env, providers }: Installation): Promise<number | undefined> {
  const { value: reports = [] } = await providers();
  const heard = reports.filter(({ answers }) => answers);
  const silent = reports.filter(({ answers, url }) => !answers && url?.startsWith('https:'));
  // Those that answer first: others may take their whole time.
  const urls = [...heard, { url: env.UPTIME_KUMA_URL }, ...silent].flatMap(({ url }) => url ?? []);
  for (const url of urls) {
    // oxlint-disable-next-line no-await-in-loop
    const skewMs = await askTime(new URL(url), '/');
    if (!Number.isNaN(skewMs)) return skewMs;
  }
  return urls.length > 0 ? Number.NaN : undefined;
}

const hourMs = 3_600_000;
const gibibyte = 1024 ** 3;

/** The most names in one finding. */
const maxNames = 5;

/** An expired key is kept, since its customer may ask why it is refused. */
const keptDays = 90;

/** Names of variables that hold a secret: our own settings, and those that a PROVIDERS_FILE refers to. */
const secretName =
  /^(?:DATABASE_URL|PGPASSWORD|CHAT_FEEDBACK_WEBHOOK_URL|WHMCS_IDENTIFIER)$|(?:^|_)(?:TOKEN|SECRET|PASSWORD|KEY)$/;

const secretField = /^(?:token|read_only_token|token_secret)$/;

/** The path of Discord's webhooks; `/slack` at its end takes messages of Slack. */
const discordPath = /^\/api\/(?:v\d+\/)?webhooks\/\d+\/[^/]+(?!.*\/slack$)/;

/** What visitors would notice of an installation. */
export const checks = {
  settings({ env, environment }) {
    const { HOST: host, PUBLIC_URL: url, TRUSTED_PROXIES: trusted } = env;
    const found = findMisspeltSettings(environment).map((one) =>
      fault(describeMisspelt(one), `rename ${one.name}, or remove it`),
    );
    // Clients open console streams there.
    if (url === undefined && (host === '0.0.0.0' || host === '::')) {
      const advice = 'set PUBLIC_URL to the address that clients use, such as https://api.example.com';
      found.push(fault('PUBLIC_URL is not set: the console stream URL that clients get cannot be reached', advice));
    }
    if (isPublic(env) && !url!.startsWith('https:')) {
      const seen = 'PUBLIC_URL is not https: API keys and consoles travel in plain text';
      found.push(fault(seen, 'serve it by https, and set that URL'));
    }
    const isLocal = isLoopback(host) || host === '::1';
    if (isLocal && !trusted.check('127.0.0.1') && !trusted.check('::1', 'ipv6')) {
      const advice = 'set TRUSTED_PROXIES=127.0.0.1,::1';
      // A public service that listens on this machine alone is behind a proxy on it.
      found.push(
        isPublic(env)
          ? fault('TRUSTED_PROXIES lacks the proxy on this machine: all its visitors share one limit', advice)
          : hint('behind a proxy on this machine, all visitors would share one limit', advice),
      );
    }
    // Documentation addresses (RFC 5737, RFC 3849), which are those of no proxy.
    if (trusted.check('203.0.113.1') || trusted.check('2001:db8::1', 'ipv6')) {
      const seen = 'TRUSTED_PROXIES trusts everybody: each client may choose the address it is counted by';
      found.push(fault(seen, 'name the addresses of your proxies alone'));
    }
    if (env.ALLOW_LOCAL_ORIGINS && isPublic(env))
      found.push(hint('pages of localhost may use API keys', 'unset ALLOW_LOCAL_ORIGINS, which is for development'));
    if (found.some(({ state }) => state === 'fault')) return found;
    return [ok(`valid; version ${env.SERVICE_VERSION}`), ...found];
  },
  async clock({ env, now }) {
    // A machine without a battery starts in the past.
    const built = await readBuildTime(env);
    if (built === undefined) return skipped('there is no release whose time could be compared');
    if (built - now() <= hourMs) return ok('after the release was built');
    return fault(`it is ${Math.round((built - now()) / hourMs)} h before the release was built`, setClock);
  },
  async 'clock of an upstream'(installation) {
    const { outcomes } = await installation.store();
    if (outcomes.some(({ check, state }) => check === 'clock of the store' && state === 'fault'))
      return skipped('it differs from that of the store');
    const skewMs = await readUpstreamSkew(installation);
    if (skewMs === undefined) return skipped('no upstream is configured');
    if (Number.isNaN(skewMs)) return skipped('no upstream answers with the time');
    return judgeSkew('an upstream', skewMs, maxSkewMs);
  },
  disk: ({ env }) => checkDisks(env),
  async rights({ env: { DATA_DIR, PROVIDERS_FILE: providers }, environment, installed }) {
    /** The names of files with a secret, by their paths. */
    const files = new Map<string, string>();
    // systemd loads these for the service (LoadCredential=). Others may open by its name what they cannot list.
    const credentials = resolve(dirname(installed), 'credentials');
    const addCredential = (name: string) => files.set(join(credentials, name), join(credentials, name));
    for (const name of await readdir(credentials).catch(() => [])) addCredential(name);
    for (const [name, path] of Object.entries(environment)) {
      const secret = name.replace(/_FILE$/, '');
      addCredential(secret.toLowerCase().replaceAll('_', '-'));
      if (path && secret !== name && secretName.test(secret)) files.set(path, name);
    }
    // Not the path of a secret, or how long one lasts.
    const dotenv = Object.entries(parseEnv(await readFile('.env', 'utf8').catch(() => '')));
    if (dotenv.some(([name, value]) => secretName.test(name) && value !== '')) files.set('.env', '.env');
    if (providers !== undefined && holdsSecret(providers)) files.set(providers, 'PROVIDERS_FILE');
    const folder = resolve(DATA_DIR);
    const found = await Promise.all([
      checkClosed(folder, '700', `other users can look into DATA_DIR (${folder})`),
      ...[...files].map(([path, name]) =>
        checkClosed(path, '640', `every user can read ${name}, which holds a secret`),
      ),
    ]);
    const faults = found.flat();
    return faults.length > 0 ? faults : ok('no other user of this machine can read what is secret');
  },
  store: async ({ store }) => (await store()).outcomes,
  release: async ({ release }) => (await release()).outcomes,
  async 'release age'({ env, release, now }) {
    const { value: current } = await release();
    if (!current) return [];
    const { nextChangeAt: next } = current;
    const advice = 'run `npm run build`, and see why the timer that builds after midnight UTC did not';
    // A build on the day of a change begins at 00:01 UTC, and takes minutes.
    if (next !== null && now() > Date.parse(next) + hourMs)
      return fault(`an article of ${next} is not online: no release was built since`, advice);
    // A build that changes nothing confirms the release.
    const built = await readBuildTime(env);
    if (isPublic(env) && built !== undefined && now() - built > 25 * hourMs)
      return fault('no build made or confirmed it for a day', advice);
    return ok(next === null ? 'no article is scheduled' : `the next scheduled article is of ${next}`);
  },
  async rollback({ env: { DIST_DIR: dist } }) {
    const link = await lstat(join(dist, 'current')).catch(() => undefined);
    if (link && !link.isSymbolicLink()) {
      const advice = 'copy releases/ with its folder and then the link: rsync -a keeps it';
      return fault('DIST_DIR/current is a folder, so that a release cannot be replaced at once', advice);
    }
    const names = await readdir(join(dist, 'releases')).catch(() => []);
    const others = names.filter((name) => /^[0-9a-f]{16}$/.test(name)).length - 1;
    if (others > 0) return ok(`${others} earlier ${others === 1 ? 'release' : 'releases'} to go back to`);
    const advice = 'keep some: `npm run releases -- prune --keep 3` leaves three';
    return hint('there is no earlier release to go back to', advice);
  },
  server: async ({ server }) => (await server()).outcomes,
  async PUBLIC_URL({ env: { PUBLIC_URL: url }, server }) {
    if (url === undefined) return [];
    if (!(await server()).value) return skipped('the server does not run');
    try {
      const health = await createVisit(new URL(url))('/health');
      if (health.fields.status === 'healthy') return judgeCertificate(health);
      const advice = 'set PUBLIC_URL to where clients reach this one, or its proxy right';
      return fault('another service answers there', advice);
    } catch (error) {
      const code = codeOf(error);
      if (!isCertificateError(code)) return skipped(`this machine does not reach it (${code})`);
      const renew = 'renew it, for this name and with its intermediate ones';
      const advice = code === 'CERT_NOT_YET_VALID' ? `if it is not new, ${setClock}` : renew;
      return { ...fault(`clients refuse its certificate (${code})`, advice), url };
    }
  },
  async metrics({ env: { METRICS_PORT: port, HOST: host }, server }) {
    if (port === undefined) return skipped('METRICS_PORT is not set');
    if (port === 0) return skipped('METRICS_PORT is 0, so its port is not known');
    const { value: isRunning } = await server();
    const found = await visitHere(host, port)('/metrics').catch(codeOf);
    if (isFree(found) && !isRunning) return ok('its port is free');
    if (isFree(found))
      return fault(`the server has no metrics on port ${port}`, 'restart it, so that it reads METRICS_PORT');
    if (isRunning && typeof found === 'object' && found.status === 200) return ok('the server answers with them');
    return fault(`another program listens on METRICS_PORT ${port}`, 'set another METRICS_PORT, or end the program');
  },
  providers: async ({ providers }) => (await providers()).outcomes,
  async servers({ env: { PROVIDERS_FILE: file }, store }) {
    const { value: records } = await store();
    if (!records) return skipped('the store cannot be read');
    // The demo servers are those of `npm start` alone.
    const real = records.servers.filter(({ provider }) => file !== undefined || provider !== 'demo');
    if (real.length === 0) return ok('none is added');
    if (file === undefined) {
      const seen = `PROVIDERS_FILE is not set, so no action reaches ${list(real.map(({ server }) => server))}`;
      return fault(seen, 'set PROVIDERS_FILE, or remove them: `npm run servers -- remove game:ID`');
    }
    const written = readProviders(file);
    if (!written) return skipped('PROVIDERS_FILE cannot be read');
    const wrong = real.filter((record) => findRecordProblem(record, written) !== undefined);
    if (wrong.length === 0) return ok(`each of ${real.length} has a provider`);
    const more = wrong.length - maxNames;
    return wrong.slice(0, maxNames).map((record, at) => {
      const others = more > 0 && at === maxNames - 1 ? `; ${more} more are wrong` : '';
      const seen = `${record.server} leads nowhere: ${findRecordProblem(record, written)}${others}`;
      return fault(seen, `correct it: \`npm run servers -- add ${record.server} --provider NAME --ref REF --replace\``);
    });
  },
  async 'shared servers'({ store }) {
    const { servers = [] } = (await store()).value ?? {};
    const found = servers.flatMap(({ server, provider, ref, shared }) => {
      const twin = servers.find((one) => one.server !== server && one.provider === provider && one.ref === ref);
      if (shared !== 'unconfirmed' || !twin) return [];
      const add = `\`npm run servers -- add ${server} --provider ${provider} --ref ${ref} --replace --shared\``;
      return fault(`${server} is the server that ${twin.server} is`, `correct one of them, or confirm it: ${add}`);
    });
    return found.length > 0 ? found : ok('none that was not confirmed');
  },
  async refs({ store, providers }) {
    const { servers = [] } = (await store()).value ?? {};
    const { value: reports = [] } = await providers();
    const found = reports.map(async ({ name, provider, answers }): Promise<Outcome[]> => {
      const own = servers.filter((record) => record.provider === name);
      if (own.length === 0 || !provider.listRefs) return [];
      const named = (outcome: Outcome): Outcome[] => [{ ...outcome, check: `refs of ${name}` }];
      if (!answers) return named(skipped('it does not answer'));
      const known = await provider.listRefs().catch(() => null);
      if (known === null) return named(skipped('its servers cannot be listed'));
      if (!known) return named(skipped('an administrator reaches servers that are in no list'));
      // A panel lists the first digits of UUIDs.
      const missing = own.filter(({ ref }) => !known.has(ref) && !known.has(ref.slice(0, 8).toLowerCase()));
      if (missing.length === 0) return named(ok(`it knows each of ${own.length} servers`));
      const seen = `it does not show ${list(missing.map(({ server }) => server))} to our credential`;
      return named(fault(seen, 'see whether they were deleted there, and whether the user of the token may use them'));
    });
    return (await Promise.all(found)).flat();
  },
  async 'API keys'({ store, now }) {
    const { value: records } = await store();
    if (!records) return [];
    const known = new Set<string>(records.servers.map(({ server }) => server));
    const valid = records.apiKeys.filter((key) => isActive(key, now()));
    const lost = valid.filter(({ servers }) => servers.some((server) => !known.has(server))).map(({ id }) => id);
    const oldest = now() - keptDays * 86_400_000;
    const old = records.apiKeys.filter((key) => key.revokedAt === null && (key.expiresAt ?? oldest) < oldest);
    const addThem = 'add the servers, or name others: `npm run keys -- update ID --server game:ID`';
    const seen = `expired for more than ${keptDays} days: ${list(old.map(({ id }) => id))}`;
    return [
      lost.length > 0
        ? fault(`servers that do not exist are named by ${list(lost)}`, addThem)
        : ok(`${valid.length} are valid`),
      ...(old.length > 0 ? [hint(seen, 'revoke what is not renewed: `npm run keys -- revoke ID`')] : []),
    ];
  },
  async 'status source'({ env: { UPTIME_KUMA_URL: url, UPTIME_KUMA_STATUS_PAGE: page }, release }) {
    if (url === undefined || page === undefined) {
      const { value: current } = await release();
      if (!current) return skipped('there is no release, which has the monitors');
      const count = current.status.monitors.length;
      if (count > 0) return ok(`${count} of catalog/status.yaml`);
      const advice = 'add one to catalog/status.yaml and build, or set UPTIME_KUMA_URL and UPTIME_KUMA_STATUS_PAGE';
      return fault('there is no monitor, so that /v1/status is 503', advice);
    }
    // As long as visitors wait for it.
    const kuma = createUptimeKuma({ url, page }, { timeoutMs: 5000 });
    try {
      return ok(`Uptime Kuma says ${(await kuma.read()).status}`);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      const advice =
        'see in a browser that the page is published and has monitors, and that this machine may connect to it';
      return { ...fault(`Uptime Kuma: ${error.message}`, advice), url };
    } finally {
      await kuma.close();
    }
  },
  async STATUS_FILE({ env: { STATUS_FILE: file }, server, now }) {
    if (file === undefined) return [];
    const folder = resolve(dirname(file));
    if (!isWritable(folder))
      return fault(`this user cannot write to ${folder}`, 'create the folder, and let the user of the server own it');
    const { value: isRunning } = await server();
    const found = await stat(file).catch(() => undefined);
    if (found && !found.isFile()) return fault('it is not a regular file', 'name a file, in a folder that exists');
    const advice = 'see the log of the server for STATUS_FILE and for the status of the platform';
    if (!found && !isRunning) return ok('the server writes it when it runs');
    // It may have started just now: only the server knows since when it runs.
    if (!found) return hint('the server has not written it yet', `if it stays so, ${advice}`);
    const ageMs = now() - found.mtimeMs;
    if (!isRunning || ageMs <= 120_000) return ok(`written ${Math.round(ageMs / 1000)} s ago`);
    // A running server writes it every 15 s while it knows the status.
    return fault(`the server wrote it ${Math.round(ageMs / 60_000)} minutes ago`, advice);
  },
  async webhook({ env: { CHAT_FEEDBACK_WEBHOOK_URL: text, CHAT_FEEDBACK_WEBHOOK_KIND: kind } }) {
    if (text === undefined) return skipped('CHAT_FEEDBACK_WEBHOOK_URL is not set: votes are only counted');
    const { origin, pathname } = new URL(text);
    const isDiscord = discordPath.test(pathname);
    if (isDiscord !== (kind === 'discord')) {
      const advice = 'set CHAT_FEEDBACK_WEBHOOK_KIND to the chat of the URL, or copy the URL once more';
      return fault(`the URL is not one of a ${kind} webhook`, advice);
    }
    try {
      // Discord answers a GET of a webhook with what it is; other chats have no request that posts nothing.
      const { status } = await createVisit(new URL(origin))(isDiscord ? pathname : '/');
      if (!isDiscord) return ok('its host can be reached; it is only tried by a vote');
      if (status === 200) return ok('Discord has it');
      if (status !== 401 && status !== 404) return skipped(`Discord answers ${status}`);
      const advice = 'create a webhook in the settings of the channel, and set its URL as CHAT_FEEDBACK_WEBHOOK_URL';
      return fault(`Discord does not have it: status ${status}`, advice);
    } catch (error) {
      // Not the message of the error: it may hold the URL, which is a secret.
      const { code = 'no answer' } = error as NodeJS.ErrnoException;
      const advice = 'see that this machine resolves its name and may connect to it';
      return { ...fault(`the chat cannot be reached (${code})`, advice), url: origin };
    }
  },
  async 'domain prices'({ env }) {
    const source = createPriceSource(env, createSilentLog());
    if (!source) return skipped('they are in catalog/domains.yaml');
    const advice = `see that the ${env.DOMAIN_PRICES} settings are right, and that it allows the address of this machine`;
    try {
      const { size } = await source.read();
      return size > 0 ? ok(`${size} TLDs`) : fault('no TLD has complete prices in EUR for one year', advice);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      const url = env.DOMAIN_PRICES === 'fossbilling' ? env.FOSSBILLING_URL : env.WHMCS_URL;
      return { ...fault('the billing system does not answer as it should', advice), url: url! };
    } finally {
      await source.close();
    }
  },
  async DNS({ env: { DNS_SERVERS: servers } }) {
    if (servers === 'off') return skipped('DNS_SERVERS is off');
    // A TLD that is always there: a resolver that answers nothing for it makes searches fail.
    const signal = AbortSignal.timeout(10_000);
    if (await isDelegated('com', { servers, timeoutMs: 3000, signal })) return ok('a resolver answers');
    return fault('no resolver answers, so that domain searches fail', 'correct DNS_SERVERS, or /etc/resolv.conf');
  },
  'domain look-ups': () => skipped('`npm run domains -- doctor` asks the registry of each TLD'),
} satisfies Checks<Installation>;

/** Checks what is left where folders are that are written or that grow: one outcome for each file system. */
export async function checkDisks(env: Pick<Env, 'DATA_DIR' | 'DIST_DIR' | 'STATUS_FILE'>): Promise<Outcome[]> {
  const { DATA_DIR, DIST_DIR, STATUS_FILE } = env;
  const folders = { DATA_DIR, DIST_DIR, ...(STATUS_FILE !== undefined && { STATUS_FILE: dirname(STATUS_FILE) }) };
  const found = await Promise.all(
    Object.entries(folders).map(async ([name, path]) => ({ name, ...(await findExisting(resolve(path))) })),
  );
  const disks = [...Map.groupBy(found, ({ device }) => device).values()].map(async (same) => {
    // There are no inodes, free or not, on file systems that have no fixed number.
    const { bavail, blocks, bsize, ffree: inodes, files: allInodes } = await statfs(same[0]!.folder);
    const check = `disk of ${same.map(({ name }) => name).join(', ')}`;
    const left = `${formatBytes(bavail * bsize)} of ${formatBytes(blocks * bsize)} left`;
    if (isScarce(bavail * bsize, blocks * bsize, gibibyte)) {
      const prune = '`npm run releases -- prune --keep 3` removes old releases';
      return { check, ...fault(left, `make room: ${prune}; look for logs and backups too`) };
    }
    if (!isScarce(inodes, allInodes, 20_000)) return { check, ...ok(left) };
    const advice = 'remove small files: old releases have most of them';
    return { check, ...fault(`${inodes} of ${allInodes} inodes left`, advice) };
  });
  return await Promise.all(disks);
}

/** A file system is nearly full below both: a tenth of a large one is enough for long, and a small one may be meant so. */
const isScarce = (left: number, all: number, few: number): boolean => left < few && left < all * 0.1;

const formatBytes = (bytes: number): string =>
  bytes < gibibyte ? `${Math.floor(bytes / 1024 ** 2)} MiB` : `${(bytes / gibibyte).toFixed(1)} GiB`;

/** Whether clients reach the service from other machines. */
const isPublic = ({ PUBLIC_URL: url }: Env): boolean => url !== undefined && !isLoopback(new URL(url).hostname);

async function readBuildTime({ DIST_DIR: dist }: Env): Promise<number | undefined> {
  return (await stat(join(dist, 'current', 'manifest.json')).catch(() => undefined))?.mtimeMs;
}

/** Whether a PROVIDERS_FILE holds a secret itself, and not as "${NAME}". */
function holdsSecret(file: string): boolean {
  const fields = Object.values(readProviders(file) ?? {}).flatMap((provider) => Object.entries(Object(provider)));
  return fields.some(([name, value]) => secretField.test(name) && !/^\$\{\w+\}$/.test(String(value)));
}

/** The fault of a path that is open to other users. Its command leaves this one, who runs the service, what it may do now. */
async function checkClosed(path: string, mode: '640' | '700', seen: string): Promise<Outcome[]> {
  if (!(await isOpen(path, mode === '640' ? 0o004 : 0o007))) return [];
  const { uid, username } = userInfo();
  const isOwn = (await stat(path)).uid === uid;
  const file = resolve(path);
  if (mode === '700') return [fault(seen, `${isOwn ? '' : `chown ${username}: ${file} && `}chmod 700 ${file}`)];
  return [fault(seen, isOwn ? `chmod o-rwx ${file}` : `chown root:$(id -gn ${username}) ${file} && chmod 640 ${file}`)];
}

/** Whether others have one of these rights on a path, and may enter all folders above it. False for a missing one. */
async function isOpen(path: string, rights: number): Promise<boolean> {
  const target = path && (await realpath(path).catch(() => ''));
  if (target === '' || !((await stat(target)).mode & rights)) return false;
  return target === '/' || (await isOpen(dirname(target), 0o001));
}

function list(names: readonly string[]): string {
  const more = names.length - maxNames;
  return `${names.slice(0, maxNames).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
