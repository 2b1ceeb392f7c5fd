import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { copyFolder, generate, pickArticle, report, toBefore, toEleventy } from './bench.ts';
import type { Bench, Checkout } from './bench.ts';
import { readMemory, readTreeCpu, start } from './processes.ts';
import type { Command, Started } from './processes.ts';
import { choose, measureInTurn } from './table.ts';
import type { Column, Figures, Item, Section } from './table.ts';

const velite = 'dev: Velite, its collection';
const eleventy = 'dev: Eleventy, the article alone';
const columns: readonly Column[] = [
  ['ms', 'latencyMilliseconds'],
  ['CPU ms', 'cpuMilliseconds'],
  ['resident MB', 'residentMegabytes'],
  ['ms/Velite', 'latencyMilliseconds', () => velite],
  ['ms/Eleventy', 'latencyMilliseconds', () => eleventy],
  ['ms/before', 'latencyMilliseconds', toBefore],
];

/** A program that watches its own content folder. */
interface Watcher {
  readonly name: string;
  readonly content: string;
  readonly command: Command;
  /** Output after it has compiled everything and watches. */
  readonly ready: RegExp;
  /** Files that must contain the new text after an edit. */
  readonly outputs: readonly string[];
}

/**
 * Starts every watcher, saves an article for each in turn, and measures the time until the output contains the new
 * text. Throws if a watcher does not start, or misses an edit for a minute.
 */
export async function runDev(bench: Bench): Promise<Section> {
  // About 4 kB is the median size.
  const article = pickArticle('content/knowledgebase', '.md', 4000);
  const all = [...bench.checkouts.map((one) => watchOurs(bench, one, article)), ...watchPeers(article)];
  const running: Started[] = [];
  const items: Item[] = [];
  // Sequential, so they do not slow each other down.
  for (const watcher of choose(all, columns, bench.isChosen)) {
    report(`starting ${watcher.name}`);
    copyFolder('content', watcher.content);
    const started = start(watcher.command);
    running.push(started);
    await waitUntilReady(watcher, started);
    const file = join(watcher.content, 'knowledgebase', `${article}.md`);
    items.push({ name: watcher.name, run: (round) => edit(watcher, started, file, `edit${round}`) });
  }
  // Do not count the first edit, which also compiles code (JIT).
  for (const { run } of items) await run(-1);
  const rows = await measureInTurn('dev', Math.max(5, bench.rounds), items);
  for (const started of running) await started.kill();
  const notes = [
    'ms: from saving an article until its output, and the lists if the row names them, hold the new text.',
  ];
  return { name: 'dev', columns, rows, notes };
}

function watchOurs(bench: Bench, checkout: Checkout, article: string): Watcher {
  const out = `dev-${checkout.name}`;
  const content = `${out}-content`;
  const files = [`article/${article}.json`, 'list.json', `list/${article.split('/')[0]}.json`];
  return {
    name: `dev: ${checkout.name}, article and lists`,
    content,
    command: generate(bench, checkout, 'dev', content, '--out', out, '--no-serve'),
    ready: /^watching/m,
    outputs: files.map((file) => join(out, '.dev/current/public/v1/kb', file)),
  };
}

function watchPeers(article: string): Watcher[] {
  const config = join(import.meta.dirname, 'peers/velite.config.ts');
  return [
    {
      name: velite,
      content: 'dev-velite-content',
      command: {
        args: [join(import.meta.dirname, 'node_modules/velite/bin/velite.js'), 'dev', '--config', config],
        env: { BENCH_CONTENT: resolve('dev-velite-content'), BENCH_OUT: resolve('dev-velite') },
      },
      ready: /watching for changes/,
      outputs: ['dev-velite/knowledgebase.json'],
    },
    {
      name: eleventy,
      content: 'dev-eleventy-content',
      command: { args: [...toEleventy('dev-eleventy-content', 'dev-eleventy'), '--watch', '--incremental'] },
      ready: /Watching/,
      // Eleventy does not rewrite its list here: it does not track the list's dependency on articles.
      outputs: [`dev-eleventy/knowledgebase/${article}.json`],
    },
  ];
}

async function waitUntilReady({ name, ready }: Watcher, { child, pid, printed }: Started): Promise<void> {
  for (const end = performance.now() + 900_000; !ready.test(printed());) {
    if (child.exitCode !== null || performance.now() > end) throw new Error(`${name} does not start: ${printed()}`);
    await sleep(20);
  }
  await waitUntilIdle(pid);
}

/** Waits until a process and its children are idle. */
async function waitUntilIdle(pid: number): Promise<void> {
  for (let [before, cpu] = [-1, readTreeCpu(pid)]; cpu - before > 0.005; [before, cpu] = [cpu, readTreeCpu(pid)]) {
    await sleep(200);
  }
}

async function edit(watcher: Watcher, { child, pid, printed }: Started, file: string, token: string): Promise<Figures> {
  const text = readFileSync(file, 'utf8').replace(/^title:.*$/m, `title: Title ${token}`);
  const cpu = readTreeCpu(pid);
  const waiting = new Map(watcher.outputs.map((output) => [output, '']));
  const saved = performance.now();
  writeFileSync(file, `${text}\n${token}\n`);
  while (waiting.size > 0) {
    for (const [output, seen] of waiting) {
      const stats = statSync(output, { throwIfNoEntry: false });
      // The mtime alone is too coarse: a file may be created and completed within one kernel tick.
      const state = stats ? `${stats.mtimeMs} ${stats.size}` : '';
      if (state === seen) continue;
      waiting.set(output, state);
      const json = readFileSync(output, 'utf8');
      const isComplete = /[\]}]\s*$/.test(json.slice(-10));
      if (isComplete && json.includes(token)) waiting.delete(output);
    }
    if (child.exitCode !== null || performance.now() - saved > 60_000) {
      throw new Error(`${watcher.name} does not see an edit: ${printed()}`);
    }
    await sleep(1);
  }
  const latencyMilliseconds = performance.now() - saved;
  // The cost of an edit includes work after the new text is written.
  await waitUntilIdle(pid);
  return {
    latencyMilliseconds,
    cpuMilliseconds: (readTreeCpu(pid) - cpu) * 1000,
    residentMegabytes: readMemory(pid, 'VmRSS'),
  };
}
