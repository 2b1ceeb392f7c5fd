import { createUpstream, json } from './upstream.ts';
import type { Answer } from './upstream.ts';

/** The accepted credential. */
export const whmcsCredential = { identifier: 'whmcs-identifier-0123456789', secret: 'whmcs-secret-abcdef0123456789' };

/** The stand-in's data, which tests change. */
export interface WhmcsShop {
  currencies: { id: number | string; code: string }[];
  /** Prices by currency code; other values than maps are returned unchanged. */
  pricing: Record<string, unknown>;
  /** The currency returned for an unknown currency ID. */
  fallback: string;
}

/** Creates a TLD as returned by WHMCS, with the same prices for each action. */
export function whmcsTld(tld: string, years: unknown, changes: Readonly<Record<string, unknown>> = {}): object {
  const same = { register: years, transfer: years, renew: years };
  const addons = { dns: false, email: false, idprotect: false };
  const periods = { grace_period: null, redemption_period: null };
  return { tld, categories: ['Popular'], addons, group: '', ...same, ...periods, ...changes };
}

/** Simulates the API of a WHMCS in `/clients`; `settings` configure it as the source of domain prices. */
export async function createWhmcsUpstream() {
  const shop: WhmcsShop = {
    currencies: [
      { id: 1, code: 'USD' },
      { id: 3, code: 'EUR' },
    ],
    pricing: {
      USD: { com: whmcsTld('com', { 1: '99.00' }) },
      EUR: {
        com: whmcsTld('com', { 1: '11.49', 2: '22.98' }, { renew: { 1: '13.49' } }),
        'co.uk': whmcsTld('co.uk', { 1: '8.00' }, { transfer: { 1: '0.00' } }),
      },
    },
    fallback: 'USD',
  };
  const upstream = await createUpstream(({ method, path, headers, body }) => {
    if (method !== 'POST' || path !== '/clients/includes/api.php') return { status: 404, body: '<h1>Not Found</h1>' };
    if (!headers['content-type']?.startsWith('application/x-www-form-urlencoded')) return refusal('Invalid request');
    const form = Object.fromEntries(new URLSearchParams(body));
    // Without this parameter, the API uses its own text format.
    if (form['responsetype'] !== 'json') return { status: 200, body: 'result=error;message=no json;' };
    if (form['identifier'] !== whmcsCredential.identifier || form['secret'] !== whmcsCredential.secret) {
      return refusal('Authentication Failed');
    }
    if (form['action'] === 'GetCurrencies') return json(200, toCurrencies(shop));
    if (form['action'] !== 'GetTLDPricing') return refusal('Command Not Found');
    const code = shop.currencies.find(({ id }) => String(id) === form['currencyid'])?.code ?? '';
    const priced = code in shop.pricing ? code : shop.fallback;
    return json(200, {
      result: 'success',
      currency: { id: 1, code: priced, prefix: '', suffix: ` ${priced}`, format: 1, rate: '1.00000' },
      pricing: shop.pricing[priced],
    });
  });
  const { identifier: WHMCS_IDENTIFIER, secret: WHMCS_SECRET } = whmcsCredential;
  const WHMCS_URL = `${upstream.url}/clients`;
  return { upstream, shop, settings: { DOMAIN_PRICES: 'whmcs' as const, WHMCS_URL, WHMCS_IDENTIFIER, WHMCS_SECRET } };
}

/** Creates a WHMCS error. The status is 200, unless the web server refuses the request. */
export function refusal(message: string, status = 200): Answer {
  return json(status, { result: 'error', message });
}

function toCurrencies({ currencies }: WhmcsShop): object {
  const all = currencies.map((currency) => ({ ...currency, prefix: '', suffix: '', format: '1', rate: '1.00000' }));
  return { result: 'success', totalresults: all.length, currencies: { currency: all } };
}
