import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { renderProblem } from '#contract/problem.ts';
import { openStore } from '../../server/store/index.ts';
import { createTestApp } from '../helpers/app.ts';
import { buildProject, createProject, temporaryFolder } from '../helpers/project.ts';
import { ask } from '../server/ask.ts';
import type { TestApp } from '../helpers/app.ts';
import { createUpstream } from '../helpers/upstream.ts';
import type { Question } from '../server/ask.ts';
import { sharedProject } from '../server/shared.ts';

const target = '/v1/kb/feedback';
const token = 'Zk2-webhook-token-0123456789abcdefghijklmnopqrstuvwxyz';

/** A server with a Discord webhook for feedback. */
async function serve(changes: Record<string, string> = {}, root?: string) {
  const chat = await createUpstream(() => ({ status: 200, body: '{"id":"1"}' }));
  const DATA_DIR = temporaryFolder();
  const settings = {
    DATA_DIR,
    CHAT_FEEDBACK_WEBHOOK_URL: `${chat.url}/api/webhooks/1/${token}`,
    FEEDBACK_RATELIMIT_BURST: '1000',
    ...changes,
  };
  const app = await createTestApp({ root: root ?? (await sharedProject()), settings });
  const report = async () => {
    const store = await openStore({ DATA_DIR });
    const votes = await store.feedback.report({});
    await store.close();
    return votes;
  };
  return { app, chat, report, database: join(DATA_DIR, 'hosting.sqlite') };
}

/** Sends a vote. */
function send(app: TestApp, body: string | undefined, headers: Record<string, string> = {}, more: Question = {}) {
  return ask(app, target, { method: 'POST', headers, body, ...more });
}

const invalid = (message?: string) => ({ status: 400, text: renderProblem('text', 'invalid_feedback', message) });
const success = '{"success":true}\n';

describe('a vote', () => {
  test('1: an invalid body is 400 as text and is not sent', async () => {
    const { app, chat } = await serve();
    const bodies = [
      undefined,
      'null',
      '"helpful"',
      '{"helpful":null}',
      '{"helpful":1}',
      '{"helpful":true,"slug":null}',
      '{"helpful":true,"helpful":false}',
      '{"__proto__":{"helpful":true}}',
      '{"helpful":true,"__proto__":1}',
      '['.repeat(10_000),
      '{"a":'.repeat(5_000),
      'helpful=true',
    ];
    for (const body of bodies) {
      const { status, headers } = await send(app, body);
      expect({ body: body?.slice(0, 40), status }).toEqual({ body: body?.slice(0, 40), status: 400 });
      expect(headers['content-type']).toBe('text/plain; charset=utf-8');
    }
    expect(await send(app, undefined)).toMatchObject(invalid());
    expect(chat.seen).toEqual([]);
  });

  test('2: an empty title or slug gets a label', async () => {
    const { app, chat } = await serve();
    for (const body of ['{"helpful":true}', '{"helpful":false,"title":"","slug":""}']) await send(app, body);
    const labelled = { body: expect.stringMatching(/Untitled article.*Unknown path/) };
    expect(chat.seen).toMatchObject([labelled, labelled]);
  });

  test('3: a delivered vote is 200', async () => {
    const { app, chat } = await serve();
    const body = '{"helpful":true,"title":"Connect with SSH","slug":"/knowledgebase/vps/ssh"}';
    expect(await send(app, body, { 'Content-Type': 'application/json' })).toMatchObject({ status: 200, text: success });
    expect(chat.seen).toHaveLength(1);
    expect(chat.seen[0]!.body).toContain('Connect with SSH');
    expect(JSON.stringify(app.log())).not.toContain(token);
  });

  test('4: without a webhook a vote is 202 and is not sent', async () => {
    const { app, chat } = await serve({ CHAT_FEEDBACK_WEBHOOK_URL: '' });
    expect(await send(app, '{"helpful":true}')).toMatchObject({ status: 202, text: success });
    expect(chat.seen).toEqual([]);
  });

  test.each(['drop', 'garbage', 'huge', 500, 404, 204, 302] as const)(
    '5: a failing webhook (%s) is 502, and the vote still counts',
    async (fault) => {
      const { app, chat, report } = await serve();
      const isDelivered = fault === 204;
      chat.fail(typeof fault === 'number' ? { status: fault, headers: { location: '/elsewhere' } } : fault);
      const { status, text } = await send(app, '{"helpful":false,"slug":"/knowledgebase/vps/ssh"}');
      expect(status).toBe(isDelivered ? 200 : 502);
      if (!isDelivered) expect(text).toBe(renderProblem('text', 'feedback_not_delivered'));
      expect(chat.seen).toHaveLength(1);
      expect(JSON.stringify(app.log())).not.toContain(token);
      expect(await report()).toEqual([{ path: '/knowledgebase/vps/ssh', helpful: 0, unhelpful: 1 }]);
    },
  );

  test('5: a hanging webhook is 502 after its timeout, and other requests are answered meanwhile', async () => {
    const { app, chat } = await serve();
    const arrived = chat.hold();
    let isAnswered = false;
    const hanging = send(app, '{"helpful":true}').finally(() => (isAnswered = true));
    await arrived;
    expect((await ask(app, '/v1/blog/list')).status).toBe(200);
    expect(isAnswered).toBe(false);
    expect((await hanging).status).toBe(502);
    expect(chat.seen).toHaveLength(1);
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'application/jsonp',
    'json',
    '',
  ])('a body with the type %j is 415', async (type) => {
    const { app, chat } = await serve();
    expect(await send(app, '{"helpful":true}', { 'Content-Type': type })).toMatchObject({
      status: 415,
      text: renderProblem('text', 'unsupported_media_type'),
    });
    expect(chat.seen).toEqual([]);
  });

  test.each(['application/json', 'Application/JSON', 'application/json; charset=utf-8', ' application/json ;x=y'])(
    'a body with the type %j is accepted',
    async (type) => {
      const { app } = await serve();
      expect((await send(app, '{"helpful":true}', { 'Content-Type': type })).status).toBe(200);
    },
  );

  test('7: a long body is 400, with a length, chunked or compressed', async () => {
    const { app, chat } = await serve({ MAX_FEEDBACK_BODY_BYTES: '100' });
    const right = JSON.stringify({ helpful: true, title: 'x'.repeat(100 - 27) });
    expect(right).toHaveLength(100);
    expect((await send(app, right)).status).toBe(200);
    const long = JSON.stringify({ helpful: true, title: 'x'.repeat(74) });
    expect(await send(app, long)).toMatchObject(invalid('The body is too long'));
    const chunk = `40\r\n${' '.repeat(0x40)}\r\n`;
    const head = `POST ${target} HTTP/1.1\r\nHost: x\r\n`;
    const received = await app.raw(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(1000)}`);
    expect(received).toMatch(/^HTTP\/1\.1 400 /);
    expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1);
    const bomb = gzipSync('x'.repeat(10_000_000)).toString('latin1').slice(0, 50);
    const compressed = await app.raw(`${head}Content-Encoding: gzip\r\nContent-Length: 50\r\n\r\n${bomb}`);
    expect(compressed).toMatch(/^HTTP\/1\.1 415 /);
    expect(chat.seen).toHaveLength(1);
  });
});

test('a vote for a former path counts for the current article', async () => {
  const root = createProject({
    'content/knowledgebase/vps/ssh.md':
      '---\ntitle: SSH\ndescription: How.\naliases: [/knowledgebase/vps/old-ssh]\n---\n\nUse it.\n',
    'content/knowledgebase/dns/records.md': undefined,
  });
  await buildProject(root);
  const { app, report } = await serve({ CHAT_FEEDBACK_WEBHOOK_URL: '' }, root);
  for (const slug of ['/knowledgebase/vps/old-ssh', '/knowledgebase/vps/ssh']) {
    expect((await send(app, JSON.stringify({ helpful: true, slug }))).status).toBe(202);
  }
  expect(await report()).toEqual([{ path: '/knowledgebase/vps/ssh', helpful: 2, unhelpful: 0 }]);
});

test('votes are counted by article, and votes for unknown articles together', async () => {
  const { app, report } = await serve();
  const ssh = '/knowledgebase/vps/ssh';
  for (const slug of [ssh, ssh, '/knowledgebase/none', '/blog/news/first', 'x', ''])
    await send(app, JSON.stringify({ helpful: slug !== 'x', slug }));
  expect(await report()).toEqual([
    { path: '', helpful: 3, unhelpful: 1 },
    { path: ssh, helpful: 2, unhelpful: 0 },
  ]);
});

test('a vote that the store can never take is 500 without a chat, and logged with one', async () => {
  for (const [chatUrl, status] of [
    ['', 500],
    [undefined, 200],
  ] as const) {
    const { app, database: file } = await serve(chatUrl === '' ? { CHAT_FEEDBACK_WEBHOOK_URL: '' } : {});
    using database = new DatabaseSync(file);
    database.exec('ALTER TABLE hosting_feedback RENAME TO hosting_away');
    expect((await send(app, '{"helpful":true}')).status).toBe(status);
    expect(JSON.stringify(app.log())).toContain('no such table: hosting_feedback');
  }
});

describe('the limit', () => {
  test('is one valid vote per 30 s for each client, and the headers have the window', async () => {
    const { app, chat } = await serve({ FEEDBACK_RATELIMIT_BURST: '' });
    expect((await send(app, '{"helpful":')).status).toBe(400);
    expect((await send(app, '{}')).status).toBe(400);
    expect((await send(app, '{"helpful":true}', { 'Content-Type': 'text/plain' })).status).toBe(415);
    expect((await send(app, '{"helpful":true}', {}, { method: 'PUT' })).status).toBe(405);
    expect((await send(app, '{"helpful":true}')).status).toBe(200);
    for (const body of ['{"helpful":true}', '{"helpful":false}']) {
      const { status, headers, text } = await send(app, body);
      expect({ status, text }).toEqual({ status: 429, text: renderProblem('text', 'rate_limited') });
      expect(headers['retry-after']).toBe('30');
      expect(headers['ratelimit-policy']).toContain('"feedback";q=1;w=30');
    }
    expect((await send(app, '{"helpful":true}', {}, { from: '127.0.0.2' })).status).toBe(200);
    expect(chat.seen).toHaveLength(2);
    expect((await ask(app, '/v1/kb/list')).status).toBe(200);
  });

  test('counts the client behind a trusted proxy', async () => {
    const { app } = await serve({ FEEDBACK_RATELIMIT_BURST: '', TRUSTED_PROXIES: '127.0.0.1' });
    const voteOf = async (ip: string) => (await send(app, '{"helpful":true}', { 'X-Forwarded-For': ip })).status;
    const statuses = [await voteOf('203.0.113.1'), await voteOf('203.0.113.2'), await voteOf('203.0.113.1')];
    expect(statuses).toEqual([200, 200, 429]);
  });

  test('is configurable', async () => {
    const { app } = await serve({ FEEDBACK_RATELIMIT_WINDOW_SECONDS: '7', FEEDBACK_RATELIMIT_BURST: '2' });
    const statuses: number[] = [];
    for (let count = 0; count < 3; count += 1) statuses.push((await send(app, '{"helpful":true}')).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await send(app, '{"helpful":true}')).headers['retry-after']).toBe('7');
  });
});
