import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { buildProject, createProject, temporaryFolder, validProject, writeFiles } from '../helpers/project.ts';
import type { CommandResult } from '../helpers/project.ts';
import { problemsOf } from './problems.ts';
import { runIn } from './run-command.ts';

const addPlan = 'add a plan to services/<key>.yaml or games/<key>.yaml';
const noPlans = `the catalog contains no plans (${addPlan})`;
const soldNothing = 'name: Web hosting\nsoldOut: false\nsoldOutMessage: ""\nplans: []\n';

/** Makes the catalog of a project empty in one of the ways that editors and failed mounts do. */
const emptyCatalogs: readonly (readonly [string, (root: string) => void])[] = [
  ['is an empty folder', (root) => void replaceCatalog(root)],
  ['has empty folders of plans', (root) => replaceCatalog(root, ['services', 'games'])],
  ['has no folders of plans', (root) => writeFiles(replaceCatalog(root), { 'domains.yaml': 'tlds: {}\n' })],
  ['has only a README', (root) => writeFiles(replaceCatalog(root), { 'README.md': 'Plans.\n' })],
  [
    'has only services and games without plans',
    (root) => writeFiles(replaceCatalog(root), { 'services/web.yaml': soldNothing, 'games/rust.yaml': soldNothing }),
  ],
];

function replaceCatalog(root: string, folders: readonly string[] = []): string {
  const catalog = join(root, 'catalog');
  rmSync(catalog, { recursive: true });
  for (const folder of ['', ...folders]) mkdirSync(join(catalog, folder));
  return catalog;
}

/** The errors of a check. What vanishes with a list is warned of too. */
async function errorsOf(...args: Parameters<typeof problemsOf>): Promise<string[]> {
  return (await problemsOf(...args)).filter((problem) => !problem.includes('  warning: '));
}

/** Builds a project; returns its errors and whether there is a release. */
async function buildErrors(root: string, options: Parameters<typeof buildProject>[1] = {}) {
  const { diagnostics, release } = await buildProject(root, options);
  const errors = diagnostics.filter(({ severity }) => severity === 'error').map(({ message }) => message);
  return { errors, isBuilt: release !== undefined };
}

const runOn = (root: string, command: string, ...args: string[]): Promise<CommandResult> =>
  runIn(root, command, '--now', '2026-11-20', ...args);

describe('a catalog is refused, also with --allow-empty, if it', () => {
  test.each(emptyCatalogs)('%s', async (_, empty) => {
    const root = createProject();
    empty(root);
    expect(await errorsOf(root)).toEqual([`catalog:1:1  ${noPlans}`]);
    expect(await errorsOf(root, { allowEmpty: true })).toEqual([`catalog:1:1  ${noPlans}`]);
  });

  test('does not exist', async () => {
    const root = createProject();
    rmSync(join(root, 'catalog'), { recursive: true });
    expect(await errorsOf(root, { allowEmpty: true })).toEqual([
      'catalog:1:1  the folder does not exist (name another with --content or --catalog)',
    ]);
  });
});

test.each(['build', 'check'])('%s refuses an empty catalog, and the release stays as it was', async (command) => {
  const root = createProject();
  const before = await buildProject(root);
  for (const folder of ['services', 'games']) rmSync(join(root, 'catalog', folder), { recursive: true });
  const { status, stderr } = await runOn(root, command);
  expect(stderr).toMatch(/^catalog:1:1 {2}the catalog contains no plans \(add [^\n]*\)\nfailed: 4 articles, /);
  expect(status).toBe(1);
  const listed = await runIn(root, 'releases', 'list', '--json');
  expect(JSON.parse(listed.stdout)).toMatchObject([{ id: before.release!.id, current: true }]);
});

test('one service without plans is allowed beside others', async () => {
  expect(await errorsOf(createProject({ 'catalog/services/old.yaml': soldNothing }))).toEqual([]);
});

test('a catalog whose only plan is broken gets no second problem', async () => {
  const root = createProject({ 'catalog/games/minecraft.yaml': undefined, 'catalog/services/web.yaml': 'x: 1\n' });
  expect((await errorsOf(root)).filter((problem) => problem.startsWith('catalog:'))).toEqual([]);
});

/** A change that empties a list that is online. */
const emptied: readonly (readonly [string, string, readonly string[]])[] = [
  ['content/blog', '2 blog articles are', ['content/blog']],
  ['content/knowledgebase', '2 knowledge base articles are', ['content/knowledgebase']],
  ['catalog/domains.yaml', '1 TLD is', ['catalog/domains.yaml']],
  ['catalog/status.yaml', '1 monitor is', ['catalog/status.yaml']],
  ['catalog/services', '1 service is', ['catalog/services']],
  ['catalog/games', '1 game is', ['catalog/games']],
];

describe('a list that is online is emptied only with --allow-empty:', () => {
  test.each(emptied)('%s', async (place, count, removed) => {
    const root = createProject({
      'content/knowledgebase/dns/records.md': validProject['content/knowledgebase/vps/ssh.md'],
    });
    await buildProject(root);
    for (const path of removed) rmSync(join(root, path), { recursive: true });
    const problem = `${place}:1:1  ${count} online, and this build has none (--allow-empty builds it anyway)`;
    for (const checkOnly of [false, true]) {
      expect(await buildErrors(root, { checkOnly })).toEqual({
        errors: [`${count} online, and this build has none`],
        isBuilt: false,
      });
    }
    expect(await errorsOf(root)).toEqual([problem]);
    expect(await buildErrors(root, { allowEmpty: true })).toEqual({ errors: [], isBuilt: true });
    // The list is no longer online.
    expect(await errorsOf(root)).toEqual([]);
  });

  test('also if its articles became drafts, or are dated later', async () => {
    const root = createProject();
    await buildProject(root);
    const first = String(validProject['content/blog/news/first.md']);
    writeFiles(root, {
      'content/blog/news/first.md': first.replace('date: 2026-01-02', 'date: 2027-01-02'),
      'content/blog/news/second.md': first.replace('title: First', 'title: Second\ndraft: true'),
    });
    expect(await errorsOf(root)).toEqual([
      'content/blog:1:1  2 blog articles are online, and this build has none (--allow-empty builds it anyway)',
    ]);
  });

  test('not if it is empty because its sources are broken, which is said already', async () => {
    const root = createProject();
    await buildProject(root);
    rmSync(join(root, 'content/blog/news/second.md'));
    writeFiles(root, { 'content/blog/news/first.md': 'no front matter\n' });
    expect((await errorsOf(root)).join('\n')).not.toContain('--allow-empty');
  });

  test('not in a first build', async () => {
    const root = createProject();
    rmSync(join(root, 'content/blog'), { recursive: true });
    expect(await errorsOf(root)).toEqual([]);
  });

  test('also after a rollback, when the sources of the emptied release have not changed', async () => {
    const root = createProject();
    await buildProject(root, { noCache: false });
    rmSync(join(root, 'content/blog'), { recursive: true });
    await buildProject(root, { noCache: false, allowEmpty: true });
    expect((await runIn(root, 'releases', 'rollback')).status).toBe(0);
    expect(await buildErrors(root, { noCache: false })).toEqual({
      errors: ['2 blog articles are online, and this build has none'],
      isBuilt: false,
    });
    expect(await buildErrors(root, { noCache: false, allowEmpty: true })).toEqual({ errors: [], isBuilt: true });
  });

  test('as options of build and check, each with the folder of releases that --out names', async () => {
    const root = createProject();
    const out = join(temporaryFolder(), 'dist');
    expect((await runOn(root, 'build', '--out', out)).status).toBe(0);
    rmSync(join(root, 'content/blog'), { recursive: true });
    for (const command of ['check', 'build']) {
      const refused = await runOn(root, command, '--out', out);
      expect(refused.stderr).toMatch(/^content\/blog:1:1 {2}2 blog articles are online, .*\(--allow-empty /);
      expect(refused.status).toBe(1);
      expect((await runOn(root, command, '--out', out, '--allow-empty')).status).toBe(0);
    }
    expect((await runOn(root, 'check', '--help')).stdout).toContain('--allow-empty');
  });
});
