import { resolve } from 'node:path';
import type { ArgsDef } from 'citty';
import { build } from '../build.ts';
import type { BuildResult } from '../build-options.ts';
import { CommandError, defineStrictCommand } from '../common/command-line.ts';
import type { DiagnosticFormat } from '../source/diagnostics.ts';
import type { Compression } from '../release/release-stage.ts';
import { outArg, sourceArgs } from './arguments.ts';
import { resolveOut } from './out.ts';
import { report } from './report.ts';

const checkArgs = {
  ...sourceArgs,
  now: { type: 'string', valueHint: 'YYYY-MM-DD', description: 'the day of the build; today (UTC) if left out' },
  threads: { type: 'string', valueHint: 'N', description: 'threads that render; as many as pay if left out' },
  format: {
    type: 'enum',
    default: 'text',
    options: ['text', 'json', 'github'],
    description: 'how problems are printed',
  },
} satisfies ArgsDef;

/** `build`: content and catalog become a new release. */
export const buildCommand = defineStrictCommand({
  meta: { name: 'build', description: 'Builds a release and makes it current.' },
  args: {
    ...checkArgs,
    ...outArg,
    cache: {
      type: 'boolean',
      default: true,
      description: 'reuse what earlier builds rendered',
      negativeDescription: 'render every article anew',
    },
    compress: { type: 'enum', default: 'fast', options: ['fast', 'best'], description: 'how hard to compress' },
  },
  run: ({ args }) => run(args, { out: resolveOut(args.out), noCache: !args.cache, compression: args.compress }),
});

/** `check`: the same without writing. */
export const checkCommand = defineStrictCommand({
  meta: { name: 'check', description: 'Checks content and catalog, and writes nothing.' },
  args: checkArgs,
  run: ({ args }) => run(args, { noCache: true, compression: 'fast' }),
});

interface SourceArgs {
  readonly content: string;
  readonly catalog: string;
  readonly now?: string | undefined;
  readonly lenient: boolean;
  readonly threads?: string | undefined;
  readonly format: string;
}

async function run(
  args: SourceArgs,
  target: { out?: string; noCache: boolean; compression: Compression },
): Promise<void> {
  const now = await readDay(args.now);
  const threads = args.threads === undefined ? {} : { threads: readThreads(args.threads) };
  const started = performance.now();
  let result: BuildResult;
  try {
    result = await build({
      content: resolve(args.content),
      catalog: resolve(args.catalog),
      now,
      lenient: args.lenient,
      progress: showProgress,
      ...threads,
      ...target,
    });
  } catch (error) {
    const { syscall, message } = error as NodeJS.ErrnoException;
    if (syscall === undefined || target.out === undefined) throw error;
    throw new CommandError(`the release could not be written, and the current one stays as it is: ${message}`);
  } finally {
    clearProgress();
  }
  report(result, args.format as DiagnosticFormat, (performance.now() - started) / 1000, target.out);
}

async function readDay(now: string | undefined): Promise<string> {
  if (now === undefined) return new Date().toISOString().slice(0, 10);
  // Loaded only where it is needed: it brings zod, which takes longer than a build that has nothing to do.
  const { IsoDate } = await import('#contract/primitives.ts');
  if (IsoDate.safeParse(now).success) return now;
  throw new CommandError('--now must be a calendar date of the form YYYY-MM-DD');
}

function readThreads(threads: string): number {
  if (/^[1-9]\d?$/.test(threads)) return Number(threads);
  throw new CommandError('--threads must be a number from 1 to 99');
}

let shownAt = 0;

/** A line that is rewritten, for people who wait; a pipe gets none, and a short build neither. */
function showProgress(done: number, total: number): void {
  if (!process.stderr.isTTY || performance.now() - shownAt < 100) return;
  shownAt = performance.now();
  process.stderr.write(`\r\u001B[Krendering ${done}/${total}`);
}

function clearProgress(): void {
  if (process.stderr.isTTY && shownAt > 0) process.stderr.write('\r\u001B[K');
}
