import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeCurrent } from '../../../generator/release/history.ts';
import { rollback } from '../../../generator/release/releases.ts';
import { createTestApp } from '../../helpers/app.ts';
import type { TestApp } from '../../helpers/app.ts';
import { article, buildProject, createProject, guide, writeFiles } from '../../helpers/project.ts';
import { ask } from '../../server/ask.ts';
import type { Answer } from '../../server/ask.ts';
import { eventually } from '../../server/shared.ts';

/** Requests to each server. */
const connections = 16;
const switches = 20;
const rollbacks = 5;
const endings = { identity: '', gzip: '.gz', br: '.br' };
const list = '/v1/blog/list';
/** Targets and their files; the target with another parameter goes through h3. */
const files: Readonly<Record<string, string>> = {
  [list]: 'public/v1/blog/list.json',
  '/v1/blog/article?path=/blog/news/first': 'public/v1/blog/article/news/first.json',
  '/v1/kb/article?path=/knowledgebase/vps/ssh&other=1': 'public/v1/kb/article/vps/ssh.json',
  '/media/kb/map.svg': 'public/media/kb/map.svg',
};

/** Sources with different content for each release. */
function version(number: number): Record<string, string> {
  const title = `Version ${number}`;
  return {
    'content/blog/news/first.md': article({ title, date: '2026-01-02' }, `## Details\n\nThis is ${number}.\n`),
    'content/knowledgebase/vps/ssh.md': guide(title, `This is ${number}.\n\n![Map](/media/kb/map.svg)\n`),
    'content/media/kb/map.svg': `<svg xmlns="http://www.w3.org/2000/svg" data-version="${number}"/>\n`,
  };
}

/** Builds all releases; returns their ids, and for each body the number of its release. */
async function buildAll(root: string): Promise<{ ids: string[]; numbers: Map<string, number> }> {
  const ids: string[] = [];
  const numbers = new Map<string, number>();
  for (let number = 0; number <= switches; number += 1) {
    writeFiles(root, version(number));
    const { release } = await buildProject(root);
    ids.push(release!.id);
    for (const [target, file] of Object.entries(files)) {
      for (const ending of file.endsWith('.json') ? Object.values(endings) : ['']) {
        const body = readFileSync(join(root, 'dist/releases', release!.id, file + ending));
        numbers.set(`${target} ${hash('sha256', body)}`, number);
      }
    }
  }
  return { ids, numbers };
}

/** Sends requests on one connection until the phase is over; returns their number, and all errors. */
async function readContinuously(
  app: TestApp,
  numberOf: (target: string, answer: Answer) => number | undefined,
  phase: Phase,
) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const wrong: string[] = [];
  let count = 0;
  let last = 0;
  while (!phase.over) {
    const target = Object.keys(files)[count % 4]!;
    const headers = { 'Accept-Encoding': Object.keys(endings)[count % 3] };
    const { backwards } = phase;
    count += 1;
    try {
      const answer = await ask(app, target, { agent, headers });
      const number = numberOf(target, answer);
      if (answer.status !== 200) wrong.push(`${target}: status ${answer.status}`);
      else if (number === undefined) wrong.push(`${target}: a body of no release`);
      else if (number < last && !backwards && !phase.backwards) wrong.push(`${target}: ${number} after ${last}`);
      if (answer.headers.etag !== `"${hash('sha256', answer.body).slice(0, 32)}"`) wrong.push(`${target}: its ETag`);
      if (answer.headers['content-length'] !== String(answer.body.length)) wrong.push(`${target}: its length`);
      last = number ?? last;
    } catch (error) {
      wrong.push(`${target}: ${(error as Error).message}`);
    }
  }
  agent.destroy();
  return { count, wrong };
}

/** The progress of the switching. */
interface Phase {
  backwards: boolean;
  over: boolean;
}

test('while releases are switched and rolled back, no request fails, and no response mixes two releases', async () => {
  const root = createProject();
  const dist = join(root, 'dist');
  const { ids, numbers } = await buildAll(root);
  await makeCurrent(dist, ids[0]!);
  const inMemory = await createTestApp({ root });
  const onDisk = await createTestApp({
    root,
    settings: { RELEASE_CACHE_BYTES: '16384', DATA_DIR: join(root, 'other') },
  });
  const apps = [inMemory, onDisk];

  const phase: Phase = { backwards: false, over: false };
  const numberOf = (target: string, { body }: Answer) => numbers.get(`${target} ${hash('sha256', body)}`);
  const expectServed = async (number: number): Promise<void> => {
    const served = () => Promise.all(apps.map(async (app) => numberOf(list, await ask(app, list))));
    await expect.poll(served, eventually).toEqual([number, number]);
  };
  const readers = apps.flatMap((app) =>
    Array.from({ length: connections }, () => readContinuously(app, numberOf, phase)),
  );
  for (const [number, id] of ids.entries()) {
    await makeCurrent(dist, id);
    await expectServed(number);
  }
  phase.backwards = true;
  for (let step = 1; step <= rollbacks; step += 1) {
    await rollback(dist);
    await expectServed(switches - step);
  }
  phase.over = true;

  for (const { count, wrong } of await Promise.all(readers)) {
    expect(wrong).toEqual([]);
    expect(count).toBeGreaterThan(switches + rollbacks);
  }
  for (const app of apps) {
    expect(app.log().filter(({ msg }) => msg === 'new release')).toHaveLength(switches + rollbacks);
    expect(app.log().filter(({ level }) => level === 'error')).toEqual([]);
  }
});
