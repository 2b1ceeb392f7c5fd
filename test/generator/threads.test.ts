import { expect, test } from 'vitest';
import { createProject, guide } from '../helpers/project.ts';
import { buildAndRead } from './releases.ts';

test('rendering in two threads gives the same release to the byte', async () => {
  const rows = Array.from({ length: 40 }, (_, index) => [
    `content/knowledgebase/dns/page-${index}.md`,
    guide(`Page ${index}`, `## One\n\n${'Text with `code` and [a link](records.md). '.repeat(index * 5)}\n`),
  ]);
  const files = Object.fromEntries(rows) as Record<string, string>;
  const plain = await buildAndRead(createProject(files), { noCache: true });
  expect(await buildAndRead(createProject(files), { noCache: true, threads: 2 })).toEqual(plain);
});
