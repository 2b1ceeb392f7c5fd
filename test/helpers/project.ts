import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { build } from '../../generator/build.ts';
import type { BuildOptions, BuildResult } from '../../generator/compile.ts';
import { ends } from './ends.ts';
import type { OnEnd } from './upstream.ts';

/** Files by path; undefined omits a file of the valid project. */
export type Files = Readonly<Record<string, string | Buffer | undefined>>;

/** A small valid project: two blog articles, two knowledge base articles, plans, domains, monitors. */
export const validProject: Files = {
  'content/blog/news/first.md': article(
    { title: 'First', date: '2026-01-02' },
    'Hello *world*.\n\n## Details\n\nMore.\n',
  ),
  'content/blog/news/second.md': article({ title: 'Second', date: '2026-03-04' }, 'See [first](first.md#details).\n'),
  'content/knowledgebase/vps/ssh.md': guide('Connect with SSH', 'Use `ssh`.\n\n![Map](/media/kb/map.svg)\n'),
  'content/knowledgebase/dns/records.md': guide('DNS records', 'An [A record](../vps/ssh.md).\n'),
  'content/knowledgebase/vps/category.yaml': 'name: Virtual servers\n',
  'content/media/covers/cover.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>\n',
  'content/media/kb/map.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>\n',
  'catalog/services/web.yaml': plans('Web hosting'),
  'catalog/games/minecraft.yaml': plans('Minecraft'),
  'catalog/domains.yaml':
    'order_url: "https://clients.example.com/domain?name={domain}"\n' +
    'tlds:\n  .com: { active: true, prices: { EUR: { 1: { register: 9.5, renew: 10, transfer: 9.5 } } } }\n',
  'catalog/status.yaml':
    'monitors:\n  - { name: Website, url: "https://www.example.com" }\n' +
    'maintenance:\n  - { title: Move, monitors: [Website], start: "2026-12-01T22:00", end: "2026-12-02T02:00", timezone: Europe/Berlin }\n',
};

/** Creates a blog article with valid front matter, overridden by the given fields. */
export function article(fields: Readonly<Record<string, string | undefined>>, body: string): string {
  const all = {
    title: 'A title',
    description: 'What it says.',
    date: '2026-01-01',
    author: 'Marit',
    cover: '/media/covers/cover.svg',
    ...fields,
  };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return `---\n${lines.join('\n')}\n---\n\n${body}`;
}

/** Creates a knowledge base article with valid front matter. */
export function guide(title: string, body: string): string {
  return `---\ntitle: ${title}\ndescription: How it is done.\n---\n\n${body}`;
}

function plans(name: string): string {
  return [
    `name: ${name}`,
    'soldOut: false',
    'soldOutMessage: ""',
    'plans:',
    '  - { name: Small, ram: 0.5, storage: 10, price: 2.49, orderLink: "https://clients.example.com/1", soldOut: false }',
    '',
  ].join('\n');
}

/** Creates an empty folder that is removed when the test ends. */
export function temporaryFolder(onEnd: OnEnd = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), 'hosting-api-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

/** Creates an empty folder that is removed after all tests of the file. Then calls `onEnd`. */
export function sharedFolder(onEnd = (): void => undefined): string {
  return temporaryFolder((remove) => {
    ends.push(async () => {
      await remove();
      onEnd();
    });
  });
}

/** Writes files below a folder; removes files whose content is undefined. */
export function writeFiles(root: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    const file = join(root, path);
    if (content === undefined) {
      rmSync(file, { force: true });
      continue;
    }
    mkdirSync(dirname(file), { recursive: true });
    // Gives each article another title.
    const own = (line: string): string => (path.endsWith('/first.md') ? line : `${line} of ${basename(path, '.md')}`);
    writeFileSync(file, typeof content === 'string' ? content.replace(/^title: (?:A title|Uses)$/m, own) : content);
  }
}

/** Creates a folder with the valid project, overridden by the given files. */
export function createProject(changes: Files = {}, root: string = temporaryFolder()): string {
  writeFiles(root, { ...validProject, ...changes });
  return root;
}

/** URLs that a build needs for the feed and the sitemap. */
export const siteUrls = { site: 'https://www.example.com', service: 'https://api.example.com' } as const;

/** Builds a project folder into its `dist`. */
export function buildProject(root: string, options: Partial<BuildOptions> = {}): Promise<BuildResult> {
  return build({
    content: join(root, 'content'),
    catalog: join(root, 'catalog'),
    out: join(root, 'dist'),
    now: '2026-11-20',
    lenient: false,
    noCache: false,
    isTemporary: true,
    compression: 'fast',
    ...options,
  });
}

/** The exit status and output of a command. */
export interface CommandResult {
  readonly status: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

const repository = resolve(import.meta.dirname, '../..');

/** The folder, environment and user of a program. */
interface ProgramOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly uid?: number;
  readonly gid?: number;
}

/** Runs a program and waits for its end. */
export function runProgram(
  program: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<CommandResult> {
  return new Promise((done) => {
    execFile(program, args, { maxBuffer: 64 * 1024 * 1024, ...options }, (error, stdout, stderr) =>
      done({ status: error ? (error.code ?? error.signal ?? 'failed') : 0, stdout, stderr }),
    );
  });
}

/** Starts a program that is killed when the test ends. */
export function startProgram(program: string, args: readonly string[], options: ProgramOptions = {}) {
  const child = spawn(program, args, options);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  onTestFinished(async () => {
    child.kill();
    await closed;
  });
  return {
    child,
    /** Returns the output so far. */
    output: () => output,
    /** Waits until the output matches; returns the match. */
    prints: async (pattern: RegExp): Promise<string> => {
      await expect.poll(() => output).toMatch(pattern);
      return pattern.exec(output)![0];
    },
    /** Waits for the end; returns the exit status or signal. */
    ended: async (): Promise<number | string> => {
      const [status, signal] = await closed;
      return status ?? signal!;
    },
  };
}

/** Runs a generator command in a process, like npm. */
export function runGenerator(
  args: readonly string[],
  { cwd = repository, env = {} }: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<CommandResult> {
  const main = join(repository, 'generator/main.js');
  return runProgram(process.execPath, [main, ...args], { cwd, env: { ...process.env, ...env } });
}
