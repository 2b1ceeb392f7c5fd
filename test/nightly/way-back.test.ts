import {
  appendFileSync,
  lstatSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describePostgres, withClient } from '../helpers/postgres.ts';
import { article, temporaryFolder, writeFiles } from '../helpers/project.ts';
import { createPanelUpstream, panelKeys } from '../helpers/upstream-panel.ts';
import { createUpstream } from '../helpers/upstream.ts';
import { mountSmall } from '../helpers/permitted.ts';
import { findFreePort } from '../helpers/free-port.ts';
import { openStream } from '../hosting/instances.ts';
import { call as callOperators } from '../operators/operators.ts';
import { ask, askJson } from '../server/ask.ts';
import { commit, createMachine, createTemplate, pasted, readScenes } from './way-back/machine.ts';
import type { Machine, MachineOptions, Template } from './way-back/machine.ts';

// Each test is a scene of docs/runbook.md: pastes the commands into a shell of a machine that runs the service, and
// checks the effect from outside.

const patience = { timeout: 600_000 };

let template: Template;
beforeAll(() => void (template = createTemplate()));
afterAll(() => template.remove());

const panelFile = (name: string, url: string): string =>
  `  ${name}: { type: pterodactyl, url: "${url}", token: "\${PANEL_TOKEN}", read_only_token: "${panelKeys.read}" }\n`;

/** A machine with a panel, a server there, and a key for that server. */
async function createHost({ settings, credentials, ...options }: MachineOptions = {}) {
  const panel = await createPanelUpstream({ isSteady: true });
  const machine = await createMachine(template, {
    ...options,
    providers: `providers:\n${panelFile('panel', panel.url)}`,
    credentials: { 'panel-token': panelKeys.write, ...credentials },
    settings: { POWER_RATELIMIT_BURST: '1000', READ_RATELIMIT_BURST: '1000', ...settings },
  });
  await machine.run(`hosting-api servers add game:mine --provider panel --ref ${panel.wings.uuid}`);
  return { machine, panel, key: await createKey(machine) };
}

async function createKey(machine: Machine): Promise<string> {
  const scopes = ['game-power:read_write', 'game-console:read_write'].map((scope) => `--scope ${scope}`).join(' ');
  return (await machine.run(`hosting-api keys create --server game:mine ${scopes}`)).trim();
}

type Server = Pick<Machine, 'port'>;

const idOf = (key: string): string => key.split('_')[1]!;

const keyStatus = async (server: Server, key: string): Promise<number> =>
  (await ask(server, '/v1/key', { key })).status;
const start = (machine: Machine, key: string) =>
  ask(machine, '/v1/hosting/game/power/mine/start', { method: 'POST', key });
const titles = async (machine: Machine): Promise<string> => (await ask(machine, '/v1/blog/list')).text;
const versionOf = async (server: Server): Promise<string> =>
  (await askJson<{ version: string }>(server, '/v1/info')).json.version.replace(/\+.*/, '');
const vote = async (server: Server): Promise<number> => {
  const body = JSON.stringify({ helpful: true, title: 'Connect with SSH', slug: '/knowledgebase/vps/ssh' });
  return (await ask(server, '/v1/kb/feedback', { method: 'POST', body })).status;
};

/** Constantly requests content, and a page with a key, from all instances; returns the responses other than 200. */
function follow(machine: Machine, key: string): { stop: () => Promise<{ answered: number; others: number[] }> } {
  let answered = 0;
  const done = new AbortController();
  const others: number[] = [];
  const running = (async () => {
    while (!done.signal.aborted) {
      for (const port of machine.ports) {
        for (const path of ['/v1/blog/list', '/v1/key']) {
          // A proxy would retry a refused connection on the other instance.
          const status = await ask({ port }, path, { key }).then(
            (reply) => reply.status,
            () => undefined,
          );
          if (status === 200) answered += 1;
          else if (status !== undefined) others.push(status);
        }
      }
      await sleep(50);
    }
  })();
  return {
    async stop() {
      done.abort();
      await running;
      return { answered, others };
    },
  };
}

test('Backup', patience, async () => {
  const { machine, key } = await createHost();
  // An editor's backup file is not a credential.
  writeFiles(machine.etc, { 'credentials/panel-token~': 'old', 'credentials/panel-token.bak': 'old' });
  const printed = await machine.paste('Backup', 0);
  const file = printed.trim();
  // Without recipients, the settings are left out.
  expect(readdirSync(machine.backups).map((name) => join(machine.backups, name))).toEqual([file]);
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
  using copy = new DatabaseSync(file, { readOnly: true });
  expect(copy.prepare('SELECT id FROM hosting_api_keys').all()).toMatchObject([{ id: idOf(key) }]);
  expect(await keyStatus(machine, key)).toBe(200);
});

test('Restore', patience, async () => {
  const { machine, key } = await createHost();
  const revoked = await createKey(machine);
  const BACKUP = (await machine.paste('Backup', 0)).trim();
  await machine.run(`hosting-api keys revoke ${idOf(revoked)}`);
  const late = await createKey(machine);
  rmSync(machine.dist, { recursive: true });

  const printed = await machine.paste('Restore', 0, { BACKUP });
  expect(printed).toContain('{"status":"ready"}');
  expect(printed).toContain(idOf(key));
  expect(await titles(machine)).toContain('First');
  expect(await Promise.all([key, revoked, late].map((one) => keyStatus(machine, one)))).toEqual([200, 200, 401]);
  expect((await start(machine, key)).status).toBe(200);

  const SINCE = new Date().toISOString().slice(0, 10);
  const found = await machine.paste('Restore', 1, { SINCE });
  expect(found).toContain(`key=${idOf(revoked)}`);
  await machine.paste('Restore', 2, { ID: idOf(revoked) });
  expect(await keyStatus(machine, revoked)).toBe(401);
});

test('Upgrade, and rollback of the program', patience, async () => {
  const { machine, key } = await createHost({ instances: 2 });
  const following = follow(machine, key);
  await machine.paste('Backup', 0);
  const upgraded = await machine.paste('Upgrade', 0, { VERSION: 'v1.1.0' });
  const lines = upgraded.trim().split('\n');
  const expected = expect.stringMatching(/^\{"version":"1\.1\.0\+[0-9a-f]{12}"\}$/);
  expect([lines[0], ...lines.slice(-2)]).toEqual(['v1.0.0', expected, expected]);
  expect(upgraded).toMatch(/the store is migrated from version (\d+) to (?!\1)\d+/);
  expect(await keyStatus(machine, key)).toBe(200);

  // The migration only adds, so the previous version can use the same store.
  const back = await machine.paste('Rollback of the program', 0, { VERSION: 'v1.0.0' });
  expect(back).toContain('nothing to do');
  expect(await versionOf(machine)).toBe('1.0.0');
  const { answered, others } = await following.stop();
  expect(others).toEqual([]);
  expect(answered).toBeGreaterThan(10);

  // The next migration removes a table, so a rollback needs the backup.
  const BACKUP = (await machine.paste('Backup', 0)).trim().split('\n').at(-1)!;
  await machine.paste('Upgrade', 0, { VERSION: 'v2.0.0' });
  const late = await createKey(machine);
  await expect(machine.paste('Rollback of the program', 0, { VERSION: 'v1.0.0' })).rejects.toThrow(
    'a newer version of this program wrote the database',
  );
  const running = machine.ports.flatMap((port) => [versionOf({ port }), keyStatus({ port }, late)]);
  expect(await Promise.all(running)).toEqual(['2.0.0', 200, '2.0.0', 200]);
  await machine.paste('Rollback of the program', 1);
  await machine.paste('Restore', 0, { BACKUP });
  expect(await versionOf(machine)).toBe('1.0.0');
  expect(await Promise.all([key, late].map((one) => keyStatus(machine, one)))).toEqual([200, 401]);
});

test('a failed upgrade does not affect the running version, even across a crash', patience, async () => {
  const { machine, key } = await createHost();
  const upgrade = () => machine.paste('Upgrade', 0, { VERSION: 'v1.1.0' });
  writeFiles(machine.app, { 'npm-fails': '' });
  await expect(upgrade()).rejects.toThrow('a command failed');
  // A console loads files of the running program on first use.
  const stream = await openStream({ port: machine.port, key });
  expect(readlinkSync(join(machine.app, 'current'))).toBe('v1.0.0');
  await machine.crash();
  await expect.poll(() => versionOf(machine)).toBe('1.0.0');
  await stream.ended;

  rmSync(join(machine.app, 'npm-fails'));
  // Only the doctor detects this.
  appendFileSync(join(machine.etc, 'settings.env'), 'RATELIMITRPS=1\n');
  await expect(upgrade()).rejects.toThrow('RATELIMITRPS is not a setting');
  expect([readlinkSync(join(machine.app, 'current')), await versionOf(machine)]).toEqual(['v1.0.0', '1.0.0']);
  const settings = join(machine.etc, 'settings.env');
  writeFileSync(settings, readFileSync(settings, 'utf8').replace('RATELIMITRPS=1\n', ''));
  const open = await openStream({ port: machine.port, key });
  await upgrade();
  expect([readlinkSync(join(machine.app, 'current')), await versionOf(machine)]).toEqual(['v1.1.0', '1.1.0']);
  expect(await open.ended).toMatchObject({ code: 1012 });
  await expect(upgrade()).rejects.toThrow('v1.1.0 is the version that runs');
});

test('a failing step ends the commands, but not the shell', patience, async () => {
  const machine = await createMachine(template, { instances: 2 });
  // If an instance does not start, the next is not restarted.
  const settings = join(machine.etc, 'settings.env');
  const valid = readFileSync(settings, 'utf8');
  appendFileSync(settings, 'RATELIMIT_RPS=none\n');
  await expect(machine.paste('A leaked credential', 1)).rejects.toThrow(/hosting-api@\d+ is not ready, see journalctl/);
  await expect(versionOf(machine)).rejects.toThrow('ECONNREFUSED');
  expect(await versionOf({ port: machine.ports[1]! })).toBe('1.0.0');
  writeFileSync(settings, valid);

  // Without a backup, the database credential is unchanged.
  rmSync(machine.dataDir, { recursive: true });
  writeFiles(machine.dataDir, { 'hosting.sqlite': 'no database' });
  const NEW_DATABASE_URL = 'postgres://hosting:secret@127.0.0.1/hosting';
  await expect(machine.paste('Move to PostgreSQL', 0, { NEW_DATABASE_URL })).rejects.toThrow('file is not a database');
  expect(readdirSync(join(machine.etc, 'credentials'))).toEqual([]);
  // With a missing backup, the service is not even stopped.
  rmSync(machine.dataDir, { recursive: true });
  await machine.paste('A leaked credential', 1);
  await expect(machine.paste('Restore', 0, { BACKUP: join(machine.backups, 'none') })).rejects.toThrow('none');
  expect(await Promise.all(machine.ports.map((port) => versionOf({ port })))).toEqual(['1.0.0', '1.0.0']);
});

test('Rollback of a release', patience, async () => {
  const machine = await createMachine(template);
  const change = (title: string) => {
    writeFiles(machine.origin, { 'content/blog/news/first.md': article({ title }, '## Details\n') });
    commit(machine.origin, title);
  };
  change('Wrong');
  await machine.paste('Rollback of a release', 2);
  await expect.poll(() => titles(machine)).toContain('Wrong');

  const listed = await machine.paste('Rollback of a release', 0);
  await expect.poll(() => titles(machine)).not.toContain('Wrong');
  expect(machine.isTimerActive()).toBe(false);
  const [, wrong] = /^ {2}([0-9a-f]{16}) /m.exec(listed)!;
  expect(listed).toMatch(/^\* [0-9a-f]{16} /m);

  await machine.paste('Rollback of a release', 1, { ID: wrong!.slice(0, 8) });
  await expect.poll(() => titles(machine)).toContain('Wrong');

  change('Right');
  await machine.paste('Rollback of a release', 2);
  await expect.poll(() => titles(machine)).toContain('Right');
  expect(machine.isTimerActive()).toBe(true);
});

test('A leaked key', patience, async () => {
  const { machine, key } = await createHost();
  expect((await start(machine, key)).status).toBe(200);
  const stream = await openStream({ port: machine.port, key });
  const printed = await machine.paste('A leaked key', 0, { ID: idOf(key) });
  expect(printed).toMatch(/ start {2}game:mine .*ip=127\.0\.0\.1/);
  const renewed = printed.trim().split('\n').at(-1)!;
  expect(await Promise.all([key, renewed].map((one) => keyStatus(machine, one)))).toEqual([401, 200]);
  expect(await stream.ended).toMatchObject({ code: 4003 });

  await machine.paste('A leaked key', 1, { ID: idOf(key) });
  expect(await keyStatus(machine, renewed)).toBe(401);
});

test('A stolen operator token', patience, async () => {
  const port = await findFreePort();
  const { machine } = await createHost({ settings: { OPERATOR_PORT: String(port) } });
  const token = (await machine.run('hosting-api operators create --label billing --right keys')).trim();
  const permissions = { servers: ['game:mine'], scopes: ['game-power:read'] };
  const { json } = await callOperators(port, token, 'PUT', '/v1/operator/keys/one', permissions);
  expect(await keyStatus(machine, json.key)).toBe(200);

  const printed = await machine.paste('A stolen operator token', 0, { ID: idOf(token) });
  expect(printed).toMatch(/ requested {2}keys create .*servers=game:mine/);
  expect(await keyStatus(machine, json.key)).toBe(401);
  expect(await callOperators(port, token, 'GET', '/v1/operator')).toMatchObject({ status: 401 });
  // The label of an ended token may be given again.
  expect(await machine.paste('A stolen operator token', 1)).toContain('ho_');
});

test('A leaked credential', patience, async () => {
  const chats = [await createUpstream(() => ({ status: 200 })), await createUpstream(() => ({ status: 200 }))] as const;
  const [before, after] = chats.map(({ url }) => `${url}/api/webhooks/1/token-of-the-tests`);
  const { machine, panel, key } = await createHost({ credentials: { 'chat-feedback-webhook-url': before! } });
  const next = panelKeys.write.replace('Write', 'Other');
  panel.users.set(next, panel.users.get(panelKeys.write)!);
  machine.willEdit(`s|.*|${next}|`);
  await machine.paste('A leaked credential', 0, { CREDENTIAL: 'panel-token' });
  machine.willEdit(`s|.*|${after}|`);
  await machine.paste('A leaked credential', 0, { CREDENTIAL: 'chat-feedback-webhook-url' });
  await machine.paste('A leaked credential', 1);
  panel.users.delete(panelKeys.write);
  expect((await start(machine, key)).status).toBe(200);
  expect(await vote(machine)).toBe(200);
  expect(chats.map(({ seen }) => seen.length)).toEqual([0, 1]);
});

test('A panel moves', patience, async () => {
  const { machine, panel, key } = await createHost();
  const moved = await createPanelUpstream({ isSteady: true, uuid: panel.wings.uuid });
  const edit = async (script: string): Promise<void> => {
    machine.willEdit(script);
    await machine.paste('A panel moves', 0);
    await machine.paste('A panel moves', 1);
  };
  await edit(`s|${panel.url}|${moved.url}|`);
  const seen = panel.seen.length;
  expect((await start(machine, key)).status).toBe(200);
  expect([panel.signals, moved.signals]).toEqual([[], ['start']]);

  const other = await createPanelUpstream({ isSteady: true });
  await edit(`$a\\\n${panelFile('panel-2', other.url).trimEnd()}`);
  expect((await start(machine, key)).status).toBe(200);
  const MOVED = join(temporaryFolder(), 'moved.txt');
  writeFileSync(MOVED, `game:mine ${other.wings.uuid}\n`);
  expect(await machine.paste('A panel moves', 2, { MOVED, PROVIDER: 'panel-2' })).toContain(
    other.wings.uuid.slice(0, 8),
  );
  expect((await start(machine, key)).status).toBe(200);
  expect([moved.signals, other.signals]).toEqual([['start', 'start'], ['start']]);

  await edit('/^  panel:/d');
  const seenByMoved = moved.seen.length;
  expect((await start(machine, key)).status).toBe(200);
  const stream = await openStream({ port: machine.port, key });
  await expect.poll(() => other.wings.auths.length).toBe(1);
  stream.socket.close();
  expect([panel.seen.length, moved.seen.length]).toEqual([seen, seenByMoved]);
});

describePostgres((postgres) => {
  /** Creates an empty database of a new user with a password; returns its URL, and URLs of further databases. */
  async function createRole(): Promise<{ url: string; createEmpty: () => Promise<string> }> {
    const name = `hosting_${Math.random().toString(36).slice(2)}`;
    const createEmpty = async (): Promise<string> => {
      const url = await postgres().createDatabase();
      await withClient(url, (client) => client.query(`ALTER SCHEMA public OWNER TO ${name}`));
      return url.replace(/\/\/[^@]+@/, `//${name}:before@`);
    };
    const root = await postgres().createDatabase();
    await withClient(root, (client) => client.query(`CREATE ROLE ${name} LOGIN PASSWORD 'before'`));
    return { url: await createEmpty(), createEmpty };
  }

  test('Backup, restore and a leaked password with PostgreSQL', patience, async () => {
    const { url, createEmpty } = await createRole();
    const { machine, key } = await createHost({ credentials: { 'database-url': url }, input: 'after\nafter\n' });
    await machine.paste('Backup', 0);
    const file = readdirSync(machine.backups).find((name) => name.endsWith('.dump'))!;
    const BACKUP = join(machine.backups, file);
    expect((statSync(BACKUP).mode & 0o777).toString(8)).toBe('600');
    const late = await createKey(machine);

    const NEW_DATABASE_URL = await createEmpty();
    await machine.paste('Restore', 3, { BACKUP, NEW_DATABASE_URL });
    expect(await Promise.all([key, late].map((one) => keyStatus(machine, one)))).toEqual([200, 401]);
    expect((await start(machine, key)).status).toBe(200);

    await machine.paste('A leaked credential', 2);
    machine.willEdit('s|:before@|:after@|');
    await machine.paste('A leaked credential', 0, { CREDENTIAL: 'database-url' });
    await machine.paste('A leaked credential', 1);
    expect(await keyStatus(machine, key)).toBe(200);
    await expect(withClient(NEW_DATABASE_URL, () => Promise.resolve())).rejects.toThrow(
      'password authentication failed',
    );
  });

  test('Move to PostgreSQL', patience, async () => {
    const { machine, key } = await createHost();
    for (let count = 0; count < 3; count += 1) expect((await start(machine, key)).status).toBe(200);
    expect(await vote(machine)).toBe(202);
    const read = async () => {
      const { text } = await ask(machine, '/v1/hosting/activity', { key });
      const commands = ['audit', 'feedback report', 'servers list --json'].map((command) =>
        machine.run(`hosting-api ${command}`),
      );
      return [text, ...(await Promise.all(commands))];
    };
    const { url: NEW_DATABASE_URL } = await createRole();
    const before = await read();
    const printed = await machine.paste('Move to PostgreSQL', 0, { NEW_DATABASE_URL });
    expect(printed).toMatch(/^hosting_audit +\d+$/m);
    expect(await read()).toEqual(before);
    expect((await start(machine, key)).status).toBe(200);
    await withClient(NEW_DATABASE_URL, async (client) => {
      const { rows } = await client.query('SELECT COUNT(*)::int AS n FROM hosting_audit WHERE action = $1', ['start']);
      expect(rows).toEqual([{ n: 8 }]);
    });
  });
});

test('The disk is full', patience, async (context) => {
  const disk = mountSmall(context, 'size=64m', () => void pasted.add('The disk is full 0'));
  const { machine, panel, key } = await createHost({ disk });
  const write = (title: string, files: Record<string, string> = {}): void =>
    writeFiles(machine.site, { 'content/blog/news/second.md': article({ title }, 'Text.\n'), ...files });
  // Add an old release with a large file.
  const large = 'content/media/large.svg';
  write('One', { [large]: `<svg xmlns="http://www.w3.org/2000/svg"><!-- ${'x'.repeat(8_000_000)} --></svg>` });
  await machine.run('hosting-api build');
  rmSync(join(machine.site, large));
  for (const title of ['Two', 'Three', 'Four']) {
    write(title);
    await machine.run('hosting-api build');
  }
  const history = join(machine.dist, 'history');
  writeFileSync(history, readFileSync(history, 'utf8').replace(/^\S+/gm, '2026-01-01T00:00:00.000Z'));
  await expect.poll(() => titles(machine)).toContain('Four');
  expect((await start(machine, key)).status).toBe(200);
  const releases = readdirSync(join(machine.dist, 'releases')).length;

  expect(() => appendFileSync(join(disk, 'log'), Buffer.alloc(100_000_000))).toThrow('ENOSPC');
  expect([
    await keyStatus(machine, key),
    (await ask(machine, '/v1/blog/article?path=/blog/news/first')).status,
  ]).toEqual([200, 200]);
  const refused = await start(machine, key);
  expect([refused.status, refused.headers['retry-after']]).toEqual([500, '5']);
  write('Five');
  await expect(machine.run('hosting-api build')).rejects.toThrow('ENOSPC');
  expect(await titles(machine)).toContain('Four');
  expect(panel.signals).toEqual(['start']);

  await machine.paste('The disk is full', 0);
  expect(readdirSync(join(machine.dist, 'releases')).length).toBeLessThan(releases);
  expect((await start(machine, key)).status).toBe(200);
  expect(panel.signals).toEqual(['start', 'start']);
  await machine.run('hosting-api build');
  await expect.poll(() => titles(machine)).toContain('Five');
});

test.each(['An instance is down', 'The store does not answer'])('%s', patience, async (scene) => {
  const { machine } = await createHost({ settings: { PUBLIC_URL: 'http://api.example.com' } });
  // The doctor reports this machine's faults and exits with status 1.
  await expect(machine.paste(scene, 0)).rejects.toThrow(/PUBLIC_URL/);
});

test('No release', patience, async () => {
  const { machine } = await createHost();
  const current = join(machine.dist, 'current');
  const before = lstatSync(current).mtimeMs;
  await machine.paste('No release', 0);
  // Nothing changed, so the build only updates the time of the release.
  expect(lstatSync(current).mtimeMs).toBeGreaterThan(before);
});

test('all commands of the runbook were pasted', () => {
  const all = readScenes().map(
    ({ scene }, index, lists) => `${scene} ${lists.slice(0, index).filter((one) => one.scene === scene).length}`,
  );
  expect([...pasted].toSorted()).toEqual(all.filter((name) => name !== 'Begin 0').toSorted());
});
