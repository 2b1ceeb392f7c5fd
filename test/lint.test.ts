import { execFile } from 'node:child_process';
import { cpSync, globSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import config from '../oxlint.config.ts';
import manifest from '../package.json' with { type: 'json' };
import { temporaryFolder, writeFiles } from './helpers/project.ts';

const repository = resolve(import.meta.dirname, '..');
const env = { ...process.env, PATH: `${resolve(repository, 'node_modules/.bin')}:${process.env.PATH}` };

function run(command: string, cwd = repository) {
  return new Promise<{ isGood: boolean; text: string }>((done) => {
    execFile('sh', ['-c', command], { cwd, env }, (error, stdout, stderr) =>
      done({ isGood: !error, text: `${stdout}${stderr}` }),
    );
  });
}

test.each(manifest.scripts.lint.split(' && '))('%s', { timeout: 600_000 }, async (command) => {
  const { isGood, text } = await run(command);
  expect(isGood ? '' : text).toBe('');
});

/** Imports by file: `type` marks a type import, and `+` an import that the linter must allow. */
const imports: Readonly<Record<string, readonly string[]>> = {
  'server/new/a.ts': ['+ ./b.ts', 'h3', 'node:fs', 'node:fs/promises', 'zod', '#contract/hosting.ts', '../problem.ts'],
  'server/new/b.ts': ['../hosting/service.ts', 'type ../store/types.ts', '../http/handle.ts', '../app.ts'],
  'server/hosting/new/a.ts': ['+ ./b.ts', '../service.ts', '../../problem.ts', '../../store/index.ts', 'type h3'],
  'generator/new/a.ts': ['+ ./b.ts', '../source/load.ts', '#common/files.ts', '#contract/hosting.ts', 'node:fs'],
  'generator/markdown/new/a.ts': ['../render.ts', '../plugins/html.ts', 'unified'],
  'generator/contract/a.ts': ['+ zod', '+ ./hosting.ts', '+ #contract/hosting.ts', 'node:fs', '#common/files.ts'],
  'generator/common/a.ts': ['+ node:fs', '+ ./b.ts', '../source/load.ts', '../../server/log.ts', 'h3'],
  'generator/source/a.ts': ['+ ../common/files.ts', '+ #common/files.ts', '../markdown/render.ts', '../build.ts'],
  'generator/articles/a.ts': ['+ ../markdown/text.ts', '+ type ../release/publish.ts', '../release/publish.ts'],
  'generator/release/a.ts': ['+ ofetch', '../source/load.ts', '../articles/cache.ts', '../commands/build.ts'],
  'generator/static-files.ts': ['+ ./articles/search.ts', './commands/build.ts', '../server/log.ts', 'h3', 'pino'],
  'server/http/a.ts': ['+ ../problem.ts', '+ #contract/endpoint.ts', '../keys/authorize.ts', 'type ../store/types.ts'],
  'server/upstream/a.ts': ['+ ofetch', 'undici', '../hosting/service.ts', '../env.ts', 'h3'],
  'server/domains/a.ts': ['+ type ../store/types.ts', '../store/types.ts', '../store/index.ts', '../keys/authorize.ts'],
  'server/status/a.ts': ['+ ../http/handle.ts', '../http/request.ts', '../app.ts', '../start.ts', '../env.ts', 'h3'],
  'server/feedback/chat.ts': ['+ ../upstream/client.ts', './service.ts', '../http/handle.ts', 'undici', 'ofetch'],
  'server/hosting/a.ts': ['+ ../keys/authorize.ts', '../domains/names.ts', './../domains/names.ts'],
  'server/hosting/providers/a.ts': ['+ ./types.ts', '+ ../../upstream/client.ts', '../routes.ts', '../../app.ts'],
  'server/keys/a.ts': ['../../generator/contract/hosting.ts', '../../generator/build.ts', '../hosting/servers.ts'],
  'server/store/a.ts': ['+ pg', '../http/handle.ts', '../upstream/client.ts', '../hosting/servers.ts'],
  'server/doctor/visit.ts': ['+ ./client.ts', './local.ts', '../env.ts', '../store/index.ts'],
  'server/metrics/a.ts': ['+ @prometheus-io/client', '+ type ../releases/service.ts', '../releases/service.ts'],
  'server/log.ts': ['+ pino', './hosting/service.ts', './store/index.ts', '@prometheus-io/client'],
  'examples/site/a.ts': ['+ node:http', '+ type #contract/articles.ts', '#contract/articles.ts', '../../server/log.ts'],
};

test('an import that the table does not allow is refused', async () => {
  const root = temporaryFolder();
  cpSync(join(repository, 'oxlint.config.ts'), join(root, 'oxlint.config.ts'));
  symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'));
  const cases = Object.entries(imports).flatMap(([file, all]) =>
    all.map((one, at) => ({ place: `${file}:${at + 1}`, one, isAllowed: one.startsWith('+') })),
  );
  const toStatement = (one: string) => one.replace(/^(?:\+ )?(type )?(.*)$/, "export $1{ a } from '$2';\n");
  for (const [file, all] of Object.entries(imports)) writeFiles(root, { [file]: all.map(toStatement).join('') });
  const { text } = await run('oxlint --format unix', root);
  const refused = text.matchAll(/^(\S+):(\d+):\d+: .*no-restricted-imports/gm);
  const places = new Set(Array.from(refused, ([, file, line]) => `${file}:${line}`));
  expect(cases.filter(({ place, isAllowed }) => places.has(place) === isAllowed)).toEqual([]);
});

test('every line of the import table matches files', () => {
  const places = config.overrides.flatMap(({ files }) => files);
  expect(places.filter((place) => globSync(place, { cwd: repository }).length === 0)).toEqual([]);
});
