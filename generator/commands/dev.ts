import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { resolve } from 'node:path';
import type { BuildResult } from '../build-options.ts';
import { previewFolderOf, watchAndBuild } from '../dev.ts';
import { formatDiagnostic } from '../source/diagnostics.ts';
import { displayPath } from '../source/load.ts';
import { createOut, toStrictness } from './out.ts';
import type { OutFlag, SourceFlags } from './out.ts';
import { summarize } from './report.ts';

/** Runs `dev`: builds and serves content and catalog after each change. */
export async function runDev(flags: OutFlag & SourceFlags & { serve: boolean }): Promise<void> {
  const out = createOut(flags.out);
  const [content, catalog] = [resolve(flags.content), resolve(flags.catalog)];
  const print = createPrinter();
  let isServing = !flags.serve;
  const report = (result: BuildResult, ms: number): void => {
    print(result, ms);
    if (isServing || !result.release) return;
    isServing = true;
    serve(previewFolderOf(out));
  };
  await watchAndBuild({ content, catalog, out, ...toStrictness(flags), report, fail });
  process.stderr.write(`watching ${displayPath(content)} and ${displayPath(catalog)}; press Ctrl-C to stop\n`);
}

/** Creates a function that prints a summary of each build and the problems that the previous build did not have. */
function createPrinter(): (result: BuildResult, ms: number) => void {
  let previous = new Set<string>();
  return (result, ms) => {
    const current = new Set<string>();
    for (const diagnostic of result.diagnostics) {
      const { file, line, column, message } = diagnostic;
      const key = `${file}:${line}:${column} ${message}`;
      current.add(key);
      if (!previous.has(key)) process.stderr.write(`${formatDiagnostic(diagnostic, 'text')}\n`);
    }
    previous = current;
    const outcome = result.release ? 'built' : 'failed, the files stay as they were';
    process.stderr.write(`${outcome}: ${summarize(result).join(', ')}, ${ms.toFixed(0)} ms\n`);
  };
}

function fail(error: unknown): void {
  process.stderr.write(`the build failed, the next change starts another: ${(error as Error).message}\n`);
}

/** Starts the server as a child process and exits when it exits. */
function serve(dist: string): void {
  const main = fileURLToPath(new URL('../../server/main.js', import.meta.url));
  const server = spawn(process.execPath, [main], { env: { ...process.env, DIST_DIR: dist }, stdio: 'inherit' });
  server.once('exit', (code) => process.exit(code ?? 1));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => server.kill(signal));
}
