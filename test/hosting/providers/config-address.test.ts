import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadProviders } from '../../../server/hosting/providers/index.ts';
import { temporaryFolder } from '../../helpers/project.ts';

function load(url: string) {
  const file = join(temporaryFolder(), 'providers.yaml');
  writeFileSync(file, `providers: { a: { type: hetzner, token: x, url: "${url}" } }`);
  return loadProviders(file, {});
}

test.each([
  ['http://localhost:1', 'http://localhost:1'],
  ['http://127.0.0.1:1/panel/', 'http://127.0.0.1:1/panel'],
  ['http://[::1]:1', 'http://[::1]:1'],
  ['HTTPS://Panel.Example.COM:443/', 'https://panel.example.com'],
])('the address %s is accepted', (url, expected) => {
  expect(load(url)).toMatchObject({
    a: { url: expected },
  });
});

test.each([
  'http://localhost.example.com',
  'http://127.0.0.1.example.com',
  'http://0.0.0.0',
  'ftp://localhost',
  'https://user:word@example.com',
  'https://example.com?x=1',
  'https://example.com#x',
  'example.com',
  '',
])('the address "%s" is rejected', (url) => {
  expect(() => load(url)).toThrow('must be an https:// URL');
});
