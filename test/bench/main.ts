import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildRelease, openCheckouts } from './checkouts.ts';
import type { BenchOptions } from './checkouts.ts';
import { multiplyContent, writeCatalog, writeCorpus } from './corpus.ts';
import { runDev } from './dev.ts';
import { runGenerator } from './generator.ts';
import { runServer } from './server.ts';
import { runStart, runNewRelease } from './start.ts';
import { formatSection, parseChoice } from './table.ts';
import type { Section } from './table.ts';
import { formatJudgements, judge } from './targets.ts';

const usage = `npm run bench -- [--quick] [--only generator|dev|server] [--before DIR] [--articles N]
    [--corpus DIR] [--copies N] [--rounds N] [--rows A,B]
  --quick       60 articles and three rounds, in about a minute; else 1,000 articles and seven rounds
  --before DIR  another checkout of this project with its packages; every row is measured for both
  --corpus DIR  a content folder instead of generated articles; its dead links are warnings
  --copies N    repeat the content N times, with different words in each copy
  --rounds N    how often each row is measured
  --rows A,B    only rows whose name contains one of these, and the rows that they are compared with
`;
const parts = ['generator', 'dev', 'server'] as const;

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    before: { type: 'string' },
    articles: { type: 'string' },
    corpus: { type: 'string' },
    copies: { type: 'string', default: '1' },
    rounds: { type: 'string' },
    rows: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const count = Number(values.articles ?? (values.quick ? 60 : 1000));
const rounds = Number(values.rounds ?? (values.quick ? 3 : 7));
const copies = Number(values.copies);
const isValid =
  [count, rounds, copies].every((number) => Number.isInteger(number) && number > 0) &&
  (values.only === undefined || parts.some((part) => part === values.only));
if (!isValid) process.exitCode = 2;
if (values.help || !isValid) process.stdout.write(usage);
else await main();

async function main(): Promise<void> {
  const checkouts = openCheckouts(values.before);
  installPeers();
  const work = mkdtempSync(join(tmpdir(), 'hosting-api-bench-'));
  const report = (line: string): unknown => process.stderr.isTTY && process.stderr.write(`\r\u001B[K${line}`);
  // On every exit. It retries, since a process that is being killed may still write there.
  process.once('exit', () => rmSync(work, { recursive: true, force: true, maxRetries: 5 }));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
  const content = join(work, 'content');
  if (values.corpus === undefined) writeCorpus(content, count);
  else cpSync(resolve(values.corpus), content, { recursive: true });
  multiplyContent(content, copies);
  writeCatalog(join(work, 'catalog'));
  const articles = globSync('{blog,knowledgebase}/*/*.md', { cwd: content });
  if (articles.length === 0) throw new Error(`${values.corpus}: there are no articles below blog/ and knowledgebase/`);
  const bytes = articles.reduce((sum, file) => sum + statSync(join(content, file)).size, 0);
  const corpus = { work, articles: articles.length, lenient: values.corpus !== undefined };
  const sections = await measureSections({ ...corpus, checkouts, rounds, chosen: parseChoice(values.rows), report });
  report('');
  print(sections, { articles: articles.length, bytes, rounds });
}

/** Measures every selected part; each section notes how long it took. */
async function measureSections(options: BenchOptions): Promise<Section[]> {
  const { work, checkouts } = options;
  const isSelected = (part: (typeof parts)[number]): boolean => values.only === undefined || values.only === part;
  const sections: Section[] = [];
  const measure = async (run: () => Promise<Section>): Promise<void> => {
    const started = performance.now();
    const section = await run();
    const took = `Measured in ${((performance.now() - started) / 1000).toFixed(0)} s.`;
    sections.push({ ...section, notes: [...section.notes, took] });
  };
  if (isSelected('generator')) await measure(() => runGenerator(options));
  if (isSelected('dev')) await measure(() => runDev({ ...options, rounds: Math.max(5, options.rounds) }));
  if (isSelected('server')) {
    const served = checkouts.map((checkout) => ({ checkout, dist: join(work, `served-${checkout.name}`) }));
    for (const { checkout, dist } of served) buildRelease(checkout, options, dist);
    let recording = '';
    await measure(async () => {
      const measured = await runServer(options, served, values.quick ? 3000 : 20_000);
      ({ recording } = measured);
      return measured.section;
    });
    await measure(() => runStart(options, served, recording));
    await measure(() => runNewRelease(options, served));
  }
  return sections;
}

function print(sections: readonly Section[], corpus: { articles: number; bytes: number; rounds: number }): void {
  const targets = judge(sections, corpus.articles);
  process.stdout.write(
    `Node.js ${process.version}, ${cpus().length} cores; ${corpus.articles} articles, ` +
      `${(corpus.bytes / 1e6).toFixed(2)} MB; medians of ${corpus.rounds} rounds, ` +
      `± is half the range from minimum to maximum\n`,
  );
  for (const section of sections) process.stdout.write(`\n${formatSection(section)}\n`);
  process.stdout.write(`\n${formatJudgements(targets)}\n`);
}

/** Installs the peers on first use, and again after their lock file has changed. */
function installPeers(): void {
  const folder = import.meta.dirname;
  const changedAt = (file: string): number => statSync(join(folder, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (changedAt('node_modules/.package-lock.json') > changedAt('package-lock.json')) return;
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: ['ignore', 2, 2] });
}
