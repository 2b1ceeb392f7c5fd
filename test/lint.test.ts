import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };

// `npm run lint` as tests, so that it runs with the other tests and not before them.

const repository = resolve(import.meta.dirname, '..');
const env = { ...process.env, PATH: `${resolve(repository, 'node_modules/.bin')}:${process.env.PATH}` };

test.each(manifest.scripts.lint.split(' && '))('%s', { timeout: 600_000 }, async (command) => {
  const problems = await new Promise((done) => {
    execFile('sh', ['-c', command], { cwd: repository, env }, (error, stdout, stderr) =>
      done(error ? `${stdout}${stderr}` : ''),
    );
  });
  expect(problems).toBe('');
});
