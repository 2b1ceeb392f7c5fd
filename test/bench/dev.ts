import { existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { copyFolder, node, publicFolder, toBefore, toEleventy, toName, toSources } from './checkouts.ts';
import type { BenchOptions, Checkout } from './checkouts.ts';
import { names } from './generator.ts';
import { readResident, readTreeCpu, start } from './processes.ts';
import type { Command, Started } from './processes.ts';
import { measureInTurn } from './table.ts';
import type { Column, Figures, Section } from './table.ts';

/** The names of the rows. */
export const devNames = {
  ours: 'dev: ours, article and lists',
  velite: `dev: ${names.velite}, its collection`,
  eleventy: `dev: ${names.eleventy}, the article alone`,
} as const;

const columns: readonly Column[] = [
  { head: 'ms', figure: 'latencyMilliseconds', digits: 0 },
  { head: '±', figure: 'latencyMilliseconds', digits: 0, isSpread: true },
  { head: 'CPU ms', figure: 'cpuMilliseconds', digits: 0 },
  { head: 'resident MB', figure: 'residentMegabytes', digits: 0 },
  { head: `ms/${names.velite}`, figure: 'latencyMilliseconds', digits: 2, base: () => devNames.velite },
  { head: `ms/${names.eleventy}`, figure: 'latencyMilliseconds', digits: 2, base: () => devNames.eleventy },
  { head: 'ms/before', figure: 'latencyMilliseconds', digits: 2, base: toBefore },
];

/** A program that watches a content folder of its own. */
interface Watcher {
  readonly name: string;
  readonly content: string;
  readonly command: Command;
  /** What it prints when it has compiled everything and watches. */
  readonly ready: RegExp;
  /** The files that must hold the new text after an edit; called when the watcher is ready. */
  readonly outputs: () => readonly string[];
}

/** An article, without its folder and file extension. */
interface Edited {
  readonly category: string;
  readonly slug: string;
}

/**
 * Starts every watcher, saves an article for each in turn, and measures the time until its output holds the new text.
 * Throws if a watcher does not start, or does not pick up an edit within a minute.
 */
export async function runDev(options: BenchOptions): Promise<Section> {
  const { rounds, chosen, report } = options;
  const notes = [
    'ms: from saving an article until its output, and the lists if the row names them, hold the new text.',
  ];
  const edited = pickArticle(join(options.work, 'content'));
  const watchers = createWatchers(options, edited).filter(({ name }) => chosen(name));
  const running = new Map<Watcher, Started>();
  try {
    for (const watcher of watchers) {
      report(`starting ${watcher.name}`);
      copyFolder(join(options.work, 'content'), watcher.content);
      running.set(watcher, start(watcher.command));
      // So that they do not slow each other down.
      await waitUntilReady(watcher, running.get(watcher)!);
    }
    // The first edit also compiles code (JIT), so it is not counted.
    const rows = await measureInTurn(watchers, rounds + 1, async (watcher, round) => {
      report(`dev, edit ${round} of ${rounds}: ${watcher.name}`);
      return edit(watcher, running.get(watcher)!, edited, `edit${round}`);
    });
    return { name: 'dev', columns, rows: rows.map(({ name, rounds: [, ...rest] }) => ({ name, rounds: rest })), notes };
  } finally {
    await Promise.all([...running.values()].map((started) => started.kill()));
  }
}

/** Picks an article of the knowledge base of about 4 kB, the median size. */
function pickArticle(content: string): Edited {
  const folder = join(content, 'knowledgebase');
  const distance = (file: string): number => Math.abs(statSync(join(folder, file)).size - 4000);
  const [file] = globSync('*/*.md', { cwd: folder }).toSorted((a, b) => distance(a) - distance(b));
  const [category, name] = file!.split('/');
  return { category: category!, slug: name!.slice(0, -'.md'.length) };
}

function createWatchers(options: BenchOptions, { category, slug }: Edited): Watcher[] {
  const at = (name: string): string => join(options.work, name);
  const folder = import.meta.dirname;
  const module = (path: string, ...args: string[]): Command => ({
    program: node,
    args: [join(folder, 'node_modules', path), ...args],
    cwd: options.work,
  });
  const toOwn = (checkout: Checkout): Watcher => {
    const [out, content] = [at(`dev-${checkout.name}`), at(`dev-${checkout.name}-content`)];
    const sources = [...toSources(options, content), '--out', out];
    return {
      name: toName(checkout, devNames.ours),
      content,
      command: { program: node, args: [checkout.generator, 'dev', ...sources, '--no-serve'], cwd: options.work },
      ready: /^watching/m,
      outputs() {
        const base = [join(out, '.dev/current'), join(out, '.dev')].find((candidate) => existsSync(candidate))!;
        const files = [`article/${category}/${slug}.json`, 'list.json', `list/${category}.json`];
        return files.map((file) => join(publicFolder(base), 'v1/kb', file));
      },
    };
  };
  return [
    ...options.checkouts.map(toOwn),
    {
      name: devNames.velite,
      content: at('dev-velite-content'),
      command: {
        ...module('velite/bin/velite.js', 'dev', '--config', join(folder, 'peers/velite.config.ts')),
        env: { BENCH_CONTENT: at('dev-velite-content'), BENCH_OUT: at('dev-velite') },
      },
      ready: /watching for changes/,
      outputs: () => [join(at('dev-velite'), 'knowledgebase.json')],
    },
    {
      name: devNames.eleventy,
      content: at('dev-eleventy-content'),
      command: module(
        '@11ty/eleventy/cmd.cjs',
        ...toEleventy('dev-eleventy-content', 'dev-eleventy'),
        '--watch',
        '--incremental',
      ),
      ready: /Watching/,
      // Eleventy does not rewrite its list here: it does not track that a list depends on each article.
      outputs: () => [join(at('dev-eleventy'), 'knowledgebase', category, `${slug}.json`)],
    },
  ];
}

async function waitUntilReady({ name, ready }: Watcher, { child, printed }: Started): Promise<void> {
  for (const end = performance.now() + 900_000; !ready.test(printed());) {
    if (child.exitCode !== null || performance.now() > end) throw new Error(`${name} does not start: ${printed()}`);
    await sleep(20);
  }
  await waitUntilIdle(child.pid!);
}

/** Waits until a process and its children are idle. */
async function waitUntilIdle(pid: number): Promise<void> {
  for (let [before, cpu] = [-1, readTreeCpu(pid)]; cpu - before > 0.005; [before, cpu] = [cpu, readTreeCpu(pid)]) {
    await sleep(200);
  }
}

async function edit(watcher: Watcher, { child, printed }: Started, edited: Edited, token: string): Promise<Figures> {
  const pid = child.pid!;
  const file = join(watcher.content, 'knowledgebase', edited.category, `${edited.slug}.md`);
  const text = readFileSync(file, 'utf8').replace(/^title:.*$/m, `title: Title ${token}`);
  const cpu = readTreeCpu(pid);
  const waiting = new Map(watcher.outputs().map((output) => [output, '']));
  const saved = performance.now();
  writeFileSync(file, `${text}\n${token}\n`);
  while (waiting.size > 0) {
    for (const [output, seen] of waiting) {
      const stats = statSync(output, { throwIfNoEntry: false });
      // The mtime alone is too coarse: a file may be created and completed within one tick of the kernel.
      const state = stats ? `${stats.mtimeMs} ${stats.size}` : '';
      if (state === seen) continue;
      waiting.set(output, state);
      if (isComplete(readFileSync(output, 'utf8'), token)) waiting.delete(output);
    }
    if (child.exitCode !== null || performance.now() - saved > 60_000) {
      throw new Error(`${watcher.name} does not see an edit: ${printed()}`);
    }
    await sleep(1);
  }
  const latencyMilliseconds = performance.now() - saved;
  // Work after the new text is written is part of the cost of an edit.
  await waitUntilIdle(pid);
  return {
    latencyMilliseconds,
    cpuMilliseconds: (readTreeCpu(pid) - cpu) * 1000,
    residentMegabytes: readResident(pid),
  };
}

/** Whether a JSON file contains a text and is complete. */
function isComplete(json: string, token: string): boolean {
  return json.includes(token) && /[\]}]\s*$/.test(json.slice(-10));
}
