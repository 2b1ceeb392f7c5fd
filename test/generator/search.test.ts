import { hash } from 'node:crypto';
import { cpSync } from 'node:fs';
import { resolve } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { createTestApp } from '../helpers/app.ts';
import type { TestApp } from '../helpers/app.ts';
import { ends } from '../helpers/ends.ts';
import { buildProject, createProject, guide, sharedFolder, validProject, writeFiles } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { ask } from '../server/ask.ts';
import { flipInMemo, gzipStart, loadSearch, readReleased } from './releases.ts';

let app: TestApp;
beforeAll(async () => {
  // 31 articles in English, German and French, and a draft.
  const root = sharedFolder();
  const catalog = Object.entries(validProject).filter(([path]) => path.startsWith('catalog/'));
  writeFiles(root, Object.fromEntries(catalog));
  cpSync(resolve(import.meta.dirname, '../fixtures/search'), root, { recursive: true });
  await buildProject(root);
  app = await createTestApp({ root, onEnd: (end) => void ends.push(end) });
});

/** Loads the served index as a website does. */
async function loadServed() {
  const search = loadSearch((await ask(app, '/v1/kb/search.json')).text);
  expect(search).toMatchObject({ minisearch: expect.stringMatching(/^7\.\d+\.\d+$/), hasText: true });
  return search.index;
}

/** Finds articles by an exact word, in all or the given fields. */
const find = (root: string, word: string, fields?: string[]): string[] =>
  loadSearch(readReleased(root, 'public/v1/kb/search.json'))
    .find(word, fields)
    .map((path) => path.replace('/knowledgebase/', ''))
    .toSorted();

test.each([
  ['nameservr', 'domains/change-nameservers'],
  ['tranfser a domain', 'domains/transfer-a-domain'],
  ['certifcate', 'domains/wildcard-certificates'],
  ['minecraft pluging', 'games/minecraft-plugins'],
  ['snap', 'vps/snapshots'],
  ['invo', 'billing/invoices'],
  ['FIREW', 'vps/firewall'],
  ['lock yourself out', 'vps/firewall'],
  ['epp code', 'domains/transfer-a-domain'],
  ['bounce 552', 'email/mailbox-full'],
  ['_acme-challenge', 'domains/wildcard-certificates'],
  ['spam', 'email/spf-and-dkim'],
  ['Überweisung', 'deutsch/rechnungen'],
  ['uberweisung', 'deutsch/rechnungen'],
  ['ueberweisung', 'deutsch/rechnungen'],
  ['strasse', 'deutsch/anschrift-im-whois'],
  ['STRASSE', 'deutsch/anschrift-im-whois'],
  ['straße', 'deutsch/anschrift-im-whois'],
  ['grosse datein', 'deutsch/grosse-dateien'],
  ['passwort vergesen', 'deutsch/passwort-vergessen'],
  ['mahngebuhr', 'deutsch/rechnungen'],
  ['umz', 'deutsch/umzug'],
  ['hebergement', 'francais/heberger-un-site'],
  ["l'hébergement", 'francais/heberger-un-site'],
  ['mot de passe oublie', 'francais/mot-de-passe'],
  ['prelevment', 'francais/factures'],
  ['sauveg', 'francais/sauvegardes'],
  ["deleguer l'acces", 'francais/delegation'],
])('a website with only the served index finds %s', async (query, path) => {
  const [first] = (await loadServed()).search(query);
  expect(first?.id).toBe(`/knowledgebase/${path}`);
});

test('a result has every field a page shows, and drafts are not found', async () => {
  const index = await loadServed();
  expect(index.documentCount).toBe(31);
  expect(index.search('wildcard')[0]).toMatchObject({
    id: '/knowledgebase/domains/wildcard-certificates',
    title: 'Wildcard certificates',
    description: 'One TLS certificate for all subdomains, renewed by a DNS challenge.',
    category: 'Domains',
  });
  expect(index.search('kubernetes', { fuzzy: false })).toEqual([]);
});

describe('the index contains', () => {
  const body = `Some *inter*national text with \`inline-code\`.[^1]

## Heading & more

\`\`\`sh
blockcode PermitRootLogin=no error=28 <none>
\`\`\`

| head | er |
|---|---|
| cell | two |

<details title="a > b"><summary>Rawhtml</summary>one<br>line</details>

![picture](/media/kb/map.svg)

[^1]: A footnote with soft\u00ADhyphens.
`;
  const words: [boolean, string][] = [
    [true, 'international inline code heading more head er cell two rawhtml one line footnote softhyphens'],
    [true, 'connect how done tagged'],
    [true, 'blockcode permitrootlogin 28 none'],
    [false, 'sh inter title oneline picture media footnotes details br amp x26 undefined'],
  ];
  test('title, description, tags, headings, prose and code of an article, but no markup', async () => {
    const text = guide('Connect', body).replace('---\n', '---\ntags: [tagged]\n');
    const root = createProject({ 'content/knowledgebase/vps/ssh.md': text });
    await buildProject(root);
    for (const [isFound, list] of words) {
      const found = list.split(' ').filter((word) => find(root, word).includes('vps/ssh'));
      expect(found).toEqual(isFound ? list.split(' ') : []);
    }
  });

  test.each([
    [
      '![How `<pre>` looks](/media/kb/map.svg)\n\n## Second\n\nTwo.\n\n```\nsecret\n```\n\nThree.\n',
      ['second'],
      ['two', 'three', 'secret'],
    ],
    ['One.\n\n```ts title="a</pre>b"\nkept secret\n```\n\nThree.\n', [], ['one', 'three', 'secret']],
  ])('the words next to attributes with brackets: %j', async (markdown, headings, texts) => {
    const root = createProject({ 'content/knowledgebase/vps/ssh.md': guide('Connect', markdown) });
    await buildProject(root, { lenient: true });
    const known = ['second', 'one', 'two', 'three', 'secret', 'pre', 'looks'];
    const foundIn = (field: string) => known.filter((word) => find(root, word, [field]).includes('vps/ssh'));
    expect([foundIn('headings'), foundIn('text')]).toEqual([headings, texts]);
  });

  test.each([
    ['the lines of the documentation', undefined],
    [
      'the line of version 0.2',
      (term: string) => term.normalize('NFKD').replace(/\p{M}/gu, '').toUpperCase().toLowerCase(),
    ],
  ])('words of texts without spaces, and parts of key=value, with %s', async (_, earlier) => {
    const text =
      '本文介绍如何为云服务器设置防火墙规则并重新启动服务。备份每天凌晨自动进行。\n\n' +
      'サーバーのファイアウォールを設定してから再起動してください。\n\nต้องสำรองข้อมูลก่อนติดตั้งระบบปฏิบัติการใหม่ทุกครั้ง\n\nUse C++ and key=value.\n';
    const root = createProject({ 'content/knowledgebase/vps/other.md': guide('Other', text) });
    await buildProject(root);
    const { index } = loadSearch(readReleased(root, 'public/v1/kb/search.json'), earlier);
    const finds = (word: string): boolean =>
      index
        .search(word, { combineWith: 'AND', fuzzy: false, prefix: false })
        .some(({ id }) => id === '/knowledgebase/vps/other');
    const before = ['c++', 'key=value', '备份每天凌晨自动进行'];
    const inside = ['防火墙', '备份', '重新启动', 'ファイアウォール', '再起動', 'สำรองข้อมูล', 'ติดตั้ง'];
    const wanted = [...before, ...inside, 'value', 'KEY', '起墙'];
    const pairs = ['备份', 'value', 'KEY'];
    expect(wanted.filter(finds)).toEqual(earlier ? [...before, ...pairs] : [...before, ...inside, 'value', 'KEY']);
  });
});

test('the terms are those that MiniSearch would write, with fields and articles in order', async () => {
  const root = createProject({
    'content/knowledgebase/vps/a.md': guide(`'"index":[] and $&'`, 'Alpha beta.\n'),
    'content/knowledgebase/vps/b.md': guide('Beta', 'Beta "gamma" delta.\n').replace('---\n', '---\ntags: [alpha]\n'),
  });
  await buildProject(root);
  const text = readReleased(root, 'public/v1/kb/search.json');
  const { index } = loadSearch(text).index.toJSON();
  const toLines = (terms: typeof index): string[] => terms.map((term) => JSON.stringify(term)).toSorted();
  const released = (JSON.parse(text) as { index: { index: typeof index } }).index.index;
  expect(toLines(index)).toEqual(toLines(released));
  for (const line of toLines(index)) expect(text).toContain(line);
});

test('code is left out before texts', async () => {
  const toPage = (of: string, words: number) => {
    // Random words, which gzip cannot shorten.
    const code = Array.from({ length: words }, (_, at) => hash('sha256', `${of} ${at}`).slice(0, 10)).join(' ');
    return guide('Large', `prose\n\n\`\`\`\nlisting ${code}\n\`\`\`\n`);
  };
  const root = createProject();
  for (const [words, found] of [
    [10, ['prose', 'listing']],
    [40_000, ['prose']],
  ] as const) {
    const pages = ['a', 'b', 'c', 'd'].map((name) => [`content/knowledgebase/vps/${name}.md`, toPage(name, words)]);
    writeFiles(root, Object.fromEntries(pages) as Files);
    await buildProject(root);
    expect(['prose', 'listing'].filter((word) => find(root, word).includes('vps/a'))).toEqual(found);
  }
});

test('the index is complete after the memo lost articles or their files', async () => {
  const root = createProject();
  await buildProject(root);
  flipInMemo(root, gzipStart);
  writeFiles(root, { 'content/knowledgebase/vps/new.md': guide('New', 'Something else.\n') });
  await buildProject(root);
  expect([find(root, 'ssh'), find(root, 'record'), find(root, 'something')]).toEqual([
    ['vps/ssh'],
    ['dns/records'],
    ['vps/new'],
  ]);
});
