import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { article, buildProject, createProject, guide, writeFiles } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { runIn } from './run-command.ts';
import { readTree } from './tree.ts';

/** Files with problems of the catalog, of file names, of front matter, of YAML and of links. */
const broken: Files = {
  'catalog/games/7.yaml': 'name: Seven\nsoldOut: false\nsoldOutMessage: ""\nplans: []\n',
  'catalog/status.yaml': 'monitors: []\nmaintenance: soon\n',
  'content/blog/news/Bad Name.md': 'x',
  'content/blog/news/first.md': article({ title: '1', cover: undefined, date: 'soon' }, '## Details\n'),
  'content/blog/news/second.md': article({}, 'A [b](none.md) [c](#none).\n'),
  'content/knowledgebase/vps/ssh.md': guide('"', 'A [b](none.md).\n'),
};

const problems = [
  'catalog/games/7.yaml:1:1  the file name must contain at least one letter',
  'catalog/status.yaml:2:14  "maintenance" must be a list, not text',
  'content/blog/news/Bad Name.md:1:1  "Bad Name" must contain only lower-case letters, digits and hyphens (rename it to "bad-name.md")',
  'content/blog/news/first.md:2:1  missing field "cover"',
  'content/blog/news/first.md:2:8  "title" must be text, not a number (put it in quotes)',
  'content/blog/news/first.md:4:7  "date" must be a calendar date of the form YYYY-MM-DD',
  'content/blog/news/second.md:9:3  there is no article /blog/news/none',
  'content/blog/news/second.md:9:16  there is no heading or anchor #none in /blog/news/second',
  'content/knowledgebase/vps/ssh.md:2:8  this quote is not closed (add " at the end of the text)',
  'content/knowledgebase/vps/ssh.md:6:3  there is no article /knowledgebase/vps/none',
];

/** Builds the valid project, then breaks it. `knowledgebase/dns/records.md` has no link to the broken article. */
async function createBroken(): Promise<string> {
  const root = createProject({ 'content/knowledgebase/dns/records.md': guide('DNS records', 'Text.\n') });
  await buildProject(root);
  writeFiles(root, broken);
  return root;
}

function withoutDuration(text: string): string {
  return text.replace(/, \d+\.\d s\n$/, '\n');
}

describe('a build with problems in many files', () => {
  test('reports all of them in one run, ordered by file and line, and ends with status 1', async () => {
    const root = await createBroken();
    const { status, stdout, stderr } = await runIn(root, 'build');
    expect(status).toBe(1);
    expect(stdout).toBe('');
    expect(withoutDuration(stderr)).toBe(`${problems.join('\n')}\nfailed: 2 articles, 0 warnings, 10 errors\n`);
  });

  test('leaves every file of dist as it was', async () => {
    const root = await createBroken();
    const before = readTree(join(root, 'dist'));
    await runIn(root, 'build', '--no-cache');
    expect(readTree(join(root, 'dist'))).toEqual(before);
  });

  test('reports the same in every working directory, with paths relative to it', async () => {
    const root = await createBroken();
    const args = ['--content', join(root, 'content'), '--catalog', join(root, 'catalog')];
    const { stderr } = await runIn(join(root, 'dist'), 'check', ...args);
    expect(stderr.split('\n').slice(0, -2)).toEqual(problems.map((line) => `../${line}`));
  });

  test('prints only one JSON document to stdout with --format json', async () => {
    const root = await createBroken();
    const { status, stdout, stderr } = await runIn(root, 'check', '--format', 'json');
    expect(status).toBe(1);
    expect(stderr).toBe('');
    const { seconds, diagnostics, ...summary } = JSON.parse(stdout) as Record<string, unknown>;
    expect(seconds).toBeTypeOf('number');
    expect(summary).toEqual({
      ok: false,
      release: null,
      counts: {
        blogArticles: 1,
        knowledgeBaseArticles: 1,
        services: 1,
        games: 1,
        tlds: 1,
        monitors: 0,
        media: 2,
      },
      drafts: 0,
      scheduled: 0,
      nextChangeAt: null,
      widget: null,
      bytes: 0,
    });
    expect(diagnostics).toHaveLength(10);
    expect(diagnostics).toContainEqual({
      severity: 'error',
      file: 'content/blog/news/first.md',
      line: 2,
      column: 8,
      message: '"title" must be text, not a number',
      hint: 'put it in quotes',
    });
  });

  test('prints an annotation for each problem with --format github', async () => {
    const root = await createBroken();
    const { status, stdout } = await runIn(root, 'check', '--format', 'github');
    expect(status).toBe(1);
    expect(stdout.split('\n').slice(0, -1)).toEqual(
      problems.map((line) => line.replace(/^(.*?):(\d+):(\d+) {2}/, '::error file=$1,line=$2,col=$3::')),
    );
  });
});

describe('the text of a source file', () => {
  const hostile = {
    'content/blog/news/a.md': article({ '"\\u001b[31m\\u009b2J\\r\\n::error::x%0A\\u202e"': 'x' }, 'Text.\n'),
    'content/blog/news/se,c:o%nd.md': 'x',
  };
  const escaped = String.raw`\u001b[31m\u009b2J\u000d\u000a::error::x%0A\u202e`;

  test('never reaches a terminal as control characters', async () => {
    const { stderr } = await runIn(createProject(hostile), 'check');
    expect(stderr).toContain(`content/blog/news/a.md:7:1  unknown field "${escaped}" (the fields are `);
    expect(stderr.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202E]/u);
  });

  test('cannot end an annotation, begin another or change its file', async () => {
    const { stdout } = await runIn(createProject(hostile), 'check', '--format', 'github');
    const [first, second, ...others] = stdout.split('\n').slice(0, -1);
    expect(first).toMatch(/^::error file=content\/blog\/news\/a\.md,line=7,col=1::/);
    expect(first).toContain(escaped.replaceAll('%', '%25'));
    expect(second).toMatch(/^::error file=content\/blog\/news\/se%2Cc%3Ao%25nd\.md,line=1,col=1::"se,c:o%25nd" must/);
    expect(others).toEqual([]);
  });

  test('is escaped in JSON', async () => {
    const { stdout } = await runIn(createProject(hostile), 'check', '--format', 'json');
    expect(stdout).not.toContain('\u001B');
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: { message: string }[] };
    expect(diagnostics[0]!.message).toBe('unknown field "\u001B[31m\u009B2J\r\n::error::x%0A\u202E"');
  });
});

test('a title with control characters is accepted unchanged; clients must escape it', async () => {
  const root = createProject({
    'content/blog/news/first.md': article({ title: '"a\\u001b[31mb"' }, '## Details\n'),
  });
  expect((await buildProject(root)).diagnostics).toEqual([]);
});
