import { expect, test } from 'vitest';
import { createTestApp } from '../helpers/app.ts';
import { buildProject, createProject, temporaryFolder } from '../helpers/project.ts';
import { ask } from '../server/ask.ts';

const catalog = 'tlds:\n  .com: { prices: { EUR: { 1: { register: 1, renew: 1, transfer: 1 } } } }\n  .co.uk: {}\n';

/** The messages of names that are no domains. Names to search for are given only where they were checked. */
const messages: readonly (readonly [name: string, message: string])[] = [
  ['ex ample.com', 'The domain must not contain a space'],
  ['ex\tample.com', 'The domain must not contain U+0009'],
  ['a\u0000b.com', 'The domain must not contain U+0000'],
  ['a\u2028b.com', 'The domain must not contain U+2028'],
  ['exam_ple.com', 'The domain must not contain _'],
  ['<script>.com', 'The domain must not contain <'],
  [' free.com', 'The domain must not begin or end with a space; search for free.com'],
  ['info@free.com', 'The domain must not contain @; search for free.com'],
  ['info@', 'The domain must not contain @'],
  ['www.free.com', 'Only a whole domain can be searched for, without a subdomain; search for free.com'],
  ['a.b.free.co.uk', 'Only a whole domain can be searched for, without a subdomain; search for free.co.uk'],
  ['www.Bücher.com', 'Only a whole domain can be searched for, without a subdomain; search for bücher.com'],
  ['www.xn--bcher-kva.com.', 'Only a whole domain can be searched for, without a subdomain; search for bücher.com'],
  ['https://free.com', 'The domain must be without a protocol, port, path or query; search for free.com'],
  [
    'HTTPS://info@www.free.com:443/a?b#c',
    'The domain must be without a protocol, port, path or query; search for free.com',
  ],
  ['free.com/', 'The domain must be without a protocol, port, path or query; search for free.com'],
  ['free.com:80', 'The domain must be without a protocol, port, path or query; search for free.com'],
  ['free.com?x', 'The domain must be without a protocol, port, path or query; search for free.com'],
  ['mailto:info@free.com', 'The domain must be without a protocol, port, path or query; search for free.com'],
  ['//free.com', 'The domain must be without a protocol, port, path or query; search for free.com'],
  ['https://free.example', 'The domain must be without a protocol, port, path or query'],
  ['https://<b>.com', 'The domain must be without a protocol, port, path or query'],
  ['free.com..', 'The domain has an empty part; search for free.com'],
  ['.free.com', 'The domain has an empty part; search for free.com'],
  ['a..free.com', 'The domain has an empty part'],
];

test('the message of an invalid name says what is wrong and which name to search for', async () => {
  const root = createProject({ 'catalog/domains.yaml': catalog });
  await buildProject(root);
  const app = await createTestApp({ root, settings: { DOMAIN_RATELIMIT_BURST: '100', DATA_DIR: temporaryFolder() } });
  const answers = [];
  for (const [name] of messages) {
    const { status, text } = await ask(app, `/v1/domains/search?domain=${encodeURIComponent(name)}`);
    answers.push({ name, status, body: JSON.parse(text) as unknown });
  }
  expect(answers).toEqual(
    messages.map(([name, message]) => ({
      name,
      status: 400,
      body: { success: false, error: 'invalid_domain', message },
    })),
  );
});
