import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { json } from 'node:stream/consumers';
import { join } from 'node:path';
import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { describeNginx, examples } from '../../../helpers/nginx.ts';
import { createCertificates } from '../../../helpers/upstream-tls.ts';
import { createToken, serveOperators } from '../../../operators/operators.ts';

describeNginx((run) => {
  test('operators.conf lets the named addresses in, with TLS, and forwards their addresses', async () => {
    const { app, world, port: operators } = await serveOperators({ TRUSTED_PROXIES: '127.0.0.1' });
    const { token } = await createToken(world, 'panel', '--right', 'servers', '--network', '127.0.0.3');

    const { ca, key, cert } = createCertificates();
    const { port } = await run()((folder, at) => {
      writeFileSync(join(folder, 'fullchain.pem'), cert);
      writeFileSync(join(folder, 'privkey.pem'), key);
      return readFileSync(join(examples, 'operators.conf'), 'utf8')
        .replaceAll(/listen (\[::\]:)?443/g, (_, six?: string) => `listen ${six ? '[::1]:' : ''}${at}`)
        .replaceAll('/etc/letsencrypt/live/operators.example.com', folder)
        .replace('server 127.0.0.1:3080;', `server 127.0.0.1:${operators};`)
        .replace('allow 192.0.2.10;', 'allow 127.0.0.2/31;');
    });
    const get = async (localAddress: string, forged = {}) => {
      const headers = { host: 'operators.example.com', authorization: `Bearer ${token}`, ...forged };
      const options = {
        host: '127.0.0.1',
        port,
        path: '/v1/operator',
        ca,
        servername: 'localhost',
        localAddress,
        headers,
      };
      const response = await new Promise<IncomingMessage>((done, fail) => {
        request(options, done).on('error', fail).end();
      });
      const isJson = response.headers['content-type']?.includes('json');
      return { status: response.statusCode, body: isJson ? await json(response) : response.resume() };
    };
    expect(await get('127.0.0.3')).toEqual({
      status: 200,
      body: { success: true, label: 'panel', rights: ['servers'] },
    });
    // nginx forwards the address that connected, whatever the client claims.
    const forged = await get('127.0.0.2', { 'x-forwarded-for': '127.0.0.3' });
    expect(forged).toMatchObject({ status: 403, body: { message: expect.stringContaining('127.0.0.2') } });
    expect(await get('127.0.0.4')).toMatchObject({ status: 403 });
    const statuses = () => app.log().flatMap(({ msg, status }) => (msg === 'request' ? [status] : []));
    await expect.poll(statuses).toEqual([200, 403]);
  });
});
