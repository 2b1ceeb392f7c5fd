import { describe, expect, test } from 'vitest';
import { buildProject, createProject, guide } from '../../helpers/project.ts';
import { measureGenerator } from '../../generator/measure.ts';

const file = 'content/knowledgebase/vps/hostile.md';
const tooSlow =
  '6:1  the article takes more than 5 s to render (look for very long lines, lists or tables; split it up)';
const tooDeep = '6:1  the article is nested too deeply (flatten it)';
const tooNested = 'lists or quotes are nested more than 100 levels deep (flatten them)';

function lines(count: number, line: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => line(index)).join('\n');
}

/** Checks a project with one hostile file; expects little CPU time and memory. The limits are loose: no benchmark. */
async function checkHostile(text: string) {
  const root = createProject({ [file]: text });
  const { status, stderr, cpuSeconds, peakMebibytes } = await measureGenerator(['check'], root);
  expect(status).toBe(1);
  expect(cpuSeconds).toBeLessThan(10);
  expect(peakMebibytes).toBeLessThan(1024);
  return stderr.split('\n').slice(0, -2);
}

describe('a check ends within 10 s of CPU and 1 GiB if the Markdown is', () => {
  test.each([
    [
      '20 MB long',
      guide('A', 'Lorem ipsum dolor sit amet.\n\n'.repeat(700_000)),
      '1:1  the file has 20300047 bytes, more than the limit of 524288 (split it up)',
    ],
    ['101 nested lists', guide('A', `${'- '.repeat(101)}x\n`), `6:1  ${tooNested}`],
    ['101 nested quotes below a text', guide('A', `Text.\n\n${'>'.repeat(101)} x\n`), `8:1  ${tooNested}`],
    [
      '60,001 lines',
      guide('A', 'a\n'.repeat(60_001)),
      '6:1  the article has 60001 lines and marks of Markdown, more than the limit of 60000 (split it up)',
    ],
    ['1,500 nested lists on one line', guide('A', `${'- '.repeat(1500)}x\n`), `6:1  ${tooNested}`],
    [
      '700 nested lists, one a line',
      guide(
        'A',
        lines(700, (level) => `${'  '.repeat(level)}- x`),
      ),
      `106:1  ${tooNested}`,
    ],
    ['1,500 nested quotes', guide('A', `${'>'.repeat(1500)} x\n`), `6:1  ${tooNested}`],
    ['750 nested lists and quotes', guide('A', `Text.\n\n${'> - '.repeat(750)}x\n`), `8:1  ${tooNested}`],
    [
      'a code block of 40,000 lines with 8,000 ranges',
      guide('A', `\`\`\`text {${'1-40000,'.repeat(8000)}}\n${'x\n'.repeat(40_000)}\`\`\`\n`),
      tooSlow,
    ],
    ['10,000 nested elements', guide('A', `${'<div>'.repeat(10_000)}x\n`), tooDeep],
    ['10,000 nested elements, one a line', guide('A', '<div>\n\n'.repeat(10_000)), tooDeep],
    ['5,000 nested SVG elements', guide('A', `${'<svg><foreignObject>'.repeat(5000)}x\n`), tooDeep],
    ['55,000 of a]', guide('A', `${'a]'.repeat(55_000)}\n`), tooSlow],
    ['28,000 of *a_', guide('A', `${'*a_ '.repeat(28_000)}\n`), tooSlow],
    [
      '500 kB of a]',
      guide('A', `${'a]'.repeat(250_000)}\n`),
      '6:1  the article has 250001 lines and marks of Markdown, more than the limit of 60000 (split it up)',
    ],
    [
      'a table of 101 columns and 100 rows',
      guide('A', `Text.\n\n${'|a'.repeat(101)}|\n${'|-'.repeat(101)}|\n${'|a\n'.repeat(99)}`),
      '8:1  the table has 10100 cells, more than the limit of 10000 (split it up)',
    ],
  ])('%s', async (_, text, problem) => {
    expect(await checkHostile(text)).toEqual([`${file}:${problem}`]);
  });

  // The message depends on the speed of the machine: the article is too slow, too deep or too long.
  test.each([
    ['120,000 headings', '# a\n'.repeat(120_000)],
    ['120,000 items of a list', '- a\n'.repeat(120_000)],
    [
      'a table of 50,000 columns and rows',
      `${'|a'.repeat(50_000)}|\n${'|-'.repeat(50_000)}|\n${'|a\n'.repeat(50_000)}`,
    ],
    ['120,000 references to a footnote', `${'[^a]'.repeat(120_000)}\n\n[^a]: x\n`],
  ])('%s', async (_, markdown) => {
    const problems = await checkHostile(guide('A', markdown));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^content\/knowledgebase\/vps\/hostile\.md:\d+:\d+ {2}the article /);
  });
});

describe('a check ends within 10 s of CPU and 1 GiB if the front matter is', () => {
  const tooLong = '1:1  the front matter is longer than 16384 characters (end it with a line of exactly ---)';
  const lists = 'abcdefghi'.split('').map((name, index, all) => {
    const inner = index === 0 ? 'lol' : `*${all[index - 1]}`;
    return `${name}: &${name} [${Array(9).fill(inner).join(', ')}]`;
  });

  test.each([
    [
      'a billion laughs',
      lists.join('\n'),
      '3:8  YAML aliases (*name) are not allowed (write the value out, or put a text that begins with * in quotes)',
    ],
    ['10,000 nested lists', `title: ${'['.repeat(10_000)}`, '1:1  the YAML is nested too deeply'],
    ['50,000 fields', lines(50_000, (index) => `k${index}: v`), tooLong],
    ['200,000 blank lines', `title: A\n${'\t\n'.repeat(200_000)}`, tooLong],
    ['400 kB in an unclosed quote', `title: "${'\\a'.repeat(200_000)}`, tooLong],
  ])('%s', async (_, yaml, problem) => {
    expect(await checkHostile(`---\n${yaml}\n---\n\nText.\n`)).toContain(`${file}:${problem}`);
  });

  test('200,000 blank lines without a closing line', async () => {
    expect(await checkHostile(`---\n${'\t\n'.repeat(200_000)}`)).toEqual([
      `${file}:1:1  the front matter is not closed (end it with a line of exactly ---)`,
    ]);
  });
});

test('a check ends within 10 s of CPU and 1 GiB if a catalog file has 35,000 fields', async () => {
  const root = createProject({ 'catalog/domains.yaml': `tlds:\n${lines(35_000, (index) => `  .t${index}: {}`)}\n` });
  const { cpuSeconds, peakMebibytes } = await measureGenerator(['check'], root);
  expect(cpuSeconds).toBeLessThan(10);
  expect(peakMebibytes).toBeLessThan(1024);
});

describe('a check ends within 10 s of CPU and 1 GiB if a picture is', () => {
  const jpegStart = Buffer.from([0xff, 0xd8, 0xff, 0xe0]);
  const uint32 = (value: number): Buffer => Buffer.from(value.toString(16).padStart(8, '0'), 'hex');
  const box = (type: string, ...content: Buffer[]): Buffer => {
    const bytes = Buffer.concat(content);
    return Buffer.concat([uint32(bytes.length + 8), Buffer.from(type), bytes]);
  };
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
    const root = createProject({ [`content/media/${name}`]: bytes });
    const { stderr, cpuSeconds, peakMebibytes } = await measureGenerator(['check'], root);
    expect(stderr).toContain(`content/media/${name}:`);
    expect(cpuSeconds).toBeLessThan(10);
    expect(peakMebibytes).toBeLessThan(1024);
  });
});

test.each([
  ['100 nested lists', `${'- '.repeat(100)}x\n`],
  ['a code block with a line of marks', `\`\`\`text\n${'>'.repeat(200)}\n\`\`\`\n`],
  ['a table of 100 columns and 100 rows', `${'|a'.repeat(100)}|\n${'|-'.repeat(100)}|\n${'|a\n'.repeat(99)}`],
])('an article of %s is published', async (_, markdown) => {
  const root = createProject({ 'content/knowledgebase/vps/large.md': guide('Large', markdown) });
  expect((await buildProject(root)).diagnostics).toEqual([]);
});

test('an article that takes too long is refused, and articles of the same batch are not', async () => {
  const root = createProject({
    'content/knowledgebase/vps/a-slow.md': guide('Slow', `${'*a_'.repeat(900)}\n`),
    'content/knowledgebase/vps/b-too-slow.md': guide('Too slow', `${'*a_'.repeat(20_000)}\n`),
    'content/knowledgebase/vps/c-slow.md': guide('Slow too', `${'*a_'.repeat(700)}\n`),
  });
  const { diagnostics } = await buildProject(root);
  expect(diagnostics.map((found) => [found.file.split('/').at(-1), found.message])).toEqual([
    // On a busy machine it gets another attempt, which may come further.
    ['b-too-slow.md', expect.stringMatching(/^the article (?:takes more than 5 s to render|is nested too deeply)$/)],
  ]);
});
