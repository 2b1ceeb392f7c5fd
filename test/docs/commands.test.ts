import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Writable } from 'node:stream';
import { Command } from '@commander-js/extra-typings';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { runGenerator } from '../../generator/commands/index.ts';
import { runCommandLine } from '../../server/commands/run.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

const places = ['*.md', 'docs/*.md', 'content/README.md', 'catalog/*.md', 'test/*.md', 'examples/**/*.{md,sh,service}'];
const pages = globSync([...places, 'server/**/*.md', 'generator/contract/*.ts', 'server/**/*.ts'], { cwd: root });

/** Lines that a reader would copy: a page's shell blocks and inline code, scripts, and messages of the programs. */
function commandLines(page: string): string[] {
  const text = read(page).replaceAll('\\\n', ' ');
  if (/\.(?:sh|service)$/.test(page)) return text.split('\n');
  if (!page.endsWith('.md'))
    return [...text.matchAll(/\b(?:npm run|hosting-api) [a-z][^`'"\\\n]*/g)].map(([line]) => line);
  const blocks = [...text.matchAll(/^```(?:sh|bash)\n([^]*?)^```/gm)].flatMap(([, block]) => block!.split('\n'));
  const inline = text
    .replaceAll(/^```[^]*?^```/gm, '')
    .matchAll(/`((?:npm (?:run|start|test)|npx|hosting-api|node) [^`]+)`/g);
  return [...blocks, ...Array.from(inline, ([, line]) => line!.replaceAll('\n', ' '))];
}

/** Splits a line into simple commands and words. Removes quotes; leaves variables unchanged. */
function wordsOf(line: string): string[][] {
  const commands: string[][] = [[]];
  for (const [token] of line.matchAll(/(?:'[^']*'|"[^"]*"|\$\([^)]*\)|\\.|[^\s'"|&;<>()#])+|[|&;<>()]+|#.*/g)) {
    if (/^(?:[|&;()]|<<<)/.test(token)) commands.push([]);
    else if (/^[<>#]/.test(token)) return commands;
    else commands.at(-1)!.push(token.replaceAll(/['"]/g, ''));
  }
  return commands;
}

/** Examples for placeholders. */
const examples: readonly (readonly [RegExp, string])[] = [
  [/^\$?ID$|^\$\{\w*[iI]d\}$/, 'abcdefghjkmn'],
  [/^METHOD$/, 'GET'],
  [/^PATH$/, '/v1/key'],
  [/^S$/, 'game-logs:read'],
  [/^\$\{?(?:record\.)?server\}?$/, 'game:demo'],
  [/^\$SINCE$/, '2030-01-31'],
];
const fillIn = (word: string): string => examples.find(([name]) => name.test(word))?.[1] ?? word;

/** Finds the program of this project that a command line calls, and its arguments. */
function callOf(words: readonly string[]): string[] | undefined {
  const [first, second, ...rest] = words.filter(
    (word, at) => !/^(?:[A-Z_]+=|sudo$|npx$|then$|do$|if$)/.test(word) || at > 3,
  );
  if (first === 'hosting-api' && second) return [second, ...rest];
  if (first === 'npm' && second === 'run') {
    const [script, ...args] = rest.filter((word) => !['-s', '--silent'].includes(word));
    return [script!, ...(args[0] === '--' ? args.slice(1) : args)];
  }
  return undefined;
}

let parsed: string | undefined;
beforeAll(() => {
  // oxlint-disable-next-line typescript/unbound-method -- it is called with the command
  const { action } = Command.prototype;
  // Parse everything up to the action: names, arguments, options and their values.
  vi.spyOn(Command.prototype, 'action').mockImplementation(function register(this: Command) {
    return action.call(this, () => void (parsed = this.name()));
  });
});
afterAll(() => vi.restoreAllMocks());

/**
 * Parses arguments with their command, without running it. Returns the error, or undefined if the arguments are valid.
 */
async function parse(args: readonly string[]): Promise<string | undefined> {
  const [name = ''] = args;
  if (scripts[name] !== undefined && !/ (?:generator|server\/commands)\/main\.js /.test(`${scripts[name]} `))
    return undefined;
  parsed = undefined;
  let answer = '';
  const out = new Writable({ write: (chunk: Buffer, _, done) => done(void (answer += chunk.toString())) });
  if (['build', 'check', 'cms', 'dev', 'new', 'releases'].includes(name)) {
    const written = vi.spyOn(process.stderr, 'write').mockImplementation((text) => (answer += String(text)) !== '');
    await runGenerator(args).finally(() => written.mockRestore());
  } else await runCommandLine(args, { out, err: out, settings: () => ({}) });
  return parsed === undefined ? answer.trim() || 'it does nothing' : undefined;
}

test('every command line in the docs, the examples and our messages is valid', async () => {
  const wrong: string[] = [];
  let count = 0;
  for (const page of pages) {
    for (const line of commandLines(page)) {
      for (const words of wordsOf(line)) {
        const call = callOf(words);
        // `hosting-api keys ...` means any arguments.
        if (!call || call.some((word) => ['...', '…'].includes(word))) continue;
        // A single word may be prose.
        const isName = call.length === 1 && Object.hasOwn(scripts, call[0]!);
        const answer = isName ? undefined : await parse(call.map(fillIn));
        if (answer !== undefined) wrong.push(`${page}: ${words.join(' ')}: ${answer}`);
        count += 1;
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(100);
});

test('every shell block is valid, and names only existing files, units and tests', () => {
  const missing: string[] = [];
  for (const page of pages.filter((one) => one.endsWith('.md'))) {
    const blocks = [...read(page).matchAll(/^```(?:sh|bash)\n([^]*?)^```/gm)].map(([, block]) => block!);
    if (blocks.length > 0) execFileSync('bash', ['-n'], { input: blocks.join('\n') });
    for (const [, name] of blocks
      .join('\n')
      .matchAll(/(?<![\w./-])((?:examples|test|generator|server|docs)\/[\w./-]*\w)/g)) {
      if (!existsSync(join(root, name!)) && !name!.includes('/secrets')) missing.push(`${page}: ${name}`);
    }
    for (const [, unit] of blocks.join('\n').matchAll(/\b(hosting-api[\w-]*(?:@\d*)?\.(?:service|timer))\b(?!\.d)/g)) {
      if (!existsSync(join(root, 'examples/systemd', unit!.replace(/@\d+/, '@')))) missing.push(`${page}: ${unit}`);
    }
    // The system's Node.js 20 cannot run TypeScript, unlike the project's Node.js.
    for (const [found] of blocks.join('\n').matchAll(/^(?!.*npx).*\bnode examples\/\S+\.ts/gm))
      missing.push(`${page}: ${found}`);
  }
  expect(missing).toEqual([]);
});
