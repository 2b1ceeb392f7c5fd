import { describe } from 'vitest';
import { testProblems } from './problems.ts';
import type { Problems } from './problems.ts';

const file = 'catalog/domains.yaml';

describe('domains.yaml is refused', () => {
  const order = '1:12  "order_url"';

  testProblems(file, (yaml) => yaml, {
    'order_url: "https://example.com/{domain}"\n': '1:1  missing field "tlds"',
    'tlds: [.com]\n': '1:7  "tlds" must be a mapping of fields, not a list',
    'order_url: https://example.com/\ntlds: {}\n': `${order} must contain {domain}, which is replaced by the domain name`,
    'order_url: "http://example.com/{domain}"\ntlds: {}\n': `${order} must be a URL that begins with https://`,
    'order_url: 5\ntlds: {}\n': `${order} must be text, not a number`,
    'tlds:\n  .com: {}\n  .com: {}\n': '3:3  ".com" is given twice (keep one of the two)',
    'tlds:\n  __proto__: {}\n': '2:3  the key "__proto__" is not allowed',
    'tlds:\n  .com: &com { active: true }\n  .net:\n    <<: *com\n':
      '4:9  YAML aliases (*name) are not allowed (write the value out, or put a text that begins with * in quotes)',
    'tlds: {\n': '1:7  this { is not closed (end it with })',
    'tlds: {}\n---\ntlds: {}\n': '2:1  there is more than one YAML document',
  });

  const tlds = ['com', '.COM', '.Com', '.-a', '.a-', '".."', '".a..b"', '"."', '._dmarc', '.рф', '""', '7'];
  const rule = 'must be a TLD with its leading dot, in lower case (an internationalised one in its xn-- form)';
  const rows = tlds.map((tld) => [tld, `2:3  "tlds.${tld.replaceAll('"', '')}" ${rule}`]);
  testProblems(file, (tld) => `tlds:\n  ${tld}: {}\n`, Object.fromEntries(rows) as Problems);
});

describe('the entry of a TLD is refused', () => {
  const oneOf = 'must be none, { rdap: URL }, { whois: "host[:port]" } or { das: "host[:port]" }';
  const host = 'must be a host name, with an optional :port';
  const prices = (currency: string, term: string, values = 'register: 8, renew: 9, transfer: 0') =>
    `{ prices: { ${currency}: { ${term}: { ${values} } } } }`;

  testProblems(file, (yaml) => `tlds:\n  .com: ${yaml}\n`, {
    '': '2:9  "tlds..com" must be a mapping of fields, not empty',
    '{ activ: true }': '2:11  unknown field "tlds..com.activ" (did you mean "active"?)',
    '{ active: yes }': '2:19  "tlds..com.active" must be true or false, not text (write true)',
    [prices('eur', '1')]: '2:21  "tlds..com.prices.eur" must be a currency code of three capital letters',
    [prices('€', '1')]: '2:21  "tlds..com.prices.€" must be a currency code of three capital letters',
    [prices('constructor', '1')]: '2:21  the key "constructor" is not allowed',
    [prices('EUR', '0')]: '2:28  "tlds..com.prices.EUR.0" must be a number of years',
    [prices('EUR', '1y')]: '2:28  "tlds..com.prices.EUR.1y" must be a number of years',
    [prices('EUR', '1.5')]: '2:28  "tlds..com.prices.EUR.1.5" must be a number of years',
    [prices('EUR', '100')]: '2:28  "tlds..com.prices.EUR.100" must be a number of years',
    [prices('EUR', '1', 'register: 8, renew: 9')]: '2:31  missing field "tlds..com.prices.EUR.1.transfer"',
    [prices('EUR', '1', 'register: -8, renew: 9, transfer: 0')]:
      '2:43  "tlds..com.prices.EUR.1.register" must not be negative',
    [prices('EUR', '1', 'register: 8.999, renew: 9, transfer: 0')]:
      '2:43  "tlds..com.prices.EUR.1.register" must have at most two decimals',
    [prices('EUR', '1', 'register: .nan, renew: 9, transfer: 0')]:
      '2:43  "tlds..com.prices.EUR.1.register" must be a number, not NaN',
    '{ prices: { EUR: { 1: {register: 1, renew: 1, transfer: 1}, "1": {register: 2, renew: 2, transfer: 2} } } }':
      '2:69  "1" is given twice (keep one of the two)',
    '{ order_url: "https://example.com/{domain}" }':
      '2:22  "order_url" of a TLD must not contain {domain} (remove that part)',
    '{ order_url: "http://example.com/" }': '2:22  "tlds..com.order_url" must be a URL that begins with https://',
    '{ lookup: whois }': `2:19  "tlds..com.lookup" ${oneOf}`,
    '{ lookup: { whios: a.nl } }': `2:19  "tlds..com.lookup" ${oneOf}`,
    '{ lookup: { whois: a.nl, das: b.nl } }': `2:19  "tlds..com.lookup" ${oneOf}`,
    '{ lookup: { whois: "bad host" } }': `2:28  "tlds..com.lookup.whois" ${host}`,
    '{ lookup: { whois: "https://whois.nic.uk" } }': `2:28  "tlds..com.lookup.whois" ${host}`,
    '{ lookup: { whois: "whois.nic.uk:65536" } }': `2:28  "tlds..com.lookup.whois" ${host}`,
    '{ lookup: { rdap: "ftp://rdap.example" } }': '2:27  "tlds..com.lookup.rdap" must be an http or https URL',
    '{ lookup: { rdap: "https://rdap.example/?x=1" } }':
      '2:27  "tlds..com.lookup.rdap" must be without query and fragment',
  });
});
