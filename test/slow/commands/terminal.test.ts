import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createCommandLine, createKey } from '../../commands/run-command.ts';
import { findFreePort } from '../../helpers/free-port.ts';
import { describeInstalled } from '../../helpers/installed.ts';
import { article, createProject, guide, runProgram } from '../../helpers/project.ts';
import { runInTerminal, startInTerminal, withoutColours, withoutProgress } from '../../helpers/terminal.ts';
import { copyProject } from '../../server/shared.ts';

const root = resolve(import.meta.dirname, '../../..');
const generator = join(root, 'generator/main.js');
const operator = join(root, 'server/commands/main.js');

describeInstalled({ name: 'a terminal', package: 'bsdutils', commands: ['script'] }, () => {
  describe('check', () => {
    const long = `${'so '.repeat(60)}[b](/knowledgebase/vps/restor) ${'on '.repeat(60)}`;
    const project = () =>
      createProject({
        'content/blog/news/first.md': article({ descripton: 'x' }, 'Text.\n'),
        'content/knowledgebase/vps/ssh.md': guide('SSH', `${long}\n\n# \u4F60\u597D \u001B[2J\n`),
        'content/removed.yaml': '<<<<<<< HEAD\n',
      });
    const lines = [
      'content/blog/news/first.md',
      '  7:1 error unknown field "descripton"',
      '  7 | descripton: x',
      '    | ^^^^^^^^^^',
      '    | help: did you mean "description"?',
      '',
      'content/knowledgebase/vps/ssh.md',
    ];

    test('shows problems by file, with the line, the place and the remedy', async () => {
      const printed = await runInTerminal(`node ${generator} check`, { cwd: project() });
      expect(printed).toContain('\u001B[31mfailed\u001B[39m: ');
      const shown = withoutColours(withoutProgress(printed)).split('\n');
      expect(shown.slice(0, lines.length)).toEqual(lines);
      const [source, carets] = shown.slice(8, 10) as [string, string];
      const [from, to] = [carets.indexOf('^'), carets.lastIndexOf('^') + 1];
      expect(source.slice(from, to)).toBe('[b](/knowledgebase/vps/restor)');
      expect(shown.filter((line) => line.length > 80)).toEqual([]);
      // The end of a long remedy.
      expect(shown).toContainEqual(expect.stringMatching(/^ {6}\S.*>>>>>>>$/));
      expect(shown.at(-2)).toMatch(/^failed: .*, in 3 files, [\d.]+ s$/);
    });

    test('has the same text without colours with NO_COLOR', async () => {
      const printed = await runInTerminal(`node ${generator} check`, { cwd: project(), env: { NO_COLOR: '1' } });
      const shown = withoutProgress(printed);
      expect(withoutColours(shown)).toBe(shown);
      expect(shown.split('\n').slice(0, lines.length)).toEqual(lines);
    });

    test('prints one line for each problem in a pipe', async () => {
      const { stderr } = await runProgram(process.execPath, [generator, 'check'], { cwd: project() });
      expect(stderr.split('\n')[0]).toBe(
        'content/blog/news/first.md:7:1  unknown field "descripton" (did you mean "description"?)',
      );
    });
  });

  test('tables and the audit log fit the width of a terminal, and are whole in a pipe', async () => {
    const line = await createCommandLine();
    const label = `a label ${'of many words '.repeat(6)}`.trim();
    const { id } = await createKey(line, '--label', label);
    await line.run('servers', 'add', 'game:a', '--provider', 'panel', '--ref', '1a7ce997-259b-452e-8b4e-cecc464142ca');
    for (const command of ['servers list', 'audit', 'doctor']) {
      const printed = await runInTerminal(`node ${operator} ${command}`, { cwd: root, env: { ...line.env } });
      expect(printed.split('\n').filter((one) => one.length > 80)).toEqual([]);
    }
    const printed = await runInTerminal(`node ${operator} keys list`, { cwd: root, env: { ...line.env } });
    expect(printed).toMatch(new RegExp(`\n${id}  active  a label .*…  game:a .*never\n$`));
    expect((await line.run('keys', 'list')).stdout).toContain(label);
  });

  test('usage names the command that people type, after an error and in the help', async () => {
    const run = (command: string) => runInTerminal(`node ${command}`, { cwd: createProject() });
    const usage = 'npm run keys -- create [options]';
    expect(await run(`${operator} keys create`)).toBe(
      `--server is missing; --scope is missing\nusage: ${usage}  (--help lists the options)\n`,
    );
    expect(await run(`${generator} new`)).toBe(
      "missing required argument 'kind'\nusage: npm run new -- [options] <kind> <title...>  (--help lists the options)\n",
    );
    const help = withoutColours(await run(`${operator} keys create --help`));
    expect(help.split('\n')[0]).toBe(`Usage: ${usage}`);
    expect(help).toContain('\n  game-power:read_write\n');
    for (const command of ['keys', 'servers add --help']) {
      const text = withoutColours(await run(`${operator} ${command}`));
      expect(text.split('\n').filter((one) => one.length > 80)).toEqual([]);
    }
  });

  test('the demo shows its addresses, and its key again, and does not log its own monitors', async () => {
    const cwd = await copyProject();
    const port = await findFreePort();
    const env = { DIST_DIR: join(cwd, 'dist'), DATA_DIR: join(cwd, 'data'), PORT: String(port) };
    const start = () => startInTerminal(`node ${join(root, 'server/main.js')} --demo`, { cwd, env });
    const first = start();
    const docs = `  Docs     http://localhost:${port}/docs  guide, reference, live console`;
    const bearer = await first.prints(/Bearer hk_\w{12}_/);
    expect(withoutColours(first.output())).toContain(docs);
    first.interrupt();
    expect(await first.ended()).toBe(0);

    const again = start();
    await again.prints(/its text was shown once/);
    const id = bearer.slice('Bearer hk_'.length, -1);
    expect(withoutColours(again.output())).toContain(`  Key      npm run keys -- rotate ${id}  gives it a new text`);
    expect(again.output()).not.toContain('Bearer');
    // The monitors of the catalog have run.
    await expect.poll(async () => (await fetch(`http://127.0.0.1:${port}/v1/status`)).status).toBe(200);
    await again.prints(/GET \/v1\/status 200/);
    expect(withoutColours(again.output()).match(/^[\d:]{8} GET (?!\/v1\/status).*/gm)).toBeNull();
    again.interrupt();
    expect(await again.ended()).toBe(0);
  });
});
