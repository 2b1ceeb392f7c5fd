import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { article, buildProject, createProject, guide, siteUrls } from '../helpers/project.ts';
import type { Files } from '../helpers/project.ts';
import { readReleased, runIn } from './releases.ts';

interface Item {
  readonly title: string;
  readonly path: string;
  readonly category: string;
}

const file = 'content/blog/news/later.md';

function pathsIn(root: string, list = 'public/v1/blog/list.json'): string[] {
  return (JSON.parse(readReleased(root, list)) as Item[]).map(({ path }) => path);
}

const valid = ['/blog/news/second', '/blog/news/first'];

describe('a scheduled article', () => {
  test('is left out until the day of --now', async () => {
    const root = createProject({
      [file]: article({ date: '2026-11-21', draft: 'false' }, 'Text.\n'),
      'content/blog/news/draft.md': article({ draft: 'true' }, 'Text.\n'),
    });
    const before = await runIn(root, 'build', '--now', '2026-11-20', '--no-cache');
    expect(before.stderr).toMatch(
      /^release \w+ in dist: 4 articles, 1 draft, 1 scheduled \(next 2026-11-21\), 0 warnings, /,
    );
    expect(pathsIn(root)).toEqual(valid);
    const written = ['.cache', 'current/public/v1/blog/article/news/later.json'];
    expect(written.filter((path) => existsSync(join(root, 'dist', path)))).toEqual([]);
    const after = await runIn(root, 'build', '--now', '2026-11-21');
    expect(after.stderr).toMatch(/^release \w+ in dist: 5 articles, 1 draft, 0 warnings, /);
    expect(pathsIn(root)).toEqual(['/blog/news/later', ...valid]);
  });

  test('that goes offline because the clock is behind: the clock is named first', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-11-22T12:00:00Z') });
    onTestFinished(() => void vi.useRealTimers());
    const root = createProject({ [file]: article({ date: '2026-11-22' }, 'Text.\n') });
    expect((await runIn(root, 'build')).stderr).not.toContain('clock');
    vi.setSystemTime('2026-11-20T12:00:00Z');
    const seen = 'the clock says 2026-11-20, but the release in dist became current at 2026-11-22T12:00:00.000Z';
    const warning = `warning: ${seen}: set the clock, because articles dated after 2026-11-20 go offline`;
    for (const command of ['check', 'build']) {
      const [first, second] = (await runIn(root, command)).stderr.split('\n');
      expect([first, second]).toEqual([warning, expect.stringContaining('is not published before 2026-11-22')]);
    }
    expect((await runIn(root, 'check', '--now', '2026-11-20')).stderr).not.toContain('clock');
  });

  test('is due by the UTC day, in any time zone', async () => {
    const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    onTestFinished(() => void vi.unstubAllEnvs());
    for (const [zone, offset] of [
      ['Pacific/Kiritimati', -840],
      ['Pacific/Pago_Pago', 660],
    ] as const) {
      vi.stubEnv('TZ', zone);
      expect(new Date().getTimezoneOffset()).toBe(offset);
      let today: string;
      let root: string;
      do {
        today = day(0);
        root = createProject({
          'content/blog/news/due.md': article({ date: today }, 'Text.\n'),
          [file]: article({ date: day(1) }, 'Text.\n'),
        });
        await runIn(root, 'build');
      } while (today !== day(0));
      expect(pathsIn(root), zone).toEqual(['/blog/news/due', ...valid]);
    }
  });

  test('sets nextChangeAt of the release to the earliest day', async () => {
    const root = createProject({
      [file]: article({ date: '2027-03-01' }, 'Text.\n'),
      'content/blog/news/sooner.md': article({ date: '2027-02-01' }, 'Text.\n'),
      'content/blog/news/draft.md': article({ date: '2027-01-01', draft: 'true' }, 'Text.\n'),
    });
    expect((await buildProject(root)).release!.nextChangeAt).toBe('2027-02-01');
    expect((await buildProject(root, { now: '2027-02-01' })).release!.nextChangeAt).toBe('2027-03-01');
    expect((await buildProject(root, { now: '2027-03-01' })).release!.nextChangeAt).toBeNull();
  });
});

test('a day of the last change in the future is a warning, and left out until then', async () => {
  const root = createProject({
    'content/blog/news/first.md': article({ updated: '2027-02-01' }, '## Details\n'),
    'content/blog/news/second.md': article({ updated: '2026-11-20' }, 'Text.\n'),
    'content/blog/news/draft.md': article({ updated: '2026-12-01', draft: 'true' }, 'Text.\n'),
    [file]: article({ date: '2027-03-01', updated: '2027-03-01' }, 'Text.\n'),
  });
  const daysOn = async (now: string) => {
    const { diagnostics, nextChangeAt } = await buildProject(root, { now, urls: siteUrls });
    const index = JSON.parse(readReleased(root, 'public/v1/blog/index/news.json')) as { updated: string | null }[];
    const dates = ['sitemap.xml', 'blog/feed.xml'].map((name) => {
      return /2027-02-01/.test(readReleased(root, `public/v1/${name}`));
    });
    const warnings = diagnostics.map(({ line, column, message }) => `${line}:${column} ${message}`);
    return { warnings, nextChangeAt, dates, updated: index.map(({ updated }) => updated) };
  };
  expect(await daysOn('2026-11-20')).toEqual({
    warnings: ['7:10 "updated" is after today, 2026-11-20, and is left out until that day'],
    nextChangeAt: '2027-02-01',
    dates: [false, false],
    updated: [null, '2026-11-20'],
  });
  expect(await daysOn('2027-02-01')).toEqual({
    warnings: [],
    nextChangeAt: '2027-03-01',
    dates: [true, true],
    updated: ['2027-02-01', '2026-11-20'],
  });
});

describe('lists', () => {
  test('of the blog are sorted by date, newest first, then by path', async () => {
    const names = ['b/x', 'a/y', 'a/b', 'news/a-b', 'news/a'];
    const files = names.map((name) => [`content/blog/${name}.md`, article({ date: '2026-03-04' }, 'Text.\n')]);
    const root = createProject(Object.fromEntries(files) as Files);
    await buildProject(root);
    expect(pathsIn(root)).toEqual([
      '/blog/a/b',
      '/blog/a/y',
      '/blog/b/x',
      '/blog/news/a',
      '/blog/news/a-b',
      '/blog/news/second',
      '/blog/news/first',
    ]);
  });

  test('of the knowledge base are sorted by title as readers expect, then by path', async () => {
    const titles = { a: 'Ärger', b: 'Zebra', c: 'apple', d: 'nginx', e: 'Zebra', f: '10 tips', g: '9 tips' };
    const files = Object.entries(titles).map(([slug, title]) => [
      `content/knowledgebase/vps/${slug}.md`,
      guide(JSON.stringify(title), 'Text.\n'),
    ]);
    const root = createProject(Object.fromEntries(files) as Files);
    await buildProject(root);
    expect(
      (JSON.parse(readReleased(root, 'public/v1/kb/list/vps.json')) as Item[]).map(
        ({ title, path }) => `${title} ${path.at(-1)}`,
      ),
    ).toEqual(['9 tips g', '10 tips f', 'apple c', 'Ärger a', 'Connect with SSH h', 'nginx d', 'Zebra b', 'Zebra e']);
    expect(pathsIn(root, 'public/v1/kb/list/dns.json')).toEqual(['/knowledgebase/dns/records']);
    expect(pathsIn(root, 'public/v1/kb/list.json')).toHaveLength(9);
  });

  test('of plans are sorted by order, then by key', async () => {
    const game = (order?: number) =>
      `name: A\nsoldOut: false\nsoldOutMessage: ""\nplans: []\n${order === undefined ? '' : `order: ${order}\n`}`;
    const root = createProject({
      'catalog/games/zomboid.yaml': game(1),
      'catalog/games/ark.yaml': game(10),
      'catalog/games/rust.yaml': game(2),
      'catalog/games/csgo.yaml': game(2),
      'catalog/games/7-days.yaml': game(-1),
      'catalog/games/a.yaml': game(),
    });
    await buildProject(root);
    const { games } = JSON.parse(readReleased(root, 'public/v1/plans.json')) as { games: Record<string, object> };
    expect(Object.keys(games)).toEqual(['7-days', 'zomboid', 'csgo', 'rust', 'ark', 'a', 'minecraft']);
    expect(Object.keys(games['7-days']!)).toEqual(['name', 'soldOut', 'soldOutMessage', 'plans']);
  });
});

test.each<[string, Files, string]>([
  [
    'is the name in category.yaml',
    { 'content/blog/more-news/category.yaml': 'name: Hot off the press\n' },
    'Hot off the press',
  ],
  [
    'is otherwise the category of its articles',
    { 'content/blog/more-news/b.md': article({ category: 'News & more' }, 'Text.\n') },
    'News & more',
  ],
  ['is otherwise its folder in title case', {}, 'More News'],
])('the name of a category %s', async (_, files, name) => {
  const root = createProject({ 'content/blog/more-news/a.md': article({}, 'Text.\n'), ...files });
  await buildProject(root);
  const items = (JSON.parse(readReleased(root, 'public/v1/blog/list.json')) as Item[]).filter(({ path }) =>
    path.startsWith('/blog/more-news/'),
  );
  expect(new Set(items.map(({ category }) => category))).toEqual(new Set([name]));
});
