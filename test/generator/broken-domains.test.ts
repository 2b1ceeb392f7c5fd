import { describe, expect, test } from 'vitest';
import { createProject } from '../helpers/project.ts';
import { problemsOf } from './problems.ts';

const file = 'catalog/domains.yaml';

function problemsOfDomains(yaml: string): Promise<string[]> {
  return problemsOf(createProject({ [file]: yaml }));
}

describe('domains.yaml is refused if', () => {
  const order = '1:12  "order_url"';

  test.each([
    ['it has no TLDs', 'order_url: "https://example.com/{domain}"\n', '1:1  missing field "tlds"'],
    ['its TLDs are a list', 'tlds: [.com]\n', '1:7  "tlds" must be a mapping of fields, not a list'],
    [
      'its order_url has no place for the domain',
      'order_url: https://example.com/\ntlds: {}\n',
      `${order} must contain {domain}, which is replaced by the domain name`,
    ],
    [
      'its order_url is not encrypted',
      'order_url: "http://example.com/{domain}"\ntlds: {}\n',
      `${order} must be a URL that begins with https://`,
    ],
    ['its order_url is a number', 'order_url: 5\ntlds: {}\n', `${order} must be text, not a number`],
    ['a TLD is listed twice', 'tlds:\n  .com: {}\n  .com: {}\n', '3:3  ".com" is given twice (keep one of the two)'],
    ['a TLD is __proto__', 'tlds:\n  __proto__: {}\n', '2:3  the key "__proto__" is not allowed'],
    [
      'a TLD is merged from another',
      'tlds:\n  .com: &com { active: true }\n  .net:\n    <<: *com\n',
      '4:9  YAML aliases (*name) are not allowed (write the value out, or put a text that begins with * in quotes)',
    ],
    ['a bracket is never closed', 'tlds: {\n', '1:7  this { is not closed (end it with })'],
    ['it has two documents', 'tlds: {}\n---\ntlds: {}\n', '2:1  there is more than one YAML document'],
  ])('%s', async (_, yaml, problem) => {
    expect(await problemsOfDomains(yaml)).toEqual([`${file}:${problem}`]);
  });

  test.each(['com', '.COM', '.Com', '.-a', '.a-', '".."', '".a..b"', '"."', '._dmarc', '.рф', '""', '7'])(
    'a TLD is %s',
    async (tld) => {
      const name = tld.replaceAll('"', '');
      expect(await problemsOfDomains(`tlds:\n  ${tld}: {}\n`)).toEqual([
        `${file}:2:3  "tlds.${name}" must be a TLD with its leading dot, in lower case ` +
          '(an internationalised one in its xn-- form)',
      ]);
    },
  );
});

describe('a TLD is refused if', () => {
  const oneOf = 'must be none, { rdap: URL }, { whois: "host[:port]" } or { das: "host[:port]" }';
  const host = 'must be a host name, with an optional :port';
  const prices = (currency: string, term: string, values = 'register: 8, renew: 9, transfer: 0') =>
    `{ prices: { ${currency}: { ${term}: { ${values} } } } }`;

  test.each([
    ['it is left out', '', '2:9  "tlds..com" must be a mapping of fields, not empty'],
    ['a field is mistyped', '{ activ: true }', '2:11  unknown field "tlds..com.activ" (did you mean "active"?)'],
    ['active is yes', '{ active: yes }', '2:19  "tlds..com.active" must be true or false, not text (write true)'],
    [
      'its currency is in lower case',
      prices('eur', '1'),
      '2:21  "tlds..com.prices.eur" must be a currency code of three capital letters',
    ],
    [
      'its currency is a sign',
      prices('€', '1'),
      '2:21  "tlds..com.prices.€" must be a currency code of three capital letters',
    ],
    ['its currency is "constructor"', prices('constructor', '1'), '2:21  the key "constructor" is not allowed'],
    ['its term is 0 years', prices('EUR', '0'), '2:28  "tlds..com.prices.EUR.0" must be a number of years'],
    ['its term has its unit', prices('EUR', '1y'), '2:28  "tlds..com.prices.EUR.1y" must be a number of years'],
    ['its term is a fraction', prices('EUR', '1.5'), '2:28  "tlds..com.prices.EUR.1.5" must be a number of years'],
    ['its term is a century', prices('EUR', '100'), '2:28  "tlds..com.prices.EUR.100" must be a number of years'],
    [
      'a price is missing',
      prices('EUR', '1', 'register: 8, renew: 9'),
      '2:31  missing field "tlds..com.prices.EUR.1.transfer"',
    ],
    [
      'a price is negative',
      prices('EUR', '1', 'register: -8, renew: 9, transfer: 0'),
      '2:43  "tlds..com.prices.EUR.1.register" must not be negative',
    ],
    [
      'a price has three decimals',
      prices('EUR', '1', 'register: 8.999, renew: 9, transfer: 0'),
      '2:43  "tlds..com.prices.EUR.1.register" must have at most two decimals',
    ],
    [
      'a price is .nan',
      prices('EUR', '1', 'register: .nan, renew: 9, transfer: 0'),
      '2:43  "tlds..com.prices.EUR.1.register" must be a number, not NaN',
    ],
    [
      'a term is listed twice, once in quotes',
      '{ prices: { EUR: { 1: {register: 1, renew: 1, transfer: 1}, "1": {register: 2, renew: 2, transfer: 2} } } }',
      '2:69  "1" is given twice (keep one of the two)',
    ],
    [
      'its order_url holds {domain}',
      '{ order_url: "https://example.com/{domain}" }',
      '2:22  "order_url" of a TLD must not contain {domain} (remove that part)',
    ],
    [
      'its order_url is not encrypted',
      '{ order_url: "http://example.com/" }',
      '2:22  "tlds..com.order_url" must be a URL that begins with https://',
    ],
    ['its lookup is a word', '{ lookup: whois }', `2:19  "tlds..com.lookup" ${oneOf}`],
    ['its lookup is mistyped', '{ lookup: { whios: a.nl } }', `2:19  "tlds..com.lookup" ${oneOf}`],
    ['it has two lookups', '{ lookup: { whois: a.nl, das: b.nl } }', `2:19  "tlds..com.lookup" ${oneOf}`],
    ['its WHOIS host has a space', '{ lookup: { whois: "bad host" } }', `2:28  "tlds..com.lookup.whois" ${host}`],
    [
      'its WHOIS host is a URL',
      '{ lookup: { whois: "https://whois.nic.uk" } }',
      `2:28  "tlds..com.lookup.whois" ${host}`,
    ],
    [
      'its WHOIS port is above 65535',
      '{ lookup: { whois: "whois.nic.uk:65536" } }',
      `2:28  "tlds..com.lookup.whois" ${host}`,
    ],
    [
      'its RDAP server is not on the web',
      '{ lookup: { rdap: "ftp://rdap.example" } }',
      '2:27  "tlds..com.lookup.rdap" must be an http or https URL',
    ],
    [
      'the RDAP server has a query',
      '{ lookup: { rdap: "https://rdap.example/?x=1" } }',
      '2:27  "tlds..com.lookup.rdap" must be without query and fragment',
    ],
  ])('%s', async (_, yaml, problem) => {
    expect(await problemsOfDomains(`tlds:\n  .com: ${yaml}\n`)).toEqual([`${file}:${problem}`]);
  });
});
