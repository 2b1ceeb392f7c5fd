import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { resolve } from 'node:path';
import type { BuildResult } from '../build-options.ts';
import { previewFolderOf, watchAndBuild } from '../dev.ts';
import { formatDiagnostic } from '../source/diagnostics.ts';
import { displayPath } from '../source/load.ts';
import { resolveOut } from './out.ts';
import type { OutFlag, SourceFlags } from './out.ts';
import { summarize } from './report.ts';

/** `dev`: serves content and catalog as they are at every moment. */
export async function runDev(flags: OutFlag & SourceFlags & { serve: boolean }): Promise<void> {
  const out = resolveOut(flags.out);
  const [content, catalog] = [resolve(flags.content), resolve(flags.catalog)];
  const say = createReport();
  let served = !flags.serve;
  const report = (result: BuildResult, ms: number): void => {
    say(result, ms);
    if (served || !result.release) return;
    served = true;
    serve(previewFolderOf(out));
  };
  await watchAndBuild({ content, catalog, out, lenient: flags.lenient ?? false, report, fail });
  process.stderr.write(`watching ${displayPath(content)} and ${displayPath(catalog)}; Ctrl-C ends\n`);
}

/** Prints what is wrong and was not before, and how much is wrong in all. */
function createReport(): (result: BuildResult, ms: number) => void {
  let before = new Set<string>();
  return (result, ms) => {
    const now = new Set<string>();
    for (const diagnostic of result.diagnostics) {
      const { file, line, column, message } = diagnostic;
      const key = `${file}:${line}:${column} ${message}`;
      now.add(key);
      if (!before.has(key)) process.stderr.write(`${formatDiagnostic(diagnostic, 'text')}\n`);
    }
    before = now;
    const outcome = result.release ? 'built' : 'failed, the files stay as they were';
    process.stderr.write(`${outcome}: ${summarize(result).join(', ')}, ${ms.toFixed(0)} ms\n`);
  };
}

function fail(error: unknown): void {
  process.stderr.write(`nothing could be built, the next change tries again: ${(error as Error).message}\n`);
}

/** The server is a program of its own: it is started, and never imported. Where it ends, so does this. */
function serve(dist: string): void {
  const main = fileURLToPath(new URL('../../server/main.js', import.meta.url));
  const server = spawn(process.execPath, [main], { env: { ...process.env, DIST_DIR: dist }, stdio: 'inherit' });
  server.once('exit', (code) => process.exit(code ?? 1));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => server.kill(signal));
}
