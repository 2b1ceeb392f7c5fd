import { expect, test } from 'vitest';
import { findActing } from '../helpers/terminal.ts';
import { createCommandLine, createKey, damage } from './run-command.ts';

const evil = 'x\u009B2J\u0085\u007F\u202E\u2028\n\u001B[31my';
const escaped = String.raw`x\u009b2J\u0085\u007f\u202e\u2028\u000a\u001b[31my`;

/** Creates a store with control characters in a key, a server, an audit entry and a vote. */
async function createEvil() {
  const line = await createCommandLine();
  await createKey(line, '--label', 'label');
  await line.run('servers', 'add', 'game:a', '--provider', 'p', '--ref', 'r', '--log-file', 'x');
  await line.store.feedback.count({ path: '/knowledgebase/a/b', day: '2026-11-01', helpful: true });
  const text = `'${evil}'`;
  damage(line, `UPDATE hosting_api_keys SET label = ${text}`);
  damage(line, `UPDATE hosting_servers SET provider = ${text}, ref = ${text}, log_file = ${text}`);
  damage(line, `UPDATE hosting_audit SET detail = ${text}, outcome = ${text} WHERE phase = 'finished'`);
  damage(line, `UPDATE hosting_feedback SET path = ${text}`);
  return line;
}

test.each([[['keys', 'list']], [['servers', 'list']], [['audit']], [['feedback', 'report']]])(
  '%j prints no control character, neither in a table nor as JSON',
  async (args) => {
    const line = await createEvil();
    const table = await line.run(...args);
    expect({ status: table.status, stderr: table.stderr, found: findActing(table.stdout) }).toEqual({
      status: 0,
      stderr: '',
      found: [],
    });
    expect(table.stdout).toMatch(/x\\+u009b2J\\+u0085\\+u007f\\+u202e\\+u2028\\+(?:n|u000a)\\+u001b\[31my/);
    const json = await line.run(...args, '--json');
    expect(findActing(json.stdout)).toEqual([]);
    const texts = json.stdout
      .trim()
      .split('\n')
      .map((text) => JSON.stringify(JSON.parse(text)));
    expect(texts.join()).toContain(JSON.stringify(evil));
  },
);

test('an error prints no control character', async () => {
  const line = await createEvil();
  const replaced = await line.run('servers', 'add', 'game:a', '--provider', 'p', '--ref', 'r');
  expect(replaced.stderr).toContain(escaped);
  for (const args of [
    ['servers', 'remove', `game:${evil}`],
    ['keys', 'revoke', evil],
    [evil],
    ['audit', `--${evil}`],
  ]) {
    const { status, stderr } = await line.run(...args);
    expect({ status, found: findActing(stderr), lines: stderr.split('\n').length }).toEqual({
      status: 1,
      found: [],
      lines: 2,
    });
  }
});
