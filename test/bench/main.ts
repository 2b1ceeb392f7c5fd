import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { openCheckout, report } from './bench.ts';
import type { Bench } from './bench.ts';
import { multiplyContent, writeCatalog, writeCorpus } from './corpus.ts';
import { runDev } from './dev.ts';
import { runGenerator } from './generator.ts';
import { runServer } from './server.ts';
import { runNewRelease, runStart } from './start.ts';
import { formatSection } from './table.ts';
import type { Section } from './table.ts';
import { formatTargets } from './targets.ts';

const usage = `npm run bench -- [--quick] [--only generator|dev|server] [--before DIR]
    [--corpus DIR] [--copies N] [--rounds N] [--rows A,B]
docs/performance.md explains the options. Without them: 1,000 generated articles and seven rounds; --quick: 60 and three.
`;
/** Later parts of the server use the builds and recordings of the first part. */
const parts: readonly (readonly [name: string, run: (bench: Bench) => Promise<Section>])[] = [
  ['generator', runGenerator],
  ['dev', runDev],
  ['server', runServer],
  ['server', runStart],
  ['server', runNewRelease],
];

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    before: { type: 'string' },
    corpus: { type: 'string' },
    copies: { type: 'string', default: '1' },
    rounds: { type: 'string' },
    rows: { type: 'string', default: '' },
    help: { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds ?? (values.quick ? 3 : 7));
const copies = Number(values.copies);
const selected = parts.filter(([name]) => name === (values.only ?? name));
const isValid = [rounds, copies].every((number) => Number.isInteger(number) && number > 0) && selected.length > 0;
if (!isValid) process.exitCode = 2;
if (values.help || !isValid) process.stdout.write(usage);
else await main();

async function main(): Promise<void> {
  const checkouts = [openCheckout('ours', resolve(import.meta.dirname, '../..'))];
  if (values.before !== undefined) checkouts.push(openCheckout('before', resolve(values.before)));
  installPeers();
  const corpus = values.corpus === undefined ? undefined : resolve(values.corpus);
  const work = mkdtempSync(join(tmpdir(), 'hosting-api-bench-'));
  // Runs on every exit. Retries, because a dying process may still write there.
  process.once('exit', () => rmSync(work, { recursive: true, force: true, maxRetries: 5 }));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
  process.chdir(work);
  if (corpus === undefined) writeCorpus('content', values.quick ? 60 : 1000);
  else cpSync(corpus, 'content', { recursive: true });
  multiplyContent('content', copies);
  writeCatalog('catalog');
  const articles = globSync('content/{blog,knowledgebase}/*/*.md');
  if (articles.length === 0) throw new Error(`${corpus}: there are no articles below blog/ and knowledgebase/`);

  const chosen = values.rows.split(',').map((part) => part.trim().toLowerCase());
  const bench: Bench = {
    checkouts,
    articles: articles.length,
    isLenient: corpus !== undefined,
    rounds,
    requests: values.quick ? 3000 : 20_000,
    isChosen: (name) =>
      [name, name.replace('before', 'ours')].some((one) => chosen.some((part) => one.toLowerCase().includes(part))),
  };
  const sections: Section[] = [];
  for (const [, run] of selected) {
    const started = performance.now();
    const section = await run(bench);
    const took = `Measured in ${((performance.now() - started) / 1000).toFixed(0)} s.`;
    if (section.rows.length > 0) sections.push({ ...section, notes: [...section.notes, took] });
  }
  report('');
  const megabytes = articles.reduce((sum, file) => sum + statSync(file).size, 0) / 1e6;
  const head =
    `Node.js ${process.version}, ${cpus().length} cores; ${articles.length} articles, ${megabytes.toFixed(2)} MB; ` +
    `medians of ${rounds} rounds, ± is half the range from minimum to maximum`;
  const texts = [head, ...sections.map(formatSection), formatTargets(sections, articles.length)];
  process.stdout.write(`${texts.join('\n\n')}\n`);
}

/** Installs the peers on first use and after changes of their lock file. */
function installPeers(): void {
  const folder = import.meta.dirname;
  const changedAt = (file: string): number => statSync(join(folder, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (changedAt('node_modules/.package-lock.json') > changedAt('package-lock.json')) return;
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: ['ignore', 2, 2] });
}
