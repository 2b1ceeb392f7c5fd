import { execFile } from 'node:child_process';
import { readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { offline, unlimited } from '../../helpers/app.ts';
import { describeInstalled } from '../../helpers/installed.ts';
import { article, buildProject, createProject, temporaryFolder, writeFiles } from '../../helpers/project.ts';
import { ask } from '../../server/ask.ts';
import { startProcess } from '../../server/process.ts';
import { eventually } from '../../server/shared.ts';
import { readManifest, servedFiles } from '../../server/targets.ts';

const repository = resolve(import.meta.dirname, '../../..');
const page = readFileSync(join(repository, 'docs/cdn.md'), 'utf8');
const section = page.slice(page.indexOf('## A release for several machines'));
const [copying = '', removing = ''] = [...section.matchAll(/```bash\n(.*?)```/gs)].map(([, commands]) => commands!);

/** The lines with source and target. */
const places = copying.replaceAll(/^ *rsync.*\n/gm, '');

/** Runs the page's commands in a project folder. */
function runCommands(commands: string, root: string, target: string) {
  const env = { ...process.env, DIST_DIR: join(root, 'dist'), TARGET: target };
  const local = commands.replace(/^hosting-api/m, `"${process.execPath}" "${repository}/generator/main.js"`);
  return promisify(execFile)('bash', ['-c', local], { cwd: root, env });
}

describeInstalled({ name: 'rsync', package: 'rsync', commands: ['rsync'] }, () => {
  test("the page's commands copy a release, which a running server loads as a whole, also after an interruption", async () => {
    const root = createProject();
    await buildProject(root);
    const target = join(temporaryFolder(), 'dist');
    await runCommands(`mkdir -p "$TARGET"\n${copying}`, root, target);
    const settings = { PORT: '0', DIST_DIR: target, ...offline, ...unlimited };
    const server = startProcess(settings, { cwd: temporaryFolder() });
    const port = await server.listening();
    const firstId = readManifest(root).id;

    const list = '/v1/blog/list';
    const bodies = new Set([readFileSync(join(root, 'dist/current/public/v1/blog/list.json'), 'utf8')]);
    writeFiles(root, { 'content/blog/news/third.md': article({ title: 'Third' }, 'Text.\n') });
    await buildProject(root);
    const newest = readFileSync(join(root, 'dist/current/public/v1/blog/list.json'), 'utf8');
    bodies.add(newest);
    const over = new AbortController();
    const wrong: string[] = [];
    const reading = (async () => {
      while (!over.signal.aborted) {
        const { status, text } = await ask({ port }, list);
        if (status !== 200 || !bodies.has(text)) wrong.push(`${status} ${text}`);
      }
    })();

    // Interrupted before the last file.
    const [first = ''] = /^rsync -aH.*(?= &&$)/m.exec(copying) ?? [];
    const brokenOff = first.replace('rsync', "rsync --exclude='manifest.json' --exclude='plans.json'");
    await runCommands(places + brokenOff, root, target);
    expect((await ask({ port }, list)).text).not.toBe(newest);
    await runCommands(copying, root, target);
    await expect.poll(async () => (await ask({ port }, list)).text, eventually).toBe(newest);
    over.abort();
    await reading;
    expect(wrong).toEqual([]);
    expect(server.stdout()).not.toMatch(/"level":"(?:warn|error)".*release/);
    expect(await server.logged('new release')).toMatchObject({ release: readManifest(root).id });

    // Same bytes and times; unchanged files are hard links.
    for (const { file } of servedFiles(root)) {
      const [own, copy] = [join(root, 'dist/current', file), join(target, 'current', file)];
      expect(readFileSync(copy).equals(readFileSync(own))).toBe(true);
      expect(Math.floor(statSync(copy).mtimeMs / 1000)).toBe(Math.floor(statSync(own).mtimeMs / 1000));
    }
    const inode = (id: string) => statSync(join(target, 'releases', id, 'public/v1/plans.json')).ino;
    expect(inode(firstId)).toBe(inode(readManifest(root).id));

    // A day later.
    rmSync(join(root, 'dist/releases', firstId), { recursive: true });
    await runCommands(places + removing, root, target);
    expect(readdirSync(join(target, 'releases'))).toEqual([readManifest(root).id]);
    expect((await ask({ port }, list)).text).toBe(newest);
  });
});
