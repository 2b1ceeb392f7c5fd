import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { readCurrent } from '../../generator/release/history.ts';
import { article, buildProject, createProject, validProject, writeFiles } from '../helpers/project.ts';
import { createReleases as createDatedReleases, flipBit, readReleased, readTree, refusal, runIn } from './releases.ts';

/** Creates a project with old releases, each with its number in an article. IDs are latest first. */
async function createReleases(count: number): Promise<{ root: string; ids: string[] }> {
  const { root, ids } = await createDatedReleases(count);
  return { root, ids: ids.toReversed() };
}

const releases = (root: string, ...args: string[]) => runIn(root, 'releases', ...args);

const out = (...lines: string[]) => ({ status: 0, stdout: lines.map((line) => `${line}\n`).join(''), stderr: '' });

describe('releases list', () => {
  test('lists the latest release first, and marks the current release', async () => {
    const { root, ids } = await createReleases(2);
    const kilobytes = ids.map((id) => {
      const { files } = JSON.parse(readFileSync(join(root, 'dist/releases', id, 'manifest.json'), 'utf8')) as {
        files: Record<string, { bytes: number }>;
      };
      return (Object.values(files).reduce((sum, { bytes }) => sum + bytes, 0) / 1000).toFixed(0);
    });
    expect(await releases(root, 'list')).toEqual(
      out(
        `* ${ids[0]}  2025-01-01T00:10:00.000Z  4 articles  ${kilobytes[0]} kB`,
        `  ${ids[1]}  2025-01-01T00:00:00.000Z  4 articles  ${kilobytes[1]} kB`,
      ),
    );
  });

  test('prints a JSON array with --json', async () => {
    const { root, ids } = await createReleases(2);
    const { status, stdout } = await releases(root, 'list', '--json');
    expect(status).toBe(0);
    const entry = { articles: 4, bytes: expect.any(Number) as number };
    expect(JSON.parse(stdout)).toEqual([
      { id: ids[0], madeCurrentAt: '2025-01-01T00:10:00.000Z', current: true, ...entry },
      { id: ids[1], madeCurrentAt: '2025-01-01T00:00:00.000Z', current: false, ...entry },
    ]);
  });

  test('prints nothing without releases', async () => {
    const root = createProject();
    expect(await releases(root, 'list')).toEqual(out());
    expect(await releases(root, 'list', '--json')).toEqual(out('[]'));
  });

  test('skips folders that are not releases', async () => {
    const { root, ids } = await createReleases(1);
    mkdirSync(join(root, 'dist/releases/lost+found'));
    mkdirSync(join(root, 'dist/releases/.stage-other-1-00000000'));
    mkdirSync(join(root, 'dist/releases/half'));
    writeFileSync(join(root, 'dist/releases/half/manifest.json'), '{"id":');
    const listed = JSON.parse((await releases(root, 'list', '--json')).stdout) as { id: string }[];
    expect(listed.map(({ id }) => id)).toEqual(ids);
  });

  test('reads the folder of --out or DIST_DIR', async () => {
    const { root, ids } = await createReleases(1);
    const elsewhere = createProject();
    const byFlag = await releases(elsewhere, 'list', '--out', join(root, 'dist'));
    vi.stubEnv('DIST_DIR', join(root, 'dist'));
    const byEnv = await releases(elsewhere, 'list').finally(() => vi.unstubAllEnvs());
    expect(byFlag.stdout).toContain(ids[0]);
    expect(byEnv.stdout).toBe(byFlag.stdout);
  });
});

describe('releases rollback', () => {
  test('goes to a release by ID or unique prefix, backwards or forwards', async () => {
    const { root, ids } = await createReleases(3);
    const before = readTree(join(root, 'dist/releases'));
    expect(await releases(root, 'rollback', ids[2]!)).toEqual(out(`release ${ids[2]} is current`));
    expect(await releases(root, 'rollback', ids[0]!.slice(0, 8))).toEqual(out(`release ${ids[0]} is current`));
    expect(readReleased(root, 'public/v1/blog/article/news/second.json')).toContain('Number 3.');
    expect(readTree(join(root, 'dist/releases'))).toEqual(before);
  });

  test('refuses an ambiguous prefix', async () => {
    const { root, ids } = await createReleases(1);
    const other = `${ids[0]!.slice(0, 15)}${ids[0]!.endsWith('0') ? '1' : '0'}`;
    mkdirSync(join(root, 'dist/releases', other));
    const manifest = readReleased(root, 'manifest.json');
    writeFileSync(join(root, 'dist/releases', other, 'manifest.json'), manifest);
    const prefix = ids[0]!.slice(0, 15);
    expect(await releases(root, 'rollback', prefix)).toEqual(refusal(`${prefix} matches 2 releases`));
  });

  test.each(['0000000000000000', '..', 'current'])('refuses %s, which is not a release', async (id) => {
    const { root, ids } = await createReleases(1);
    expect(await releases(root, 'rollback', id)).toEqual(refusal(`there is no release ${id}`));
    expect(await readCurrent(join(root, 'dist'))).toBe(ids[0]);
  });

  test.each<[string, string, (file: string) => void, string | RegExp]>([
    ['a file is damaged', 'public/v1/plans.json', flipBit, 'public/v1/plans.json has been changed'],
    [
      'its manifest is for other files',
      'manifest.json',
      (file) =>
        writeFileSync(file, readFileSync(file, 'utf8').replace('"nextChangeAt":null', '"nextChangeAt":"2030-01-01"')),
      'manifest.json has been changed',
    ],
    ['a file is missing', 'public/media/kb/map.svg', (file) => rmSync(file), /public\/media\/kb\/map\.svg/],
  ])('refuses a release if %s', async (_, file, damage, reason) => {
    const { root, ids } = await createReleases(2);
    damage(join(root, 'dist/releases', ids[1]!, file));
    for (const args of [[], [ids[1]!]]) {
      const { status, stdout, stderr } = await releases(root, 'rollback', ...args);
      expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
      const [, found] = new RegExp(`^release ${ids[1]} is broken: (.*)\n$`).exec(stderr)!;
      if (typeof reason === 'string') expect(found).toBe(reason);
      else expect(found).toMatch(reason);
    }
    expect(await readCurrent(join(root, 'dist'))).toBe(ids[0]);
  });

  test('is refused without releases', async () => {
    expect(await releases(createProject(), 'rollback')).toEqual(refusal('there is no earlier release to roll back to'));
  });
});

describe('releases diff', () => {
  test('lists added, removed and changed files, without their compressed forms', async () => {
    const { root, ids } = await createReleases(1);
    writeFiles(root, {
      'content/blog/news/third.md': article({}, 'Text.\n'),
      'content/media/kb/new.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>\n',
      'content/blog/news/second.md': article({}, 'Other.\n'),
    });
    rmSync(join(root, 'content/knowledgebase/dns/records.md'));
    const { release } = await buildProject(root);
    const addedAndRemoved = [
      '+ public/media/kb/new.svg',
      '+ public/v1/blog/article/news/third.json',
      '- public/v1/kb/article/dns/records.json',
      '- public/v1/kb/index/dns.json',
      '- public/v1/kb/list/dns.json',
    ];
    const changed = [
      // The reference shows articles as examples.
      '~ public/docs/api/blog.html',
      '~ public/docs/api/knowledge-base.html',
      '~ public/v1/blog/article/news/second.json',
      '~ public/v1/blog/authors.json',
      '~ public/v1/blog/categories.json',
      '~ public/v1/blog/index/news.json',
      '~ public/v1/blog/list.json',
      '~ public/v1/content.json',
      '~ public/v1/kb/categories.json',
      '~ public/v1/kb/list.json',
      '~ public/v1/kb/search.json',
      '~ public/v1/openapi.json',
    ];
    expect(await releases(root, 'diff', ids[0]!, release!.id)).toEqual(out(...addedAndRemoved, ...changed));
    expect(await releases(root, 'diff', release!.id.slice(0, 10), ids[0]!.slice(0, 10))).toEqual(
      out(
        ...addedAndRemoved.filter((line) => line.startsWith('-')).map((line) => line.replace('-', '+')),
        ...addedAndRemoved.filter((line) => line.startsWith('+')).map((line) => line.replace('+', '-')),
        ...changed,
      ),
    );
    expect(await releases(root, 'diff', ids[0]!, ids[0]!)).toEqual(out());
  });

  test('with --urls lists the URLs to purge, in every spelling and with former paths', async () => {
    const { root, ids } = await createReleases(1);
    writeFiles(root, {
      'content/media/kb/new.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>\n',
      'content/blog/news/second.md': article({ aliases: '[/blog/news/old]' }, 'Other.\n'),
      'catalog/domains.yaml': String(validProject['catalog/domains.yaml']).replace('9.5', '9.75'),
    });
    rmSync(join(root, 'content/knowledgebase/dns/records.md'));
    const { release } = await buildProject(root);
    const urls = [
      // The reference shows articles as examples.
      '/docs/api/knowledge-base.html',
      '/docs/api/website.html',
      '/media/kb%2Fnew.svg',
      '/media/kb/new.svg',
      '/v1/blog/article?path=%2Fblog%2Fnews%2Fold',
      '/v1/blog/article?path=%2Fblog%2Fnews%2Fold%2F',
      '/v1/blog/article?path=%2Fblog%2Fnews%2Fsecond',
      '/v1/blog/article?path=%2Fblog%2Fnews%2Fsecond%2F',
      '/v1/blog/article?path=/blog/news/old',
      '/v1/blog/article?path=/blog/news/old/',
      '/v1/blog/article?path=/blog/news/second',
      '/v1/blog/article?path=/blog/news/second/',
      '/v1/content.json',
      '/v1/domains/tlds',
      '/v1/kb/article?path=%2Fknowledgebase%2Fdns%2Frecords',
      '/v1/kb/article?path=%2Fknowledgebase%2Fdns%2Frecords%2F',
      '/v1/kb/article?path=/knowledgebase/dns/records',
      '/v1/kb/article?path=/knowledgebase/dns/records/',
      '/v1/kb/categories',
      '/v1/kb/index?category=dns',
      '/v1/kb/list',
      '/v1/kb/list?category=dns',
      '/v1/kb/search.json',
      '/v1/openapi.json',
      '/v1/redirects.json',
    ];
    expect(await releases(root, 'diff', ids[0]!, release!.id, '--urls')).toEqual(out(...urls));
    expect(await releases(root, 'diff', release!.id, ids[0]!, '--urls')).toEqual(out(...urls));
    expect(await releases(root, 'diff', ids[0]!, ids[0]!, '--urls')).toEqual(out());

    // A changed article changes the answer at its former path, too.
    writeFiles(root, { 'content/blog/news/second.md': article({ aliases: '[/blog/news/old]' }, 'Again.\n') });
    const again = (await buildProject(root)).release!.id;
    const { stdout } = await releases(root, 'diff', release!.id, again, '--urls');
    expect(stdout.split('\n')).toContain('/v1/blog/article?path=/blog/news/old');
  });

  test('refuses a release that does not exist', async () => {
    const { root, ids } = await createReleases(1);
    expect(await releases(root, 'diff', ids[0]!, 'zzz', '--urls')).toEqual(refusal('there is no release zzz'));
    expect(await releases(root, 'diff', ids[0]!, 'zzz')).toEqual(refusal('there is no release zzz'));
  });
});

describe('releases prune', () => {
  test('keeps the latest releases, and prints the removed ones', async () => {
    const { root, ids } = await createReleases(4);
    expect(await releases(root, 'prune', '--keep', '2')).toEqual(out(`removed ${ids[2]}`, `removed ${ids[3]}`));
    expect(readdirSync(join(root, 'dist/releases')).toSorted()).toEqual([ids[0]!, ids[1]!].toSorted());
    expect(await releases(root, 'prune', '--keep', '2')).toEqual(out());
  });

  test.each(['0', '-1', '1.5', 'all'])('refuses to keep "%s"', async (keep) => {
    const { root } = await createReleases(1);
    const refused = refusal('--keep must be a whole number, at least 1');
    expect(await releases(root, 'prune', `--keep=${keep}`)).toEqual(refused);
  });
});
