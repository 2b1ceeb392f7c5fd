import { describe, expect, test } from 'vitest';
import { createRdapUpstream, toDomainObject } from '../../helpers/upstream-rdap.ts';
import { createTextUpstream } from '../../helpers/upstream-registry.ts';
import type { TextAnswer } from '../../helpers/upstream-registry.ts';
import { json } from '../../helpers/upstream.ts';
import type { Fault } from '../../helpers/upstream.ts';
import { createListedRegistries, createTestRegistries } from './harness.ts';

const limits = { answerMs: 250, lookupMs: 800 };
const name = 'some-name.shop';
const shop = { name, tld: 'shop' };
const redirect = (location: string): Fault => ({ status: 302, headers: { location } });

const statuses = [
  201, 202, 203, 204, 206, 300, 304, 305, 400, 401, 402, 403, 405, 406, 408, 409, 410, 418, 421, 422, 425, 429, 451,
  500, 501, 502, 503, 504, 511, 520, 522, 530,
];

const rdapFaults: [string, Fault][] = [
  ...statuses.map((status): [string, Fault] => [`status ${status}`, { status }]),
  ['no answer', 'hang'],
  ['half an answer, then silence', 'stall'],
  ['half an answer', 'cut'],
  ['a lost connection', 'drop'],
  ['another protocol', 'garbage'],
  ['an endless answer', 'huge'],
  ['an endless 404', { status: 404, body: ' '.repeat(300 * 1024) }],
  ['a 404 that is cut', { status: 404, headers: { 'content-length': '1000' }, body: 'Not' }],
  ['a 404 that is not unpacked', { status: 404, headers: { 'content-encoding': 'gzip' }, body: 'not gzip' }],
  ['a 404 with another code', json(404, { errorCode: 500 })],
  ['a 404 with the object', json(404, toDomainObject(name))],
  ['an empty body', { status: 200, body: '' }],
  ['an HTML page', { status: 200, body: '<h1>404 Not Found</h1>' }],
  ['half of the JSON', { status: 200, body: JSON.stringify(toDomainObject(name)).slice(0, -5) }],
  ['null', json(200, null)],
  ['an array', json(200, [toDomainObject(name)])],
  ['text', json(200, 'not found')],
  ['an error object', json(200, { errorCode: 404, title: 'Not Found', description: ['free'] })],
  ['another domain', json(200, toDomainObject('other.shop'))],
  ['a subdomain', json(200, toDomainObject(`www.${name}`))],
  ['a name of another kind', json(200, toDomainObject(name, { ldhName: 5 }))],
  ['an entity', json(200, { objectClassName: 'entity', handle: name, ldhName: name })],
  ['a search result', json(200, { domainSearchResults: [] })],
  ['a redirect to nowhere', { status: 302 }],
  ['a redirect to itself', redirect(`/domain/${name}`)],
  ['a redirect to a private address', redirect('https://10.0.0.1/')],
  ['a redirect to metadata', redirect('http://169.254.169.254/')],
  ['a redirect to a file', redirect('file:///etc/passwd')],
  ['a redirect to an invalid URL', redirect('https://')],
  ['a redirect to another port of a name', redirect('https://rdap.example.com:8443/')],
  ['a redirect to plain http', redirect('http://rdap.example.com/')],
];

test.each(rdapFaults)('RDAP: %s is not free', async (_, fault) => {
  const upstream = await createRdapUpstream({ names: [] });
  const registries = await createListedRegistries({ shop: `${upstream.url}/` }, { limits });
  upstream.fail(fault);
  expect(await registries.check(shop)).toBe('unknown');
  expect(await createTestRegistries({ limits }).check(shop, { rdap: upstream.url })).toBe('unknown');
});

test('RDAP: a name at an unreachable server is not free', async () => {
  const upstream = await createRdapUpstream({ names: [] });
  await upstream.stop();
  const registries = createTestRegistries({ limits });
  expect(await registries.check(shop, { rdap: upstream.url })).toBe('unknown');
  expect(await registries.check(shop, { rdap: 'https://rdap.registry.invalid/' })).toBe('unknown');
  expect(await registries.check(shop, { rdap: 'https://192.0.2.1/' })).toBe('unknown');
  expect(await registries.check(shop, { rdap: 'http://rdap.example.com/' })).toBe('unknown');
});

test('RDAP: a failed canary check has no result', async () => {
  for (const fault of [{ status: 404 }, { status: 500 }, { status: 429 }, 'hang', 'cut', 'huge', 'garbage'] as const) {
    const upstream = await createRdapUpstream({ names: [] });
    upstream.fail(fault, ({ path }) => path.endsWith('/nic.shop'));
    expect(await createTestRegistries({ limits }).check(shop, { rdap: upstream.url })).toBe('unknown');
  }
});

const free: Record<string, string> = {
  'whois de': 'Domain: some-name.de\r\nStatus: free\r\n',
  'whois com': 'No match for "SOME-NAME.COM".\r\n',
  'whois fr': '%% No entries found in the AFNIC Database.\r\n',
  'das be': 'Domain: some-name.be\r\nRC: 0\r\nStatus: AVAILABLE\r\n',
  'das eu': 'Domain: some-name\r\nStatus: FREE\r\n',
};

const textFaults: [string, (text: string) => TextAnswer][] = [
  ['nothing', () => ''],
  ['blanks', () => '\r\n \r\n'],
  ['no end', () => () => undefined],
  ['the answer without an end', (text) => (socket) => socket.write(text)],
  ['the answer, and a lost connection', (text) => (socket) => socket.write(text, () => socket.resetAndDestroy())],
  ['half of the answer', (text) => text.slice(0, text.length / 2)],
  ['the answer without its last characters', (text) => text.slice(0, -4)],
  ['too long an answer', (text) => Buffer.concat([Buffer.alloc(300 * 1024, '%\n'), Buffer.from(text)])],
  ['bytes', () => Buffer.from(Array.from({ length: 500 }, (_, index) => index % 256))],
  ['the answer for another name', (text) => text.replaceAll(/some-name/gi, 'other-name').replace('%% No', '%% Other')],
  ['the answer within a line', (text) => text.trim().replaceAll(/^/gm, 'remarks: ')],
  ['the answer and a refusal', (text) => `${text}Too many requests\r\n`],
  [
    'a legal header',
    () => '% It does not tell whether a name is available or not, or free.\r\n% not found, no match\r\n',
  ],
  ['a web page', () => 'HTTP/1.1 404 Not Found\r\n\r\n<h1>Not found</h1>'],
];

describe.each(Object.entries(free))('%s', (which, text) => {
  const [kind, tld] = which.split(' ') as ['whois' | 'das', string];
  const check = async (answer: TextAnswer, options = {}) => {
    const { address } = await createTextUpstream(() => answer);
    const lookup = kind === 'das' ? { das: address } : { whois: address };
    return createTestRegistries(options).check({ name: `some-name.${tld}`, tld }, lookup);
  };

  test('the answer for a free name is free', async () => {
    expect(await check(text)).toBe('free');
  });

  test.each(textFaults)('%s is not free', async (_, fault) => {
    expect(await check(fault(text), { limits })).toBe('unknown');
  });
});
