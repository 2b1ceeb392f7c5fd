import { expect, test } from 'vitest';
import { stopTimeouts } from '../../helpers/clock.ts';
import { createTextUpstream } from '../../helpers/upstream-registry.ts';
import { until } from '../../helpers/upstream.ts';
import { createTestRegistries } from './harness.ts';

/** Checks a name at a text server with a given answer; line ends become CRLF. */
async function ask(kind: 'whois' | 'das', tld: string, text: string | Buffer) {
  const answer = typeof text === 'string' ? text.replaceAll('\n', '\r\n') : text;
  const upstream = await createTextUpstream(() => answer);
  const registries = createTestRegistries();
  const lookup = kind === 'das' ? { das: upstream.address } : { whois: upstream.address };
  const availability = await registries.check({ name: `some-name.${tld}`, tld }, lookup);
  return { availability, upstream, registries, lookup };
}

test.each([
  ['com', 'No match for "SOME-NAME.COM".\n>>> Last update of whois database: 2026-11-20T14:00:00Z <<<\n'],
  ['net', 'No match for domain "SOME-NAME.NET".\n'],
  ['org', 'Domain not found.\n>>> Last update of WHOIS database <<<\n\nTerms of Use: whether it is available or not\n'],
  ['io', 'NOT FOUND\n'],
  ['cloud', 'The queried object does not exist: DOMAIN NOT FOUND\n'],
  ['de', '% Restricted rights.\n%\nDomain: some-name.de\nStatus: free\n'],
  ['eu', '% This is the .eu WHOIS\nDomain: some-name.eu\nScript: LATIN\n\nStatus: AVAILABLE\n'],
  ['nl', 'some-name.nl is free\n'],
  ['be', '% .be Whois Server\n\nDomain:\tsome-name.be\nStatus:\tAVAILABLE\n'],
  ['fr', '%%\n%% This is the AFNIC Whois server.\n%%\n\n%% NOT FOUND\n'],
  ['fr', '%% No entries found in the AFNIC Database.\n'],
  ['it', 'Domain:             some-name.it\nStatus:             AVAILABLE\n'],
  ['at', '% Copyright (c)2026 by NIC.AT (1)\n%\n% Quotas apply.\n\n% nothing found\n\n'],
  ['ch', 'We do not have an entry in our database matching your query.\n'],
  [
    'se',
    '# Copyright (c) 1997- The Swedish Internet Foundation.\n# All rights reserved.\ndomain "some-name.se" not found.\n',
  ],
  ['pl', 'No information available about domain name some-name.pl in the Registry NASK database.\n'],
  ['uk', '\n    No match for "some-name.uk".\n\n    This domain name has not been registered.\n\n'],
  ['co.uk', '\n    No match for "some-name.co.uk".\n\n    This domain name has not been registered.\n'],
  ['cz', '%ERROR:101: no entries found\n%\n% No entries found.\n'],
  ['dk', '# Version: 5.0.2\n#\nNo entries found for the selected source.\n'],
  ['fi', '\nDomain not found\n'],
  ['no', '% No match\n'],
  ['pt', 'some-name.pt - No Match\n'],
  ['ro', '% No entries found for the selected source(s).\n'],
  ['sk', 'Domain not found.\n'],
  ['sk', 'Not found.\n'],
  ['si', '% No entries found for the selected source(s).\n'],
  ['lt', 'Domain:\t\t\tsome-name.lt\nStatus:\t\t\tavailable\n'],
  ['lu', '% No such domain\n'],
  ['hu', '% Whois server 4.0\n\nNo match\n'],
  ['ee', 'Estonia .ee Top Level Domain WHOIS server\n\nDomain not found\n'],
])('WHOIS .%s: free', async (tld, text) => {
  expect((await ask('whois', tld, text)).availability).toBe('free');
});

test.each([
  ['com', '   Domain Name: SOME-NAME.COM\n   Registry Domain ID: 1\n   Registrar: A\n'],
  ['org', 'Domain Name: some-name.org\nRegistry Domain ID: 1\nRemarks: not found\nNot found.\n'],
  ['io', 'Reserved by Registry\n'],
  ['de', 'Domain: some-name.de\nStatus: connect\n'],
  ['de', 'Domain: some-name.de\nStatus: failed\n'],
  ['de', 'Domain: some-name.de\nStatus: redemptionPeriod\n'],
  ['de', 'Domain: some-name.de\nStatus: invalid\n'],
  ['eu', 'Domain: some-name.eu\n\nRegistrar:\n        Name: A\n\nName servers:\n        ns1.example.net\n'],
  ['eu', 'Domain: some-name.eu\nStatus: NOT AVAILABLE\n'],
  ['eu', 'Domain: some-name.eu\nStatus: RESERVED\n'],
  ['nl', 'Domain name: some-name.nl\nStatus:      active\n'],
  ['nl', 'some-name.nl is active\n'],
  ['nl', 'some-name.nl is in quarantine\n'],
  ['nl', 'some-name.nl is excluded\n'],
  ['be', 'Domain:\tsome-name.be\nStatus:\tNOT AVAILABLE\n'],
  ['be', 'Domain:\tsome-name.be\nStatus:\tNOT ALLOWED\n'],
  ['fr', 'domain:                        some-name.fr\nstatus:                        ACTIVE\n'],
  ['fr', 'status: BLOCKED\n'],
  ['it', 'Domain:             some-name.it\nStatus:             ok\n'],
  ['it', 'Domain:             some-name.it\nStatus:             UNASSIGNABLE\n'],
  ['it', 'Domain:             some-name.it\nStatus:             RESERVED\n'],
  ['at', 'domain:         some-name.at\nregistrar:      A ( https://nic.at/registrar/1 )\n% nothing found\n'],
  ['ch', 'Domain name:\nsome-name.ch\n\nHolder of domain name:\nA\n'],
  ['se', 'state:            active\ndomain:           some-name.se\nholder:           a1\n'],
  ['pl', 'DOMAIN NAME:           some-name.pl\nregistrant type:       organization\n'],
  [
    'uk',
    '\n    Domain name:\n        some-name.uk\n\n    Registration status:\n        Registered until expiry date.\n',
  ],
  ['uk', '\n    This domain name cannot be registered.\n'],
  ['cz', 'domain:       some-name.cz\nregistrant:   A\n'],
  ['dk', 'Domain:               some-name.dk\nDNS:                  some-name.dk\n'],
  ['dk', 'Domain:               some-name.dk\nStatus:               Reserved\n'],
  ['lt', 'Domain:\t\t\tsome-name.lt\nStatus:\t\t\tregistered\n'],
  ['ee', 'Domain:\nname:       some-name.ee\nstatus:     ok (paid and in zone)\n'],
  ['hu', 'domain:         some-name.hu\nrecord created: 2020-01-01\n'],
])('WHOIS .%s: taken or not available', async (tld, text) => {
  expect((await ask('whois', tld, text)).availability).toBe('taken');
});

test.each([
  ['Domain not found.\nThis premium domain is available for purchase.\n', 'unknown'],
  ['This name is blocked by the registry.\n\nDomain not found.\n', 'taken'],
  ['Domain not found.\nStatus: Restricted\n', 'taken'],
  ['% All names may be restricted.\nDomain not found.\n>>> Some names are reserved <<<\n', 'free'],
  ['Domain not found.\n\nTerms of Use: access may be\nblocked or restricted, and data not available.\n', 'free'],
  [`Domain not found.\n\nThe registry\n${'and its data '.repeat(5)}\nmay be restricted.\n`, 'free'],
  [`Domain not found.\n\nThis name is reserved ${'by the registry '.repeat(5)}\n`, 'taken'],
])('WHOIS: the words around "not found" in %j: %s', async (text, expected) => {
  expect((await ask('whois', 'org', text)).availability).toBe(expected);
});

test.each([
  ['com', 'Quota exceeded\n'],
  ['com', 'The WHOIS database is currently down. No match for "SOME-NAME.COM".\n'],
  ['org', 'WHOIS LIMIT EXCEEDED - SEE WWW.PIR.ORG/WHOIS FOR DETAILS\nNot found.\n'],
  ['de', '% Error: 55000000002 Connection refused; access control limit exceeded.\nStatus: free\n'],
  ['eu', '-1: Excessive querying, grace period of 34 seconds.\nStatus: AVAILABLE\n'],
  ['nl', 'Server too busy, try again later\n'],
  ['nl', 'Error: only 1 request per second allowed, please try again later.\n'],
  ['be', '-2: Still in grace period, wait!\n'],
  ['fr', '%% Too many requests...\n%% No entries found in the AFNIC Database.\n'],
  ['it', 'Service temporarily unavailable\nStatus: AVAILABLE\n'],
  ['at', '% Quota exceeded\n% nothing found\n'],
  ['ch', 'Requests of this client are not permitted.\nWe do not have an entry in our database matching your query.\n'],
  ['pl', 'request limit exceeded for 192.0.2.1\n'],
  ['uk', 'Your query quota for this period has been exceeded.\nThis domain name has not been registered.\n'],
  ['no', 'Too many requests\n% No match\n'],
  ['dk', '# Too many connections.\n'],
  ['lu', '% WHOIS some-name.lu\n%% Maximum query rate reached\n'],
  ['ru', 'You have exceeded allowed connection rate\n'],
  ['nz', 'domain_name: some-name.nz\nquery_status: 440 Request Denied\n'],
  ['hk', 'Please wait at least a 10-second time before you ask again.\n'],
  ['za', 'Please go away for 13 Seconds\n'],
  ['sh', 'Queries are throttled: too many queries received from your address. Try later.\n'],
  [
    'uk',
    'Error for "some-name.uk".\n\nthe WHOIS query quota for 192.0.2.1 has been exceeded\nand will be filled in 0.1 seconds\n',
  ],
])('WHOIS .%s: a refusal has no result and pauses requests to the server', async (tld, text) => {
  const { availability, upstream, registries, lookup } = await ask('whois', tld, text);
  expect(availability).toBe('unknown');
  const again = () => registries.check({ name: `other-name.${tld}`, tld }, lookup);
  expect(await again()).toBe('unknown');
  expect(upstream.seen).toHaveLength(1);
  registries.advance(10_000);
  await again();
  expect(upstream.seen).toHaveLength(2);
});

test.each([
  ['be', 'Domain: some-name.be\nRC: 0\nStatus: AVAILABLE\n', 'free'],
  ['be', 'Domain: some-name.be\nRC: 0\nStatus: NOT AVAILABLE\n', 'taken'],
  ['be', 'Domain: some-name.be\nRC: 0\nStatus: NOT ALLOWED\n', 'taken'],
  ['be', 'Domain: other.be\nRC: 0\nStatus: AVAILABLE\n', 'unknown'],
  ['be', 'RC: -1\nStatus: AVAILABLE\n', 'unknown'],
  ['be', 'RC: -2\n', 'unknown'],
  ['be', 'RC: -3\n', 'unknown'],
  ['eu', 'Domain: some-name\nStatus: FREE\n', 'free'],
  ['eu', 'Domain: some-name\nStatus: REGISTERED\n', 'taken'],
  ['eu', 'Domain: some-name\nStatus: RESERVED\n', 'taken'],
  ['eu', 'Domain: some-name\nStatus: BLOCKED\n', 'taken'],
  ['eu', 'Domain: other\nStatus: FREE\n', 'unknown'],
  ['eu', 'Status: ERROR\n', 'unknown'],
  ['eu', '-1: Excessive querying\nStatus: FREE\n', 'unknown'],
  ['shop', 'Status: available\n', 'free'],
  ['shop', 'Domain: some-name.shop\nStatus: registered\n', 'taken'],
  ['shop', 'Status: registered\n', 'unknown'],
])('DAS .%s: %j is %s', async (tld, text, expected) => {
  expect((await ask('das', tld, text)).availability).toBe(expected);
});

test.each([
  ['whois', 'com', 'domain some-name.com'],
  ['whois', 'net', 'domain some-name.net'],
  ['whois', 'de', '-T dn,ace some-name.de'],
  ['whois', 'nl', 'is some-name.nl'],
  ['whois', 'it', 'some-name.it'],
  ['whois', 'co.uk', 'some-name.co.uk'],
  ['whois', 'uk.com', 'some-name.uk.com'],
  ['das', 'be', 'some-name.be'],
  ['das', 'eu', 'get 1.0 some-name'],
] as const)("%s .%s gets its registry's query format", async (kind, tld, line) => {
  expect((await ask(kind, tld, 'x')).upstream.seen).toEqual([line]);
});

test.each([
  ['utf8', 'taken'],
  ['latin1', 'taken'],
] as const)('an answer in %s is read', async (charset, expected) => {
  const text = Buffer.from('% Größe\r\nDomain: some-name.de\r\nHolder: Müller\r\nStatus: connect\r\n', charset);
  expect((await ask('whois', 'de', text)).availability).toBe(expected);
});

test('a word inside the label that a DAS server repeats does not count', async () => {
  const upstream = await createTextUpstream(() => 'Domain: reserved\r\nStatus: FREE\r\n');
  const domain = { name: 'reserved.eu', tld: 'eu' };
  expect(await createTestRegistries().check(domain, { das: upstream.address })).toBe('free');
});

test('an internationalised name is matched in its Unicode form', async () => {
  const upstream = await createTextUpstream(() => 'Domain: Müller.de\r\nStatus: free\r\n');
  const registries = createTestRegistries();
  const lookup = { whois: upstream.address };
  expect(await registries.check({ name: 'xn--mller-kva.de', tld: 'de' }, lookup)).toBe('free');
  expect(await registries.check({ name: 'xn--mllr-hra.de', tld: 'de' }, lookup)).toBe('unknown');
});

test('an unreachable server is tried twice, a disallowed address never', async () => {
  const registries = createTestRegistries();
  const domain = { name: 'some-name.it', tld: 'it' };
  expect(await registries.check(domain, { whois: '127.0.0.1:1' })).toBe('unknown');
  expect(registries.written().match(/could not be reached/g)).toHaveLength(2);
  for (const whois of ['192.0.2.1', '10.0.0.1:43', '169.254.169.254:80', 'intranet']) {
    expect(await registries.check(domain, { whois })).toBe('unknown');
  }
  expect(registries.written().match(/could not be reached/g)).toHaveLength(2);
});

test('a text server also gets four requests at a time', async () => {
  let running = 0;
  let most = 0;
  const upstream = await createTextUpstream((line) => (socket) => {
    most = Math.max(most, (running += 1));
    setTimeout(() => {
      running -= 1;
      socket.end(`${line} is free\r\n`.replace('is ', ''));
    }, 30);
  });
  const registries = createTestRegistries();
  const names = Array.from({ length: 40 }, (_, index) => ({ name: `name${index}.nl`, tld: 'nl' }));
  const answers = await Promise.all(names.map((name) => registries.check(name, { whois: upstream.address })));
  expect(new Set(answers)).toEqual(new Set(['free']));
  expect(most).toBe(4);
});

test('a connection ends with its search', async () => {
  let closed = false;
  const upstream = await createTextUpstream(() => (socket) => socket.once('close', () => (closed = true)));
  const registries = createTestRegistries({ limits: { answerMs: 100 } });
  const advance = stopTimeouts();
  const search = registries.check({ name: 'some-name.it', tld: 'it' }, { whois: upstream.address });
  await until('the server is queried', () => upstream.seen.length > 0);
  expect(closed).toBe(false);
  advance(100);
  expect(await search).toBe('unknown');
  await until('the connection is closed', () => closed);
});

const terms = [
  'Terms of Use: You agree to use this data only for lawful purposes. Queries are throttled. If too many queries are received',
  'from one address, the service rejects further queries, as the rate limit was exceeded. Names may be restricted, blocked,',
  'reserved, or premium. Status: free. All rights reserved.',
].join(' ');
const wrapped = terms.replaceAll(/(.{30,50}) /g, '$1\n');

/** Responses of registries by their software: for a free name, and for a registered name. */
const forms: Readonly<Record<string, readonly [free: string, registered: string]>> = {
  'identity-digital': [
    `Domain not found.\n>>> Last update of WHOIS database: 2026-11-20T12:00:00Z <<<\n\n${terms}\n`,
    `Domain Name: some-name.test\nRegistry Domain ID: D1\nRegistrar: Quota Exceeded Ltd\nDomain Status: ok https://icann.org/epp#ok\n\n${terms}\n`,
  ],
  centralnic: [
    `The queried object does not exist: DOMAIN NOT FOUND\n\n${wrapped}\n`,
    `Domain ID:D1\nDomain Name:SOME-NAME.TEST\nCreated On:2020-01-02T03:04:05.0Z\nStatus:ok\n\n${wrapped}\n`,
  ],
  cocca: [
    `Domain Name: some-name.test\nDomain Status: No Object Found\n>>> Last update of WHOIS database: 2026 <<<\n\n${wrapped}\n`,
    'Domain Name: some-name.test\nDomain ID: 1-CoCCA\nSponsoring Registrar: A\nDomain Status: ok\n',
  ],
  'cocca, older': [
    'Domain Name: some-name.test\nDomain Status: Available\n',
    'Domain Name: some-name.test\nStatus: Live\n',
  ],
  icann: [
    'No Data Found\n\nURL of the ICANN Complaint Form: https://icann.org/wicf/\n',
    'Domain Name: some-name.test\nUpdated Date: 2020\n',
  ],
  verisign: [
    'No match for "SOME-NAME.TEST".\n>>> Last update <<<\n',
    '   Domain Name: SOME-NAME.TEST\n   Registrar: A\n   Name Server: NS1.EXAMPLE.NET\n',
  ],
  'ripe-like': [
    '% Rights restricted.\n\n%ERROR:101: no entries found\n',
    '% Rights restricted.\n\ndomain:   some-name.test\nnserver:  ns1.example.net\n',
  ],
  brackets: [
    '[ The use of this database is restricted. ]\n\nNo match!!\n',
    '[ The use of this database is restricted. ]\n\na. [Domain Name]    SOME-NAME.TEST\np. [Name Server]    ns1.example.net\n',
  ],
  dots: ['Domain not found\n', 'domain.............: some-name.test\nstatus.............: Registered\n'],
  tabs: ['The domain name is not registered.\n', 'Domain name\tsome-name.test\nRegistrar\tA\n'],
  sections: [
    'No match for "some-name.test".\n\nThis domain name has not been registered.\n',
    'Domain name\nsome-name.test\n\nRegistrar\nA\n',
  ],
  'status lines': [
    'Domain:\tsome-name.test\nStatus:\tAVAILABLE\n',
    'Domain:\tsome-name.test\nStatus:\tNOT AVAILABLE\n',
  ],
  'numbered status': [
    'domain_name: some-name.test\nquery_status: 220 Available\n',
    'domain_name: some-name.test\nquery_status: 200 Active\n',
  ],
  'brackets, .lv': [
    '[Domain]\nDomain: some-name.test\nStatus: free\n\n[Whois]\nUpdated: 2026-11-20T12:00:00.000+00:00\n',
    '[Domain]\nDomain: some-name.test\nStatus: active\n\n[Holder]\nType: Natural person\n',
  ],
  'own sentence': ['some-name.test is free\n', 'Dominio: some-name.test\nFecha de registro: 2004-10-01\n'],
};

/** Checks one name of .test for each text. */
async function askAll(texts: readonly string[]) {
  let index = 0;
  const upstream = await createTextUpstream(() => texts[index]!.replaceAll('\n', '\r\n'));
  const registries = createTestRegistries();
  const answers: string[] = [];
  for (; index < texts.length; index += 1) {
    answers.push(await registries.check({ name: 'some-name.test', tld: 'test' }, { whois: upstream.address }));
    registries.advance(10_000);
  }
  expect(upstream.seen).toHaveLength(texts.length);
  return answers;
}

test.each(Object.entries(forms))('WHOIS of %s: free and taken', async (_, pair) => {
  expect(await askAll(pair)).toEqual(['free', 'taken']);
});

const registered = Object.values(forms).map(([, text]) => text);
const denials = Object.values(forms).map(([text]) => text);

test('a registered name with any line of a free one, or with terms of use, is never free', async () => {
  const lines = [...new Set(denials.flatMap((text) => text.split('\n'))), terms, wrapped];
  const texts = registered.flatMap((text) => lines.flatMap((line) => [`${text}${line}\n`, `${text}\n${line}\n`]));
  const answers = await askAll(texts);
  expect(texts.filter((_text, index) => answers[index] === 'free')).toEqual([]);
});

test('a free answer that is cut off anywhere is free or unknown', async () => {
  const texts = denials.flatMap((text) => Array.from(text.slice(0, 300), (_, end) => text.slice(0, end)));
  const answers = await askAll(texts);
  expect(texts.filter((_text, index) => answers[index] === 'taken')).toEqual([]);
});

test.each([
  ['Domain Name: some-name.test\n', 'unknown'],
  ['Domain: some-name.test\nStatus: free\nStatus: reserved\n', 'taken'],
  ['Domain: some-name.test\nStatus: not free\n', 'taken'],
  ['Domain: some-name.test\nStatus: unavailable\n', 'taken'],
  ['Domain: some-name.test\nStatus: premium\n', 'taken'],
  ['Domain: some-name.test\nStatus: No Object Found\nNotes: this name is restricted\n', 'taken'],
  ['Domain: some-name.test\nStatus: Available\nRegistrar: A\n', 'unknown'],
  ['Not found: some-name.test\nHolder: A\n', 'unknown'],
  ['Not found: other.test\n', 'unknown'],
  ['No match for xsome-name.test\n', 'unknown'],
  ['Domain not found', 'unknown'],
  ['Domain not found.\nThis platinum name can be registered.\n', 'unknown'],
  ['some-name.test is available for purchase\n', 'unknown'],
  ['Domain not found.\n\nPlease note: this name is a premium name.\n', 'unknown'],
  ['Domain not found.\n\nNotice: names may be reserved.\nThis domain is reserved.\n', 'taken'],
  ['Domain name:\n', 'unknown'],
  ['Domain Name: some-name.test\nStatus:\nnot regi', 'unknown'],
  [`${'\n'.repeat(2000)}Domain not found\n`, 'unknown'],
  ['Domain not found.\n>>> This name is not available for registration <<<\n', 'taken'],
  ['Unknown TLD\n', 'unknown'],
  ['Domain name: some-name.test\nregistration status: available\n', 'free'],
  ['Data not found. This domain is available for registration.\n', 'free'],
  ['Data not found. This domain is reserved.\n', 'taken'],
  ['Error: requests from your address have been blocked\n', 'unknown'],
  ['This data is not available to you\n', 'unknown'],
  ['The database is not available\n', 'unknown'],
])('WHOIS: %j is %s', async (text, expected) => {
  expect(await askAll([text])).toEqual([expected]);
});

test('words inside the searched name do not count', async () => {
  for (const label of ['not-found', 'reserved', 'available', 'no-match', 'quota-exceeded', 'registrar']) {
    const upstream = await createTextUpstream((line) => `Domain not found: ${line}\r\n`);
    const domain = { name: `${label}.test`, tld: 'test' };
    expect(await createTestRegistries().check(domain, { whois: upstream.address })).toBe('free');
    const taken = await createTextUpstream((line) => `Domain: ${line}\r\nRegistrar: A\r\n`);
    expect(await createTestRegistries().check(domain, { whois: taken.address })).toBe('taken');
  }
});
