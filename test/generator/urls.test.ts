import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createProject, temporaryFolder } from '../helpers/project.ts';
import { foldersOf, runCommand } from './run-command.ts';

afterEach(() => vi.unstubAllEnvs());

/** Runs `build` on a project with the given environment. */
async function buildWith(root: string, environment: Record<string, string>) {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  return runCommand('build', ...foldersOf(root), '--out', join(root, 'dist'), '--now', '2026-11-20');
}

const feedOf = (root: string): string => readFileSync(join(root, 'dist/current/public/v1/blog/feed.xml'), 'utf8');

test('build reads the addresses of the website and of the service from the environment', async () => {
  const root = createProject();
  await buildWith(root, { SITE_URL: 'https://www.example.com/', PUBLIC_URL: 'https://API.example.com:443/v/' });
  expect(feedOf(root)).toContain('<link rel="alternate" type="text/html" href="https://www.example.com/blog"/>');
  expect(feedOf(root)).toContain('<id>https://api.example.com/v/v1/blog/feed.xml</id>');
});

test('build reads them from files that <NAME>_FILE names', async () => {
  const root = createProject();
  const file = join(temporaryFolder(), 'url');
  writeFileSync(file, ' https://www.example.com\n');
  await buildWith(root, { SITE_URL_FILE: file, PUBLIC_URL: 'https://api.example.com' });
  expect(feedOf(root)).toContain('href="https://www.example.com/blog"');
});

describe('wrong addresses are refused by name, without their values, and nothing is built:', () => {
  const rule = 'must be an http or https URL without user, query and fragment';

  test.each<[string, Record<string, string>, string]>([
    ['no scheme', { SITE_URL: 'hunter2.example.com' }, `SITE_URL: ${rule}`],
    ['a password', { PUBLIC_URL: 'https://user:hunter2@example.com' }, `PUBLIC_URL: ${rule}`],
    ['both', { SITE_URL: 'ftp://a.example', PUBLIC_URL: 'https://a?b' }, `SITE_URL: ${rule}; PUBLIC_URL: ${rule}`],
    [
      'a control character',
      { SITE_URL: 'https://a.example/\u001Bx' },
      'SITE_URL: must be one line without control characters',
    ],
    [
      'a file that does not exist',
      { SITE_URL_FILE: '/nowhere/hunter2' },
      'SITE_URL_FILE: the file cannot be read, or is empty',
    ],
    [
      'twice',
      { SITE_URL: 'https://a.example', SITE_URL_FILE: '/nowhere' },
      'SITE_URL: is set twice, directly and by SITE_URL_FILE; SITE_URL_FILE: the file cannot be read, or is empty',
    ],
  ])('%s', async (_, environment, message) => {
    const root = createProject();
    const { stderr, failed } = await buildWith(root, environment);
    expect({ stderr, failed }).toEqual({ stderr: `${message}\n`, failed: true });
    expect(existsSync(join(root, 'dist'))).toBe(false);
  });
});
