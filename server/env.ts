import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { bodyLimits, rateLimits } from '#contract/endpoint.ts';
import { baseUrlRule, isSettingsFile, pageUrlRule, toBaseUrl, toPageUrl } from '#common/environment.ts';
import type { Environment } from '#common/environment.ts';
import { Secret, UpstreamUrl, WebhookUrl } from './upstream/address.ts';
import { EnvError, readSettings } from './settings.ts';
import { StoreSettings } from './store/database.ts';
import packageJson from '../package.json' with { type: 'json' };

const oneOf = <const Value extends string>(...values: Value[]) =>
  z.enum(values, `must be ${values.slice(0, -1).join(', ')} or ${values.at(-1)}`);

const integer = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(minimum, `must be at least ${minimum}`).max(maximum, `must be at most ${maximum}`));

const rate = (preset: number, meaning: string) => integer(1, 1_000_000).default(preset).describe(meaning);

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean),
);

const Origins = list.refine(
  (origins) =>
    origins.every((origin) => origin === '*' || (!origin.includes('*') && URL.parse(origin)?.origin === origin)),
  'must be *, or origins such as https://www.example.com, separated by commas',
);

const Networks = list.transform((networks, context) => {
  const trusted = new BlockList();
  for (const network of networks) {
    const [, address = '', prefix] = /^([^/]+)(?:\/(\d+))?$/.exec(network) ?? [];
    const version = isIP(address);
    const most = version === 6 ? 128 : 32;
    const bits = Number(prefix ?? most);
    if (version === 0 || bits > most) {
      context.addIssue('must be IP addresses and networks such as 10.0.0.0/8, separated by commas');
      return z.NEVER;
    }
    trusted.addSubnet(address, bits, version === 6 ? 'ipv6' : 'ipv4');
  }
  return trusted;
});

const url = (parse: (text: string) => string | undefined, rule: string) =>
  z.string().transform((text, context) => {
    const parsed = parse(text);
    if (parsed !== undefined) return parsed;
    context.addIssue(rule);
    return z.NEVER;
  });

const BaseUrl = url(toBaseUrl, baseUrlRule);

const DnsServers = list.transform((servers, context): 'off' | string[] => {
  if (servers.length === 1 && servers[0] === 'off') return 'off';
  if (servers.length > 0 && servers.every(isAddress)) return servers;
  context.addIssue('must be off, or IP addresses with an optional port, such as 9.9.9.9 or 127.0.0.1:5353');
  return z.NEVER;
});

const Host = z.string().refine(isHost, 'must be an IP address or a host name');

/** An IP address with an optional port; IPv6 with a port needs brackets. */
function isAddress(text: string): boolean {
  if (isIP(text) !== 0) return true;
  const [, six, four, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  return isIP(six ?? four ?? '') === (six === undefined ? 4 : 6) && Number(port) > 0 && Number(port) < 65_536;
}

/** For anything else, listhen would listen on localhost. */
function isHost(host: string): boolean {
  return isIP(host) !== 0 || /^(?!-)[\dA-Za-z.-]{1,63}(?<!-)$/.test(host);
}

const PriceSettings = z.discriminatedUnion('DOMAIN_PRICES', [
  z.object({ DOMAIN_PRICES: z.literal('catalog') }),
  z.object({
    DOMAIN_PRICES: z.literal('whmcs'),
    WHMCS_URL: z.string(),
    WHMCS_IDENTIFIER: z.string(),
    WHMCS_SECRET: z.string(),
  }),
  z.object({ DOMAIN_PRICES: z.literal('fossbilling'), FOSSBILLING_URL: z.string() }),
]);

/** The version of the program in a folder, with its commit if that is known: 0.2.0+1a2b3c4d5e6f. */
export function readVersion(root: string): string {
  const commit = readCommit(join(root, '.git')) ?? readLine(join(root, 'COMMIT'));
  return /^[0-9a-f]{40}$/.test(commit) ? `${packageJson.version}+${commit.slice(0, 12)}` : packageJson.version;
}

/** Reads the commit that is checked out, without git, which may be missing or distrust the owner. */
function readCommit(git: string): string | undefined {
  // In a further work tree, `.git` is a file.
  const [, tree] = /^gitdir: (.+)$/.exec(readLine(git)) ?? [];
  const folder = tree === undefined ? git : resolve(dirname(git), tree);
  const head = readLine(join(folder, 'HEAD'));
  if (!head.startsWith('ref: ')) return head || undefined;
  const ref = head.slice('ref: '.length);
  const common = resolve(folder, readLine(join(folder, 'commondir')));
  const packed = readText(join(common, 'packed-refs')).split('\n');
  return readLine(join(common, ref)) || packed.find((line) => line.endsWith(` ${ref}`))?.split(' ', 1)[0];
}

const readLine = (file: string): string => readText(file).split('\n', 1)[0]!;

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

const Settings = z
  .object({
    PORT: integer(0, 65_535).default(3000).describe('The port to listen on; 0 takes a free one.'),
    HOST: Host.default('127.0.0.1').describe('The address to listen on.'),
    METRICS_PORT: integer(0, 65_535)
      .optional()
      .describe('The port for Prometheus, at `/metrics`; without it, nothing is measured. Keep it from the internet.'),
    DIST_DIR: z.string().default('dist').describe('Where releases are kept.'),
    RELEASE_CACHE_BYTES: integer(0, 1_099_511_627_776)
      .default(33_554_432)
      .describe("Bytes of the release's files that stay in memory."),
    SERVICE_VERSION: z
      .string()
      .default(readVersion(resolve(import.meta.dirname, '..')))
      .describe('What `/health` and `/v1/info` say; the default is the version of package.json with the commit.'),
    CORS_ORIGINS: Origins.default(['*']).describe(
      'Origins that may read, separated by commas; `*` does not apply to endpoints that need a key. `npm run dev` allows only this machine by default.',
    ),
    ALLOW_LOCAL_ORIGINS: z
      .stringbool('must be true or false')
      .default(false)
      .describe('Adds any port of localhost to the origins.'),
    TRUSTED_PROXIES: Networks.default(() => new BlockList()).describe(
      'IP addresses and networks whose `X-Forwarded-For` counts, separated by commas.',
    ),
    RATELIMIT_RPS: rate(
      rateLimits.client.refill,
      'Requests a second for each client IP (IPv6: each /64) over all `/v1` endpoints.',
    ),
    RATELIMIT_BURST: rate(rateLimits.client.burst, 'The burst of requests for each client IP.'),
    POWER_RATELIMIT_RPS: rate(rateLimits.actions.refill, 'Actions and console commands a second for each API key.'),
    POWER_RATELIMIT_BURST: rate(
      rateLimits.actions.burst,
      'The burst of actions and console commands for each API key.',
    ),
    READ_RATELIMIT_RPS: rate(
      rateLimits.reads.refill,
      'GET requests with an API key a second: logs, console addresses, states, actions, and the key itself.',
    ),
    READ_RATELIMIT_BURST: rate(rateLimits.reads.burst, 'The burst of GET requests for each API key.'),
    FEEDBACK_RATELIMIT_WINDOW_SECONDS: integer(1, 86_400)
      .default(rateLimits.feedback.seconds)
      .describe('Seconds after which a client IP may vote once more.'),
    FEEDBACK_RATELIMIT_BURST: rate(rateLimits.feedback.burst, 'The burst of votes for each client IP.'),
    MAX_FEEDBACK_BODY_BYTES: integer(1, 1_048_576).default(bodyLimits.feedback).describe('The largest vote, in bytes.'),
    CHAT_FEEDBACK_WEBHOOK_URL: WebhookUrl.optional().describe(
      'The webhook of the chat that gets votes. It is a secret.',
    ),
    CHAT_FEEDBACK_WEBHOOK_KIND: oneOf('discord', 'slack', 'mattermost')
      .default('discord')
      .describe('The chat of the webhook: `discord`, `slack` or `mattermost`.'),
    DOMAIN_RATELIMIT_RPS: rate(rateLimits.domains.refill, 'Domain searches a second for each client IP.'),
    DOMAIN_RATELIMIT_BURST: rate(rateLimits.domains.burst, 'The burst of domain searches for each client IP.'),
    DOMAIN_PRICES: oneOf('catalog', 'whmcs', 'fossbilling')
      .default('catalog')
      .describe('Where domain prices come from: `catalog`, `whmcs` or `fossbilling`.'),
    WHMCS_URL: UpstreamUrl.optional().describe('The base URL of WHMCS.'),
    WHMCS_IDENTIFIER: Secret.optional().describe('The identifier of an API credential of WHMCS.'),
    WHMCS_SECRET: Secret.optional().describe('The secret of that credential.'),
    FOSSBILLING_URL: UpstreamUrl.optional().describe('The base URL of FOSSBilling.'),
    UPTIME_KUMA_URL: UpstreamUrl.optional().describe(
      'The base URL of Uptime Kuma; without it, the monitors of the catalog are used.',
    ),
    UPTIME_KUMA_STATUS_PAGE: z
      .string()
      .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/i, 'must be the slug of a status page')
      .optional()
      .describe('The slug of its status page.'),
    STATUS_FILE: z.string().optional().describe('A file that the status is written to as well.'),
    RDAP_BOOTSTRAP_URL: z
      .union([z.literal('off'), UpstreamUrl])
      .default('https://data.iana.org/rdap/dns.json')
      .describe("IANA's list of RDAP servers, read once a day, or `off`; a copy is built in."),
    DNS_SERVERS: DnsServers.optional().describe(
      "Resolvers for the domain search, `ip:port` separated by commas, or `off`; the default is the system's.",
    ),
    PUBLIC_URL: BaseUrl.optional().describe(
      'Where clients reach the service: console streams are opened there. The default is the address it listens on. A build reads it for the addresses of media in the feed.',
    ),
    SITE_URL: BaseUrl.optional().describe(
      'The address of the website. A build reads it for the feed and the sitemap; the server does not need it.',
    ),
    SITE_NAME: z
      .string()
      .default('Hosting API')
      .describe(
        'The name of the service, which a build reads: the title of `/docs`, of the OpenAPI document and of the feed.',
      ),
    SUPPORT_URL: url(toPageUrl, pageUrlRule)
      .optional()
      .describe('The page where customers get help. A build reads it for `/docs` and the OpenAPI document.'),
    CONTENT_DIR: z
      .string()
      .default('content')
      .describe('The articles and media that a build, `check`, `dev` and `new` read.'),
    CATALOG_DIR: z
      .string()
      .default('catalog')
      .describe('The plans, domains and monitors that a build, `check` and `dev` read.'),
    ...StoreSettings.shape,
    PROVIDERS_FILE: z
      .string()
      .refine(isReadable, 'the file cannot be read')
      .optional()
      .describe("The file that names the providers of customers' servers."),
    UPSTREAM_TIMEOUT_SECONDS: integer(1, 600).default(20).describe('How long a panel or cloud may take for an action.'),
    CONSOLE_TOKEN_TTL_SECONDS: integer(5, 86_400)
      .default(600)
      .describe('How long the token of a console stream is valid.'),
    LOG_LEVEL: oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent')
      .default('info')
      .describe('`trace`, `debug`, `info`, `warn`, `error` or `silent`; `info` is a line for each request.'),
    LOG_FORMAT: oneOf('pretty', 'json')
      .optional()
      .describe('`pretty` or `json`; the default is `pretty` on a terminal, else `json`.'),
    AUDIT_RETENTION_DAYS: integer(1, 36_500)
      .optional()
      .describe('How long entries of the audit log are kept; without it, they are never removed.'),
    SHUTDOWN_DELAY_SECONDS: integer(0, 3600)
      .default(0)
      .describe('How long the port stays open after SIGTERM, so that a load balancer sees `/ready` say `draining`.'),
    SHUTDOWN_GRACE_SECONDS: integer(0, 3600)
      .default(10)
      .describe('How long running requests may take after the port is closed.'),
  })
  .superRefine((env, context) => {
    const refuse = (path: PropertyKey[], message: string) => context.addIssue({ code: 'custom', path, message });
    if (env.METRICS_PORT === env.PORT && env.PORT !== 0) refuse(['METRICS_PORT'], 'must not be PORT');
    for (const { path } of PriceSettings.safeParse(env).error?.issues ?? []) {
      refuse(path, `must be set with DOMAIN_PRICES=${env.DOMAIN_PRICES}`);
    }
    if (env.UPTIME_KUMA_URL !== undefined && env.UPTIME_KUMA_STATUS_PAGE === undefined) {
      refuse(['UPTIME_KUMA_STATUS_PAGE'], 'must be set with UPTIME_KUMA_URL');
    }
    if (env.UPTIME_KUMA_STATUS_PAGE !== undefined && env.UPTIME_KUMA_URL === undefined) {
      refuse(['UPTIME_KUMA_URL'], 'must be set with UPTIME_KUMA_STATUS_PAGE');
    }
  });

/** The validated settings of the server, named as their environment variables. */
export type Env = Readonly<z.infer<typeof Settings> & z.infer<typeof PriceSettings>>;

/** Each setting with its meaning, and its default as text unless it is one of the machine. */
export function listSettings(): { name: string; preset: string; meaning: string }[] {
  return Object.entries(Settings.shape).map(([name, schema]) => {
    const { data } = schema.safeParse(undefined);
    const hasPreset = data !== undefined && !(data instanceof BlockList) && name !== 'SERVICE_VERSION';
    return { name, preset: hasPreset ? data.toString() : '', meaning: schema.description! };
  });
}

/** Adds the lines of `.env`, if there is one, to the environment. Throws an {@link EnvError}. */
export function loadEnvFile(): void {
  if (!existsSync('.env')) return;
  if (!isSettingsFile('.env')) throw new EnvError('.env: must be a regular file of at most 64 KiB');
  try {
    process.loadEnvFile();
  } catch {
    throw new EnvError('.env: the file cannot be read');
  }
}

/** Reads the settings, with other defaults for some; throws an {@link EnvError} that names every problem. */
export function readEnv(source: Environment, presets: Readonly<Record<string, string>> = {}): Env {
  try {
    const settings = readSettings(Settings, source, presets);
    return Object.freeze({ ...settings, ...PriceSettings.parse(settings) });
  } catch (error) {
    if (!(error instanceof EnvError)) throw error;
    // A misspelt name is often the reason why a setting is missing.
    throw new EnvError([error.message, ...findMisspeltSettings(source).map(describeMisspelt)].join('\n'));
  }
}

/** Settings of earlier versions. One that is still set stops nothing. */
const removed = ['RATELIMIT_BLOCK_SECONDS'];

/** A variable that is not a setting, and the setting whose name it resembles, if it is not one that was removed. */
interface Misspelt {
  readonly name: string;
  readonly setting: string | undefined;
}

/** Finds the variables without effect: misspelt names of settings or their `_FILE`, and former settings. */
export function findMisspeltSettings(source: Environment): Misspelt[] {
  const names = Object.keys(Settings.shape).flatMap((name) => [name, `${name}_FILE`]);
  const byPlainName = new Map(names.map((name) => [toPlain(name), name]));
  const plainNames = [...byPlainName.keys()];
  const near = Object.keys(source).flatMap((name) => {
    // bash has a HOSTFILE, which is another program's.
    if (!source[name] || names.includes(name) || name === 'HOSTFILE' || !/^[A-Za-z]\w*$/.test(name)) return [];
    const plain = toPlain(name);
    const nearest = closest(plain, plainNames);
    // Short names have many neighbours that other programs use, as HISTFILE.
    const tolerance = Math.floor((nearest.replace(/FILE$/, '').length - 1) / 4);
    const swapped = plainNames.find((candidate) => isSwap(plain, candidate));
    const found = swapped ?? (distance(plain, nearest) <= tolerance ? nearest : undefined);
    return found === undefined ? [] : [{ name, setting: byPlainName.get(found)! }];
  });
  const gone = removed.flatMap((name) => [name, `${name}_FILE`]).filter((name) => source[name]);
  return [...near, ...gone.map((name) => ({ name, setting: undefined }))];
}

/** Case and underscores are the most frequent mistakes, so they do not count. */
function toPlain(name: string): string {
  return name.toUpperCase().replaceAll('_', '');
}

/** Whether two neighbouring letters changed places. */
function isSwap(one: string, other: string): boolean {
  const swap = (at: number) => one.slice(0, at) + one.charAt(at + 1) + one.charAt(at) + one.slice(at + 2);
  return Array.from(one).some((_, at) => swap(at) === other);
}

/** Says which setting a variable looks like, or that it was removed; never its value. */
export function describeMisspelt({ name, setting }: Misspelt): string {
  if (setting === undefined) return `${name} is no longer a setting and has no effect`;
  return `${name} is not a setting and has no effect: did you mean ${setting}?`;
}

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
