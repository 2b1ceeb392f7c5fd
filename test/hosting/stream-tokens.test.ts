import { createHmac, randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { openClient } from '../helpers/console-client.ts';
import { describePostgres } from '../helpers/postgres.ts';
import { askEndpoint } from '../server/ask.ts';
import { bootstrap, createInstances, openStream } from './instances.ts';

/** Tests with one kind of store, shared by two instances. */
function tokenSuite(createDatabase: () => Promise<string | undefined>): void {
  test('no value of the database opens a stream, and none signs a token', async () => {
    const { apps, keyId, readDatabase } = await createInstances(await createDatabase());
    const { token } = await openStream(apps[0]);
    const values = await readDatabase();
    expect(values).not.toContain(token);
    const now = Math.floor(Date.now() / 1000);
    const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = { iss: 'hosting-api', aud: 'game-console-stream', sub: keyId, jti: randomUUID() };
    const signed = [
      encode({ alg: 'HS256', typ: 'JWT' }),
      encode({ ...claims, server: 'game:mine', mode: 'read_write', iat: now, exp: now + 600 }),
    ].join('.');
    const { socket_url: url } = await bootstrap(apps[1]);
    const opened = [];
    for (const value of new Set(values.filter((text) => text.length >= 32))) {
      const signature = createHmac('sha256', value).update(signed).digest('base64url');
      for (const forged of [value, `${signed}.${signature}`]) {
        const client = await openClient(url);
        const [answer] = await client.auth(forged);
        client.socket.terminate();
        if (answer !== 'jwt error') opened.push(forged);
      }
    }
    expect(opened).toEqual([]);
  });

  test('a HEAD request issues no token, and has the length of the answer to GET', async () => {
    const { apps, readDatabase } = await createInstances(await createDatabase());
    const count = async () => (await readDatabase()).filter((value) => value === 'read_write').length;
    const head = await askEndpoint(apps[0], 'openGameConsole', { method: 'HEAD' });
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(await count()).toBe(0);
    const { text } = await askEndpoint(apps[0], 'openGameConsole');
    expect(await count()).toBe(1);
    expect(Number(head.headers['content-length'])).toBe(Buffer.byteLength(text));
  });
}

describe('in a SQLite file', () => {
  tokenSuite(() => Promise.resolve(undefined));
});
describePostgres((postgres) => tokenSuite(() => postgres().createDatabase()));
