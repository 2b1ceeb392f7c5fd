import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { temporaryFolder } from '../../helpers/project.ts';

const root = resolve(import.meta.dirname, '../../..');
const { jobs } = parse(readFileSync(join(root, '.github/workflows/content.yml'), 'utf8')) as {
  jobs: { check: { steps: { run?: string; env?: Record<string, string>; with?: Record<string, string> }[] } };
};
const { steps } = jobs.check;
const build = steps.find(({ env }) => env)!;

/** Runs the step that builds, as a runner does, with the value of the variable LIVE_URL. */
function runBuild(liveUrl: string): Promise<{ status: unknown; stdout: string; dist: string }> {
  expect(build.env).toEqual({ LIVE_URL: '${{ vars.LIVE_URL }}' });
  const dist = join(temporaryFolder(), 'dist');
  // npm runs the Node.js of package.json.
  const PATH = `${dirname(process.execPath)}:${process.env['PATH']}`;
  const env = { ...process.env, PATH, LIVE_URL: liveUrl, DIST_DIR: dist };
  return new Promise((done) => {
    execFile('bash', ['-eo', 'pipefail', '-c', build.run!], { cwd: root, env }, (error, stdout) =>
      done({ status: error?.code ?? 0, stdout, dist }),
    );
  });
}

test('the workflow finds no problems in the samples, and fills the file that it caches', async () => {
  const { status, stdout, dist } = await runBuild('');
  expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  expect(existsSync(join(dist, '.cache/renders.sqlite'))).toBe(true);
  const cached = steps.flatMap((step) => step.with?.['path'] ?? []);
  expect(cached).toEqual(['dist/.cache/renders.sqlite', 'dist/.cache/renders.sqlite']);
});

test('the workflow annotates a path that is live and would vanish, and fails', async () => {
  const lists: Record<string, unknown> = {
    '/v1/blog/list': [{ path: '/blog/company-news/gone', title: 'Gone' }],
    '/v1/kb/list': [],
    '/v1/redirects.json': {},
  };
  const server = createServer((request, response) => response.end(JSON.stringify(lists[request.url!])));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  const { status, stdout } = await runBuild(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect(status).toBe(1);
  expect(stdout).toMatch(
    /^::error file=content\/removed\.yaml,line=1,col=1::\/blog\/company-news\/gone is online, and/,
  );
});
