import { cpSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { generatorMain, names, node, toEleventy, toSources } from './generator-rows.ts';
import type { GeneratorOptions } from './generator.ts';
import { readResident, readTreeCpu } from './measure.ts';
import { start } from './processes.ts';
import type { Command, Started } from './processes.ts';
import { measureInTurn } from './rows.ts';
import type { Figures } from './rows.ts';
import type { Column, Section } from './section.ts';

/** How the rows are called. */
export const devNames = {
  ours: 'dev: ours, article and lists',
  velite: `dev: ${names.velite}, its collection`,
  eleventy: `dev: ${names.eleventy}, the article alone`,
} as const;

/** Where our `dev` writes, below its output folder. */
const ourOutput = '.dev/current/public/v1/kb';
const columns: readonly Column[] = [
  { head: 'ms', figure: 'latencyMilliseconds', digits: 0 },
  { head: '±', figure: 'latencyMilliseconds', digits: 0, isSpread: true },
  { head: 'CPU ms', figure: 'cpuMilliseconds', digits: 0 },
  { head: 'resident MB', figure: 'residentMegabytes', digits: 0 },
  { head: `ms/${names.velite}`, figure: 'latencyMilliseconds', digits: 2, base: () => devNames.velite },
  { head: `ms/${names.eleventy}`, figure: 'latencyMilliseconds', digits: 2, base: () => devNames.eleventy },
];

/** A program that watches a content folder of its own. */
interface Watcher {
  readonly name: string;
  readonly content: string;
  readonly command: Command;
  /** What it says when it has compiled everything and waits. */
  readonly ready: RegExp;
  /** The files that must hold what was written, once the edit is through. */
  readonly outputs: readonly string[];
}

/** An article, without folder and ending. */
interface Edited {
  readonly category: string;
  readonly slug: string;
}

/**
 * Starts every watcher, saves an article for each in turn, and measures until its output holds the new text. Throws
 * where a watcher does not start, or does not see an edit for a minute.
 */
export async function runDev(options: GeneratorOptions): Promise<Section> {
  const { rounds, chosen, say } = options;
  const notes = ['ms: from saving an article until its output and the lists, where they are told, hold the new text.'];
  const edited = pickArticle(join(options.work, 'content'));
  const watchers = createWatchers(options, edited).filter(({ name }) => chosen(name));
  const running = new Map<Watcher, Started>();
  try {
    for (const watcher of watchers) {
      say(`starting ${watcher.name}`);
      cpSync(join(options.work, 'content'), watcher.content, { recursive: true });
      running.set(watcher, start(watcher.command));
      // oxlint-disable-next-line no-await-in-loop -- So that they do not slow each other down.
      await becomeReady(watcher, running.get(watcher)!);
    }
    // The first edit compiles code that the others find compiled, and is not counted.
    const rows = await measureInTurn(watchers, rounds + 1, async (watcher, round) => {
      say(`dev, edit ${round} of ${rounds}: ${watcher.name}`);
      return edit(watcher, running.get(watcher)!, edited, `edit${round}`);
    });
    return { name: 'dev', columns, rows: rows.map(({ name, rounds: [, ...rest] }) => ({ name, rounds: rest })), notes };
  } finally {
    await Promise.all([...running.values()].map((started) => started.kill()));
  }
}

/** An article of the knowledge base of about 4 kB, half of all being smaller. */
function pickArticle(content: string): Edited {
  const folder = join(content, 'knowledgebase');
  const distance = (file: string): number => Math.abs(statSync(join(folder, file)).size - 4000);
  const [file] = globSync('*/*.md', { cwd: folder }).toSorted((a, b) => distance(a) - distance(b));
  const [category, name] = file!.split('/');
  return { category: category!, slug: name!.slice(0, -'.md'.length) };
}

function createWatchers(options: GeneratorOptions, { category, slug }: Edited): Watcher[] {
  const at = (name: string): string => join(options.work, name);
  const folder = import.meta.dirname;
  const module = (path: string, ...args: string[]): Command => ({
    program: node,
    args: [join(folder, 'node_modules', path), ...args],
    cwd: options.work,
  });
  const ours = (path: string): string => join(at('dev-ours'), ourOutput, path);
  const sources = toSources(options, at('dev-ours'), at('dev-ours-content'));
  return [
    {
      name: devNames.ours,
      content: at('dev-ours-content'),
      command: { program: node, args: [generatorMain, 'dev', ...sources, '--no-serve'], cwd: options.work },
      ready: /^watching/m,
      outputs: [ours(`article/${category}/${slug}.json`), ours('list.json'), ours(`list/${category}.json`)],
    },
    {
      name: devNames.velite,
      content: at('dev-velite-content'),
      command: {
        ...module('velite/bin/velite.js', 'dev', '--config', join(folder, 'peers/velite.config.ts')),
        env: { BENCH_CONTENT: at('dev-velite-content'), BENCH_OUT: at('dev-velite') },
      },
      ready: /watching for changes/,
      outputs: [join(at('dev-velite'), 'knowledgebase.json')],
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
      // Its list is not written anew: what uses a collection is not seen as depending on each of its articles.
      outputs: [join(at('dev-eleventy'), 'knowledgebase', category, `${slug}.json`)],
    },
  ];
}

async function becomeReady({ name, ready }: Watcher, { child, said }: Started): Promise<void> {
  for (const end = performance.now() + 900_000; !ready.test(said());) {
    if (child.exitCode !== null || performance.now() > end) throw new Error(`${name} does not start: ${said()}`);
    // oxlint-disable-next-line no-await-in-loop
    await sleep(20);
  }
  await settle(child.pid!);
}

/** Waits until a process and its children have nothing to do. */
async function settle(pid: number): Promise<void> {
  for (let [before, cpu] = [-1, readTreeCpu(pid)]; cpu - before > 0.005; [before, cpu] = [cpu, readTreeCpu(pid)]) {
    // oxlint-disable-next-line no-await-in-loop
    await sleep(200);
  }
}

async function edit(watcher: Watcher, { child, said }: Started, edited: Edited, token: string): Promise<Figures> {
  const pid = child.pid!;
  const file = join(watcher.content, 'knowledgebase', edited.category, `${edited.slug}.md`);
  const text = readFileSync(file, 'utf8').replace(/^title:.*$/m, `title: Title ${token}`);
  const cpu = readTreeCpu(pid);
  const waiting = new Map(watcher.outputs.map((output) => [output, '']));
  const saved = performance.now();
  writeFileSync(file, `${text}\n${token}\n`);
  while (waiting.size > 0) {
    for (const [output, seen] of waiting) {
      const stats = statSync(output, { throwIfNoEntry: false });
      // The time alone is too coarse: a file may be begun and ended within one tick of the kernel.
      const state = stats ? `${stats.mtimeMs} ${stats.size}` : '';
      if (state === seen) continue;
      waiting.set(output, state);
      if (isWhole(readFileSync(output, 'utf8'), token)) waiting.delete(output);
    }
    if (child.exitCode !== null || performance.now() - saved > 60_000) {
      throw new Error(`${watcher.name} does not see an edit: ${said()}`);
    }
    // oxlint-disable-next-line no-await-in-loop
    await sleep(1);
  }
  const latencyMilliseconds = performance.now() - saved;
  // What it still does behind the new text is part of what an edit costs.
  await settle(pid);
  return {
    latencyMilliseconds,
    cpuMilliseconds: (readTreeCpu(pid) - cpu) * 1000,
    residentMegabytes: readResident(pid),
  };
}

/** Whether a JSON file holds a text and was written to its end. */
function isWhole(json: string, token: string): boolean {
  return json.includes(token) && /[\]}]\s*$/.test(json.slice(-10));
}
