import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { article, createProject, temporaryFolder } from '../helpers/project.ts';
import type { CommandResult, Files } from '../helpers/project.ts';
import { readTree, runIn } from './releases.ts';

/** Creates a project with two dated articles, each with a picture. */
function createSite(changes: Files = {}): string {
  return createProject({
    'content/blog/news/second.md': article({ date: '2026-03-04', cover: '/media/covers/second.svg' }, 'Second.\n'),
    'content/media/covers/second.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>\n',
    ...changes,
  });
}

/** Runs `new` in a project, with a user name in the configuration of git. */
function runNew(root: string, args: readonly string[], name = 'Aino Lehtinen'): Promise<CommandResult> {
  const config = join(temporaryFolder(), 'gitconfig');
  writeFileSync(config, name && `[user]\n\tname = ${name}\n`);
  vi.stubEnv('GIT_CONFIG_GLOBAL', config);
  vi.stubEnv('GIT_CONFIG_NOSYSTEM', '1');
  return runIn(root, 'new', ...args).finally(() => vi.unstubAllEnvs());
}

const check = (root: string, ...args: string[]): Promise<CommandResult> => runIn(root, 'check', '--strict', ...args);

test('a blog article gets address, date, author and cover, and passes the check as a draft', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-11-26T08:00:00Z') });
  onTestFinished(() => void vi.useRealTimers());
  const root = createSite();
  const { status, stdout, stderr } = await runNew(root, [
    'blog',
    'Größere Server: "Übersicht" #2',
    '--category',
    'news',
  ]);
  expect(stderr).toContain('/preview');
  expect(stderr).toContain('/media/covers/cover.svg');
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'content/blog/news/groessere-server-uebersicht-2.md\n' });
  const text = readFileSync(join(root, stdout.trim()), 'utf8');
  expect(text.split('\n')).toEqual([
    '---',
    `title: 'Größere Server: "Übersicht" #2'`,
    'description: One or two sentences for lists and search engines. Replace them.',
    'date: 2026-11-26',
    'author: Aino Lehtinen',
    'cover: /media/covers/cover.svg',
    'draft: true',
    '---',
    '',
    'Write the article here. Headings start at `##`.',
    '',
  ]);
  expect((await check(root)).stderr).toMatch(/^ok: 4 articles, 1 draft, 0 warnings/);
});

test('a blog article is dated in UTC, which is said if the local day is another', async () => {
  const root = createSite();
  onTestFinished(() => void vi.useRealTimers());
  for (const [now, said] of [
    ['2026-11-26T20:00:00Z', true],
    ['2026-11-26T08:00:00Z', false],
  ] as const) {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(now) });
    vi.stubEnv('TZ', 'Pacific/Kiritimati');
    const { stdout, stderr } = await runNew(root, ['blog', `At ${now}`, '--category', 'news']);
    expect(readFileSync(join(root, stdout.trim()), 'utf8')).toContain('date: 2026-11-26\n');
    expect(stderr.includes('the date is 2026-11-26, which is today in UTC: builds go by that day\n')).toBe(said);
  }
});

test.each(['knowledgebase', 'kb'])('a %s article has no date, author or cover', async (kind) => {
  const root = createSite();
  const { stdout } = await runNew(root, [kind, 'Reverse DNS', '--category', 'dns'], '');
  expect(stdout).toBe('content/knowledgebase/dns/reverse-dns.md\n');
  expect(readFileSync(join(root, stdout.trim()), 'utf8')).toMatch(
    /^---\ntitle: Reverse DNS\ndescription: .*\ndraft: true\n---\n\n\S/,
  );
  expect((await check(root)).status).toBe(0);
});

test('publishing an article with the description of the template is reported', async () => {
  const root = createSite();
  const { stdout } = await runNew(root, ['kb', 'Reverse DNS', '--category', 'dns']);
  const file = join(root, stdout.trim());
  writeFileSync(file, readFileSync(file, 'utf8').replace('draft: true\n', ''));
  expect((await check(root)).stderr).toContain(
    'content/knowledgebase/dns/reverse-dns.md:3:14  the description is still the placeholder of the template (write one or two',
  );
});

test('--new-category creates the category', async () => {
  const root = createSite();
  const { stdout, stderr } = await runNew(root, ['blog', 'We are hiring', '--category', 'team-news', '--new-category']);
  expect(stdout).toBe('content/blog/team-news/we-are-hiring.md\n');
  expect(stderr).toContain('content/blog/team-news/category.yaml');
  expect(readFileSync(join(root, 'content/blog/team-news/category.yaml'), 'utf8')).toBe('name: Team News\n');
  expect((await check(root)).status).toBe(0);
});

test('an author who is missing in authors.yaml is reported with the line to add', async () => {
  const root = createSite({ 'content/authors.yaml': 'Marit: {}\n' });
  const create = (title: string, name: string): Promise<CommandResult> =>
    runNew(root, ['blog', title, '--category', 'news'], name);
  const warned = 'is not in content/authors.yaml, so a pull request would fail';
  expect((await create('One', 'Aino Lehtinen')).stderr).toContain(
    `the author Aino Lehtinen ${warned}; add there: "Aino Lehtinen": {}\n`,
  );
  expect((await create('Two', 'Marti')).stderr).toContain(`the author Marti ${warned}; did you mean "Marit"?\n`);
  expect((await create('Three', 'Marit')).stderr).not.toContain(warned);
  writeFileSync(join(root, 'content/authors.yaml'), ': {');
  expect((await create('Four', 'Aino Lehtinen')).status).toBe(0);
});

test('an existing article is never overwritten', async () => {
  const root = createSite();
  const before = readFileSync(join(root, 'content/blog/news/first.md'), 'utf8');
  const { status, stdout, stderr } = await runNew(root, ['blog', 'First!', '--category', 'news']);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toBe(
    'content/blog/news/first.md exists already; choose another title, or another address with --slug\n',
  );
  expect(readFileSync(join(root, 'content/blog/news/first.md'), 'utf8')).toBe(before);
  expect((await runNew(root, ['blog', 'First!', '--category', 'news', '--slug', 'first-again'])).stdout).toBe(
    'content/blog/news/first-again.md\n',
  );
});

test.each(
  Object.entries({
    'blog A title --category nws':
      'there is no category "nws" in content/blog (did you mean "news"?); use one of news, or create the category with --new-category',
    'kb A title --category VPS':
      'there is no category "VPS" in content/knowledgebase (did you mean "vps"?); use one of dns, vps, or create the category with --new-category',
    'kb A title': '--category is missing; the categories in content/knowledgebase are dns, vps',
    'blog A title --new-category --category Our News':
      '--category must contain only lower-case letters, digits and hyphens (did you mean "our-news"?)',
    'blog A title --new-category --category ../x':
      '--category must contain only lower-case letters, digits and hyphens (did you mean "x"?)',
    'blgo A title --category news':
      '"blgo" is not a kind of article (did you mean "blog"?); use one of blog, knowledgebase, kb',
    'blog   --category news': 'the title must not be empty',
    'blog 日本 --category news': 'no address can be derived from this title; set the address with --slug',
    'blog A title --category news --slug A B':
      '--slug must contain only lower-case letters, digits and hyphens (did you mean "a-b"?)',
    'blog A title of nobody --category news':
      'the author is missing; use --author, or set your name once with: git config --global user.name "Your Name"',
  }),
)('new %s is refused, and writes nothing', async (line, message) => {
  const root = createSite();
  const before = readTree(root);
  // Names of options and their values, which may contain spaces.
  const args = line.split(/ (?=--)|(?<=^\w+|--\S+) /);
  const refused = await runNew(root, args, line.includes('nobody') ? '' : undefined);
  expect(refused).toEqual({ status: 1, stdout: '', stderr: `${message}\n` });
  expect(readTree(root)).toEqual(before);
});

test('the first article of a blog gets any cover, and is refused without any', async () => {
  const root = createProject({
    'content/blog/news/first.md': undefined,
    'content/blog/news/second.md': undefined,
    'content/blog/news/category.yaml': 'name: News\n',
  });
  const create = (title: string) => runNew(root, ['blog', title, '--category', 'news']);
  expect((await create('A title')).stderr).toContain('the cover is /media/covers/cover.svg for now');
  for (const file of ['blog/news/a-title.md', 'media/covers/cover.svg']) rmSync(join(root, 'content', file));
  expect((await create('A title')).stderr).toBe(
    'there is no cover picture yet; save a picture in content/media/covers first\n',
  );
});

test('a title needs no quotes, and the address from a long title ends with a whole word', async () => {
  const root = createSite();
  const create = async (...title: string[]) => (await runNew(root, ['blog', ...title, '--category', 'news'])).stdout;
  expect(await create('A', 'new  title')).toBe('content/blog/news/a-new-title.md\n');
  const long = await create('Many words '.repeat(30));
  expect(long).toMatch(/^content\/blog\/news\/many-words(?:-many-words)+(?:-many)?\.md\n$/);
  expect(long.length).toBeLessThan(110);
});
