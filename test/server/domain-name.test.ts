import { describe, expect, test } from 'vitest';
import { Problem } from '../../server/problem.ts';
import { parseDomainName, toDomainName } from '../../server/services/domain-name.ts';

const tlds = new Set(['com', 'de', 'net', 'jp', 'ws', 'uk', 'pl', 'eu.com', 'co.at', 'xn--p1ai', 'xn--fiqs8s']);

function refusalOf(text: string): { code: string; message: string } {
  try {
    return { code: 'accepted', message: JSON.stringify(toDomainName(parseDomainName(text), tlds)) };
  } catch (error) {
    if (error instanceof Problem) return { code: error.code, message: error.message };
    throw error;
  }
}

describe('a name is', () => {
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
    ['😀.ws', 'xn--e28h.ws', 'ws'],
    ['пример.рф', 'xn--e1afmkfd.xn--p1ai', 'xn--p1ai'],
    ['пример.xn--p1ai', 'xn--e1afmkfd.xn--p1ai', 'xn--p1ai'],
    ['例子.中国', 'xn--fsqu00a.xn--fiqs8s', 'xn--fiqs8s'],
    ['xn--fsqu00a.xn--fiqs8s', 'xn--fsqu00a.xn--fiqs8s', 'xn--fiqs8s'],
    ['كتاب.com', 'xn--mgbce3h.com', 'com'],
  ])('%j: %s under %s', (text, name, tld) => {
    expect(toDomainName(parseDomainName(text), tlds)).toEqual({ name, tld });
  });
});

/** By what is wrong with them. */
const wrong: Record<string, readonly string[]> = {
  'a plain name': [
    'https://example.com',
    'http://example.com',
    'example.com/',
    'example.com/path',
    'example.com?x=1',
    'example.com#top',
    'example.com\\path',
    'user@example.com',
    'example.com:443',
    'ex%61mple.com',
    '[::1].com',
    '[2001:db8::1]',
    'a\tb.com',
    'a\nb.com',
    'a\r\nHost: evil.com',
    'a b.com',
    'a\u0000b.com',
    'a\u007Fb.com',
    'a\u0085b.com',
    'a\u00A0b.com',
    'a\u2028b.com',
    'a*.com',
    '*.com',
    "o'brien.com",
    '"a".com',
    'a,b.com',
    'a;b.com',
    'a&b.com',
    '<script>.com',
    'a$b.com',
    'a!b.com',
    'a+b.com',
    'a=b.com',
    'a~b.com',
    'a(b).com',
    'a|b.com',
    'a^b.com',
    '{domain}.com',
  ],
  'begin or end with a space': [' example.com', 'example.com ', '\texample.com', 'example.com\n', '\u3000a.com'],
  'too long': [`${`${'a'.repeat(62)}.`.repeat(4)}com`, `${'a'.repeat(2000)}.com`, `${'ü'.repeat(1100)}.com`],
  'longer than 63': [`${'a'.repeat(64)}.com`, `${'ü'.repeat(60)}${'x'.repeat(20)}.de`],
  'a name and a TLD': ['com', 'example', 'localhost', 'xn--p1ai', 'рф', 'a'],
  'characters that no domain': [
    'a\u200Db.com',
    'a\u200Cb.com',
    '\u202Eabc.com',
    'a\u2066b.com',
    '\uD800a.com',
    '\uFFFDa.com',
    'foo.1',
    'foo.0x1f',
    'a\uE000.com',
    '١a.com',
  ],
  'an empty part': ['', '.', '..', '.com', 'a..com', 'example..', 'a.。com'],
  'letters, digits and hyphens': [
    '-a.com',
    'a-.com',
    'exam_ple.com',
    '_dmarc.com',
    'a.-com',
    'a.com-',
    '-.com',
    '_.com',
  ],
  'an IP address': ['127.0.0.1', '127.1', '1.2.3', '0x7f.1', '１２７.0.0.1', '127.0.0.1.', '192.168.0.1.'],
  'a valid internationalised name': [
    'ab--cd.com',
    'xn--a.com',
    'xn--99999999.com',
    'xn--0.com',
    'a.xn--a',
    'zz--a.de',
    'xn--abc.de',
  ],
  'in front of the TLD': ['eu.com', 'co.at', 'EU.COM.'],
  'without a subdomain': ['www.example.com', 'a.b.c.de', 'mail.example.eu.com', 'www.пример.рф', 'www.example.co.at'],
};

describe.each(Object.entries(wrong))('a domain must be or not be: %s', (message, names) => {
  test.each(names)('%j', (text) => {
    expect(refusalOf(text)).toEqual({ code: 'invalid_domain', message: expect.stringContaining(message) });
  });
});

test('there are at least 80 ways to be wrong', () => {
  expect(Object.values(wrong).flat().length).toBeGreaterThanOrEqual(80);
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
])('%j is of a TLD that is not on sale', (text) => {
  expect(refusalOf(text).code).toBe('tld_not_found');
});

test('what a visitor typed is never repeated', () => {
  for (const text of Object.values(wrong)
    .flat()
    .filter((name) => name.length > 8)) {
    expect(refusalOf(text).message).not.toContain(text);
  }
});
