import { createUpstream, json } from './upstream.ts';
import type { Answer, Upstream } from './upstream.ts';

/** The data of the stand-in; tests change it. */
export interface FossBillingShop {
  /** The default currency. All prices are in it. */
  currency: string;
  tlds: unknown[];
  /** The web server's answer for paths that are no files; undefined if it rewrites URLs. */
  withoutRewriting: Answer | undefined;
}

/** A TLD as FOSSBilling returns it. */
export function fossBillingTld(tld: string, changes: Readonly<Record<string, unknown>> = {}): object {
  return {
    id: 1,
    tld,
    price_registration: '11.49',
    price_renew: '13.49',
    price_transfer: '11.49',
    active: true,
    allow_register: true,
    allow_transfer: true,
    require_transfer_code: true,
    min_years: 1,
    periods: null,
    ...changes,
  };
}

/** Starts a stand-in for the guest API of a FOSSBilling that is installed in `/billing`. */
export async function createFossBillingUpstream(): Promise<{ upstream: Upstream; shop: FossBillingShop }> {
  const shop: FossBillingShop = {
    currency: 'EUR',
    tlds: [fossBillingTld('.com'), fossBillingTld('.co.uk', { price_transfer: '0.00' })],
    withoutRewriting: undefined,
  };
  const upstream = await createUpstream(({ method, path }) => {
    const [, file = '', call = ''] = /^\/billing\/(index\.php\?_url=\/)?api\/guest\/([a-z_/]+)$/.exec(path) ?? [];
    if (!file && shop.withoutRewriting) return shop.withoutRewriting;
    if (method !== 'GET') return failure('Unknown API call', 879, 400);
    if (call === 'servicedomain/tlds') return envelope(shop.tlds);
    if (call !== 'currency/get') return failure('Unknown API call', 879, 400);
    const format = { title: 'A currency', format: '{{price}}', price_format: '1' };
    return envelope({ code: shop.currency, conversion_rate: 1, default: true, ...format });
  });
  return { upstream, shop };
}

/** An error in FOSSBilling's format; most have status 200. */
export function failure(message: string, code: number, status = 200): Answer {
  return json(status, { result: null, error: { message, code } });
}

function envelope(result: unknown): Answer {
  return json(200, { result, error: null }, 'application/json; charset=utf-8');
}
