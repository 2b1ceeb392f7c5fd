import { expect, test } from 'vitest';
import { describeNginx } from '../../helpers/nginx.ts';
import { serveShared } from '../../server/shared.ts';

describeNginx((run) => {
  test.each(['on', 'off'])('passes on the response to a refused body, with buffered requests %s', async (buffered) => {
    const app = await serveShared({ RATELIMIT_BURST: '1000' });
    const proxy = await run()(
      (_, port) => `server {
        listen 127.0.0.1:${port};
        client_max_body_size 10m;
        proxy_request_buffering ${buffered};
        location / { proxy_pass http://127.0.0.1:${app.port}; }
      }`,
    );
    const headers = { 'Content-Type': 'application/json' };
    const body = JSON.stringify({ title: 'x'.repeat(900_000) });
    const statuses: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      const send = () => fetch(`http://127.0.0.1:${proxy.port}/v1/kb/feedback`, { method: 'POST', headers, body });
      const responses = await Promise.all(Array.from({ length: 10 }, send));
      statuses.push(...responses.map(({ status }) => status));
    }
    expect(statuses).toEqual(Array.from({ length: 60 }, () => 400));
  });
});
