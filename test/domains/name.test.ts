import { domainToUnicode } from 'node:url';
import { describe, expect, test } from 'vitest';
import { Problem } from '../../server/problem.ts';
import { parseDomainName } from '../../server/domains/names.ts';
import { wrongNames } from '../server/wrong-names.ts';
import type { TestApp } from '../helpers/app.ts';
import { createDnsUpstream } from '../helpers/upstream-dns.ts';
import { askJson } from '../server/ask.ts';
import { serveShared } from '../server/shared.ts';

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

test('an error repeats at most a character or a valid domain of the input', async () => {
  const errors: { text: string; message: string }[] = [];
  for (const text of Object.values(wrongNames).flat()) errors.push({ text, ...(await refusalOf(text)) });
  const [faults, meant] = [0, 1].map((at) => errors.map(({ message }) => message.split('; search for ')[at]));
  expect(errors.filter(({ text }, at) => text.length > 8 && faults![at]!.includes(text))).toEqual([]);
  const domains = meant!.flatMap((name) => (name === undefined ? [] : [parseDomainName(name, () => tlds)]));
  expect(domains.map(({ unicode }) => unicode)).toEqual(meant!.filter((name) => name !== undefined));
});

test.each([
  ['"example.com"', 'example.com'],
  ['<info@example.com>', 'example.com'],
  ['Example <info@example.com>', 'example.com'],
  ['(example.com)', 'example.com'],
  ['[example.com]', 'example.com'],
  ['"https://example.com/path"', 'example.com'],
  ['example.com,', 'example.com'],
  ['example.com;', 'example.com'],
  ['„example.de“', 'example.de'],
  ['«bücher.de»', 'bücher.de'],
  ['example .com', 'example.com'],
  ['example . com', 'example.com'],
  ['example,com', 'example.com'],
  ['example.com:', 'example.com'],
  ['example.com.,', 'example.com'],
  ['(see example.com)', undefined],
  ['example.com, example.net', undefined],
])('%j is 400, and the message names %s', async (text, meant) => {
  const { code, message } = await refusalOf(text);
  expect([code, message.split('; search for ')[1]]).toEqual(['invalid_domain', meant]);
});

/** Serves .com with a delegation for every name: no registry is queried. */
async function serveCom() {
  const dns = await createDnsUpstream((name) => ({ answers: [{ owner: name, type: 'NS', data: 'ns.example.net' }] }));
  return await serveShared({ DNS_SERVERS: dns.address });
}

async function search(app: TestApp, name: string) {
  const target = `/v1/domains/search?domain=${encodeURIComponent(name)}`;
  const { json, ...answer } = await askJson<{ domain?: string; error?: string; message?: string }>(app, target);
  return { ...answer, ...json };
}

const faults: Readonly<Record<string, string>> = {
  mixed: 'mixes letters of different scripts',
  disallowed: 'a character that no domain may hold',
  context: 'is not allowed beside its neighbours',
  direction: 'mixes directions of writing',
};

/**
 * Names under .com that look like other names, with the fault of the label or its A-label. A label in a single script
 * is valid, even аррӏе in Cyrillic: its registry decides about registration.
 */
const lookAlikes: readonly (readonly [label: string, scripts: string, verdict: string])[] = [
  // Two scripts in one label.
  ['раypal', 'Cyrillic р, а', 'mixed'],
  ['appӏe', 'Cyrillic palochka', 'mixed'],
  ['gооgle', 'Cyrillic о', 'mixed'],
  ['netfliх', 'Cyrillic х', 'mixed'],
  ['twіtter', 'Ukrainian і', 'mixed'],
  ['linkeԁin', 'Cyrillic ԁ', 'mixed'],
  ['һp', 'Cyrillic һ', 'mixed'],
  ['НETZNER', 'Cyrillic Н', 'mixed'],
  ['xn--ypal-43d9g', 'the A-label of раypal', 'mixed'],
  ['pαypal', 'Greek alpha', 'mixed'],
  ['goοgle', 'Greek omicron', 'mixed'],
  ['αрр', 'Greek and Cyrillic', 'mixed'],
  ['gօօgle', 'Armenian oh', 'mixed'],
  ['սber', 'Armenian seh', 'mixed'],
  ['հp', 'Armenian ho', 'mixed'],
  ['faceЬook', 'Cyrillic soft sign', 'mixed'],
  ['ꭺpple', 'Cherokee', 'mixed'],
  ['gooᏀle', 'Cherokee', 'mixed'],
  ['ⲟracle', 'Coptic o', 'mixed'],
  ['აpple', 'Georgian an', 'mixed'],
  ['oracleو', 'Arabic', 'direction'],
  ['abcא', 'Hebrew', 'direction'],
  ['goo๐le', 'Thai digit', 'mixed'],
  ['g०ogle', 'Devanagari digit', 'mixed'],
  ['ａррle', 'full width and Cyrillic', 'mixed'],
  ['日本приве', 'Han and Cyrillic', 'mixed'],
  ['さくらα', 'Hiragana and Greek', 'mixed'],
  ['한글かな', 'Hangul and Hiragana', 'mixed'],
  ['ㄅカ', 'Bopomofo and Katakana', 'mixed'],
  ['ロｏгle', 'Katakana and Cyrillic', 'mixed'],
  ['工ωhan', 'Han and Greek', 'mixed'],
  // Symbols, emoji and invisible characters.
  ['emoji😀', 'an emoji', 'disallowed'],
  ['xn--emoji-3224d', 'the A-label of an emoji', 'disallowed'],
  ['i❤you', 'a heart', 'disallowed'],
  ['☃', 'a snowman', 'disallowed'],
  ['paypal✓', 'a check mark', 'disallowed'],
  ['pay‐pal', 'a hyphen of typesetters', 'disallowed'],
  ['pay–pal', 'a dash', 'disallowed'],
  ['paypal／login', 'a slash in full width', 'disallowed'],
  ['paypal⁄login', 'a fraction slash', 'disallowed'],
  ['paypal∕login', 'a division slash', 'disallowed'],
  ['a€', 'a currency sign', 'disallowed'],
  ['ab\u202Ecd', 'an override of direction', 'disallowed'],
  ['🇩🇪', 'a flag', 'disallowed'],
  ['1½', 'a fraction', 'disallowed'],
  ['pay\u200Dpal', 'a zero-width joiner', 'context'],
  ['pay\u200Cpal', 'a zero-width non-joiner', 'context'],
  ['pay·pal', 'a middle dot', 'context'],
  // A single script, or characters that browsers map to plain letters.
  ['аррӏе', 'only Cyrillic', 'xn--80ak6aa92e'],
  ['сосо', 'only Cyrillic', 'xn--n1aahb'],
  ['ор', 'only Cyrillic', 'xn--n1ae'],
  ['ονο', 'only Greek', 'xn--yxadb'],
  ['օօօ', 'only Armenian', 'xn--zbbaa'],
  ['ɡooɡle', 'only Latin, with script g', 'xn--oole-z7bc'],
  ['googIe', 'a capital i for an l', 'googie'],
  ['paypa1', 'a digit for a letter', 'paypa1'],
  ['rnicrosoft', 'two letters for one', 'rnicrosoft'],
  ['ｐａｙｐａｌ', 'full width', 'paypal'],
  ['𝐩𝐚𝐲𝐩𝐚𝐥', 'mathematical bold', 'paypal'],
  ['ⓟaypal', 'a circled letter', 'paypal'],
  ['pay\u00ADpal', 'a soft hyphen', 'paypal'],
  ['ŀl', 'l with a middle dot', 'xn--ll-0ea'],
  ['ソニーsony', 'Katakana and Latin', 'xn--sony-fo4c6cxq'],
  ['東京タワーのtokyo', 'Han, Katakana, Hiragana and Latin', 'xn--tokyo-pd4d0u6l1d5765a46wc'],
  ['삼성samsung三星', 'Hangul, Latin and Han', 'xn--samsung-ew3k930pqm9l1bb'],
  ['ㄅ中abc', 'Bopomofo, Han and Latin', 'xn--abc-tt4bu60m'],
];

test('a look-alike name that mixes scripts or is not valid in IDNA2008 is 400', async () => {
  const app = await serveCom();
  const found: unknown[] = [];
  for (const [label] of lookAlikes) {
    const { status, domain, error, message } = await search(app, `${label}.com`);
    found.push({ label, status, ...(status === 200 ? { domain } : { error, message }) });
  }
  const expected = lookAlikes.map(([label, _scripts, verdict]) => {
    const fault = faults[verdict];
    if (fault === undefined) return { label, status: 200, domain: `${verdict}.com` };
    return { label, status: 400, error: 'invalid_domain', message: expect.stringContaining(fault) };
  });
  expect(found).toEqual(expected);
});

test('the response for an internationalised name has the Unicode form in a CORS-exposed header', async () => {
  const app = await serveCom();
  const answers = [];
  for (const name of ['Bücher.com', 'xn--bcher-kva.com.', '日本語.com', 'books.com']) {
    const { status, headers, domain } = await search(app, name);
    answers.push([status, domain, headers['x-domain-unicode']]);
    if (status === 200) expect(headers['access-control-expose-headers']).toContain('X-Domain-Unicode');
  }
  expect(answers).toEqual([
    [200, 'xn--bcher-kva.com', 'b%C3%BCcher.com'],
    [200, 'xn--bcher-kva.com', 'b%C3%BCcher.com'],
    [200, 'xn--wgv71a119e.com', '%E6%97%A5%E6%9C%AC%E8%AA%9E.com'],
    [200, 'books.com', undefined],
  ]);
  expect((await askJson(app, '/v1/openapi.json')).json).toMatchObject({
    paths: {
      '/v1/domains/search': {
        get: {
          responses: { 200: { headers: { 'X-Domain-Unicode': { $ref: '#/components/headers/X-Domain-Unicode' } } } },
        },
      },
    },
    components: { headers: { 'X-Domain-Unicode': { schema: { type: 'string' } } } },
  });
});
