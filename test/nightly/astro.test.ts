import { cpSync, existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { createTestApp } from '../helpers/app.ts';
import { describeInstalled } from '../helpers/installed.ts';
import { article, buildProject, createProject, startProgram, temporaryFolder, writeFiles } from '../helpers/project.ts';

const repository = resolve(import.meta.dirname, '../..');
const modules = join(repository, 'node_modules/.cache/astro/node_modules');
const program = join(modules, 'astro/bin/astro.mjs');

const astro = {
  name: 'Astro',
  package: 'npm, and see .ci/run',
  commands: ['npm'],
  files: [program],
};

describeInstalled(astro, () => {
  test('builds a page of each article, and reads only changed articles again', async () => {
    const root = createProject({
      'content/blog/news/first.md': article(
        { aliases: '[/2025/11/first/]' },
        '## Details\n\n![Map](/media/kb/map.svg)\n',
      ),
    });
    await buildProject(root);
    const app = await createTestApp({ root });
    const site = join(temporaryFolder(), 'site');
    cpSync(join(repository, 'examples/astro'), site, { recursive: true });
    symlinkSync(modules, join(site, 'node_modules'));
    // Articles of an earlier run.
    rmSync(join(modules, '.astro'), { recursive: true, force: true });
    const env = { ...process.env, NODE_ENV: 'production', API_URL: app.url, ASTRO_TELEMETRY_DISABLED: '1' };
    const articlesRead = () =>
      app.log().flatMap(({ msg, url }) => (msg === 'request' && String(url).includes('?path=') ? [String(url)] : []));
    /** Builds the website; returns the articles that it read. */
    const build = async (): Promise<string[]> => {
      const before = articlesRead().length;
      const { output, ended } = startProgram(process.execPath, [program, 'build'], { cwd: site, env });
      expect(await ended(), output()).toBe(0);
      return articlesRead().slice(before);
    };
    const read = (page: string): string => readFileSync(join(site, 'dist', page, 'index.html'), 'utf8');

    expect(await build()).toHaveLength(4);
    const html = read('blog/news/first');
    expect(html).toContain('<h2 id="details">Details</h2>');
    expect(html).toContain(`src="${app.url}/media/kb/map.svg"`);
    expect(read('knowledgebase/vps/ssh')).toContain('<title>Connect with SSH</title>');
    expect(read('blog')).toContain('<a href="/blog/news/first">');
    expect(read('2025/11/first')).toContain('/blog/news/first');

    const gone = 'content/knowledgebase/dns/records.md';
    writeFiles(root, { [gone]: undefined, 'content/blog/news/second.md': article({}, 'Changed.\n') });
    await buildProject(root, { lenient: true });
    await expect.poll(async () => (await fetch(`${app.url}/v1/kb/list`)).json()).toHaveLength(1);
    expect(await build()).toEqual(['/v1/blog/article?path=/blog/news/second']);
    expect(read('blog/news/second')).toContain('Changed.');
    expect(existsSync(join(site, 'dist/knowledgebase/dns/records'))).toBe(false);
  });
});
