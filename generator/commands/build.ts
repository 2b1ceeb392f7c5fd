import { build } from '../build.ts';
import type { BuildResult } from '../compile.ts';
import { CommandError } from '../common/command-line.ts';
import type { DiagnosticFormat } from '../source/diagnostics.ts';
import type { Compression } from '../release/compress.ts';
import { createOut, readDay, readUrls, resolveFolder, toStrictness } from './settings.ts';
import type { OutFlag, SourceFlags } from './settings.ts';
import { report } from './report.ts';

/** The options of `check`. */
interface CheckFlags extends OutFlag, SourceFlags {
  readonly now?: string;
  readonly threads?: string;
  readonly against?: string;
  readonly allowEmpty?: boolean;
  readonly format: DiagnosticFormat;
}

/** The options of `build`. */
interface BuildFlags extends CheckFlags {
  readonly cache: boolean;
  readonly compress: Compression;
}

/** Runs `build`: compiles content and catalog into a new release. */
export function runBuild(flags: BuildFlags): Promise<void> {
  return run(flags, { noCache: !flags.cache, compression: flags.compress });
}

/** Runs `check`: the same without writing. It reads the article cache of builds. */
export function runCheck(flags: CheckFlags): Promise<void> {
  return run(flags, { checkOnly: true, noCache: false, compression: 'fast' });
}

async function run(
  flags: CheckFlags,
  mode: { checkOnly?: boolean; noCache: boolean; compression: Compression },
): Promise<void> {
  const now = await readDay(flags.now);
  const threads = flags.threads === undefined ? {} : { threads: readThreads(flags.threads) };
  const urls = readUrls();
  const out = mode.checkOnly ? resolveFolder('DIST_DIR', flags.out) : createOut(flags.out);
  const started = performance.now();
  let result: BuildResult;
  try {
    result = await build({
      content: resolveFolder('CONTENT_DIR', flags.content),
      catalog: resolveFolder('CATALOG_DIR', flags.catalog),
      now,
      urls,
      ...toStrictness(flags),
      against: flags.against,
      allowEmpty: flags.allowEmpty ?? false,
      progress: showProgress,
      ...threads,
      out,
      ...mode,
    });
  } catch (error) {
    const { syscall, message } = error as NodeJS.ErrnoException;
    if (syscall === undefined || mode.checkOnly) throw error;
    throw new CommandError(`the release could not be written, and the current one stays as it is: ${message}`);
  } finally {
    clearProgress();
  }
  report(result, flags.format, (performance.now() - started) / 1000, out);
}

function readThreads(threads: string): number {
  if (/^[1-9]\d?$/.test(threads)) return Number(threads);
  throw new CommandError('--threads must be a number from 1 to 99');
}

let shownAt = 0;

/** Rewrites a progress line, at most every 100 ms and only in a terminal. */
function showProgress(done: number, total: number): void {
  if (!process.stderr.isTTY || performance.now() - shownAt < 100) return;
  shownAt = performance.now();
  process.stderr.write(`\r\u001B[Krendering ${done}/${total}`);
}

function clearProgress(): void {
  if (process.stderr.isTTY && shownAt > 0) process.stderr.write('\r\u001B[K');
}
