import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { demoProvider } from '../../../../server/hosting/service.ts';
import { until } from '../../../helpers/upstream.ts';
import { followConsole } from '../../../hosting/providers/console-recorder.ts';
import { failureOf } from '../../../helpers/fault-suite.ts';
import { createLocal, prepareRecorded, prepareRunning } from '../../../hosting/providers/local-harness.ts';

const logFile = (folder: string): string => join(folder, 'local/one/demo.log');

describe('lines', () => {
  test('of stdout and stderr are split at all kinds of line ends and keep their escape codes', async () => {
    const { program, record } = await prepareRecorded();
    program.send('print', 'one\r\ntwo\n\n\u001B[1mthree\u001B[0m\n');
    await record.received('\u001B[1mthree\u001B[0m');
    program.send('print-error', 'oh dear\n');
    await record.received('oh dear');
    expect(record.lines).toEqual(['one', 'two', '', '\u001B[1mthree\u001B[0m', 'oh dear']);
  });

  test('without an end are split at 64 KiB, never inside a character', async () => {
    const { program, record } = await prepareRecorded();
    program.send('print', `${'€'.repeat(200_000)}\nend\n`);
    await record.received('end');
    expect(record.lines.length).toBeGreaterThan(2);
    expect(record.lines.join('')).toBe(`${'€'.repeat(200_000)}end`);
  });

  test('without a line end are complete when the server ends', async () => {
    const { program, record } = await prepareRecorded();
    program.send('print', 'last words');
    program.send('exit', '0');
    await record.received('last words');
    await until('it is offline', () => record.states.at(-1) === 'offline');
    expect(record.events.slice(-2)).toEqual(['line: last words', 'status: offline']);
  });

  test('in large numbers slow down the server and are not lost', async () => {
    const { program, record } = await prepareRecorded();
    program.send('print-lines', '20000');
    await record.received('line 20000');
    expect(record.lines).toEqual(Array.from({ length: 20_000 }, (_, index) => `line ${index + 1}`));
  });

  test('are kept for new readers (the last 150), also after the server has ended', async () => {
    const { game, program, record } = await prepareRecorded();
    program.send('print-lines', '400');
    await record.received('line 400');
    await game.power('demo', 'kill');
    await until('it is offline', () => record.states.at(-1) === 'offline');
    const late = await followConsole(game, 'demo');
    expect(late.lines).toEqual(Array.from({ length: 150 }, (_, index) => `line ${index + 251}`));
    expect(late.events.at(-1)).toBe('status: offline');
  });
});

test('commands to a server that does not read stdin are refused and do not accumulate', async () => {
  const { game, program } = await prepareRunning();
  program.send('pause-input');
  const outcomes: string[] = [];
  while (outcomes.at(-1) !== 'refused') {
    const command = game.command('demo', 'x'.repeat(1000)).then(() => 'sent');
    outcomes.push(await command.catch((error: unknown) => (error as { outcome: string }).outcome));
  }
  // The pipe fills up, then one write has an unknown outcome, then writes are refused.
  expect(outcomes.slice(-2)).toEqual(['unknown', 'refused']);
  expect(outcomes.length).toBeLessThan(500);
});

test('commands to a server that is stopping are refused with the reason', async () => {
  const { game, program } = await prepareRunning({ grace_seconds: 1 }, 'ignore-sigterm');
  await game.power('demo', 'stop');
  expect(await failureOf(game.command('demo', 'list'))).toMatchObject({
    message: 'The server must be online to receive commands',
    outcome: 'refused',
  });
  expect(program.inputs).toEqual([]);
});

describe('the log', () => {
  test('survives restarts in a file that only its owner can read', async () => {
    const { game, folder, supervisor, program } = await prepareRunning();
    expect(await game.latestLog('demo', null)).toBeUndefined();
    const record = await followConsole(game, 'demo');
    program.send('print', 'first run\n');
    await record.received('first run');
    await game.power('demo', 'restart');
    (await supervisor.started('demo', 2)).send('print', 'second run\n');
    await record.received('second run');
    // Viewers get a line before it is in the file.
    const log = () => game.latestLog('demo', null);
    await expect.poll(log).toBe('first run\nsaving\nsecond run\n');
    expect(statSync(logFile(folder)).mode & 0o777).toBe(0o600);
  });

  test('returns its last 2 MiB across one rotated file', async () => {
    const { game, folder, program, record } = await prepareRecorded();
    for (let round = 1; round <= 6; round += 1) {
      program.send('print', `${`${round}${'é'.repeat(500)}\n`.repeat(1000)}round ${round}\n`);
      await record.received(`round ${round}`);
    }
    await until('it is written', () => readFileSync(logFile(folder), 'utf8').endsWith('round 6\n'));
    const log = (await game.latestLog('demo', null))!;
    expect(Buffer.byteLength(log)).toBeLessThanOrEqual(2 * 1024 * 1024);
    expect(Buffer.byteLength(log)).toBeGreaterThan(2 * 1024 * 1024 - 1010);
    expect(log).not.toContain('\uFFFD');
    expect(log).toMatch(/^4é{500}\n/);
    expect(log.endsWith('round 6\n')).toBe(true);
    expect(statSync(logFile(folder)).size).toBeLessThan(2 * 1024 * 1024);
    expect(statSync(`${logFile(folder)}.1`).size).toBeGreaterThan(1024 * 1024);
  });

  test('reports a write error once in the service log, and the server continues', async () => {
    const { game, folder, program, written } = await prepareRunning();
    mkdirSync(logFile(folder), { recursive: true });
    const record = await followConsole(game, 'demo');
    program.send('print', 'one\n');
    await record.received('one');
    program.send('print', 'two\n');
    await record.received('two');
    expect(written().match(/a log cannot be written/g)).toHaveLength(1);
    expect(await game.latestLog('demo', null)).toBeUndefined();
  });
});

test('a server gets only the environment of its settings', async () => {
  const { program } = await prepareRunning({ env: { GAME: 'demo' } });
  expect(Object.keys(program.env).filter((name) => name !== 'GAME')).toEqual([]);
});

test('a check of the provider reports the number of servers', async () => {
  const { provider } = createLocal({ one: {}, two: {} });
  expect(await provider.check()).toEqual([{ level: 'info', message: 'This machine runs 2 local servers' }]);
});

test('the demo servers get no settings of the service', () => {
  expect(JSON.stringify(demoProvider({ PATH: process.env.PATH, PANEL_TOKEN: 'secret' }))).not.toContain('secret');
});
