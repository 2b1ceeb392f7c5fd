import type { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { createRenderer } from '../../generator/markdown/renderer.ts';
import { createProject, guide } from '../helpers/project.ts';
import { buildAndRead } from './tree.ts';

test('rendering in two threads gives the same release to the byte', async () => {
  const rows = Array.from({ length: 40 }, (_, index) => [
    `content/knowledgebase/dns/page-${index}.md`,
    guide(`Page ${index}`, `## One\n\n${'Text with `code` and [a link](records.md). '.repeat(index * 5)}\n`),
  ]);
  const files = Object.fromEntries(rows) as Record<string, string>;
  const plain = await buildAndRead(createProject(files), { noCache: true });
  expect(await buildAndRead(createProject(files), { noCache: true, threads: 2 })).toEqual(plain);
});

test('a render thread that ends gives an error for each waiting article, and later articles get new threads', async () => {
  const threads: Worker[] = [];
  const onWorker = (thread: Worker): void => void threads.push(thread);
  process.on('worker', onWorker);
  const renderer = createRenderer(2);
  onTestFinished(async () => {
    process.off('worker', onWorker);
    await renderer.close();
  });
  const render = (text = 'Text.\n'): Promise<string> => renderer.render(text, '/blog/news/x').then(({ html }) => html);
  await expect(render()).resolves.toBe('<p>Text.</p>');
  // Each is a batch of its own, so that the last ones are waiting when the thread ends.
  const waiting = Array.from({ length: 40 }, () => render('Text.\n\n'.repeat(3000)));
  await threads[0]!.terminate();
  const ends = await Promise.allSettled(waiting);
  expect(ends.at(-1)).toMatchObject({ reason: { message: expect.stringContaining('has ended (exit code 1)') } });
  await expect(render()).resolves.toBe('<p>Text.</p>');
  expect(threads).toHaveLength(4);
});
