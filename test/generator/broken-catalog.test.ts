import { describe, expect, test } from 'vitest';
import { createProject } from '../helpers/project.ts';
import { problemsOf, testPaths, testProblems, testProjects, toFields, toGame } from './tables.ts';
import type { Problems } from './tables.ts';

const gameFile = 'catalog/games/broken-#.yaml';

/** Creates a game with one plan, whose fields start on line 5, one per line. */
function game(fields: Readonly<Record<string, string | undefined>> = {}, top?: string): string {
  const plan = {
    name: 'Small',
    ram: '0.5',
    storage: '10',
    price: '2.49',
    orderLink: 'https://clients.example.com/1',
    soldOut: 'false',
    ...fields,
  };
  const lines = Object.entries(plan).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return toGame(`  - ${lines.join('\n    ')}`, top);
}

describe('a plan is refused', () => {
  const price = '8:12  "plans[0].price"';
  const link = '9:16  "plans[0].orderLink" must be a URL that starts with https://';

  testProblems(gameFile, (fields) => game(toFields(fields)), {
    'price: 1.999': `${price} must have at most two decimals`,
    'price: 1.005': `${price} must have at most two decimals`,
    'price: -1': `${price} must not be negative`,
    'price: ': `${price} must be a number, not empty`,
    'price: .nan': `${price} must be a number, not NaN`,
    'price: .inf': `${price} must be a number, not Infinity`,
    'price: 1e999': `${price} must be a number, not Infinity`,
    price: '5:5  missing field "plans[0].price"',
    'orderLink: http://clients.example.com/1': link,
    'orderLink: javascript:alert(1)': link,
    'orderLink: /order/1': link,
    'orderLink: "https:clients.example.com/1"': link,
    'orderLink: "https://"': link,
    'ram: 0': '6:10  "plans[0].ram" must be greater than 0',
    'ram: -0.5': '6:10  "plans[0].ram" must be greater than 0',
    'storage: 1.5': '7:14  "plans[0].storage" must be a whole number, not a fraction',
    'storage: 0': '7:14  "plans[0].storage" must be greater than 0',
    'storage: 1e21': '7:14  "plans[0].storage" must be a whole number',
    'name: ""': '5:11  "plans[0].name" must not be empty',
    'name: 5': '5:11  "plans[0].name" must be text, not a number (put it in quotes)',
    'soldOut: no': '10:14  "plans[0].soldOut" must be true or false, not text',
    'orderlink: x': '11:5  unknown field "plans[0].orderlink" (did you mean "orderLink"?)',
    'bandwidth: 1':
      '11:5  unknown field "plans[0].bandwidth" (the fields are name, ram, storage, price, orderLink, soldOut)',
    '__proto: 1; __proto__: { price: 0 }': '12:5  the key "__proto__" is not allowed',
    'constructor: x': '11:5  the key "constructor" is not allowed',
    'price: 2\n    price: 3': '9:5  "price" is given twice (keep one of the two)',
  });
});

describe('the message about a number suggests a correction', () => {
  const unit = 'write a number without a unit, with a dot before decimals';
  const testHints = (name: string, place: string, hints: Readonly<Record<string, string>>): void => {
    const toProblem = (hint: string) => `${place}  "plans[0].${name}" must be a number, not text (${hint})`;
    const rows = Object.entries(hints).map(([value, hint]) => [`${name}: ${value}`, toProblem(hint)]);
    testProblems(gameFile, (fields) => game(toFields(fields)), Object.fromEntries(rows) as Problems);
  };
  testHints('price', '8:12', {
    '3,50': 'write 3.50',
    '3.50 €': 'write 3.50',
    '3,50 €': 'write 3.50',
    '€3.50': 'write 3.50',
    '€ 3.50': 'write 3.50',
    '3.50 EUR': 'write 3.50',
    'EUR 3.50': 'write 3.50',
    '3,- €': 'write 3',
    '"3.50"': 'write 3.50',
    "'3'": 'write 3',
    '"3,50"': 'write 3.50',
    '1.299,00 €': 'write 1299.00',
    '"1,299.00"': 'write 1299.00',
    '1 299,00 €': 'write 1299.00',
    '1,299': 'write 1299',
    '1,5555': unit,
    '3 apples': unit,
    'from 3.50': unit,
    free: unit,
  });
  testHints('ram', '6:10', {
    '2GB': 'write 2',
    '2 GB': 'write 2',
    '0,5 GB': 'write 0.5',
    '2 GiB': 'write 2',
    '"2"': 'write 2',
    '1,024': 'write 1024 or 1.024',
    '512 MB': 'write it in GB, as a number without the unit',
    '1TB': 'write it in GB, as a number without the unit',
    'a lot': unit,
  });
  testHints('storage', '7:14', { '20GB': 'write 20', '2,5 GB': unit });
});

describe('a game is refused', () => {
  const all = ['name', 'soldOut', 'plans'];

  testProblems(gameFile, (yaml) => yaml, {
    '': '1:1  the YAML must be a mapping of fields, not empty',
    '# later\n': '1:1  the YAML must be a mapping of fields, not empty',
    '- a\n': '1:1  the YAML must be a mapping of fields, not a list',
    '{}\n': all.map((field) => `1:1  missing field "${field}"`),
    [game({}, 'soldOutMessage: ""\norder: 1.5')]: '4:8  "order" must be a whole number, not a fraction',
    [game({}, 'soldOutMessage: ""\norder: first')]:
      '4:8  "order" must be a number, not text (write a number without a unit, with a dot before decimals)',
    [game({}, 'soldOutMessage: 5')]: '3:17  "soldOutMessage" must be text, not a number (put it in quotes)',
    'name: A\nsoldOut: false\nsoldOutMessage: ""\nplans: {}\n': '4:8  "plans" must be a list, not a mapping of fields',
    'name: A\nsoldOut: false\nsoldOutMessage: ""\nplans: [Small]\n':
      '4:9  "plans[0]" must be a mapping of fields, not text',
    'plans: [\n': '1:8  this [ is not closed (end it with ])',
    [`${game()}---\n${game()}`]: '11:1  there is more than one YAML document',
    'name: A\nplans:\n\t- name: B\n': '3:1  this line is indented with a tab (indent with spaces, here and below)',
  });
});

describe('two plans with the same name are a warning', () => {
  const plan = (name: string): string =>
    `  - { name: ${name}, ram: 1, storage: 1, price: 1, orderLink: "https://a.example/", soldOut: false }`;
  testProblems(gameFile, (names) => toGame(names.split(' ').map(plan).join('\n')), {
    'Small Large Small': '7:13  warning: two plans are named "Small" (rename one of them)',
  });
});

describe('the key of a game is refused with a better name:', () => {
  const slug = 'the file name must contain only lower-case letters, digits and hyphens';
  const letter = 'the file name must contain at least one letter';

  testPaths(game(), {
    'catalog/games/7.yaml': letter,
    'catalog/games/7-2.yaml': letter,
    'catalog/games/-.yaml': letter,
    'catalog/games/Rust.yaml': `${slug} (rename it to "rust.yaml")`,
    'catalog/games/garrys mod.yaml': `${slug} (rename it to "garrys-mod.yaml")`,
    'catalog/games/garrys_mod.yaml': `${slug} (rename it to "garrys-mod.yaml")`,
    'catalog/games/7.days.yaml': `${slug} (rename it to "7-days.yaml")`,
    'catalog/games/Spiel für Größen.yaml': `${slug} (rename it to "spiel-fuer-groessen.yaml")`,
    'catalog/games/__proto__.yaml': `${slug} (rename it to "proto.yaml")`,
    'catalog/games/constructor.yaml': 'the file name must not be constructor',
    'catalog/games/prototype.yaml': 'the file name must not be prototype',
  });
});

describe('a file is not part of the catalog:', () => {
  const all = 'the catalog consists of domains.yaml, status.yaml, services/<key>.yaml, games/<key>.yaml';
  const toReason = (hint: string): string => `this file is not part of the catalog (${hint})`;

  testPaths('x', {
    'catalog/domain.yaml': toReason('did you mean "domains.yaml"?'),
    'catalog/stauts.yaml': toReason('did you mean "status.yaml"?'),
    'catalog/domains.yml': toReason('did you mean "domains.yaml"?'),
    'catalog/games/rust.yml': toReason(all),
    'catalog/services/README.md': toReason(all),
    'catalog/services/web/small.yaml': toReason(all),
    'catalog/vps/small.yaml': toReason(all),
    'catalog/prices.csv': toReason(all),
  });
  testProjects({
    'different from another only in case': [
      { 'catalog/Status.yaml': 'x' },
      `catalog/Status.yaml:1:1  ${toReason('did you mean "status.yaml"?')}`,
      'catalog/status.yaml:1:1  the path differs from catalog/Status.yaml only in case or Unicode form (rename one of the two)',
    ],
  });
});

const domainsFile = 'catalog/domains.yaml';

describe('domains.yaml is refused', () => {
  const order = '1:12  "order_url"';

  testProblems(domainsFile, (yaml) => yaml, {
    'order_url: "https://example.com/{domain}"\n': '1:1  missing field "tlds"',
    'tlds: [.com]\n': '1:7  "tlds" must be a mapping of fields, not a list',
    'order_url: https://example.com/\ntlds: {}\n': `${order} must contain {domain}, the placeholder for the domain name`,
    'order_url: "http://example.com/{domain}"\ntlds: {}\n': `${order} must be a URL that starts with https://`,
    'order_url: 5\ntlds: {}\n': `${order} must be text, not a number`,
    'tlds:\n  .com: {}\n  .com: {}\n': '3:3  ".com" is given twice (keep one of the two)',
    'tlds:\n  __proto__: {}\n': '2:3  the key "__proto__" is not allowed',
    'tlds:\n  .com: &com { active: true }\n  .net:\n    <<: *com\n':
      '4:9  YAML aliases (*name) are not allowed (write out the value, or put a text that starts with * in quotes)',
    'tlds: {\n': '1:7  this { is not closed (end it with })',
    'tlds: {}\n---\ntlds: {}\n': '2:1  there is more than one YAML document',
  });

  const tlds = ['com', '.COM', '.Com', '.-a', '.a-', '".."', '".a..b"', '"."', '._dmarc', '.рф', '""', '7'];
  const rule = 'must be a TLD with a leading dot in lower case (an internationalised TLD in xn-- form)';
  const rows = tlds.map((tld) => [tld, `2:3  "tlds.${tld.replaceAll('"', '')}" ${rule}`]);
  testProblems(domainsFile, (tld) => `tlds:\n  ${tld}: {}\n`, Object.fromEntries(rows) as Problems);
});

describe('the entry of a TLD is refused', () => {
  const oneOf =
    'must be none, { rdap: URL }, { whois: "host[:port]" }, { das: "host[:port]" }, { confirm: NAME } or a list of servers';
  const host = 'must be a host name with an optional :port';
  const prices = (currency: string, term: string, values = 'register: 8, renew: 9, transfer: 0') =>
    `{ prices: { ${currency}: { ${term}: { ${values} } } } }`;

  testProblems(domainsFile, (yaml) => `tlds:\n  .com: ${yaml}\n`, {
    '': '2:9  "tlds..com" must be a mapping of fields, not empty',
    '{ activ: true }': '2:11  unknown field "tlds..com.activ" (did you mean "active"?)',
    '{ active: yes }': '2:19  "tlds..com.active" must be true or false, not text',
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
      '2:22  "order_url" of a TLD must not contain {domain} (remove {domain})',
    '{ order_url: "http://example.com/" }': '2:22  "tlds..com.order_url" must be a URL that starts with https://',
    '{ lookup: whois }': `2:19  "tlds..com.lookup" ${oneOf}`,
    '{ lookup: { whios: a.nl } }': `2:19  "tlds..com.lookup" ${oneOf}`,
    '{ lookup: { whois: a.nl, das: b.nl } }': `2:19  "tlds..com.lookup" ${oneOf}`,
    '{ lookup: { whois: "bad host" } }': `2:28  "tlds..com.lookup.whois" ${host}`,
    '{ lookup: { whois: "https://whois.nic.uk" } }': `2:28  "tlds..com.lookup.whois" ${host}`,
    '{ lookup: { whois: "whois.nic.uk:65536" } }': `2:28  "tlds..com.lookup.whois" ${host}`,
    '{ lookup: { rdap: "ftp://rdap.example" } }': '2:27  "tlds..com.lookup.rdap" must be an http or https URL',
    '{ lookup: { rdap: "https://rdap.example/?x=1" } }':
      '2:27  "tlds..com.lookup.rdap" must not have a query or fragment',
    '{ lookup: { confirm: "nic.net" } }': '2:19  "confirm" must be a domain under .com',
    '{ lookup: [{ whois: whois.nic.com }, { das: das.nic.com, confirm: nic.net }] }':
      '2:19  "confirm" must be a domain under .com',
    '{ lookup: [] }': '2:19  "tlds..com.lookup" must not be empty',
    '{ letters: abc }': '2:20  "tlds..com.letters" must be none, or letters beyond a-z in a row, such as äöü',
  });

  const none = 'is on sale, but no server says which names are free: a search gets 502';
  const hint = 'add `lookup` with a server, or `lookup: none` to accept this';
  const sold = 'prices: { EUR: { 1: { register: 8, renew: 9, transfer: 0 } } }';
  testProblems(domainsFile, (yaml) => `tlds:\n  ${yaml}\n`, {
    [`.es: { ${sold} }`]: `2:8  warning: .es ${none} (${hint})`,
    [`.com.es: { ${sold}, lookup: { confirm: nic.com.es } }`]: `2:12  warning: .com.es ${none} (${hint})`,
  });

  test.each([
    `.es: { ${sold}, lookup: none }`,
    `.es: { ${sold}, active: false }`,
    '.es: {}',
    `.es: { ${sold}, lookup: { whois: whois.example.es } }`,
    ...['.de', '.com', '.co.uk', '.com.br'].map((tld) => `${tld}: { ${sold} }`),
  ])('%s is no warning', async (yaml) => {
    expect(await problemsOf(createProject({ [domainsFile]: `tlds:\n  ${yaml}\n` }))).toEqual([]);
  });
});

const statusFile = 'catalog/status.yaml';

/** Creates a status.yaml with a maintenance, whose fields start on line 4, one per line. */
function toMaintenance(fields: string): string {
  const all = {
    title: 'Move',
    monitors: '[Website]',
    start: '2026-12-01T22:00',
    end: '2026-12-02T02:00',
    timezone: 'Europe/Berlin',
    ...toFields(fields),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `monitors:\n  - { name: Website, url: "https://www.example.com" }\nmaintenance:\n  - ${lines.join('\n    ')}\n`;
}

describe('a monitor is refused', () => {
  const url = 'url: "https://a.example"';
  const notUrl = '2:21  "monitors[0].url" must be an http or https URL, or a path of this server';
  const host = '2:21  "monitors[0].tcp" must be a host name with an optional :port';

  const toYaml = (fields: string): string => `monitors:\n  - { ${fields} }\nmaintenance: []\n`;
  testProblems(statusFile, toYaml, {
    'nmae: A, url: "https://a.example"': '2:7  unknown field "monitors[0].nmae" (did you mean "name"?)',
    [`name: A, ${url}, interval_seconds: 60s`]:
      '2:60  "monitors[0].interval_seconds" must be a number, not text (write 60)',
    [`name: A, ${url}, tcp: "a.example:1"`]: '2:47  "monitors[0].tcp" conflicts with "url"; keep one of the two',
    'name: A': '2:5  "monitors[0]" needs url: "https://..." or tcp: "host:port"',
    [url]: '2:5  missing field "monitors[0].name"',
    [`name: "", ${url}`]: '2:13  "monitors[0].name" must not be empty',
    'name: A, url: a.example': notUrl,
    'name: A, url: "statusFile:///etc/passwd"': notUrl,
    'name: A, url: "//a.example/"': notUrl,
    'name: A, url: null': '2:5  "monitors[0]" needs url: "https://..." or tcp: "host:port"',
    'name: A, tcp: a.example': '2:21  "monitors[0].tcp" must end in a port',
    'name: A, tcp: "a b:1"': host,
    'name: A, tcp: "a.example:0"': host,
    'name: A, tcp: "a.example:65536"': host,
    [`name: A, ${url}, interval_seconds: 4`]: '2:60  "monitors[0].interval_seconds" must be at least 5',
    [`name: A, ${url}, interval_seconds: 86401`]: '2:60  "monitors[0].interval_seconds" must be at most 86400',
    [`name: A, ${url}, timeout_seconds: 0.5`]:
      '2:59  "monitors[0].timeout_seconds" must be a whole number, not a fraction',
    [`name: A, ${url}, timeout_seconds: 61`]: '2:59  "monitors[0].timeout_seconds" must be at most 60',
    [`name: A, ${url}, failures: 0`]: '2:52  "monitors[0].failures" must be at least 1',
    [`name: A, ${url}, failure: 1`]: '2:42  unknown field "monitors[0].failure" (did you mean "failures"?)',
  });

  testProblems(statusFile, (yaml) => yaml, {
    // Another monitor has the same name.
    'monitors:\n  - { name: A, url: "https://a.example" }\n  - { name: A, tcp: "a.example:1" }\nmaintenance: []\n':
      '3:13  two monitors are named "A" (rename one of them)',
    'maintenance: []\n': '1:1  missing field "monitors"',
    // Maintenance is optional.
    'monitors:\n  - { name: Website, url: "https://www.example.com" }\n': [],
  });
});

describe('maintenance is refused', () => {
  const form = 'must be a local time of the form YYYY-MM-DDTHH:MM';
  const order = 'the maintenance must end after it starts';
  const exist = 'must be a time that exists';
  const zone = '8:15  "maintenance[0].timezone" must be an IANA time zone, such as Europe/Berlin';

  testProblems(statusFile, toMaintenance, {
    'monitors: [Webiste]': '5:16  no monitor is named "Webiste" (did you mean "Website"?)',
    'monitors: [Website, Mail]': '5:25  no monitor is named "Mail"',
    'monitors: []': '5:15  "maintenance[0].monitors" must name at least one monitor',
    'monitors: Website': '5:15  "maintenance[0].monitors" must be a list, not text (write [Website])',
    'end: 2026-12-01T21:59': `7:10  ${order}`,
    'end: 2026-12-01T22:00': `7:10  ${order}`,
    'end: 2026-12-01T22:00:00': `7:10  ${order}`,
    // This night, the clock skips the hour from 02:00 to 03:00.
    'start: 2027-03-28T02:30; end: 2027-03-28T03:10': `7:10  ${order}`,
    'start: 2026-13-01T10:00': `6:12  "maintenance[0].start" ${exist}`,
    'start: 2026-12-01T25:00': `6:12  "maintenance[0].start" ${exist}`,
    'start: 2026-02-30T10:00': `6:12  "maintenance[0].start" ${exist}`,
    'end: 2027-04-31T10:00': `7:10  "maintenance[0].end" ${exist}`,
    'end: 2027-02-29T10:00': `7:10  "maintenance[0].end" ${exist}`,
    'end: 2026-12-02T10:60': `7:10  "maintenance[0].end" ${exist}`,
    'start: 2026-12-01 22:00': `6:12  "maintenance[0].start" ${form} (write 2026-12-01T22:00)`,
    'start: 2026-12-01T22:00Z': `6:12  "maintenance[0].start" ${form}`,
    'end: 2026-12-02': `7:10  "maintenance[0].end" ${form}`,
    'timezone: Europe/Berln': zone,
    'timezone: Berlin': zone,
    'timezone: ""': zone,
    'title: ""': '4:12  "maintenance[0].title" must not be empty',
    'titel: x': '9:5  unknown field "maintenance[0].titel" (did you mean "title"?)',
  });
});

describe('the message about the start of a maintenance suggests a correction', () => {
  const start = '6:12  "maintenance[0].start" must be a local time of the form YYYY-MM-DDTHH:MM';
  const toStart = (fields: string): string => toMaintenance(`end: 2026-12-03T02:00; ${fields}`);
  testProblems(statusFile, toStart, {
    'start: 2026-12-1T9:30': `${start} (write 2026-12-01T09:30)`,
    'start: 01.12.2026 22:00': `${start} (write 2026-12-01T22:00)`,
  });
});

/** Sources with a URL in double quotes, escaped like YAML, and the reported location. */
const sources: readonly (readonly [file: string, place: string, write: (url: string) => string])[] = [
  ['catalog/domains.yaml', '1:12  "order_url"', (url) => `order_url: "${url}{domain}"\ntlds: {}\n`],
  ['catalog/domains.yaml', '2:22  "tlds..com.order_url"', (url) => `tlds:\n  .com: { order_url: "${url}" }\n`],
  ['catalog/domains.yaml', '2:27  "tlds..com.lookup.rdap"', (url) => `tlds:\n  .com: { lookup: { rdap: "${url}" } }\n`],
  [
    'catalog/status.yaml',
    '2:21  "monitors[0].url"',
    (url) => `monitors:\n  - { name: A, url: "${url}" }\nmaintenance: []\n`,
  ],
  [
    'catalog/games/broken-#.yaml',
    '5:57  "plans[0].orderLink"',
    (url) => toGame(`  - { name: S, ram: 1, storage: 1, price: 1, orderLink: "${url}", soldOut: false }`),
  ],
];

const faults: readonly (readonly [url: string, message: string])[] = [
  ['https://example.com/a b', 'must not contain a space (write %20)'],
  [' https://example.com/', 'must not start or end with white space (write https://example.com/)'],
  ['\\u00A0https://example.com/', 'must not start or end with white space (write https://example.com/)'],
  ['https://exam\\nple.com/', 'must not contain a line break (write the URL on one line)'],
  ['\\r\\nhttps://example.com/', 'must not start or end with white space'],
  ['https://exam\\tple.com/', 'must not contain U+0009 (remove it)'],
  ['https://example.com/\\0', 'must not contain U+0000 (remove it)'],
  ['https://example.com/\\x1B[0m', 'must not contain U+001B (remove it)'],
  ['https://example.com/\\x85', 'must not contain U+0085 (remove it)'],
  ['https://example.com/\\u00A0a', 'must not contain U+00A0 (no-break space) (remove it)'],
  ['https://example.com/\\u2028a', 'must not contain U+2028 (line separator) (remove it)'],
  ['https://example.com/<b>', 'must not contain < (write %3C)'],
  ['https://example.com/a>', 'must not contain > (write %3E)'],
  ['https://example.com/\\"a', 'must not contain " (write %22)'],
];

describe.each(sources)('in %s, a URL at %s with an unsafe character is refused:', (file, place, write) => {
  const toMessage = (message: string): string =>
    write('').includes('{domain}') ? message.replace('.com/)', '.com/{domain})') : message;
  testProblems(
    file,
    write,
    Object.fromEntries(faults.map(([url, message]) => [url, `${place} ${toMessage(message)}`])),
  );
});

test.each(sources)('in %s, a URL at %s may have the escaped forms of unsafe characters', async (file, place, write) => {
  // The URL of an RDAP server has no query.
  const url = `https://example.com/%20%3Cb%3E%22/ü${place.includes('rdap') ? '' : '?a=1&b[]=2#c'}`;
  expect(await problemsOf(createProject({ [file.replace('#', '1')]: write(url) }))).toEqual([]);
});
