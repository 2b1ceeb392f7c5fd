import { execFileSync, spawn } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { parseSync } from 'oxc-parser';
import { createRandom } from './bench/corpus.ts';

// Mutation testing of both programs: changes one place of the code at a time, and runs the fast tests that reach it. A
// mutant that no test detects means a missing test or unnecessary code. See test/README.md.

const usage = `node test/mutants.ts [options]
  --count N       how many mutants (150)
  --seed N        which ones (1)
  --program NAME  generator or server (both)
  --tree FOLDER   the checkout whose program and tests run (this one)
  --list FILE     the mutants: read if the file exists, else written; another checkout can then run the same ones
  --tests PATH    only tests with this in their path
  --jobs N        mutants at a time (2)
  --out FILE      the results as JSON`;

/** A change of the code. */
interface Mutant {
  readonly file: string;
  readonly line: number;
  readonly operator: string;
  /** The text of the line, to locate it in another checkout. */
  readonly text: string;
  /** The change, as offsets from the start of the line. */
  readonly from: number;
  readonly to: number;
  readonly replacement: string;
  /** The code that a test must evaluate to reach the mutant: an expression or a statement. */
  readonly reach: { readonly from: number; readonly to: number; readonly isStatement: boolean };
  /** Evaluated once, when the module is loaded: every test that imports the module reaches the mutant. */
  readonly isOfModule: boolean;
}

interface Result extends Mutant {
  readonly outcome: 'killed' | 'survived' | 'timed out' | 'not reached' | 'not found';
  /** Number of test files that reach the mutant. */
  readonly tests: number;
  readonly seconds: number;
}

/** The fields of syntax tree nodes used here; each type of node has some of them. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly operator: string;
  readonly left: Node;
  readonly right: Node;
  readonly test: Node;
  readonly argument: Node | null;
  readonly expression: Node;
  readonly elements: readonly unknown[];
  readonly value: unknown;
}

const maxSeconds = 60;
/** Number of test files to run first: those that reach the fewest mutants. */
const nearest = 6;
const swapped = new Map(
  '< <=, <= <, > >=, >= >, === !==, !== ===, + -, - +, * /, / *, % *, && ||, || &&, ?? &&'
    .split(', ')
    .map((pair) => pair.split(' ') as [string, string]),
);
/**
 * Browser code is compiled during a build, so reaching it cannot be recorded: run the tests with this in their path.
 */
const browserCode: readonly (readonly [folder: string, tests: RegExp])[] = [
  ['generator/widget/', /widget/],
  ['generator/preview/browser/', /preview/],
  ['generator/reference/browser/', /docs|reference/],
];

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '150' },
    seed: { type: 'string', default: '1' },
    program: { type: 'string' },
    tree: { type: 'string', default: resolve(import.meta.dirname, '..') },
    list: { type: 'string' },
    tests: { type: 'string' },
    jobs: { type: 'string', default: '2' },
    out: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) console.log(usage);
else await main();

async function main(): Promise<void> {
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: values.tree, encoding: 'utf8' })
    .split('\0')
    .filter(Boolean);
  const isListed = values.list !== undefined && existsSync(values.list);
  const mutants = isListed ? (JSON.parse(readFileSync(values.list!, 'utf8')) as Mutant[]) : draw(files);
  if (values.list !== undefined && !isListed) writeFileSync(values.list, JSON.stringify(mutants, undefined, 1));

  const scratch = mkdtempSync(join(tmpdir(), 'mutants-'));
  process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
  const copy = (name: string): string => {
    const tree = join(scratch, name);
    for (const file of files) {
      mkdirSync(dirname(join(tree, file)), { recursive: true });
      cpSync(join(values.tree, file), join(tree, file), { verbatimSymlinks: true });
    }
    symlinkSync(join(values.tree, 'node_modules'), join(tree, 'node_modules'));
    // Some tests list files with git.
    for (const step of ['init --quiet', 'add --all']) execFileSync('git', step.split(' '), { cwd: tree });
    return tree;
  };
  const reached = await recordReach(copy('reach'), files, mutants);
  const breadth = new Map<string, number>();
  for (const tests of reached) for (const test of tests) breadth.set(test, (breadth.get(test) ?? 0) + 1);

  const results: Result[] = [];
  const waiting = mutants.entries();
  const work = async (tree: string): Promise<void> => {
    for (const [index, mutant] of waiting) {
      const tests = [...reached[index]!].toSorted((one, other) => breadth.get(one)! - breadth.get(other)!);
      const result = await tryMutant(tree, mutant, tests);
      results.push(result);
      const { file, line, operator, outcome, seconds } = result;
      console.log(
        `${results.length}/${mutants.length} ${outcome} ${file}:${line} ${operator} (${seconds} s, ${tests.length} test files)`,
      );
      if (values.out !== undefined) writeFileSync(values.out, JSON.stringify(results, undefined, 1));
    }
  };
  await Promise.all(Array.from({ length: Number(values.jobs) }, (_, job) => work(copy(`job-${job}`))));
  const counts = [...Map.groupBy(results, ({ outcome }) => outcome)];
  console.log(counts.map(([outcome, { length }]) => `${length} ${outcome}`).join(', '));
}

/** Draws mutants from all files of the programs; the same seed and code give the same mutants. */
function draw(files: readonly string[]): Mutant[] {
  const programs = values.program === undefined ? ['generator', 'server'] : [values.program];
  const sources = files.filter(
    (file) => programs.some((name) => file.startsWith(`${name}/`)) && /(?<!\.d)\.ts$/.test(file),
  );
  const all = sources.flatMap((file) => findMutants(file, readFileSync(join(values.tree, file), 'utf8')));
  const random = createRandom(Number(values.seed));
  const drawn: Mutant[] = [];
  for (let wanted = Number(values.count); wanted > 0 && all.length > 0; wanted -= 1) {
    drawn.push(...all.splice(Math.floor(random() * all.length), 1));
  }
  return drawn;
}

/** Lists all changes of a file that the operators allow. */
function findMutants(file: string, source: string): Mutant[] {
  const found: Mutant[] = [];
  let functions = 0;
  const add = (node: Node, operator: string, from: number, to: number, replacement: string): void => {
    const begin = source.lastIndexOf('\n', node.start - 1) + 1;
    const end = source.indexOf('\n', begin);
    found.push({
      file,
      line: source.slice(0, node.start).split('\n').length,
      operator,
      text: source.slice(begin, end < 0 ? undefined : end),
      from: from - begin,
      to: to - begin,
      replacement,
      reach: { from: node.start - begin, to: node.end - begin, isStatement: node.type.endsWith('Statement') },
      isOfModule: functions === 0,
    });
  };
  const replace = (node: Node, operator: string, text: string): void => add(node, operator, node.start, node.end, text);
  const visit = (node: Node, parent: Node | undefined, field: string): void => {
    if (/^TS(?!As|NonNull|Satisfies)|^Import|^ExportAll|^ExportSpecifier/.test(node.type)) return;
    const { operator, left, right, test, value, argument, expression } = node;
    switch (node.type) {
      case 'BinaryExpression':
      case 'LogicalExpression': {
        const isText =
          operator === '+' &&
          [left, right].some(({ type, value: text }) => type === 'TemplateLiteral' || typeof text === 'string');
        const at = source.indexOf(operator, left.end);
        const to = swapped.get(operator);
        if (to !== undefined && !isText) add(node, `${operator} becomes ${to}`, at, at + operator.length, to);
        break;
      }
      case 'UnaryExpression':
        if (operator === '!') replace(node, '! removed', source.slice(argument!.start, argument!.end));
        break;
      case 'IfStatement':
      case 'ConditionalExpression':
        for (const always of ['true', 'false']) replace(test, `condition becomes ${always}`, always);
        break;
      case 'Literal':
        if ((parent?.type === 'Property' && field === 'key') || parent?.type === 'ExpressionStatement') break;
        if (typeof value === 'boolean') replace(node, `${String(value)} becomes ${String(!value)}`, String(!value));
        else if (typeof value === 'number') replace(node, 'number plus one', String(value + 1));
        else if (typeof value === 'string' && value !== '') replace(node, 'text becomes empty', "''");
        break;
      case 'ArrayExpression':
        if (node.elements.length > 0) replace(node, 'list becomes empty', '[]');
        break;
      case 'ExpressionStatement':
        if (/^(?:Call|Await|Assignment)/.test(expression.type)) replace(node, 'statement removed', ';');
        break;
      case 'ReturnStatement':
        if (argument) replace(node, 'returns nothing', 'return;');
        break;
    }
    const isFunction = /Function/.test(node.type);
    if (isFunction) functions += 1;
    for (const [name, child] of Object.entries(node)) {
      for (const one of [child as Partial<Node> | null].flat()) {
        if (typeof one?.type === 'string' && typeof one.start === 'number') visit(one as Node, node, name);
      }
    }
    if (isFunction) functions -= 1;
  };
  visit(parseSync(file, source).program as unknown as Node, undefined, '');
  return found;
}

/** Finds the start of a mutant's line: the same line, or the only line with the same text; -1 if not found. */
function locate(source: string, { line, text }: Mutant): number {
  const lines = source.split('\n');
  const same = lines.flatMap((each, index) => (each === text ? [index] : []));
  const index = same.includes(line - 1) ? line - 1 : same.length === 1 ? same[0]! : -1;
  return index < 0 ? -1 : lines.slice(0, index).reduce((sum, each) => sum + each.length + 1, 0);
}

/** Runs all fast tests over code that records the reached mutants; returns the test files of each mutant. */
async function recordReach(
  tree: string,
  files: readonly string[],
  mutants: readonly Mutant[],
): Promise<readonly ReadonlySet<string>[]> {
  const fast = files.filter(
    (file) => /^test\/(?!slow\/|nightly\/|bench\/).*\.test\.ts$/.test(file) && file.includes(values.tests ?? ''),
  );
  const imports = new Map(fast.map((test) => [test, importsOf(test)]));
  const reached = mutants.map(({ file, isOfModule }) => {
    const browser = browserCode.find(([folder]) => file.startsWith(folder));
    if (browser) return new Set(fast.filter((test) => browser[1].test(test)));
    return new Set(isOfModule ? fast.filter((test) => imports.get(test)!.has(file)) : []);
  });
  // Programs started by a test have the test's process as their parent.
  const recorder = join(tree, 'reach.mjs');
  const folder = join(tree, '.reach');
  mkdirSync(folder);
  writeFileSync(
    recorder,
    `import { appendFileSync } from 'node:fs';
const seen = new Set();
globalThis.reachTest = (name) => { seen.clear(); appendFileSync('${folder}/' + process.pid, name + '\\n'); };
export const recordReached = (id) => {
  if (seen.has(id)) return;
  seen.add(id);
  appendFileSync('${folder}/' + (/vitest/.test(process.argv[1]) ? process.pid : process.ppid), id + '\\n');
};\n`,
  );
  for (const [file, own] of Map.groupBy(mutants.entries(), ([, { file: name }]) => name)) {
    if (browserCode.some(([browser]) => file.startsWith(browser)) || !existsSync(join(tree, file))) continue;
    const source = readFileSync(join(tree, file), 'utf8');
    const places = own.flatMap(([id, mutant]) => {
      const begin = locate(source, mutant);
      const { from, to, isStatement } = mutant.reach;
      return begin < 0 ? [] : [{ id, start: begin + from, end: begin + to, isStatement }];
    });
    const begins = new Map<number, string>();
    const ends = new Map<number, string>();
    // Sort nested places after the outer place, so at the same offset they begin later and end earlier.
    for (const { id, start, end, isStatement } of places.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
      const [begin, close] = isStatement ? [`{ recordReached(${id}); `, ' }'] : [`(recordReached(${id}), `, ')'];
      begins.set(start, (begins.get(start) ?? '') + begin);
      ends.set(end, close + (ends.get(end) ?? ''));
    }
    const characters = source.split('').map((each, at) => (ends.get(at) ?? '') + (begins.get(at) ?? '') + each);
    const head = `import { recordReached } from ${JSON.stringify(recorder)};\n`;
    writeFileSync(join(tree, file), head + characters.join(''));
  }
  appendFileSync(
    join(tree, 'test/setup.ts'),
    `\nimport ${JSON.stringify(recorder)};\nimport { expect as reaching } from 'vitest';\n(globalThis as any).reachTest('test ' + reaching.getState().testPath);\n`,
  );
  await runTests(tree, values.tests === undefined ? [] : [values.tests], 3600, true);
  for (const worker of readdirSync(folder)) {
    let test = '';
    for (const line of readFileSync(join(folder, worker), 'utf8').split('\n').filter(Boolean)) {
      if (line.startsWith('test ')) test = line.slice('test '.length + tree.length + 1);
      else if (test !== '') reached[Number(line)]!.add(test);
    }
  }
  return reached;
}

/** Lists the project files that a file imports, directly or indirectly. */
function importsOf(file: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(file) || !existsSync(join(values.tree, file))) return found;
  found.add(file);
  const source = readFileSync(join(values.tree, file), 'utf8');
  for (const [, name = ''] of source.matchAll(/(?:from |import\()'([.#][^']+)'/g)) {
    const path = name.replace(/^#(?=contract|common)/, `${'../'.repeat(file.split('/').length - 1)}generator/`);
    importsOf(join(dirname(file), path), found);
  }
  return found;
}

async function tryMutant(tree: string, mutant: Mutant, tests: readonly string[]): Promise<Result> {
  const path = join(tree, mutant.file);
  const source = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const begin = locate(source, mutant);
  const end = (outcome: Result['outcome'], seconds = 0): Result => ({
    ...mutant,
    outcome,
    seconds,
    tests: tests.length,
  });
  if (begin < 0) return end('not found');
  if (tests.length === 0) return end('not reached');
  const started = performance.now();
  const seconds = (): number => Math.round((performance.now() - started) / 1000);
  writeFileSync(path, source.slice(0, begin + mutant.from) + mutant.replacement + source.slice(begin + mutant.to));
  try {
    for (const group of [tests.slice(0, nearest), tests.slice(nearest)]) {
      if (group.length === 0) continue;
      const status = await runTests(tree, group, maxSeconds - seconds());
      if (status !== 0) return end(status === undefined ? 'timed out' : 'killed', seconds());
    }
    return end('survived', seconds());
  } finally {
    writeFileSync(path, source);
  }
}

/** Runs test files, or all, and returns the exit status; undefined after a timeout. */
function runTests(tree: string, tests: readonly string[], limit: number, isShown = false): Promise<number | undefined> {
  const limits = isShown ? ['--reporter=dot'] : ['--bail=1', '--maxWorkers=1'];
  const child = spawn(join(tree, 'node_modules/.bin/vitest'), ['run', '--project=fast', ...limits, ...tests], {
    cwd: tree,
    // A separate process group, so the processes of the tests end with it.
    detached: true,
    stdio: ['ignore', isShown ? 'inherit' : 'ignore', isShown ? 'inherit' : 'ignore'],
  });
  return new Promise((done) => {
    const timer = setTimeout(() => {
      done(undefined);
      process.kill(-child.pid!, 'SIGKILL');
    }, limit * 1000);
    child.once('exit', (status) => {
      clearTimeout(timer);
      done(status ?? 1);
    });
  });
}
