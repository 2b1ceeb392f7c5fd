import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileOf } from '#contract/static-files.ts';
import type { StatusWidget } from '#contract/status.ts';
import type { BuildResult } from '../compile.ts';
import { escapeLines } from '../common/terminal.ts';
import { formatDiagnostic } from '../source/diagnostics.ts';
import type { DiagnosticFormat } from '../source/diagnostics.ts';
import { displayPath } from '../source/load.ts';

/** Prints the result of a build: every problem and a summary line. */
export function report(result: BuildResult, format: DiagnosticFormat, seconds: number, out: string): void {
  const { diagnostics, release, counts, drafts, scheduled, nextChangeAt } = result;
  const widget = release && readWidget(join(out, 'releases', release.id));
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  const bytes = Object.values(release?.files ?? {}).reduce((sum, file) => sum + file.bytes, 0);
  if (errors > 0) process.exitCode = 1;
  if (format === 'json') {
    const summary = {
      ok: errors === 0,
      release: release?.id ?? null,
      counts,
      drafts,
      scheduled,
      nextChangeAt,
      widget: widget ?? null,
      bytes,
      seconds,
    };
    process.stdout.write(`${escapeLines(JSON.stringify({ ...summary, diagnostics }))}\n`);
    return;
  }
  const stream = format === 'github' ? process.stdout : process.stderr;
  stream.write(diagnostics.map((diagnostic) => `${formatDiagnostic(diagnostic, format)}\n`).join(''));
  const parts = [...summarize(result), ...(release ? [`${(bytes / 1000).toFixed(0)} kB`] : [])];
  const outcome = release ? `release ${release.id} in ${displayPath(out)}` : errors > 0 ? 'failed' : 'ok';
  const warnings = diagnostics.length - errors;
  const later = outcome === 'ok' && warnings > 0 && `; a pull request (--strict) fails: ${plural(warnings, 'warning')}`;
  process.stderr.write(`${outcome}: ${parts.join(', ')}, ${seconds.toFixed(1)} s${later || ''}\n`);
  if (widget) process.stderr.write(`status widget: ${widget.path} ${widget.integrity}\n`);
}

/** The counts of a build in words: articles, drafts, scheduled articles, warnings and errors. */
export function summarize({ diagnostics, counts, drafts, scheduled, nextChangeAt }: BuildResult): string[] {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  const parts = [plural(counts.blogArticles + counts.knowledgeBaseArticles, 'article')];
  if (drafts > 0) parts.push(plural(drafts, 'draft'));
  if (scheduled > 0) parts.push(`${scheduled} scheduled (next ${nextChangeAt})`);
  parts.push(plural(diagnostics.length - errors, 'warning'));
  if (errors > 0) parts.push(plural(errors, 'error'));
  return parts;
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** How a page embeds the status widget of a release. */
function readWidget(release: string): StatusWidget {
  return JSON.parse(readFileSync(join(release, fileOf('statusWidgetIntegrity')), 'utf8')) as StatusWidget;
}
