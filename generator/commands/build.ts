import { build } from '../build.ts';
import { CommandError } from '../common/command-line.ts';
import { createPaint, escapeControls, escapeLines, printLine, wrapFor } from '../common/terminal.ts';
import type { BuildOptions, BuildResult } from '../compile.ts';
import { readSwitches } from '../release/history.ts';
import { formatDiagnostic, plural } from '../source/diagnostics.ts';
import type { Diagnostic } from '../source/diagnostics.ts';
import { displayPath, readLines } from '../source/load.ts';
import type { SourceSet } from '../source/load.ts';
import { createOut, readDay, readUrls, resolveFolder } from './settings.ts';
import type { BuildFlags } from './settings.ts';

/** Runs `build`, which compiles content and catalog into a release, or `check`, which only reports problems. */
export async function runBuild(flags: BuildFlags, checkOnly = false): Promise<void> {
  const { threads, cache = true, compress: compression = 'fast', preview, ...others } = flags;
  const now = await readDay(flags.now);
  if (threads !== undefined && !/^[1-9]\d?$/.test(threads)) {
    throw new CommandError('--threads must be a number from 1 to 99');
  }
  const urls = readUrls();
  const out = checkOnly ? resolveFolder('DIST_DIR', flags.out) : createOut(flags.out);
  const last = readSwitches(out).at(-1)?.at.toISOString() ?? '';
  if (flags.now === undefined && last.slice(0, 10) > now) {
    const seen = `the clock says ${now}, but the release in ${displayPath(out)} became current at ${last}`;
    printLine(`warning: ${seen}: set the clock, because articles dated after ${now} go offline`);
  }
  const content = resolveFolder('CONTENT_DIR', flags.content);
  const catalog = resolveFolder('CATALOG_DIR', flags.catalog);
  const started = performance.now();
  const progress = createProgress();
  let result: BuildResult;
  try {
    const options: BuildOptions = {
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
    };
    if (preview !== undefined) await (await import('../dev.ts')).writePreview(preview, options);
    result = await build(options);
  } catch (error) {
    const { syscall, message } = error as NodeJS.ErrnoException;
    if (syscall === undefined || checkOnly) throw error;
    throw new CommandError(`the release could not be written, and the current release is unchanged: ${message}`);
  } finally {
    progress.clear();
  }
  report(result, flags.format, (performance.now() - started) / 1000, out);
}

/** Creates a progress line, which appears only in a terminal, and changes every 100 to 500 ms. */
function createProgress() {
  const started = performance.now();
  let text = 'reading';
  let shownAt = 0;
  const draw = (): void => {
    shownAt = performance.now();
    process.stderr.write(`\r\u001B[K${text}, ${((shownAt - started) / 1000).toFixed(1)} s`);
  };
  const timer = process.stderr.isTTY ? setInterval(draw, 500) : undefined;
  const show = (step: string, done?: number, total?: number): void => {
    text = total === undefined ? step : `${step} ${done}/${total}`;
    if (timer && performance.now() - shownAt > 100) draw();
  };
  const clear = (): void => {
    clearInterval(timer);
    if (timer) process.stderr.write('\r\u001B[K');
  };
  show(text);
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
  stream.write(formatProblems(diagnostics, result.sources, format));
  const parts = [...summarize(result), ...(release ? [`${(bytes / 1000).toFixed(0)} kB`] : [])];
  const outcome = release ? `release ${release.id} in ${displayPath(out)}` : ok ? 'ok' : 'failed';
  const isWarned = outcome === 'ok' && diagnostics.length > 0;
  const later = isWarned ? `; ${plural(diagnostics.length, 'warning')} would fail a pull request (--strict)` : '';
  printLine(`${createPaint(2)(ok ? 'green' : 'red', outcome)}: ${parts.join(', ')}, ${seconds.toFixed(1)} s${later}`);
  if (widget) printLine(`status widget: ${widget.path} ${widget.integrity}`);
}

/** The text to underline: a link, a heading, a quoted text or a word. */
const marked = /^(?:!?\[[^\]]*\]\([^)]*\)|#+ .*|"[^"]*"|[^\s:"()]+|.)?/u;

/** Repeats a character over the columns of a text; a terminal shows emoji and Chinese in two columns. */
const fill = (text: string, character: string): string =>
  text.replaceAll(/\p{Emoji_Presentation}|\p{Script=Han}/gu, '  ').replaceAll(/./gu, character);

type Format = 'text' | 'github';

/** Formats diagnostics: one line each, or in a terminal by file, with lines of the sources. */
export function formatProblems(found: readonly Diagnostic[], sources?: SourceSet, format: Format = 'text'): string {
  const { isTTY, columns } = process.stderr;
  if (!isTTY || format === 'github') return found.map((one) => `${formatDiagnostic(one, format)}\n`).join('');
  const paint = createPaint(2);
  const groups = [...Map.groupBy(found, ({ file }) => file)].map(([file, problems]) => {
    const lines = readLines(file, sources);
    const parts = problems.flatMap(({ severity, line, column, message, hint }) => {
      const colour = severity === 'error' ? 'red' : 'yellow';
      const { length } = String(line);
      const frame = (label: string | number, text: string): string =>
        `${paint('dim', `  ${String(label).padStart(length)} |`)} ${text}`;
      const text = lines[line - 1]?.replaceAll('\t', ' ') ?? '';
      // The part of the line that fits, with the position as near to its middle as possible.
      const room = (columns || 80) - length - 5;
      const start = Math.max(0, Math.min(text.length - room, column - 1 - Math.floor(room / 2)));
      const before = escapeControls(text.slice(start, column - 1));
      const after = escapeControls(text.slice(column - 1, start + room));
      const carets = paint(colour, fill(marked.exec(after)![0], '^') || '^');
      return [
        `  ${paint('dim', `${line}:${column}`)} ${paint(['bold', colour], severity)} ${escapeControls(message)}`,
        ...(text ? [frame(line, before + after), frame('', fill(before, ' ') + carets)] : []),
        ...(hint ? [frame('', `${paint('cyan', 'help:')} ${escapeControls(hint)}`)] : []),
      ];
    });
    return `${[paint('bold', escapeControls(file)), ...parts].join('\n')}\n\n`;
  });
  return wrapFor(2, groups.join(''));
}

/** Describes the counts of a build: articles, drafts, scheduled articles, warnings and errors. */
export function summarize({ diagnostics, counts, drafts, scheduled, nextChangeAt }: BuildResult): string[] {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  const files = process.stderr.isTTY ? new Set(diagnostics.map(({ file }) => file)).size : 1;
  return [
    plural(counts.blogArticles + counts.knowledgeBaseArticles, 'article'),
    ...(drafts > 0 ? [plural(drafts, 'draft')] : []),
    ...(scheduled > 0 ? [`${scheduled} scheduled (next ${nextChangeAt})`] : []),
    plural(diagnostics.length - errors, 'warning'),
    ...(errors > 0 ? [plural(errors, 'error')] : []),
    ...(files > 1 ? [`in ${plural(files, 'file')}`] : []),
  ];
}
