import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { createProject, runProgram, temporaryFolder, writeFiles } from '../../helpers/project.ts';
import { serve } from '../../helpers/upstream.ts';

const root = resolve(import.meta.dirname, '../../..');

interface Workflow {
  readonly on: Record<string, unknown>;
  readonly permissions: unknown;
  readonly concurrency: { readonly group: string; readonly 'cancel-in-progress': boolean };
  readonly jobs: Record<string, { readonly 'timeout-minutes': number; readonly steps: readonly Step[] }>;
}
interface Step {
  readonly name?: string;
  readonly if?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly env?: Record<string, string>;
  readonly with?: Record<string, unknown>;
}

const read = (file: string) => parse(readFileSync(join(root, file), 'utf8')) as Workflow;
const { steps } = read('.github/workflows/content.yml').jobs['check']!;
const build = steps.find(({ env }) => env)!;

test.each(globSync(['.github/workflows/*.yml', 'examples/content/check.yml'], { cwd: root }))(
  '%s may only read, ends, keeps no credential, and puts nothing of a request into a command',
  (name) => {
    const { permissions, concurrency, jobs } = read(name);
    expect(permissions).toEqual({ contents: 'read' });
    expect(concurrency).toMatchObject({ group: expect.stringContaining('github.ref'), 'cancel-in-progress': true });
    for (const job of Object.values(jobs)) {
      expect(job['timeout-minutes']).toBeLessThanOrEqual(40);
      for (const { uses, run, with: options } of job.steps) {
        if (uses?.startsWith('actions/checkout@')) expect(options).toMatchObject({ 'persist-credentials': false });
        expect(run ?? '').not.toContain('${{');
      }
    }
  },
);

test.each(globSync(['.github/workflows/*.yml', 'examples/*/*.yml'], { cwd: root }))(
  '%s names each action by its commit, with the version in a comment',
  (name) => {
    const lines = readFileSync(join(root, name), 'utf8').match(/\buses: .*/g) ?? [];
    expect(lines.filter((line) => !/^uses: [\w-]+\/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  },
);

test('.ci/run tests each change, and runs all tests at night', () => {
  const { on, jobs } = read('.github/workflows/test.yml');
  expect(on).toMatchObject({
    pull_request: null,
    push: { branches: ['main'] },
    schedule: [{ cron: expect.any(String) }],
  });
  const runs = jobs['test']!.steps.filter(({ run }) => run).map((step) => [
    step.if,
    step.run!.replace(/^.* (?=\.ci)/, ''),
  ]);
  expect(runs).toEqual([
    ["github.event_name != 'schedule'", '.ci/run'],
    ["github.event_name == 'schedule'", '.ci/run --all'],
  ]);
});

describe('of the nightly tests', () => {
  const table =
    '| `nightly/a.test.ts` | what it tests | `server/`, `docs/a.md` |\n| `nightly/b.test.ts` | more | `generator/` |\n';
  const [a, b] = ['test/nightly/a.test.ts', 'test/nightly/b.test.ts'];

  /** A repository with one commit. */
  function createRepository() {
    const cwd = temporaryFolder();
    const git = (...args: string[]): void => {
      const author = ['-c', 'user.name=Marit', '-c', 'user.email=marit@example.com', '-c', 'commit.gpgsign=false'];
      execFileSync('git', [...author, ...args], { cwd, stdio: 'pipe' });
    };
    const commit = (...files: string[]): void => {
      writeFiles(cwd, Object.fromEntries(files.map((file) => [file, `${file} ${Math.random()}`])));
      git('add', '--all');
      git('commit', '-q', '-m', 'A change');
    };
    git('init', '-q', '-b', 'main');
    writeFiles(cwd, { 'test/README.md': table });
    commit('server/start.ts');
    const choose = (...args: string[]): string[] =>
      execFileSync(process.execPath, [join(root, '.ci/nightly.ts'), ...args], { cwd, encoding: 'utf8', stdio: 'pipe' })
        .split('\n')
        .filter(Boolean);
    return { cwd, git, commit, choose };
  }

  test('the tests affected by a branch, the last commit or an uncommitted file run', () => {
    const { cwd, git, commit, choose } = createRepository();
    expect(choose()).toEqual([a, b]);
    commit('README.md');
    expect(choose()).toEqual([]);
    git('update-ref', 'refs/remotes/origin/main', 'HEAD');
    commit('generator/build.ts');
    commit('README.md');
    expect(choose()).toEqual([b]);
    writeFiles(cwd, { 'server/new.ts': '' });
    expect(choose()).toEqual([a, b]);
    git('clean', '-fdq');
    // On main.
    git('update-ref', 'refs/remotes/origin/main', 'HEAD');
    expect(choose()).toEqual([]);
    expect(choose('--all')).toEqual([a, b]);
    commit('docs/a.md');
    git('update-ref', 'refs/remotes/origin/main', 'HEAD');
    expect(choose()).toEqual([a]);
  });

  test.each([
    ['test/nightly/b.test.ts', [b]],
    ['test/nightly/b/machine.ts', [b]],
    ['test/helpers/project.ts', [a, b]],
    ['package-lock.json', [a, b]],
  ])('the tests that use %s run', (file, expected) => {
    const { commit, choose } = createRepository();
    commit(file);
    expect(choose()).toEqual(expected);
  });

  test('the table is complete, with existing paths', () => {
    const rows = [
      ...readFileSync(join(root, 'test/README.md'), 'utf8').matchAll(/^\| `(nightly\/\S+)` .*\| ([^|]+) \|$/gm),
    ];
    expect(rows.map(([, file]) => file!).toSorted()).toEqual(
      globSync('nightly/*.test.ts', { cwd: join(root, 'test') }).toSorted(),
    );
    const paths = rows.flatMap(([, , list]) => [...list!.matchAll(/`([^`]+)`/g)].map(([, path]) => path!));
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

/** Runs a workflow step in a repository, like a runner. */
function runStep({ run }: Step, cwd: string, env: Record<string, string> = {}) {
  // npm uses the Node.js from package.json.
  const PATH = `${dirname(process.execPath)}:${process.env['PATH']}`;
  return runProgram('bash', ['-eo', 'pipefail', '-c', run!], { cwd, env: { ...process.env, PATH, ...env } });
}

/** Runs the build step with a value of the variable LIVE_URL. */
async function runBuild(liveUrl: string) {
  expect(build.env).toEqual({ LIVE_URL: '${{ vars.LIVE_URL }}' });
  const dist = join(temporaryFolder(), 'dist');
  return { ...(await runStep(build, root, { LIVE_URL: liveUrl, DIST_DIR: dist })), dist };
}

test('the workflow finds no problems in the samples, and fills the cached file', async () => {
  const { status, stdout, dist } = await runBuild('');
  expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  expect(existsSync(join(dist, '.cache/renders.sqlite'))).toBe(true);
  const cached = steps.flatMap((step) => step.with?.['path'] ?? []);
  expect(cached).toEqual(['dist/.cache/renders.sqlite', 'dist/.cache/renders.sqlite']);
});

test('the workflow of a content-only repository annotates files by their path in that repository', async () => {
  const own = read('examples/content/check.yml').jobs['check']!.steps.at(-1)!;
  const broken = { 'content/knowledgebase/vps/broken.md': 'No front matter.\n' };
  const cwd = createProject(broken);
  symlinkSync(root, join(cwd, '.hosting-api'));
  const { status, stdout } = await runStep(own, cwd);
  expect(status).toBe(1);
  expect(stdout).toMatch(/^::error file=content\/knowledgebase\/vps\/broken\.md,line=1,col=1::/);
});

test('the workflow of a content-only repository renders a preview of a pull request, also after errors', async () => {
  const preview = read('examples/content/check.yml').jobs['check']!.steps.find(
    ({ name }) => name === 'Render a preview',
  )!;
  const cwd = createProject({ 'content/knowledgebase/vps/broken.md': 'No front matter.\n' });
  symlinkSync(root, join(cwd, '.hosting-api'));
  expect(await runStep(preview, cwd)).toMatchObject({ status: 1 });
  expect(existsSync(join(cwd, 'preview/knowledgebase/vps/ssh.html'))).toBe(true);
});

test('the workflow with the right to comment uses nothing of a pull request', () => {
  const { on, permissions, jobs } = read('examples/content/preview-comment.yml');
  expect(Object.keys(on)).toEqual(['workflow_run']);
  expect(permissions).toEqual({ 'pull-requests': 'write' });
  const { steps: own } = jobs['comment']!;
  expect(own.filter(({ uses }) => uses !== undefined)).toEqual([]);
  expect(own.map(({ run }) => run).join('')).not.toContain('${{');
});

test('the workflow annotates a live path that would disappear, and fails', async () => {
  const lists: Record<string, unknown> = {
    '/v1/blog/list': [{ path: '/blog/company-news/gone', title: 'Gone' }],
    '/v1/kb/list': [],
    '/v1/redirects.json': {},
  };
  const url = await serve((request, response) => void response.end(JSON.stringify(lists[request.url!])));
  const { status, stdout } = await runBuild(url);
  expect(status).toBe(1);
  expect(stdout).toMatch(
    /^::error file=content\/removed\.yaml,line=1,col=1::\/blog\/company-news\/gone is online but missing/,
  );
});
