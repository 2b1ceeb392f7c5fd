import { join } from 'node:path';
import { expect, test } from 'vitest';
import { offline } from '../helpers/app.ts';
import { buildProject, createProject, temporaryFolder } from '../helpers/project.ts';
import { createDnsUpstream } from '../helpers/upstream-dns.ts';
import { createRdapUpstream } from '../helpers/upstream-rdap.ts';
import { createTextUpstream } from '../helpers/upstream-registry.ts';
import { createUpstream } from '../helpers/upstream.ts';
import { runHere } from './run-command.ts';

const price = '{ EUR: { 1: { register: 10, renew: 12, transfer: 0 } } }';

/** Builds a release whose TLDs have these look-ups; returns the settings. */
async function settingsOf(lookups: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const lines = Object.entries(lookups).map(([tld, lookup]) => `  ${tld}: { prices: ${price}, lookup: ${lookup} }`);
  const root = createProject({
    'catalog/domains.yaml': ['tlds:', ...lines, '  .off: { active: false, lookup: none }', ''].join('\n'),
  });
  await buildProject(root);
  return { ...offline, DIST_DIR: join(root, 'dist') };
}

test('if all TLDs work, doctor prints a table and exits with status 0', async () => {
  const rdap = await createRdapUpstream();
  const settings = await settingsOf({ '.com': `{ rdap: "${rdap.base}" }` });
  const { status, stdout, stderr } = await runHere(['domains', 'doctor'], settings);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const [heading, row, ...more] = stdout.trimEnd().split('\n');
  expect(heading).toMatch(/^TLD +WORKS +SOURCE +PROVES +MUST EXIST +MUST NOT +MS$/);
  expect(row).toMatch(
    /^\.com +yes +rdap http:\/\/127\.0\.0\.1:\d+\/rdap\/ +taken, free +nic\.com taken +x[0-9a-f]{24}\.com free +\d+$/,
  );
  expect(more).toEqual([]);
  const shown = await runHere(['domains', 'doctor'], settings, { columns: 80 });
  expect(shown.stdout.split('\n').map((line) => line.length <= 80)).not.toContain(false);
  expect(rdap.queried().find((name) => name !== 'nic.com')).toMatch(/^x[0-9a-f]{24}\.com$/);
});

test('if searches of a TLD fail or are wrong, doctor reports the TLD and exits with status 1', async () => {
  const [rdap, wrong] = await Promise.all([
    createRdapUpstream(),
    createUpstream(() => ({ status: 404, body: '{"errorCode":404}' })),
  ]);
  const { address } = await createTextUpstream(() => 'what is this');
  const settings = await settingsOf({
    '.com': `{ rdap: "${rdap.base}" }`,
    '.net': `{ rdap: "${wrong.url}/" }`,
    '.org': 'none',
    '.se': `{ whois: "${address}" }`,
  });
  const { status, stdout, stderr } = await runHere(['domains', 'doctor', '--json'], settings);
  expect({ status, stderr }).toEqual({ status: 1, stderr: 'searches fail or are wrong for 3 of 4 TLDs\n' });
  const failed = { proves: [], existing: { availability: 'unknown' }, missing: { availability: 'unknown' } };
  const found = { proves: ['taken', 'free'], existing: { availability: 'taken' }, missing: { availability: 'free' } };
  expect(JSON.parse(stdout)).toMatchObject([
    { tld: 'com', works: true, sources: [{ source: `rdap ${rdap.base}`, ...found }] },
    { tld: 'net', works: false, sources: [{ source: `rdap ${wrong.url}/`, ...failed }] },
    { tld: 'org', works: false, sources: [] },
    { tld: 'se', works: false, sources: [{ source: `whois ${address}`, ...failed }] },
  ]);
});

test('doctor shows what each source of a TLD proves, and a resolver that finds every name', async () => {
  const rdap = await createRdapUpstream({ names: ['taken.com'] });
  const { address } = await createTextUpstream((line) => (line.endsWith('nic.com') ? 'Hello\r\n' : 'Not found.\r\n'));
  const lookup = `[{ whois: "${address}" }, { rdap: "${rdap.url}", confirm: taken.com }]`;
  const settings = await settingsOf({ '.com': lookup, '.org': 'none' });
  let finds = (name: string): boolean => name === 'nic.com';
  const dns = await createDnsUpstream((name) => ({
    code: finds(name) ? 0 : 3,
    answers: finds(name) ? [{ owner: name, type: 'NS', data: 'ns1.example.net' }] : [],
  }));
  const run = async () => {
    const { stdout } = await runHere(['domains', 'doctor'], { ...settings, DNS_SERVERS: dns.address });
    const [, ...rows] = stdout.split('\n\n')[0]!.split('\n');
    return rows.map((row) =>
      row
        .replaceAll(/\bx[0-9a-f]{24}|\/?127\S+|\d+$/g, '')
        .replaceAll(/\s{2,}/g, '  ')
        .trim(),
    );
  };
  expect(await run()).toEqual([
    '.com  yes  dns  taken  nic.com taken  .com unknown',
    '.com  yes  whois  free  nic.com unknown  .com free',
    '.com  yes  rdap http:/  taken, free  taken.com taken  .com free',
    '.org  NO  dns  nothing  nic.org unknown  .org unknown',
  ]);
  finds = () => true;
  expect((await run())[0]).toBe('.com  NO  dns  nothing  nic.com taken  .com taken');
});

test('for a look-up server that denies its canary, doctor explains the canary', async () => {
  const moved = await createUpstream(() => ({ status: 404, body: '<html>Not Found</html>' }));
  const settings = await settingsOf({ '.com': `{ rdap: "${moved.url}/" }` });
  const { status, stdout } = await runHere(['domains', 'doctor'], settings);
  expect(status).toBe(1);
  const [, row, ...explanation] = stdout.trimEnd().split('\n');
  expect(row).toMatch(/^\.com +NO +rdap http:\S+ +nothing +nic\.com unknown +x\w+\.com unknown +\d+$/);
  expect(explanation.join('\n')).toBe(
    [
      '',
      'A search needs a source that proves names free. A server must find a name that exists under its TLD: `confirm`,',
      "nic.<tld> or the registry's own domain. Until an RDAP server has confirmed this name, its 404s do not count, and a",
      'search answers 502. Check the `lookup` of the TLD in catalog/domains.yaml; without `lookup`, the server comes from',
      "IANA's list or the built-in table. If dns has name servers for a name that must not exist, correct DNS_SERVERS.",
    ].join('\n'),
  );
  const help = await runHere(['domains', 'doctor', '--help'], {});
  expect(help.stdout).toContain('nic.<tld>');
});

test.each([
  ['without a release', { DIST_DIR: '/nowhere' }, /\/nowhere\/current/],
  ['with an invalid setting', { DOMAIN_PRICES: 'free' }, /^DOMAIN_PRICES: must be catalog, whmcs or fossbilling$/m],
  [
    'with an unreachable billing system',
    { DOMAIN_PRICES: 'fossbilling', FOSSBILLING_URL: 'http://127.0.0.1:65530' },
    /The request could not be completed/,
  ],
])('%s, doctor prints the reason and exits with status 1', async (_, changes, message) => {
  const settings = { ...(await settingsOf({ '.com': 'none' })), DATA_DIR: temporaryFolder(), ...changes };
  const { status, stdout, stderr } = await runHere(['domains', 'doctor'], settings);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(message);
});
