import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { loadSearch, readReleased } from '../generator/releases.ts';
import { startSampleApi } from '../helpers/example-site.ts';
import { buildProject, createProject, guide } from '../helpers/project.ts';

const repository = resolve(import.meta.dirname, '../..');

/** Queries of customers, and the guide that they want. */
const wanted = {
  "let's encrypt": 'vps/nginx-reverse-proxy',
  'ssl certificate': 'vps/nginx-reverse-proxy',
  '502 bad gateway': 'vps/nginx-reverse-proxy',
  'websocket behind a proxy': 'vps/nginx-reverse-proxy',
  tps: 'game-servers/lag-and-tick-rate',
  'my server lags': 'game-servers/lag-and-tick-rate',
  'view distance': 'game-servers/lag-and-tick-rate',
  'backup of a minecraft world': 'game-servers/backing-up-a-game-server',
  restic: 'vps/backups-and-snapshots',
  'is a snapshot a backup': 'vps/backups-and-snapshots',
  'move my world': 'game-servers/moving-a-world',
  'upload a world': 'game-servers/moving-a-world',
  'which java version': 'game-servers/mods-and-plugins',
  'install a plugin': 'game-servers/mods-and-plugins',
  'fabric mods': 'game-servers/mods-and-plugins',
  'out of memory': 'game-servers/reading-the-console',
  'crash log': 'game-servers/reading-the-console',
  'mx record': 'domains-and-dns/dns-records',
  ttl: 'domains-and-dns/dns-records',
  ptr: 'domains-and-dns/reverse-dns',
  'reverse dns': 'domains-and-dns/reverse-dns',
  'mail goes to spam': 'domains-and-dns/spf-dkim-dmarc',
  dkim: 'domains-and-dns/spf-dkim-dmarc',
  'auth code': 'domains-and-dns/transfer-a-domain',
  'transfer a domain away': 'domains-and-dns/transfer-a-domain',
  'ssh key': 'getting-started/connect-with-ssh',
  'permission denied publickey': 'getting-started/connect-with-ssh',
  'ufw firewall': 'vps/first-steps',
  'two-factor': 'getting-started/keeping-your-account-safe',
  'vps does not boot': 'vps/rescue-and-reinstall',
  reinstall: 'vps/rescue-and-reinstall',
  'restart a server from a script': 'getting-started/api-keys-and-scopes',
  'planned maintenance': 'getting-started/reading-the-status-page',
};

test('the search in docs/search.md finds the wanted guide first', async () => {
  const { app } = await startSampleApi();
  const page = readFileSync(resolve(repository, 'docs/search.md'), 'utf8');
  const [, code = ''] = /```js\n(.*?)```/s.exec(page) ?? [];
  const { processTerm } = (await (await app.request('/v1/kb/search.json')).json()) as { processTerm: string };
  // The function in the file works too.
  expect(code).toContain(`const processTerm = ${processTerm};`);
  const program = `${code.replace('https://api.example.com', app.url)}
    const queries = ${JSON.stringify(Object.keys(wanted))};
    console.log(JSON.stringify(Object.fromEntries(queries.map((query) => [query, find(query)[0]?.id]))));`;
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { cwd: repository });
  const lines = (await run).stdout.trim().split('\n');
  expect(lines[0]).toBe(
    '/knowledgebase/domains-and-dns/dns-records  DNS records: which type for what (Domains and DNS)',
  );
  const found = JSON.parse(lines.at(-1)!) as Record<keyof typeof wanted, string | undefined>;
  const others = Object.entries(wanted).filter(
    ([query, path]) => found[query as keyof typeof wanted] !== `/knowledgebase/${path}`,
  );
  // For these queries, guides that use the words more often rank first: better guides would help, not a better search.
  expect(others.map(([query]) => query)).toEqual(['my server lags', 'backup of a minecraft world']);
});

test('autoSuggest as in docs/search.md completes the words of titles', async () => {
  const text = 'We keep backups for a week, each backup is backed by a second copy, and backing up takes minutes.\n';
  const root = createProject({
    'content/knowledgebase/vps/backups.md': guide('Backups of a server', text),
    'content/knowledgebase/vps/databases.md': guide('Move a database', text),
  });
  await buildProject(root);
  const { index } = loadSearch(readReleased(root, 'public/v1/kb/search.json'));
  const page = readFileSync(resolve(repository, 'docs/search.md'), 'utf8');
  const [, options = ''] = /`search\.autoSuggest\(query, (\{.*?\})\)`/.exec(page) ?? [];
  const suggest = (query: string): string[] =>
    index.autoSuggest(query, runInNewContext(`(${options})`) as object).map(({ suggestion }) => suggestion);
  expect(suggest('back')).toEqual(['backups']);
  expect(suggest('move dat')).toEqual(['move database']);
});
