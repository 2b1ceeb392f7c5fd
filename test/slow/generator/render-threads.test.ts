import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createRenderer } from '../../../generator/markdown/renderer.ts';
import { verifyRelease } from '../../../generator/release/publish.ts';
import { article, buildProject, createProject, guide, runGenerator, writeFiles } from '../../helpers/project.ts';
import { buildAndRead } from '../../generator/build-and-read.ts';

const files = Object.fromEntries(
  Array.from({ length: 40 }, (_, index) => [
    `content/knowledgebase/dns/page-${index}.md`,
    guide(`Page ${index}`, `## One\n\n${'Text with `code` and [a link](records.md). '.repeat(index * 5)}\n`),
  ]),
);

describe('rendering in several threads', () => {
  test.each([1, 2, 5])('gives the same release to the byte with %i', async (threads) => {
    const plain = await buildAndRead(createProject(files), { noCache: true });
    expect(await buildAndRead(createProject(files), { noCache: true, threads })).toEqual(plain);
  });

  test.each([
    ['200 quotes', `fine\n\n${'> '.repeat(200)}deep\n`, { line: 11, hint: 'flatten them' }],
    // Without a limit, a worker thread has four times the stack of the main thread.
    ['3,000 elements', `fine\n\n${'<div>'.repeat(3000)}deep\n`, { line: 9, hint: 'flatten it' }],
  ])('an article with %s inside each other is reported with its line', async (_, markdown, problem) => {
    const deep = { 'content/blog/news/deep.md': article({}, markdown) };
    const one = await buildProject(createProject({ ...files, ...deep }), { noCache: true, threads: 1 });
    expect(one.diagnostics).toMatchObject([problem]);
    const two = await buildProject(createProject({ ...files, ...deep }), { noCache: true, threads: 2 });
    expect(two.diagnostics.map(({ line, message }) => [line, message])).toEqual(
      one.diagnostics.map(({ line, message }) => [line, message]),
    );
  });
});

describe('a render thread that ends during a build', () => {
  const preload = `--import=${new URL('./end-thread.ts', import.meta.url).href}`;

  test.each([
    ['exit', 'exit code 7'],
    ['start', 'exit code 9'],
    ['throw', 'out of order'],
    ['memory', 'Worker terminated due to reaching memory limit: JS heap out of memory'],
  ])('by %s gives one error, and the release stays as it was', async (way, reason) => {
    const root = createProject(files);
    const { id } = await buildAndRead(root);
    writeFiles(root, { 'content/blog/news/first.md': article({}, '## Details\n\nChanged.\n') });
    const args = ['build', '--no-cache', '--threads', '2'];
    const { status, stderr } = await runGenerator(args, {
      cwd: root,
      env: { NODE_OPTIONS: preload, END_THREAD: way },
    });
    expect(stderr).toBe(`a thread that renders articles has ended (${reason}); the release stays as it was\n`);
    expect(status).toBe(1);
    expect((await verifyRelease(realpathSync(join(root, 'dist/current')))).id).toBe(id);
    expect(await runGenerator(args, { cwd: root })).toMatchObject({ status: 0 });
  });

  test('gives an error for each waiting article, and later articles get new threads', async () => {
    const threads: Worker[] = [];
    const onWorker = (thread: Worker): void => void threads.push(thread);
    process.on('worker', onWorker);
    const renderer = createRenderer(2);
    onTestFinished(async () => {
      process.off('worker', onWorker);
      await renderer.close();
    });
    const render = (): Promise<string> => renderer.render('Text.\n', '/blog/news/x').then(({ html }) => html);
    await expect(render()).resolves.toBe('<p>Text.</p>');
    const waiting = Array.from({ length: 40 }, render);
    await threads[0]!.terminate();
    const ends = await Promise.allSettled(waiting);
    expect(ends.at(-1)).toMatchObject({ reason: { message: expect.stringContaining('has ended (exit code 1)') } });
    await expect(render()).resolves.toBe('<p>Text.</p>');
    expect(threads).toHaveLength(4);
  });
});
