import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { article, buildProject, createProject } from '../../helpers/project.ts';
import { openStream } from '../../hosting/instances.ts';
import { serveHosting } from '../../server/shared.ts';

// The examples of test/README.md.

test('a dead link is an error with its position, and nothing is published', async () => {
  const root = createProject({ 'content/blog/news/second.md': article({}, 'See [this](none.md).\n') });
  const { diagnostics, release } = await buildProject(root);
  expect(diagnostics).toMatchObject([{ file: expect.stringMatching(/second\.md$/), line: 9, column: 5 }]);
  expect(release).toBeUndefined();
});

test('a viewer of a console gets the lines of the panel', async () => {
  const { app, world } = await serveHosting();
  const client = await openStream(app);
  world.panel.wings.print('hello');
  expect((await client.until('console output')).at(-1)).toEqual(['console output', 'hello']);
});

test('test/README.md shows these tests unchanged', () => {
  const page = readFileSync(resolve(import.meta.dirname, '../../README.md'), 'utf8');
  const shown = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, text]) => text!);
  const own = readFileSync(join(import.meta.filename), 'utf8');
  expect(shown).toHaveLength(2);
  for (const text of shown) expect(own).toContain(text);
});
