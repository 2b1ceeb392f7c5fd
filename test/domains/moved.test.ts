import { expect, test } from 'vitest';
import { createTestApp } from '../helpers/app.ts';
import type { TestApp } from '../helpers/app.ts';
import { buildProject, createProject, temporaryFolder } from '../helpers/project.ts';
import { createBootstrapUpstream, toDomainObject } from '../helpers/upstream-registry.ts';
import { createUpstream } from '../helpers/upstream.ts';
import type { Answer, Upstream } from '../helpers/upstream.ts';
import { ask } from '../server/ask.ts';

const price = '{ EUR: { 1: { register: 1, renew: 1, transfer: 1 } } }';

/** Serves .com, whose RDAP server, which IANA lists, has these names and answers this to all others. */
async function serveListed(names: readonly string[], missing: Answer): Promise<{ app: TestApp; rdap: Upstream }> {
  const rdap = await createUpstream(({ path }) => {
    const name = path.slice(path.lastIndexOf('/') + 1);
    return names.includes(name) ? { status: 200, body: toDomainObject(name) } : missing;
  });
  const iana = await createBootstrapUpstream({ com: `${rdap.url}/` });
  const root = createProject({ 'catalog/domains.yaml': `tlds:\n  .com: { prices: ${price} }\n` });
  await buildProject(root);
  const settings = { RDAP_BOOTSTRAP_URL: `${iana.url}/dns.json`, DATA_DIR: temporaryFolder() };
  return { app: await createTestApp({ root, settings }), rdap };
}

async function search(app: TestApp, name: string): Promise<string> {
  const { status, text } = await ask(app, `/v1/domains/search?domain=${name}`);
  return `${status} ${(JSON.parse(text) as { available?: boolean }).available}`;
}

const page: Answer = { status: 404, headers: { 'content-type': 'text/html' }, body: '<html>Not Found</html>' };

test.each<[string, Answer]>([
  ['an HTML page', page],
  ['no body', { status: 404 }],
  ['JSON of a gateway', { status: 404, body: '{"message":"Not Found"}' }],
])('a 404 with %s from a base that moved is 502 from the start on, and logged', async (_, missing) => {
  const { app, rdap } = await serveListed([], missing);
  expect([await search(app, 'one.com'), await search(app, 'two.com')]).toEqual(['502 undefined', '502 undefined']);
  // One check of a name that exists, which an hour of searches shares.
  expect(rdap.seen.map(({ path }) => path)).toEqual(['/domain/one.com', '/domain/nic.com', '/domain/two.com']);
  expect(JSON.stringify(app.log())).toContain('denies a name that exists');
});

test('a 404 without an RDAP body counts after the server confirmed a name that exists', async () => {
  const { app, rdap } = await serveListed(['nic.com', 'taken.com'], page);
  expect([await search(app, 'one.com'), await search(app, 'two.com')]).toEqual(['200 true', '200 true']);
  expect(rdap.seen.map(({ path }) => path)).toEqual(['/domain/one.com', '/domain/nic.com', '/domain/two.com']);
});

test('any name that a listed server has confirms it', async () => {
  const { app, rdap } = await serveListed(['taken.com'], page);
  expect([await search(app, 'one.com'), await search(app, 'taken.com')]).toEqual(['502 undefined', '200 false']);
  expect(await search(app, 'two.com')).toBe('200 true');
  expect(rdap.seen.filter(({ path }) => path.endsWith('/nic.com'))).toHaveLength(1);
});

test('a 404 with an RDAP body counts at once, if IANA lists the server', async () => {
  const { app, rdap } = await serveListed([], { status: 404, body: '{"errorCode":404,"title":"Not Found"}' });
  expect(await search(app, 'one.com')).toBe('200 true');
  expect(rdap.seen).toHaveLength(1);
});
