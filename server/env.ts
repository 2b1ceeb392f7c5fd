import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { z } from 'zod';
import { Secret, UpstreamUrl, isLoopback } from './upstream/settings.ts';
import { EnvError, readSettings } from './settings.ts';
import type { Environment } from './settings.ts';
import { StoreSettings } from './store/env.ts';
import packageJson from '../package.json' with { type: 'json' };

const or = new Intl.ListFormat('en-GB', { type: 'disjunction' });

const oneOf = <const Value extends string>(...values: Value[]) => z.enum(values, `must be ${or.format(values)}`);

const integer = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(minimum, `must be at least ${minimum}`).max(maximum, `must be at most ${maximum}`));

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

/** Like {@link UpstreamUrl}, but a query is allowed, since some webhooks have one. */
const WebhookUrl = z.string().refine((text) => {
  const url = URL.parse(text);
  return (
    url !== null &&
    !url.username &&
    !url.password &&
    (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname)))
  );
}, 'must be an https:// URL without a user (http:// only on loopback)');

const DnsServers = list.transform((servers, context): 'off' | string[] => {
  if (servers.length === 1 && servers[0] === 'off') return 'off';
  if (servers.length > 0 && servers.every(isAddress)) return servers;
  context.addIssue('must be off, or IP addresses with an optional port, such as 9.9.9.9 or 127.0.0.1:5353');
  return z.NEVER;
});

/** The settings that each source of prices requires. */
const requiredByPrices = {
  catalog: [],
  whmcs: ['WHMCS_URL', 'WHMCS_IDENTIFIER', 'WHMCS_SECRET'],
  fossbilling: ['FOSSBILLING_URL'],
} as const;

const Settings = z
  .object({
    PORT: integer(0, 65_535).default(3000),
    HOST: z.string().refine(isHost, 'must be an IP address or a host name').default('127.0.0.1'),
    DIST_DIR: z.string().default('dist'),
    RELEASE_CACHE_BYTES: integer(0, 1_099_511_627_776).default(33_554_432),
    SERVICE_VERSION: z.string().default(packageJson.version),
    CORS_ORIGINS: Origins.default(['*']),
    ALLOW_LOCAL_ORIGINS: z.stringbool('must be true or false').default(false),
    TRUSTED_PROXIES: Networks.default(() => new BlockList()),
    RATELIMIT_RPS: integer(1, 1_000_000).default(50),
    RATELIMIT_BURST: integer(1, 1_000_000).default(100),
    RATELIMIT_BLOCK_SECONDS: integer(0, 86_400).default(0),
    POWER_RATELIMIT_RPS: integer(1, 1_000_000).default(1),
    POWER_RATELIMIT_BURST: integer(1, 1_000_000).default(5),
    FEEDBACK_RATELIMIT_WINDOW_SECONDS: integer(1, 86_400).default(30),
    FEEDBACK_RATELIMIT_BURST: integer(1, 1_000_000).default(1),
    MAX_FEEDBACK_BODY_BYTES: integer(1, 1_048_576).default(32_768),
    CHAT_FEEDBACK_WEBHOOK_URL: WebhookUrl.optional(),
    CHAT_FEEDBACK_WEBHOOK_KIND: oneOf('discord', 'slack', 'mattermost').default('discord'),
    DOMAIN_RATELIMIT_RPS: integer(1, 1_000_000).default(2),
    DOMAIN_RATELIMIT_BURST: integer(1, 1_000_000).default(10),
    DOMAIN_PRICES: oneOf('catalog', 'whmcs', 'fossbilling').default('catalog'),
    WHMCS_URL: UpstreamUrl.optional(),
    WHMCS_IDENTIFIER: Secret.optional(),
    WHMCS_SECRET: Secret.optional(),
    FOSSBILLING_URL: UpstreamUrl.optional(),
    UPTIME_KUMA_URL: UpstreamUrl.optional(),
    UPTIME_KUMA_STATUS_PAGE: z
      .string()
      .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/i, 'must be the slug of a status page')
      .optional(),
    STATUS_FILE: z.string().optional(),
    RDAP_BOOTSTRAP_URL: z.union([z.literal('off'), UpstreamUrl]).default('https://data.iana.org/rdap/dns.json'),
    DNS_SERVERS: DnsServers.optional(),
    PUBLIC_URL: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
    ...StoreSettings.shape,
    PROVIDERS_FILE: z.string().refine(isReadable, 'the file cannot be read').optional(),
    UPSTREAM_TIMEOUT_SECONDS: integer(1, 600).default(20),
    CONSOLE_TOKEN_TTL_SECONDS: integer(5, 86_400).default(600),
    LOG_LEVEL: oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent').default('info'),
    LOG_FORMAT: oneOf('pretty', 'json').optional(),
    SHUTDOWN_GRACE_SECONDS: integer(0, 3600).default(10),
  })
  .superRefine((env, context) => {
    const require = (name: keyof typeof env, cause: string): void => {
      if (env[name] !== undefined) return;
      context.addIssue({ code: 'custom', path: [name], message: `must be set with ${cause}` });
    };
    for (const name of requiredByPrices[env.DOMAIN_PRICES]) require(name, `DOMAIN_PRICES=${env.DOMAIN_PRICES}`);
    if (env.UPTIME_KUMA_URL !== undefined) require('UPTIME_KUMA_STATUS_PAGE', 'UPTIME_KUMA_URL');
    if (env.UPTIME_KUMA_STATUS_PAGE !== undefined) require('UPTIME_KUMA_URL', 'UPTIME_KUMA_STATUS_PAGE');
  });

/** The validated settings of the server, named as their environment variables. */
export type Env = Readonly<z.infer<typeof Settings>>;

/** Adds the variables of `.env`, if it exists, to the environment. Throws an {@link EnvError} if it cannot be read. */
export function loadEnvFile(): void {
  if (!existsSync('.env')) return;
  try {
    process.loadEnvFile();
  } catch {
    throw new EnvError('.env: the file cannot be read');
  }
}

/** Reads the settings; throws an {@link EnvError} that names every problem. */
export function readEnv(source: Environment): Env {
  return Object.freeze(readSettings(Settings, source));
}

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Whether a text is an IP address with an optional port; an IPv6 address with a port needs brackets. */
function isAddress(text: string): boolean {
  if (isIP(text) !== 0) return true;
  const [, six, four, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  return isIP(six ?? four ?? '') === (six === undefined ? 4 : 6) && Number(port) > 0 && Number(port) < 65_536;
}

/** Whether a text is an address or a name without a port. For anything else, listhen would listen on localhost. */
function isHost(host: string): boolean {
  return isIP(host) !== 0 || /^(?!-)[\dA-Za-z.-]{1,63}(?<!-)$/.test(host);
}
