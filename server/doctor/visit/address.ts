import { isIP } from 'node:net';
import { fault, ok, skipped } from '../finding.ts';
import { hostOf } from './reach.ts';
import type { Outcome } from '../finding.ts';
import type { Check, Seen, Site } from './types.ts';

/** Requests of a burst: enough to see in the remaining quota, few enough to leave most of it. */
const burst = 20;
const oneAddress = 'it takes a name that is reached by IPv4 and by IPv6';
const tooFast = 'the quota grows too fast to see in it whose requests are counted';

/** Whether a client can choose the address that its limit counts. */
export const forgedAddress: Check = {
  name: 'forged X-Forwarded-For',
  async run(site) {
    const counted = await findLowest(site, burst, () => ({}));
    if (typeof counted !== 'number') return counted;
    // TEST-NET-3 (RFC 5737): addresses that no client has.
    const forged = await findLowest(site, burst, (at) => ({ 'X-Forwarded-For': `203.0.113.${at + 1}` }));
    if (typeof forged !== 'number') return forged;
    if (counted < 3) return skipped(tooFast);
    if (forged >= 3) return ok('it does not change whose requests are counted');
    return fault(
      'each forged address has a limit of its own',
      'let the proxy replace the header (nginx: proxy_set_header X-Forwarded-For $remote_addr), and name in TRUSTED_PROXIES only proxies',
    );
  },
};

/** Whether the service knows its clients apart: else one of them uses up the limit of all. */
export const sharedAddress: Check = {
  name: 'addresses of clients',
  async run(site) {
    if (isIP(hostOf(site.base)) > 0) return skipped(oneAddress);
    const hasBoth = await Promise.all(
      ([4, 6] as const).map((family) =>
        site.visit('/v1/info', { family }).then(
          () => true,
          () => false,
        ),
      ),
    );
    if (!hasBoth.every(Boolean)) return skipped(oneAddress);
    const families = [4, 6] as const;
    const countAll = (requests: number): Promise<(number | Outcome)[]> =>
      Promise.all(families.map((family) => findLowest(site, requests, () => ({}), family)));
    const before = await countAll(1);
    // All at once: the quota grows again within fractions of a second.
    const after = await countAll(burst);
    const failed = [...before, ...after].find((counted) => typeof counted !== 'number');
    if (failed) return failed;
    const most = Math.max(...after.map((counted, at) => Number(counted) - Number(before[at])));
    if (most < burst / 2) return skipped(tooFast);
    if (most <= burst * 1.25) return ok('IPv4 and IPv6 are counted apart');
    return fault(
      'requests by IPv4 and by IPv6 use up one limit',
      'let the proxy set X-Forwarded-For, and name its address in TRUSTED_PROXIES',
    );
  },
};

/** Sends requests at once; returns how many the fullest answer says were counted, or why that cannot be seen. */
async function findLowest(
  { visit }: Site,
  requests: number,
  toHeaders: (at: number) => Record<string, string>,
  family?: 4 | 6,
): Promise<number | Outcome> {
  const seen = await Promise.all(
    Array.from({ length: requests }, (_, at) =>
      visit('/v1/info', { headers: toHeaders(at), ...(family && { family }) }),
    ),
  );
  const quotas = seen.map(readQuota);
  if (quotas.some((quota) => quota === undefined)) {
    return fault('answers have no RateLimit', 'let the proxy keep RateLimit and RateLimit-Policy of the service');
  }
  return Math.max(...quotas.map((quota) => quota!.total - quota!.left));
}

/** Reads RateLimit and its policy, for instance `"default";r=99;t=1` and `"default";q=100;w=2`. */
function readQuota({ header }: Seen): { total: number; left: number } | undefined {
  const [, total] = /;q=(\d+)/.exec(header('ratelimit-policy')) ?? [];
  const [, left] = /;r=(\d+)/.exec(header('ratelimit')) ?? [];
  return total === undefined || left === undefined ? undefined : { total: Number(total), left: Number(left) };
}
