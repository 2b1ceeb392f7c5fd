import { expect, test } from 'vitest';
import { toLogEnd, toLogText } from '../../server/hosting/providers/game-log.ts';
import { askEndpoint } from '../server/ask.ts';
import { stopClock } from '../helpers/clock.ts';
import { borrowHosting } from '../server/shared.ts';
import { createReadLatestLog } from '../../server/hosting/actions.ts';
import type { GameProvider } from '../../server/hosting/providers/types.ts';
import type { ServerRecord } from '../../server/store/types.ts';

const mebibyte = 1024 * 1024;
const esc = '\u001B';

test.each([
  ['a colour', `${esc}[33mtext${esc}[0m`],
  ['a colour without a number', `${esc}[mtext`],
  ['a colour of 24 bits, with both separators', `${esc}[38;2;1;2;3mte${esc}[38:2::1:2:3mxt`],
  ['a cursor move and an erased line', `${esc}[12;40H${esc}[2Ktext${esc}[1A`],
  ['a private mode', `${esc}[?25l${esc}[?2004htext${esc}[>4;1m`],
  ['a sequence with an intermediate', `${esc}[4 qtext${esc}[!p`],
  ['a sequence with a tilde at its end', `text${esc}[200~`],
  ['a title that ends in BEL', `${esc}]0;Server: 3/20 players\u0007text`],
  ['a title that ends in ST', `${esc}]2;Server${esc}\\text`],
  ['a link', `${esc}]8;;https://example.com/?a=[1m${esc}\\text${esc}]8;;${esc}\\`],
  ['a title before a colour, without an end', `text${esc}]0;Server${esc}[0m`],
  ['a device control string', `${esc}P1$r0m${esc}\\text`],
  ['an application command, a privacy message and a string', `${esc}_a${esc}\\te${esc}^b${esc}\\xt${esc}Xc${esc}\\`],
  ['the choice of a character set', `${esc}(Btext${esc})0${esc}*A`],
  ['an alignment test and the choice of UTF-8', `${esc}#8text${esc}%G`],
  ['a saved and a restored cursor', `${esc}7text${esc}8`],
  ['a keypad mode', `${esc}=text${esc}>`],
  ['a reset and a line up', `${esc}cte${esc}Mxt`],
  ['a truncated colour', `text${esc}[3`],
  ['a truncated title', `text${esc}]0;Serv`],
  ['a code that was cut after its first character', `text${esc}`],
  ['codes in a row', `${esc}${esc}[1m${esc}[31m${esc}(Btext`],
])('%s is removed from a log', (_, log) => {
  expect(toLogText(`before\n${log}\nafter\n`)).toBe('before\ntext\nafter\n');
});

test('a truncated code does not remove the next lines', () => {
  expect(toLogText(`a${esc}]0;Server\nb${esc}[1\nc${esc}P\nd${esc}\ne\n`)).toBe('a\nb\nc\nd\ne\n');
});

test('text that resembles a code stays', () => {
  const log = '[33m [INFO] é ✓ 0m ]0; (B\t\u0000\u0007 â\u0080\u009Dencoded twice\n';
  expect(toLogText(log)).toBe(log);
});

test('all line ends become line feeds, and overwritten text stays readable', () => {
  expect(toLogText('one\r\ntwo\r\r\nthree\n\r\n 10 %\r100 %\r\nend')).toBe('one\ntwo\nthree\n\n 10 %\n100 %\nend');
});

test('an empty text and codes alone give an empty log', () => {
  expect(toLogText('')).toBe('');
  expect(toLogText(`${esc}[0m${esc}]0;Server\u0007`)).toBe('');
});

test('a log of 1 MiB is complete; a longer log starts at a line start', () => {
  const line = `${'x'.repeat(1023)}\n`;
  expect(toLogText(line.repeat(1024))).toBe(line.repeat(1024));
  expect(toLogText(`first\n${line.repeat(1024)}`)).toBe(line.repeat(1024));
  expect(toLogText(`${line.repeat(1024)}x\n`)).toBe(`${line.repeat(1023)}x\n`);
  expect(toLogText(`${line.repeat(1024)}no end`)).toBe(`${line.repeat(1023)}no end`);
});

test('codes do not count towards the 1 MiB', () => {
  const line = `${'x'.repeat(1023)}\n`;
  expect(toLogText(`${esc}[33m${line}`.repeat(1500))).toBe(line.repeat(1024));
});

test('a single longer line keeps its end, without a cut character', () => {
  const line = '€'.repeat(mebibyte);
  for (const end of ['', 'x', 'xy', '\n', '\n\n\n']) {
    const text = toLogText(line + end);
    expect(text).toMatch(/^€+[xy\n]*$/);
    expect(text.endsWith(`€${end}`)).toBe(true);
    expect(Buffer.byteLength(text)).toBeGreaterThan(mebibyte - 3);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(mebibyte);
  }
});

test('a cut inside a code or character leaves no fragment', () => {
  const part = `${esc}[38;5;214m€${esc}[0m${esc}(B`;
  const size = Buffer.byteLength(part);
  const log = `${part}\n`.repeat((2 * mebibyte) / size + 1);
  for (let more = 0; more <= size; more += 1) {
    expect(toLogText(toLogEnd(Buffer.from(log + 'x'.repeat(more))))).toMatch(/^(?:€\n){80000,}x*$/);
  }
});

test('the response has the end of a long log, from a line start and without codes', async () => {
  const { app, world } = await borrowHosting();
  const lineAt = (index: number): string => `[INFO] Player number ${index} joined the game\n`;
  const lines = Array.from({ length: 40_000 }, (_, index) => lineAt(index));
  world.panel.files.set('/logs/latest.log', lines.map((line) => `${esc}[33m${line}${esc}[0m`).join(''));
  const { status, text } = await askEndpoint(app, 'getLatestGameLog');
  const { content } = JSON.parse(text) as { content: string };
  const first = Number(/^\[INFO\] Player number (\d+) joined/.exec(content)?.[1]);
  expect({ status, isEnd: content === lines.slice(first).join('') }).toEqual({ status: 200, isEnd: true });
  expect(content.length).toBeLessThanOrEqual(mebibyte);
  expect(content.length + lineAt(first).length).toBeGreaterThan(mebibyte);
});

const record: ServerRecord = {
  server: 'game:mc',
  provider: 'panel',
  ref: 'one',
  logFile: null,
  suspendedAt: null,
  shared: 'no',
  madeBy: null,
  suspendedBy: null,
};

/** Creates a provider that counts its reads. */
function createCounted(answer: () => Promise<string | undefined> = () => Promise.resolve('a\u001B[0m line\n')) {
  const reads: string[] = [];
  const latestLog = (ref: string, file: string | null) => {
    reads.push(`${ref} ${file ?? ''}`);
    return answer();
  };
  const advance = stopClock();
  const read = createReadLatestLog();
  return {
    reads,
    advance,
    read: (changes: Partial<ServerRecord> = {}) =>
      read({ ...record, ...changes }, { latestLog } as unknown as GameProvider),
  };
}

test('concurrent and consecutive readers share one read per 3 s', async () => {
  const { reads, advance, read } = createCounted();
  expect(await Promise.all([read(), read(), read({ server: 'game:other-name' })])).toEqual(Array(3).fill('a line\n'));
  advance(2999);
  expect(await read()).toBe('a line\n');
  expect(reads).toHaveLength(1);
  advance(2);
  await read();
  expect(reads).toHaveLength(2);
});

test('logs of different providers, servers or files are not shared', async () => {
  const { reads, read } = createCounted();
  await Promise.all([read(), read({ provider: 'other' }), read({ ref: 'two' }), read({ logFile: 'b.log' })]);
  expect(reads).toEqual(['one ', 'one ', 'two ', 'one b.log']);
});

test('a missing log is shared too', async () => {
  const missing = createCounted(() => Promise.resolve(undefined));
  expect([await missing.read(), await missing.read()]).toEqual([undefined, undefined]);
  expect(missing.reads).toHaveLength(1);
});

test('a slow read is shared until it ends', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const { reads, advance, read } = createCounted(() => promise);
  const first = read();
  advance(20_000);
  const second = read();
  resolve('late\n');
  expect([await first, await second]).toEqual(['late\n', 'late\n']);
  expect(reads).toHaveLength(1);
});
