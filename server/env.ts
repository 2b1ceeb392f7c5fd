import { existsSync } from 'node:fs';
import { BlockList, setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { defaultFolders, isSettingsFile, pageUrlRule, toPageUrl } from '#common/environment.ts';
import type { Environment } from '#common/environment.ts';
import { head } from '#contract/docs.ts';
import { PriceSettings, PriceSourceSettings } from './domains/prices.ts';
import { DomainSettings } from './domains/service.ts';
import { FeedbackSettings } from './feedback/service.ts';
import { HostingSettings } from './hosting/service.ts';
import { ListenSettings } from './http/listen.ts';
import { RequestSettings } from './http/request.ts';
import { LimitSettings } from './limits.ts';
import { LogSettings } from './log.ts';
import { MetricsSettings } from './metrics/index.ts';
import { OperatorSettings } from './operators/routes.ts';
import { ReleaseSettings } from './releases/service.ts';
import { BaseUrl, EnvError, SharedSettings, readSettings, url } from './settings.ts';
import { StatusSettings } from './status/service.ts';
import { StoreSettings } from './store/database.ts';

// Each connection attempt of this process. Node's 250 ms lose far hosts if another address has no route.
setDefaultAutoSelectFamilyAttemptTimeout(2500);

/** Settings that only builds read. */
const BuildSettings = z.object({
  SITE_URL: BaseUrl.optional().describe(
    'The address of the website. Builds use it in the feed and the sitemap; the server does not need it.',
  ),
  SITE_NAME: z
    .string()
    .default(head.info.title)
    .describe(
      'The name of the service. Builds use it as the title of `/docs`, of the OpenAPI document and of the feed.',
    ),
  SUPPORT_URL: url(toPageUrl, pageUrlRule)
    .optional()
    .describe('The page where customers get help. Builds link it in `/docs` and the OpenAPI document.'),
  CONTENT_DIR: z
    .string()
    .default(defaultFolders.CONTENT_DIR)
    .describe('The folder of articles and media, for `build`, `check`, `dev` and `new`.'),
  CATALOG_DIR: z
    .string()
    .default(defaultFolders.CATALOG_DIR)
    .describe('The folder of plans, domains and monitors, for `build`, `check` and `dev`.'),
});

const Settings = z
  .object({
    ...SharedSettings.shape,
    ...ListenSettings.shape,
    ...RequestSettings.shape,
    ...LimitSettings.shape,
    ...LogSettings.shape,
    ...MetricsSettings.shape,
    ...OperatorSettings.shape,
    ...StoreSettings.shape,
    ...ReleaseSettings.shape,
    ...DomainSettings.shape,
    ...PriceSettings.shape,
    ...StatusSettings.shape,
    ...FeedbackSettings.shape,
    ...HostingSettings.shape,
    ...BuildSettings.shape,
  })
  .superRefine((env, context) => {
    const refuse = (path: PropertyKey[], message: string) => context.addIssue({ code: 'custom', path, message });
    if (env.METRICS_PORT === env.PORT && env.PORT !== 0) refuse(['METRICS_PORT'], 'must differ from PORT');
    const { OPERATOR_PORT: port } = env;
    if (port && [env.PORT, env.METRICS_PORT].includes(port)) refuse(['OPERATOR_PORT'], 'must differ from other ports');
    for (const { path } of PriceSourceSettings.safeParse(env).error?.issues ?? []) {
      refuse(path, `must be set with DOMAIN_PRICES=${env.DOMAIN_PRICES}`);
    }
    const kuma = ['UPTIME_KUMA_URL', 'UPTIME_KUMA_STATUS_PAGE'] as const;
    const [unset, ...others] = kuma.filter((name) => env[name] === undefined);
    if (unset && others.length === 0) refuse([unset], `must be set with ${kuma.find((name) => name !== unset)}`);
  });

/** The validated settings of both programs, named as their environment variables. */
export type Env = Readonly<z.infer<typeof Settings> & z.infer<typeof PriceSourceSettings>>;

/** Lists the settings with their meaning, and their default unless it depends on the machine. */
export function listSettings(): { name: string; preset: string; meaning: string }[] {
  return Object.entries(Settings.shape).map(([name, schema]) => {
    const { data } = schema.safeParse(undefined);
    const hasPreset = data !== undefined && !(data instanceof BlockList) && name !== 'SERVICE_VERSION';
    return { name, preset: hasPreset ? data.toString() : '', meaning: schema.description! };
  });
}

/** Loads `.env`, if it exists, into the environment. Throws an {@link EnvError}. */
export function loadEnvFile(): void {
  if (!existsSync('.env')) return;
  if (!isSettingsFile('.env')) throw new EnvError('.env: must be a regular file of at most 64 KiB');
  try {
    process.loadEnvFile();
  } catch {
    throw new EnvError('.env: the file cannot be read');
  }
}

/** Reads all settings; `presets` replace defaults. Throws an {@link EnvError} with every problem. */
export function readEnv(source: Environment, presets: Readonly<Record<string, string>> = {}): Env {
  try {
    const settings = readSettings(Settings, source, presets);
    return Object.freeze({ ...settings, ...PriceSourceSettings.parse(settings) });
  } catch (error) {
    if (!(error instanceof EnvError)) throw error;
    // A missing setting is often a misspelt one.
    throw new EnvError([error.message, ...findMisspeltSettings(source).map(describeMisspelt)].join('\n'));
  }
}

/** Finds variables without effect, and the settings whose names they misspell. */
export function findMisspeltSettings(source: Environment) {
  const names = Object.keys(Settings.shape).flatMap((name) => [name, `${name}_FILE`]);
  const byPlainName = new Map(names.map((name) => [toPlain(name), name]));
  const plainNames = [...byPlainName.keys()];
  const byLetters = new Map(plainNames.map((name) => [sortLetters(name), name]));
  return Object.keys(source).flatMap((name) => {
    // HOSTFILE belongs to bash.
    if (!source[name] || names.includes(name) || name === 'HOSTFILE' || !/^[A-Za-z]\w*$/.test(name)) return [];
    const plain = toPlain(name);
    const nearest = closest(plain, plainNames);
    // Other programs use many names near short ones, such as HISTFILE.
    const tolerance = Math.floor((nearest.replace(/FILE$/, '').length - 1) / 4);
    const swapped = byLetters.get(sortLetters(plain));
    const found = swapped ?? (distance(plain, nearest) <= tolerance ? nearest : undefined);
    return found === undefined ? [] : [{ name, setting: byPlainName.get(found)! }];
  });
}

/** Removes case and underscores, the most frequent mistakes. */
function toPlain(name: string): string {
  return name.toUpperCase().replaceAll('_', '');
}

/** Names with swapped letters have the same sorted letters. */
const sortLetters = (name: string): string => Array.from(name).toSorted().join('');

/** Describes a variable without effect, without its value. */
export const describeMisspelt = ({ name, setting }: ReturnType<typeof findMisspeltSettings>[number]): string =>
  `${name} is not a setting and has no effect: did you mean ${setting}?`;
