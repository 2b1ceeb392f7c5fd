import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { verifyRelease } from '../../../generator/release/publish.ts';
import { findDifferences } from '../../generator/parse-reference.ts';
import { buildAndRead, currentOf } from '../../generator/releases.ts';
import {
  article,
  buildProject,
  createProject,
  guide,
  runGenerator,
  temporaryFolder,
  writeFiles,
} from '../../helpers/project.ts';
import type { Files } from '../../helpers/project.ts';
import { box, uint32 } from '../../helpers/media.ts';

const tooDeep = '6:1  the article is nested too deeply (flatten it)';
const tooNested = 'lists or quotes are nested more than 100 levels deep (flatten them)';

function lines(count: number, line: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => line(index)).join('\n');
}

/** Runs a generator command as a child process, and measures CPU time and peak memory. */
async function measureGenerator(args: readonly string[], cwd: string) {
  const memory = join(temporaryFolder(), 'peak');
  const NODE_OPTIONS = `--import=${new URL('./peak-memory.ts', import.meta.url).href}`;
  const result = await runGenerator(args, { cwd, env: { NODE_OPTIONS, PEAK_MEMORY_FILE: memory } });
  const [maxRss, cpu] = readFileSync(memory, 'utf8').split(' ').map(Number) as [number, number];
  return { ...result, cpuSeconds: cpu / 1e6, peakMebibytes: maxRss / 1024 };
}

/** Checks a project within loose limits of CPU time and memory. On a busy machine, the attempts at a file add up. */
async function checkCheaply(files: Files, maxCpuSeconds = 10) {
  const { status, stderr, cpuSeconds, peakMebibytes } = await measureGenerator(['check'], createProject(files));
  expect(cpuSeconds).toBeLessThan(maxCpuSeconds);
  expect(peakMebibytes).toBeLessThan(1024);
  return { status, problems: stderr.split('\n').slice(0, -2) };
}

const table = (columns: number, rows: number): string =>
  `${'|a'.repeat(columns)}|\n${'|-'.repeat(columns)}|\n${'|a\n'.repeat(rows)}`;

describe('a check ends within seconds of CPU and 1 GiB if an article is', () => {
  const tooLong = (count: number): string =>
    `6:1  the article has ${count} lines and marks of Markdown, more than the limit of 60000 (split it up)`;
  const nestedLists = lines(700, (level) => `${'  '.repeat(level)}- x`);
  const manyRanges = `\`\`\`text {${'1-40000,'.repeat(8000)}}\n${'x\n'.repeat(40_000)}\`\`\`\n`;

  test('refused early: 13 of them together', async () => {
    const frontMatterTooLong =
      '1:1  the front matter is longer than 16384 characters (end it with a line of exactly ---)';
    const withYaml = (yaml: string): string => `---\n${yaml}\n---\n\nText.\n`;
    const bodies: [name: string, markdown: string, problem: string][] = [
      [
        '20 MB long',
        'Lorem ipsum dolor sit amet.\n\n'.repeat(700_000),
        '1:1  the file has 20300056 bytes, more than the limit of 524288 (split it up)',
      ],
      ['1,500 nested lists on one line', `${'- '.repeat(1500)}x\n`, `6:1  ${tooNested}`],
      ['700 nested lists, one a line', nestedLists, `106:1  ${tooNested}`],
      ['1,500 nested quotes', `${'>'.repeat(1500)} x\n`, `6:1  ${tooNested}`],
      ['750 nested lists and quotes', `Text.\n\n${'> - '.repeat(750)}x\n`, `8:1  ${tooNested}`],
      ['10,000 nested elements', `${'<div>'.repeat(10_000)}x\n`, tooDeep],
      ['10,000 nested elements, one a line', '<div>\n\n'.repeat(10_000), tooDeep],
      ['5,000 nested SVG elements', `${'<svg><foreignObject>'.repeat(5000)}x\n`, tooDeep],
      ['500 kB of a]', `${'a]'.repeat(250_000)}\n`, tooLong(250_001)],
    ];
    const rows = [
      ...bodies.map(([name, markdown, problem]) => [name, guide(name, markdown), problem]),
      ['50,000 fields', withYaml(lines(50_000, (index) => `k${index}: v`)), frontMatterTooLong],
      ['200,000 blank lines', withYaml(`title: A\n${'\t\n'.repeat(200_000)}`), frontMatterTooLong],
      ['400 kB in an unclosed quote', withYaml(`title: "${'\\a'.repeat(200_000)}`), frontMatterTooLong],
      [
        'no closing line',
        `---\n${'\t\n'.repeat(200_000)}`,
        '1:1  the front matter is not closed (end it with a line of exactly ---)',
      ],
    ];
    const fileOf = (name = ''): string => `content/knowledgebase/vps/${name.replaceAll(/\W+/g, '-').toLowerCase()}.md`;
    // One process for all: they are refused early.
    const { status, problems } = await checkCheaply(
      Object.fromEntries(rows.map(([name, text]) => [fileOf(name), text])),
    );
    expect(status).toBe(1);
    expect(problems.toSorted()).toEqual(rows.map(([name, , problem]) => `${fileOf(name)}:${problem}`).toSorted());
  });

  // The message depends on the speed of the machine: the article is too slow, too deep or too long. On a busy machine,
  // several attempts together take more than the limit.
  test.each([
    ['a code block of 40,000 lines with 8,000 ranges', manyRanges],
    ['55,000 of a]', `${'a]'.repeat(55_000)}\n`],
    ['28,000 of *a_', `${'*a_ '.repeat(28_000)}\n`],
    ['120,000 headings', '# a\n'.repeat(120_000)],
    ['120,000 items of a list', '- a\n'.repeat(120_000)],
    ['a table of 50,000 columns and rows', table(50_000, 50_000)],
    ['120,000 references to a footnote', `${'[^a]'.repeat(120_000)}\n\n[^a]: x\n`],
  ])('%s', async (_, markdown) => {
    expect(await checkCheaply({ 'content/knowledgebase/vps/hostile.md': guide('A', markdown) }, 30)).toEqual({
      status: 1,
      problems: [expect.stringMatching(/^content\/knowledgebase\/vps\/hostile\.md:\d+:\d+ {2}the article /)],
    });
  });
});

test('long lines after a bracket or a dollar sign are checked fast', async () => {
  const letters = 'a'.repeat(100_000);
  const texts = [`(${letters}`, `[${letters}`, `Costs $a${' \\ab'.repeat(12_000)}`];
  const files = texts.map((text, at) => [`content/knowledgebase/vps/long-${at}.md`, guide(`Long ${at}`, `${text}\n`)]);
  expect(await checkCheaply(Object.fromEntries(files) as Files)).toEqual({ status: 0, problems: [] });
});

test('a check ends within 10 s of CPU and 1 GiB if a catalog file has 35,000 fields', async () => {
  const { status } = await checkCheaply({
    'catalog/domains.yaml': `tlds:\n${lines(35_000, (index) => `  .t${index}: {}`)}\n`,
  });
  expect(status).toBeTypeOf('number');
});

describe('a check ends within seconds of CPU and 1 GiB if a picture is', () => {
  const jpegStart = Buffer.from([0xff, 0xd8, 0xff, 0xe0]);
  const size = box('ispe', uint32(0), uint32(2), uint32(2));
  const sizes = Buffer.concat(Array<Buffer>(200_000).fill(size));
  const laughs = 'abcdefghijk'
    .split('')
    .map((name, at) => `<!ENTITY ${'bcdefghijkl'[at]} "${`&${name};`.repeat(10)}">`);
  const svg = '<svg xmlns="http://www.w3.org/2000/svg">';

  test.each([
    ['a JPEG of 60 MB without a size', 'a.jpg', Buffer.concat([jpegStart, Buffer.alloc(60_000_000, 1)])],
    [
      'an AVIF of empty boxes',
      'a.avif',
      Buffer.concat([box('ftyp', Buffer.from('avif'), uint32(0)), Buffer.alloc(1_000_000)]),
    ],
    [
      'an AVIF of 200,000 sizes',
      'a.avif',
      Buffer.concat([
        box('ftyp', Buffer.from('avif'), uint32(0)),
        box('meta', uint32(0), box('iprp', box('ipco', sizes))),
      ]),
    ],
    ['an SVG of 5,000,000 nested elements', 'a.svg', Buffer.from(svg + '<g>'.repeat(5_000_000))],
    ['an SVG of 1,000,000 mistakes', 'a.svg', Buffer.from(svg + '&x;'.repeat(1_000_000))],
    ['a billion laughs', 'a.svg', Buffer.from(`<!DOCTYPE svg [<!ENTITY a "ha">${laughs.join('')}]>${svg}&l;`)],
  ])('%s', async (_, name, bytes) => {
    const { problems } = await checkCheaply({ [`content/media/${name}`]: bytes }, 30);
    expect(problems.join('\n')).toContain(`content/media/${name}:`);
  });
});

test.each([
  ['100 nested lists', `${'- '.repeat(100)}x\n`],
  ['a code block with a line of marks', `\`\`\`text\n${'>'.repeat(200)}\n\`\`\`\n`],
  ['a table of 100 columns and 100 rows', table(100, 99)],
  // Each comment holds two lists apart.
  [
    'a list after each of 500 comments',
    `- x\n\n<!-- y -->\n\n${'Text. '.repeat(20)}\n\n- x\n\n<!-- z -->\n\n`.repeat(250),
  ],
])('an article of %s is published', async (_, markdown) => {
  const root = createProject({ 'content/knowledgebase/vps/large.md': guide('Large', markdown) });
  expect((await buildProject(root)).diagnostics).toEqual([]);
});

test('an article that takes too long is refused without its batch', async () => {
  const root = createProject({
    'content/knowledgebase/vps/a-slow.md': guide('Slow', `${'*a_'.repeat(900)}\n`),
    'content/knowledgebase/vps/b-too-slow.md': guide('Too slow', `${'*a_'.repeat(20_000)}\n`),
    'content/knowledgebase/vps/c-slow.md': guide('Slow too', `${'*a_'.repeat(700)}\n`),
  });
  const { diagnostics } = await buildProject(root);
  expect(diagnostics.map((found) => [found.file.split('/').at(-1), found.message])).toEqual([
    // On a busy machine, a second attempt may get further.
    ['b-too-slow.md', expect.stringMatching(/^the article (?:takes more than 5 s to render|is nested too deeply)$/)],
  ]);
});

const files = Object.fromEntries(
  Array.from({ length: 40 }, (_, index) => [
    `content/knowledgebase/dns/page-${index}.md`,
    guide(`Page ${index}`, `## One\n\n${'Text with `code` and [a link](records.md). '.repeat(index * 5)}\n`),
  ]),
);

test.each([
  ['200 quotes', `fine\n\n${'> '.repeat(200)}deep\n`, { line: 11, hint: 'flatten them' }],
  // By default, a worker thread has four times the stack of the main thread.
  ['3,000 elements', `fine\n\n${'<div>'.repeat(3000)}deep\n`, { line: 9, hint: 'flatten it' }],
])(
  'rendering in several threads an article with %s inside each other is reported with its line',
  async (_, markdown, problem) => {
    const deep = { 'content/blog/news/deep.md': article({}, markdown) };
    const one = await buildProject(createProject({ ...files, ...deep }), { noCache: true, threads: 1 });
    expect(one.diagnostics).toMatchObject([problem]);
    const two = await buildProject(createProject({ ...files, ...deep }), { noCache: true, threads: 2 });
    expect(two.diagnostics.map(({ line, message }) => [line, message])).toEqual(
      one.diagnostics.map(({ line, message }) => [line, message]),
    );
  },
);

describe('a render thread that ends during a build', () => {
  const preload = `--import=${new URL('./end-thread.ts', import.meta.url).href}`;

  test.each([
    ['exit', 'exit code 7'],
    ['start', 'exit code 9'],
    ['throw', 'out of order'],
    ['memory', 'Worker terminated due to reaching memory limit: JS heap out of memory'],
  ])('by %s gives one error and keeps the release', async (way, reason) => {
    const root = createProject(files);
    const { manifest } = await buildAndRead(root);
    writeFiles(root, { 'content/blog/news/first.md': article({}, '## Details\n\nChanged.\n') });
    const args = ['build', '--no-cache', '--threads', '2'];
    const { status, stderr } = await runGenerator(args, { cwd: root, env: { NODE_OPTIONS: preload, END_THREAD: way } });
    expect(stderr).toBe(`a render thread ended (${reason}); the release is unchanged\n`);
    expect(status).toBe(1);
    expect(await verifyRelease(currentOf(root))).toEqual(manifest);
    expect(await runGenerator(args, { cwd: root })).toMatchObject({ status: 0 });
  });
});

test('3,000 random combinations of texts are parsed as remark-gfm parses them', () => {
  expect(findDifferences(3000, 2)).toEqual([]);
});
