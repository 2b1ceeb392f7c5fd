import { describe, expect, test } from 'vitest';
import { createProject } from '../helpers/project.ts';
import { problemsOf, testProblems } from './problems.ts';

/** A source with a URL in double quotes, as YAML escapes it, and where it is reported. */
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
    (url) =>
      'name: Broken\nsoldOut: false\nsoldOutMessage: ""\nplans:\n' +
      `  - { name: S, ram: 1, storage: 1, price: 1, orderLink: "${url}", soldOut: false }\n`,
  ],
];

const faults: readonly (readonly [url: string, message: string])[] = [
  ['https://example.com/a b', 'must not contain a space (write %20)'],
  [' https://example.com/', 'must not begin or end with white space (write https://example.com/)'],
  ['\\u00A0https://example.com/', 'must not begin or end with white space (write https://example.com/)'],
  ['https://exam\\nple.com/', 'must not contain a line break (write the URL on one line)'],
  ['\\r\\nhttps://example.com/', 'must not begin or end with white space'],
  ['https://exam\\tple.com/', 'must not contain U+0009 (remove it)'],
  ['https://example.com/\\0', 'must not contain U+0000 (remove it)'],
  ['https://example.com/\\x1B[0m', 'must not contain U+001B (remove it)'],
  ['https://example.com/\\x85', 'must not contain U+0085 (remove it)'],
  ['https://example.com/\\u00A0a', 'must not contain U+00A0 (remove it)'],
  ['https://example.com/\\u2028a', 'must not contain U+2028 (remove it)'],
  ['https://example.com/<b>', 'must not contain < (write %3C)'],
  ['https://example.com/a>', 'must not contain > (write %3E)'],
  ['https://example.com/\\"a', 'must not contain " (write %22)'],
];

describe.each(sources)('in %s a URL at %s holds no character that would be lost or end it:', (file, place, write) => {
  const toMessage = (message: string): string =>
    write('').includes('{domain}') ? message.replace('.com/)', '.com/{domain})') : message;
  testProblems(
    file,
    write,
    Object.fromEntries(faults.map(([url, message]) => [url, `${place} ${toMessage(message)}`])),
  );
});

test.each(sources)('in %s a URL at %s may hold what those characters are written as', async (file, place, write) => {
  // The URL of an RDAP server has no query.
  const url = `https://example.com/%20%3Cb%3E%22/ü${place.includes('rdap') ? '' : '?a=1&b[]=2#c'}`;
  expect(await problemsOf(createProject({ [file.replace('#', '1')]: write(url) }))).toEqual([]);
});
