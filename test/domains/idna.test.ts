import { expect, test } from 'vitest';
import { createTestApp } from '../helpers/app.ts';
import type { TestApp } from '../helpers/app.ts';
import { buildProject, createProject, temporaryFolder } from '../helpers/project.ts';
import { createDnsUpstream } from '../helpers/upstream-dns.ts';
import { ask } from '../server/ask.ts';
import { lookAlikes } from './look-alikes.ts';

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

test('of 100 names that look like others, those that IDNA2008 does not allow or that mix scripts are 400', async () => {
  expect(new Set(lookAlikes.map(([label]) => label)).size).toBe(100);
  const app = await serveCom();
  const found: (Searched & { label: string })[] = [];
  for (const [label] of lookAlikes) found.push({ label, ...(await search(app, `${label}.com`)) });
  const wrong = found.filter(({ label, status, error, message, domain }) => {
    const verdict = lookAlikes.find(([one]) => one === label)![2];
    const fault = faults[verdict];
    if (fault === undefined) return !(status === 200 && domain === `${verdict}.com`);
    return !(status === 400 && error === 'invalid_domain' && String(message).includes(fault));
  });
  const count = (status: number): number => found.filter((one) => one.status === status).length;
  console.log(`100 look-alikes: ${count(400)} are 400, ${count(200)} are 200, ${wrong.length} are wrong`);
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
