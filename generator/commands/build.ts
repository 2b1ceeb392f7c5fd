import { build } from '../build.ts';
import { CommandError } from '../common/command-line.ts';
import { escapeLines } from '../common/terminal.ts';
import type { BuildResult } from '../compile.ts';
import { readSwitches } from '../release/history.ts';
import { formatDiagnostic, plural } from '../source/diagnostics.ts';
import { displayPath } from '../source/load.ts';
import { createOut, readDay, readUrls, resolveFolder } from './settings.ts';
import type { BuildFlags } from './settings.ts';

/** Runs `build`, which compiles content and catalog into a release, or `check`, which only reports problems. */
export async function runBuild(flags: BuildFlags, checkOnly = false): Promise<void> {
  const { threads, cache = true, compress: compression = 'fast', ...others } = flags;
  const now = await readDay(flags.now);
  if (threads !== undefined && !/^[1-9]\d?$/.test(threads)) {
    throw new CommandError('--threads must be a number from 1 to 99');
  }
  const urls = readUrls();
  const out = checkOnly ? resolveFolder('DIST_DIR', flags.out) : createOut(flags.out);
  const last = readSwitches(out).at(-1)?.at.toISOString() ?? '';
  if (flags.now === undefined && last.slice(0, 10) > now) {
    const seen = `the clock says ${now}, but the release in ${displayPath(out)} became current at ${last}`;
    process.stderr.write(`warning: ${seen}: set the clock, because articles dated after ${now} go offline\n`);
  }
  const content = resolveFolder('CONTENT_DIR', flags.content);
  const catalog = resolveFolder('CATALOG_DIR', flags.catalog);
  const started = performance.now();
  const progress = createProgress();
  let result: BuildResult;
  try {
    result = await build({
      ...others,
      content,
      catalog,
      out,
      now,
      urls,
      compression,
      checkOnly,
      noCache: !cache,
      threads: threads === undefined ? undefined : Number(threads),
      progress: progress.show,
    });
  } catch (error) {
    const { syscall, message } = error as NodeJS.ErrnoException;
    if (syscall === undefined || checkOnly) throw error;
    throw new CommandError(`the release could not be written, and the current release is unchanged: ${message}`);
  } finally {
    progress.clear();
  }
  report(result, flags.format, (performance.now() - started) / 1000, out);
}

/** Creates a progress line, which appears only in a terminal and changes at most every 100 ms. */
function createProgress() {
  let shownAt = 0;
  const show = (done: number, total: number): void => {
    if (!process.stderr.isTTY || performance.now() - shownAt < 100) return;
    shownAt = performance.now();
    process.stderr.write(`\r\u001B[Krendering ${done}/${total}`);
  };
  const clear = (): void => {
    if (shownAt > 0) process.stderr.write('\r\u001B[K');
  };
  return { show, clear };
}

function report(result: BuildResult, format: BuildFlags['format'], seconds: number, out: string): void {
  const { diagnostics, release, widget = null, counts, drafts, scheduled, nextChangeAt } = result;
  const ok = diagnostics.every(({ severity }) => severity === 'warning');
  const bytes = Object.values(release?.files ?? {}).reduce((sum, file) => sum + file.bytes, 0);
  if (!ok) process.exitCode = 1;
  if (format === 'json') {
    const summary = { ok, release: release?.id ?? null, counts, drafts, scheduled, nextChangeAt };
    const json = { ...summary, widget, bytes, seconds, diagnostics };
    process.stdout.write(`${escapeLines(JSON.stringify(json))}\n`);
    return;
  }
  const stream = format === 'github' ? process.stdout : process.stderr;
  stream.write(diagnostics.map((diagnostic) => `${formatDiagnostic(diagnostic, format)}\n`).join(''));
  const parts = [...summarize(result), ...(release ? [`${(bytes / 1000).toFixed(0)} kB`] : [])];
  const outcome = release ? `release ${release.id} in ${displayPath(out)}` : ok ? 'ok' : 'failed';
  const isWarned = outcome === 'ok' && diagnostics.length > 0;
  const later = isWarned ? `; ${plural(diagnostics.length, 'warning')} would fail a pull request (--strict)` : '';
  process.stderr.write(`${outcome}: ${parts.join(', ')}, ${seconds.toFixed(1)} s${later}\n`);
  if (widget) process.stderr.write(`status widget: ${widget.path} ${widget.integrity}\n`);
}

/** Describes the counts of a build: articles, drafts, scheduled articles, warnings and errors. */
export function summarize({ diagnostics, counts, drafts, scheduled, nextChangeAt }: BuildResult): string[] {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  return [
    plural(counts.blogArticles + counts.knowledgeBaseArticles, 'article'),
    ...(drafts > 0 ? [plural(drafts, 'draft')] : []),
    ...(scheduled > 0 ? [`${scheduled} scheduled (next ${nextChangeAt})`] : []),
    plural(diagnostics.length - errors, 'warning'),
    ...(errors > 0 ? [plural(errors, 'error')] : []),
  ];
}
