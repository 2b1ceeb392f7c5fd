import { join } from 'node:path';
import { expect, test } from 'vitest';
import { offline } from '../helpers/app.ts';
import { buildProject, createProject, temporaryFolder } from '../helpers/project.ts';
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
  expect(heading).toMatch(/^TLD +WORKS +MUST EXIST +MUST NOT +MS +SOURCE$/);
  expect(row).toMatch(/^\.com +yes +nic\.com taken +free +\d+ +rdap http:\/\/127\.0\.0\.1:\d+\/rdap\/$/);
  expect(more).toEqual([]);
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
  const failed = { existing: { availability: 'unknown' }, missing: { availability: 'unknown' } };
  expect(JSON.parse(stdout)).toMatchObject([
    { tld: 'com', works: true, existing: { availability: 'taken' }, missing: { availability: 'free' } },
    { tld: 'net', works: false, source: `rdap ${wrong.url}/`, ...failed },
    { tld: 'org', works: false, source: 'none', ...failed },
    { tld: 'se', works: false, source: `whois ${address}`, ...failed },
  ]);
});

test('for a look-up server that denies its canary, doctor explains the canary', async () => {
  const moved = await createUpstream(() => ({ status: 404, body: '<html>Not Found</html>' }));
  const settings = await settingsOf({ '.com': `{ rdap: "${moved.url}/" }` });
  const { status, stdout } = await runHere(['domains', 'doctor'], settings);
  expect(status).toBe(1);
  const [, row, ...explanation] = stdout.trimEnd().split('\n');
  expect(row).toMatch(/^\.com +NO +nic\.com unknown +unknown +\d+ +rdap http:/);
  expect(explanation.join('\n')).toBe(
    [
      '',
      "A look-up server must find a name that exists under its TLD: nic.<tld> or the registry's own domain.",
      'Until an RDAP server has confirmed this name, its 404s do not count, and a search answers 502. Check the `lookup` of',
      "the TLD in catalog/domains.yaml; without `lookup`, the server comes from IANA's list or the built-in table.",
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
