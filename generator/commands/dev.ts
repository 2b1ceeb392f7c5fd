import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CommandError } from '../common/command-line.ts';
import { listNames } from '../common/suggest.ts';
import { createPaint, escapeControls, printLine } from '../common/terminal.ts';
import { previewFolderOf, watchAndBuild } from '../dev.ts';
import type { PreviewBuild } from '../dev.ts';
import { openPreview } from '../preview/server.ts';
import type { Preview } from '../preview/server.ts';
import type { Diagnostic } from '../source/diagnostics.ts';
import { formatDiagnostic } from '../source/diagnostics.ts';
import { displayPath } from '../source/load.ts';
import { formatProblems, summarize } from './build.ts';
import { createOut, readDay, readUrls, resolveFolder } from './settings.ts';
import type { DevFlags } from './settings.ts';

/** Runs `dev`: rebuilds content and catalog after each change, and serves them with a preview. */
export async function runDev(flags: DevFlags): Promise<void> {
  const now = flags.now === undefined ? undefined : await readDay(flags.now);
  const out = createOut(flags.out);
  const [content, catalog] = [resolveFolder('CONTENT_DIR', flags.content), resolveFolder('CATALOG_DIR', flags.catalog)];
  const folder = previewFolderOf(out);
  const preview = flags.serve ? await openPreview(process.env) : undefined;
  const print = createPrinter();
  let directory: string | undefined;
  let isServed = false;
  const report = (build: PreviewBuild): void => {
    print(build);
    const { release, diagnostics } = build.result;
    if (release) directory = join(folder, 'releases', release.id);
    preview?.show({ articles: build.articles, sources: build.sources, diagnostics, directory });
    if (preview && !isServed) serve(folder, preview);
    isServed = true;
  };
  const preferences = { now, withUnpublished: flags.drafts, isServed: preview !== undefined };
  await watchAndBuild({ ...flags, ...preferences, content, catalog, out, urls: readUrls(), report, fail });
  printLine(`watching ${displayPath(content)} and ${displayPath(catalog)}; press Ctrl-C to stop`);
  if (!preview && directory === undefined) printLine('the preview starts when the problems are fixed');
}

function fail(error: unknown): void {
  const isUnwatched = error instanceof CommandError;
  // Without any watch, nothing keeps the process running.
  if (isUnwatched) process.exitCode = 1;
  const failed = isUnwatched ? '' : 'the build failed and will be retried after the next change: ';
  printLine(`${failed}${escapeControls((error as Error).message)}`);
}

const keyOf = ({ file, line, column, message }: Diagnostic): string => `${file}:${line}:${column} ${message}`;

/** Creates a function that prints the new problems of each build, then a line with the changes and the outcome. */
function createPrinter(): (build: PreviewBuild) => void {
  const paint = createPaint(2);
  let previous = new Set<string>();
  return ({ result, sources, files, ms }) => {
    const { diagnostics, release } = result;
    const current = new Map(diagnostics.map((diagnostic) => [keyOf(diagnostic), diagnostic]));
    const added = [...current].flatMap(([key, diagnostic]) => (previous.has(key) ? [] : diagnostic));
    process.stderr.write(formatProblems(added, sources));
    previous = new Set(current.keys());
    const first = diagnostics.find(({ severity }) => severity === 'error');
    const still = first && !added.includes(first) ? `, still ${formatDiagnostic(first, 'text')}` : '';
    const outcome = release ? paint('green', 'built') : `${paint('red', 'not built')}${still}`;
    printLine(`${describeChange(files)}${outcome}: ${summarize(result).join(', ')}, ${ms.toFixed(0)} ms`);
  };
}

function describeChange(files: PreviewBuild['files']): string {
  if (files.size === 0) return '';
  const named = [...files].map(([file, change]) => `${change} ${escapeControls(displayPath(file))}`);
  return `${listNames(named, 3)}; `;
}

/** Starts the server as a child process, and exits with the server. */
function serve(dist: string, preview: Preview): void {
  const main = fileURLToPath(new URL('../../server/main.js', import.meta.url));
  const server = spawn(process.execPath, [main, `--preview=${preview.origin}`], {
    env: { ...process.env, DIST_DIR: dist, DIST_DIR_FILE: '' },
    stdio: 'inherit',
  });
  server.once('exit', (code) => process.exit(code ?? 1));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      // Event streams of open pages would delay the shutdown of the server.
      preview.close();
      server.kill(signal);
    });
  }
}
