import { domainToUnicode } from 'node:url';
import { describe, expect, test } from 'vitest';
import { Problem } from '../../server/problem.ts';
import { parseDomainName } from '../../server/domains/names.ts';
import { wrongNames } from '../server/wrong-names.ts';
import { createTestApp } from '../helpers/app.ts';
import type { TestApp } from '../helpers/app.ts';
import { buildProject, createProject, temporaryFolder } from '../helpers/project.ts';
import { createDnsUpstream } from '../helpers/upstream-dns.ts';
import { ask } from '../server/ask.ts';
import { lookAlikes } from './look-alikes.ts';

const tlds = new Set(['com', 'de', 'net', 'jp', 'ws', 'uk', 'pl', 'eu.com', 'co.at', 'xn--p1ai', 'xn--fiqs8s']);

async function refusalOf(text: string): Promise<{ code: string; message: string }> {
  try {
    return { code: 'accepted', message: JSON.stringify(parseDomainName(text, () => tlds)) };
  } catch (error) {
    if (error instanceof Problem) return { code: error.code, message: error.message };
    throw error;
  }
}

test.each<[string, string, string]>([
  ['example.com', 'example.com', 'com'],
  ['EXAMPLE.Com', 'example.com', 'com'],
  ['example.com.', 'example.com', 'com'],
  ['a.de', 'a.de', 'de'],
  ['0.de', '0.de', 'de'],
  ['1-2.de', '1-2.de', 'de'],
  [`${'a'.repeat(63)}.com`, `${'a'.repeat(63)}.com`, 'com'],
  ['example.eu.com', 'example.eu.com', 'eu.com'],
  ['example.co.at', 'example.co.at', 'co.at'],
  ['faß.de', 'xn--fa-hia.de', 'de'],
  ['fass.de', 'fass.de', 'de'],
  ['ẞ.de', 'xn--zca.de', 'de'],
  ['ß.de', 'xn--zca.de', 'de'],
  ['xn--zca.de', 'xn--zca.de', 'de'],
  ['XN--ZCA.DE', 'xn--zca.de', 'de'],
  ['bücher.de', 'xn--bcher-kva.de', 'de'],
  ['BÜCHER.DE', 'xn--bcher-kva.de', 'de'],
  ['bu\u0308cher.de', 'xn--bcher-kva.de', 'de'],
  ['żółw.pl', 'xn--w-uga1v8h.pl', 'pl'],
  ['例え.jp', 'xn--r8jz45g.jp', 'jp'],
  ['例え。jp', 'xn--r8jz45g.jp', 'jp'],
  ['例え．jp', 'xn--r8jz45g.jp', 'jp'],
  ['例え｡jp', 'xn--r8jz45g.jp', 'jp'],
  ['ｅｘａｍｐｌｅ.com', 'example.com', 'com'],
  ['ﬁ.com', 'fi.com', 'com'],
  ['a\u00ADb.com', 'ab.com', 'com'],
  ['пример.рф', 'xn--e1afmkfd.xn--p1ai', 'xn--p1ai'],
  ['пример.xn--p1ai', 'xn--e1afmkfd.xn--p1ai', 'xn--p1ai'],
  ['例子.中国', 'xn--fsqu00a.xn--fiqs8s', 'xn--fiqs8s'],
  ['xn--fsqu00a.xn--fiqs8s', 'xn--fsqu00a.xn--fiqs8s', 'xn--fiqs8s'],
  ['كتاب.com', 'xn--mgbce3h.com', 'com'],
])('a name is %j: %s under %s', async (text, name, tld) => {
  expect(parseDomainName(text, () => tlds)).toEqual({ name, tld, unicode: domainToUnicode(name) });
});

describe.each(Object.entries(wrongNames))('an invalid name has the message: %s', (message, names) => {
  test.each(names)('%j', async (text) => {
    expect(await refusalOf(text)).toEqual({ code: 'invalid_domain', message: expect.stringContaining(message) });
  });
});

test.each([
  'example.org',
  'co.uk',
  'com.pl',
  'example.co.uk',
  'example.org.uk',
  'www.example.co.uk',
  'example.com.pl',
  'co.uk.example',
  'example.dee',
  'example.xn--90ais',
])('%j has a TLD that is not on sale', async (text) => {
  expect((await refusalOf(text)).code).toBe('tld_not_found');
});

test('an error repeats nothing of the input but one character or a valid domain', async () => {
  const errors: { text: string; message: string }[] = [];
  for (const text of Object.values(wrongNames).flat()) errors.push({ text, ...(await refusalOf(text)) });
  const [faults, meant] = [0, 1].map((at) => errors.map(({ message }) => message.split('; search for ')[at]));
  expect(errors.filter(({ text }, at) => text.length > 8 && faults![at]!.includes(text))).toEqual([]);
  const domains = meant!.flatMap((name) => (name === undefined ? [] : [parseDomainName(name, () => tlds)]));
  expect(domains.map(({ unicode }) => unicode)).toEqual(meant!.filter((name) => name !== undefined));
});

const catalog = 'tlds:\n  .com: { prices: { EUR: { 1: { register: 10, renew: 12, transfer: 0 } } } }\n';

/** Serves .com, where every name is delegated, so that no registry is asked. */
async function serveCom(): Promise<TestApp> {
  const dns = await createDnsUpstream((name) => ({ answers: [{ owner: name, type: 'NS', data: 'ns.example.net' }] }));
  const root = createProject({ 'catalog/domains.yaml': catalog });
  await buildProject(root);
  const settings = { DNS_SERVERS: dns.address, DOMAIN_RATELIMIT_BURST: '1000', DATA_DIR: temporaryFolder() };
  return await createTestApp({ root, settings });
}

interface Searched {
  readonly status: number;
  readonly domain?: string;
  readonly error?: string;
  readonly message?: string;
}

async function search(app: TestApp, name: string): Promise<Searched> {
  const { status, text } = await ask(app, `/v1/domains/search?domain=${encodeURIComponent(name)}`);
  return { ...(JSON.parse(text) as Omit<Searched, 'status'>), status };
}

const faults: Readonly<Record<string, string>> = {
  mixed: 'mixes letters of different scripts',
  disallowed: 'a character that no domain may hold',
  context: 'is not allowed beside its neighbours',
  direction: 'mixes directions of writing',
};

test('of names that look like others, those that IDNA2008 does not allow or that mix scripts are 400', async () => {
  const app = await serveCom();
  const found: (Searched & { label: string })[] = [];
  for (const [label] of lookAlikes) found.push({ label, ...(await search(app, `${label}.com`)) });
  const wrong = found.filter(({ label, status, error, message, domain }) => {
    const verdict = lookAlikes.find(([one]) => one === label)![2];
    const fault = faults[verdict];
    if (fault === undefined) return !(status === 200 && domain === `${verdict}.com`);
    return !(status === 400 && error === 'invalid_domain' && String(message).includes(fault));
  });
  expect(wrong).toEqual([]);
});

test('an internationalised name is answered with its other form in a header, which browsers may read', async () => {
  const app = await serveCom();
  const answers = [];
  for (const name of ['Bücher.com', 'xn--bcher-kva.com.', '日本語.com', 'books.com']) {
    const { status, headers, text } = await ask(app, `/v1/domains/search?domain=${encodeURIComponent(name)}`);
    const { domain } = JSON.parse(text) as Searched;
    answers.push([status, domain, headers['x-domain-unicode']]);
    if (status === 200) expect(headers['access-control-expose-headers']).toContain('X-Domain-Unicode');
  }
  expect(answers).toEqual([
    [200, 'xn--bcher-kva.com', 'b%C3%BCcher.com'],
    [200, 'xn--bcher-kva.com', 'b%C3%BCcher.com'],
    [200, 'xn--wgv71a119e.com', '%E6%97%A5%E6%9C%AC%E8%AA%9E.com'],
    [200, 'books.com', undefined],
  ]);
  expect(JSON.parse((await ask(app, '/v1/openapi.json')).text)).toMatchObject({
    paths: {
      '/v1/domains/search': {
        get: {
          responses: { 200: { headers: { 'X-Domain-Unicode': { $ref: '#/components/headers/X-Domain-Unicode' } } } },
        },
      },
    },
    components: { headers: { 'X-Domain-Unicode': { required: false, schema: { type: 'string' } } } },
  });
});
