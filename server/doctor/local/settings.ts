import { EnvError } from '../../settings.ts';
import { describeMisspelt, findMisspeltSettings, readEnv } from '../../env.ts';
import type { Env } from '../../env.ts';
import type { Environment } from '#common/environment.ts';
import { isLoopback } from '../../upstream/settings.ts';
import type { Finding, Outcome } from '../finding.ts';
import { fault, hint, ok } from '../finding.ts';

const check = 'settings';

/** Reads the settings; undefined with a finding for each problem if they are wrong. */
export function readSettings(environment: Environment): { readonly env?: Env; readonly findings: readonly Finding[] } {
  try {
    const env = readEnv(environment);
    return { env, findings: checkSettings(env, environment) };
  } catch (error) {
    if (!(error instanceof EnvError)) throw error;
    const advice = 'correct it in the environment or in .env; docs/settings.md lists all settings';
    return { findings: error.message.split('\n').map((line) => ({ check, ...fault(line, advice) })) };
  }
}

/** Checks what valid settings mean together: each fault, or that there is none. */
export function checkSettings(env: Env, environment: Environment): readonly Finding[] {
  const misspelt = findMisspeltSettings(environment).map((found) =>
    fault(describeMisspelt(found), `rename ${found.name}, or remove it`),
  );
  const outcomes = [...misspelt, ...checkPublicUrl(env), ...checkProxies(env), ...checkOrigins(env)];
  if (!outcomes.some(({ state }) => state === 'fault')) outcomes.unshift(ok(`valid; version ${env.SERVICE_VERSION}`));
  return outcomes.map((outcome) => ({ check, ...outcome }));
}

/** Clients open console streams at PUBLIC_URL. */
function checkPublicUrl({ HOST: host, PUBLIC_URL: url }: Env): Outcome[] {
  if (url === undefined) {
    if (host !== '0.0.0.0' && host !== '::') return [];
    return [
      fault(
        'PUBLIC_URL is not set: the console stream URL that clients get cannot be reached',
        'set PUBLIC_URL to the address that clients use, such as https://api.example.com',
      ),
    ];
  }
  if (url.startsWith('https:') || isLoopback(new URL(url).hostname)) return [];
  return [
    fault('PUBLIC_URL is not https: API keys and consoles travel in plain text', 'serve it by https, and set that URL'),
  ];
}

/** A public service that listens on this machine alone is behind a proxy on it. */
function checkProxies({ HOST: host, PUBLIC_URL: url, TRUSTED_PROXIES: trusted }: Env): Outcome[] {
  if (!isLoopback(host) && host !== '::1') return [];
  if (trusted.check('127.0.0.1') || trusted.check('::1', 'ipv6')) return [];
  const advice = 'set TRUSTED_PROXIES=127.0.0.1,::1';
  const isPublic = url !== undefined && !isLoopback(new URL(url).hostname);
  if (!isPublic) return [hint('behind a proxy on this machine, all visitors would share one limit', advice)];
  return [fault('TRUSTED_PROXIES lacks the proxy on this machine: all its visitors share one limit', advice)];
}

function checkOrigins({ ALLOW_LOCAL_ORIGINS: allowsLocal, PUBLIC_URL: url }: Env): Outcome[] {
  if (!allowsLocal || url === undefined || isLoopback(new URL(url).hostname)) return [];
  return [hint('pages of localhost may use API keys', 'unset ALLOW_LOCAL_ORIGINS, which is for development')];
}
