import { domainToUnicode } from 'node:url';
import { describe, expect, test } from 'vitest';
import { Problem } from '../../server/problem.ts';
import { parseDomainName } from '../../server/domains/names.ts';
import { wrongNames } from '../server/wrong-names.ts';

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

test('there are at least 80 invalid names', () => {
  expect(Object.values(wrongNames).flat().length).toBeGreaterThanOrEqual(80);
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
