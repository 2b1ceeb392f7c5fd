import { expect, test } from 'vitest';
import { auditEntry } from '../store/samples.ts';
import { brokenOutput, createCommandLine, readAudit, refused, runHere, succeeded } from './run-command.ts';
import type { CommandLine } from './run-command.ts';

const t0 = Date.parse('2026-11-20T12:00:00Z');

async function createLog(): Promise<CommandLine> {
  const line = await createCommandLine();
  await line.store.audit.append(auditEntry({ at: t0 }));
  await line.store.audit.append(auditEntry({ at: t0 + 250, phase: 'finished', outcome: 'ok', ms: 250 }));
  await line.store.audit.append(
    auditEntry({
      at: t0 + 86_400_000,
      server: 'game:other',
      action: 'game-console:command',
      detail: 'say "hi" \u202Etxt',
    }),
  );
  return line;
}

test('--json prints an object per line, with ISO times', async () => {
  const line = await createLog();
  expect(await readAudit(line)).toEqual([
    { ...auditEntry(), at: '2026-11-20T12:00:00.000Z' },
    { ...auditEntry(), at: '2026-11-20T12:00:00.250Z', phase: 'finished', outcome: 'ok', ms: 250 },
    {
      ...auditEntry(),
      at: '2026-11-21T12:00:00.000Z',
      server: 'game:other',
      action: 'game-console:command',
      detail: 'say "hi" \u202Etxt',
    },
  ]);
});

test('the log is printed as text, without control characters', async () => {
  const line = await createLog();
  expect((await line.run('audit')).stdout.split('\n')).toEqual([
    '2026-11-20T12:00:00.000Z  requested  game-power:start  game:survival  key=AbCdEfGhIj01  ip=2001:db8::1  request=a-request',
    '2026-11-20T12:00:00.250Z  finished  game-power:start  game:survival  key=AbCdEfGhIj01  ip=2001:db8::1  request=a-request  outcome=ok  250ms',
    '2026-11-21T12:00:00.000Z  requested  game-console:command  game:other  key=AbCdEfGhIj01  ip=2001:db8::1  request=a-request  "say \\"hi\\" \\u202etxt"',
    '',
  ]);
});

test('the log can be filtered by server and by start time', async () => {
  const line = await createLog();
  expect(await readAudit(line, '--server', 'game:survival')).toHaveLength(2);
  expect(await readAudit(line, '--server', 'vps:survival')).toEqual([]);
  expect(await readAudit(line, '--since', '2026-11-20')).toHaveLength(3);
  expect(await readAudit(line, '--since', '2026-11-21')).toHaveLength(1);
  expect(await readAudit(line, '--since', '2026-11-20T12:00:00.250Z')).toHaveLength(2);
  expect(await readAudit(line, '--since', '2026-11-20T14:00:00.251+02:00')).toHaveLength(1);
});

test('the log can be filtered by key and by end time', async () => {
  const line = await createLog();
  await line.store.audit.append(auditEntry({ at: t0 + 1, keyId: 'another00000' }));
  expect(await readAudit(line, '--key', 'another00000')).toMatchObject([{ keyId: 'another00000' }]);
  expect(await readAudit(line, '--key', 'AbCdEfGhIj01', '--until', '2026-11-21')).toHaveLength(2);
  expect(await readAudit(line, '--key', 'AbCdEfGhIj01', '--server', 'game:other')).toHaveLength(1);
  expect(await readAudit(line, '--until', '2026-11-20T12:00:00Z')).toEqual([]);
  expect(await readAudit(line, '--since', '2026-11-20T12:00:00.001Z', '--until', '2026-11-20T13:00')).toHaveLength(2);
});

test('--changes shows changes of keys and servers alone', async () => {
  const line = await createLog();
  const change = { actor: 'command line', requestId: null, ip: null, server: null } as const;
  await line.store.audit.append(auditEntry({ ...change, at: t0 + 1, action: 'keys rotate' }));
  await line.store.audit.append(auditEntry({ ...change, at: t0 + 2, action: 'servers suspend', server: 'game:other' }));
  expect(await readAudit(line, '--changes')).toMatchObject([{ action: 'keys rotate' }, { action: 'servers suspend' }]);
  expect(await readAudit(line, '--changes', '--server', 'game:other')).toMatchObject([{ action: 'servers suspend' }]);
  expect(await readAudit(line, '--changes', '--since', '2026-11-21')).toEqual([]);
});

test('--since accepts a duration before now', async () => {
  const line = await createCommandLine();
  await line.store.audit.append(auditEntry({ at: Date.now() - 3_600_000, requestId: 'an hour ago' }));
  await line.store.audit.append(auditEntry({ at: Date.now() - 60_000, requestId: 'a minute ago' }));
  expect(await readAudit(line, '--since', '30m')).toMatchObject([{ requestId: 'a minute ago' }]);
  expect(await readAudit(line, '--since', '1d')).toHaveLength(2);
  expect(await readAudit(line, '--since', '999999d')).toHaveLength(2);
});

const noTime = 'must be a date (YYYY-MM-DD), an ISO time such as 2030-01-31T12:00Z, or a duration such as 24h\n';

test.each([
  [['--since', 'yesterday'], `--since ${noTime}`],
  [['--until', 'now'], `--until ${noTime}`],
  [['--key', 'one'], 'ID must be the 12 letters and digits that keys list shows\n'],
  [['--server', 'survival'], 'malformed server survival: it must be game:<id> or vps:<id>\n'],
  [['--sinec', '24h'], "unknown option '--sinec' (Did you mean --since?)\n"],
  [['list'], "too many arguments for 'audit'. Expected 0 arguments but got 1: list.\n"],
])('audit %j is refused in one line', async (args, stderr) => {
  const line = await createCommandLine();
  expect(await line.run('audit', ...args)).toEqual(refused(stderr));
});

test('an unknown server without log entries gives a warning', async () => {
  const line = await createLog();
  await line.store.servers.put({ server: 'game:quiet', provider: 'p', ref: 'r', logFile: null });
  const warning = 'warning: there is no server game:queit (did you mean "game:quiet"?)\n';
  expect(await line.run('audit', '--server', 'game:queit')).toEqual({ status: 0, stdout: '', stderr: warning });
  expect(await line.run('audit', '--server', 'game:quiet')).toEqual(succeeded(''));
  expect((await line.run('audit', '--server', 'game:other')).stderr).toBe('');
});

test('a closed pipe ends the command without an error', async () => {
  const line = await createLog();
  expect(await runHere(['audit'], line.env, { out: brokenOutput('EPIPE') })).toMatchObject({ status: 0, stderr: '' });
});

test('a write error of the output ends the command with status 1', async () => {
  const line = await createLog();
  expect(await runHere(['audit'], line.env, { out: brokenOutput('ENOSPC') })).toEqual(
    refused('the output cannot be written: ENOSPC\n'),
  );
});
