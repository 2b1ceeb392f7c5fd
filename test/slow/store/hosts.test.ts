import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { readSettings } from '../../../server/settings.ts';
import { StoreSettings } from '../../../server/store/database.ts';
import { openStore } from '../../../server/store/index.ts';
import { createTestApp } from '../../helpers/app.ts';
import { findFreePort, listen } from '../../helpers/free-port.ts';
import { describePostgres } from '../../helpers/postgres.ts';
import { runHere } from '../../commands/run-command.ts';
import { ask } from '../../server/ask.ts';
import { eventually, sharedProject } from '../../server/shared.ts';

/** Listens like a frozen server: accepts connections, and never answers. */
async function freeze(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  onTestFinished(() => void server.close());
  return port;
}

describePostgres((server) => {
  describePostgres((other) => {
    const urlOf = (ports: readonly number[], rest = '') =>
      `postgres://postgres:${server().password}@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/postgres${rest}`;
    const list = (DATABASE_URL: string) => runHere(['keys', 'list'], { DATABASE_URL });

    test('of several hosts, the one that takes writes is used, also after a failover', async () => {
      // The tables, which a real standby would have.
      expect((await runHere(['store', 'migrate'], { DATABASE_URL: urlOf([other().port]) })).status).toBe(0);
      await other().demote();
      const [away, frozen] = [await findFreePort(), await freeze()];
      const DATABASE_URL = urlOf([away, frozen, other().port, server().port]);
      const app = await createTestApp({ root: await sharedProject(), settings: { DATABASE_URL } });
      // Idle during the failover: its first call takes the other host at once.
      const idle = await openStore(readSettings(StoreSettings, { DATABASE_URL }));
      onTestFinished(() => idle.close());
      expect(await idle.apiKeys.list()).toEqual([]);
      const isReady = async () => (await ask(app, '/ready')).status === 200;
      await expect.poll(isReady, eventually).toBe(true);
      await server().demote();
      await expect.poll(isReady, eventually).toBe(false);
      expect(await list(DATABASE_URL)).toMatchObject({
        status: 1,
        stderr: expect.stringMatching(
          /host 1: the server cannot be reached \(ECONNREFUSED\); host 2: timeout expired; host 3: a standby, .*host 4: a standby/,
        ),
      });
      await other().promote();
      await expect.poll(isReady, eventually).toBe(true);
      expect(await idle.apiKeys.list()).toEqual([]);
      await server().promote();
    });

    test.each([
      ['the only host', '', 0],
      ['a standby', '?target_session_attrs=read-write', 'cannot be used: a standby, which takes no writes\n'],
      ['a standby', '?target_session_attrs=primary', 'cannot be used: a standby, which takes no writes\n'],
      ['any host', '?target_session_attrs=any', 'target_session_attrs=any is for store backup alone\n'],
      ['a standby by choice', '?target_session_attrs=standby', 'must have target_session_attrs=read-write or primary'],
      ['a random host', '?load_balance_hosts=random', 'must not have load_balance_hosts\n'],
      ['an address', '?hostaddr=127.0.0.1', 'must not have hostaddr\n'],
      ['a list of hosts', '?host=a,b', 'must not have a list in host=; write several hosts as host:5432,other:5432\n'],
    ] as const)('a command on %s (%s) is answered or refused by name', async (_, rest, expected) => {
      if (expected === 0) return expect(await list(urlOf([server().port]))).toMatchObject({ status: 0 });
      await server().demote();
      const { status, stderr } = await list(urlOf([server().port], rest));
      await server().promote();
      expect(status).toBe(1);
      expect(stderr).toContain(expected);
    });
  });
});
