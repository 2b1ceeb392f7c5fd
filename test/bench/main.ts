import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { writeCatalog, writeCorpus } from './corpus.ts';
import { printGenerator, runGenerator, summarizeGenerator } from './generator.ts';
import { printServer, runServer, summarizeServer } from './server.ts';

const usage = `npm run bench -- [--quick] [--json] [--only generator|server] [--articles N] [--corpus DIR]
  --quick       100 articles and three rounds, in about a minute; else 1,000 articles and seven rounds
  --corpus DIR  a content folder of your own instead of generated articles; dead links in it are warnings
`;

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    articles: { type: 'string' },
    corpus: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const count = Number(values.articles ?? (values.quick ? 100 : 1000));
const isSound = Number.isInteger(count) && count > 0 && [undefined, 'generator', 'server'].includes(values.only);
if (!isSound) process.exitCode = 2;
if (values.help || !isSound) process.stdout.write(usage);
else await run();

async function run(): Promise<void> {
  installPeers();
  const work = mkdtempSync(join(tmpdir(), 'hosting-api-bench-'));
  const say = (line: string): unknown => process.stderr.isTTY && process.stderr.write(`\r\u001B[K${line}`);
  // However it ends; Ctrl-C reaches what was started by itself.
  process.once('exit', () => rmSync(work, { recursive: true, force: true }));
  process.once('SIGINT', () => process.exit(130));
  const content = join(work, 'content');
  if (values.corpus === undefined) writeCorpus(content, count);
  else cpSync(resolve(values.corpus), content, { recursive: true });
  writeCatalog(join(work, 'catalog'));
  const articles = globSync('{blog,knowledgebase}/*/*.md', { cwd: content });
  const bytes = articles.reduce((sum, file) => sum + statSync(join(content, file)).size, 0);
  const lenient = values.corpus !== undefined;
  const options = { work, articles: articles.length, lenient, rounds: values.quick ? 3 : 7, say };

  const generator = values.only === 'server' ? undefined : summarizeGenerator(await runGenerator(options));
  const windowSeconds = values.quick ? 0.3 : 1.5;
  const server =
    values.only === 'generator' ? undefined : summarizeServer(await runServer({ ...options, windowSeconds }));
  say('');
  const machine = { node: process.version, processor: cpus()[0]?.model, cores: cpus().length };
  const corpus = { articles: articles.length, bytes, rounds: options.rounds };
  if (values.json) {
    process.stdout.write(`${JSON.stringify({ machine, corpus, generator, server }, null, 2)}\n`);
    return;
  }
  process.stdout.write(
    `Node.js ${machine.node}, ${machine.cores} cores; ${corpus.articles} articles, ${(bytes / 1e6).toFixed(2)} MB; ` +
      `medians of ${corpus.rounds} rounds, ± is half the way from the least to the greatest\n\n`,
  );
  if (generator) process.stdout.write(`${printGenerator(generator)}\n\n`);
  if (server) process.stdout.write(`${printServer(server)}\n`);
}

/** The peers are installed on first use, and again when their lock file has changed. */
function installPeers(): void {
  const folder = import.meta.dirname;
  const changedAt = (file: string): number => statSync(join(folder, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (changedAt('node_modules/.package-lock.json') > changedAt('package-lock.json')) return;
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, stdio: ['ignore', 2, 2] });
}
