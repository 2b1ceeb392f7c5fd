import { describe, expect, onTestFinished, test } from 'vitest';
import { readEnv } from '../../server/env.ts';
import { chatKinds, createChat } from '../../server/feedback/chat.ts';
import type { ChatName, FeedbackMessage } from '../../server/feedback/chat.ts';
import { stopClock, stopTimeouts } from '../helpers/clock.ts';
import { createUpstream } from '../helpers/upstream.ts';
import type { Answer, Fault } from '../helpers/upstream.ts';
import { failureOf } from '../helpers/fault-suite.ts';

const token = 'Zk2-webhook-token-0123456789abcdefghijklmnopqrstuvwxyz';
const path = `/api/webhooks/1234567890/${token}`;
const message: FeedbackMessage = {
  article: 'Connect with SSH',
  path: '/knowledgebase/vps/ssh',
  helpful: true,
  at: new Date('2026-11-20T12:34:56.789Z'),
};

async function prepare(kind: ChatName = 'discord', answer: Answer = { status: 200, body: '{"id":"1"}' }) {
  const upstream = await createUpstream(() => answer);
  const chat = createChat(kind, upstream.url + path, '1.2.3');
  onTestFinished(() => chat.close());
  const body = (at = 0) => JSON.parse(upstream.seen[at]!.body) as Record<string, unknown>;
  return { upstream, chat, body };
}

interface Embed {
  readonly fields: readonly { readonly name: string; readonly value: string }[];
}

async function fieldsOf(changes: Partial<FeedbackMessage>): Promise<Record<string, string>> {
  const { chat, body } = await prepare();
  await chat.send({ ...message, ...changes });
  const [{ fields }] = body().embeds as [Embed];
  return Object.fromEntries(fields.map(({ name, value }) => [name, value]));
}

describe('a Discord webhook', () => {
  test('gets one embed without mentions, at a fixed API version', async () => {
    const { upstream, chat, body } = await prepare();
    await chat.send(message);
    expect(upstream.seen).toHaveLength(1);
    expect(upstream.seen[0]).toMatchObject({
      method: 'POST',
      path: `/api/v10/webhooks/1234567890/${token}?wait=true`,
      headers: { 'content-type': 'application/json', 'user-agent': 'hosting-api/1.2.3' },
    });
    expect(body()).toEqual({
      embeds: [
        {
          title: 'Knowledge base feedback',
          color: 0x2e7d32,
          fields: [
            { name: 'Article', value: 'Connect with SSH' },
            { name: 'Path', value: '/knowledgebase/vps/ssh' },
            { name: 'Helpful', value: 'Yes' },
          ],
          timestamp: '2026-11-20T12:34:56.789Z',
        },
      ],
      allowed_mentions: { parse: [] },
    });
  });

  test('gets fallback labels for missing values', async () => {
    for (const nothing of [undefined, '', '   ', '\u202E\u200F', '\u0000\n']) {
      expect(await fieldsOf({ article: nothing, path: nothing, helpful: false })).toEqual({
        Article: 'Untitled article',
        Path: 'Unknown path',
        Helpful: 'No',
      });
    }
  });

  test.each([
    ['mentions', '@everyone <@123> <@&456> <#789> <:e:1> <t:1> <id:home>'],
    ['masked links', '[free nitro](https://evil.example)'],
    ['bare links', 'https://evil.example'],
    ['code', '`code` ```js\nevil()\n```'],
    ['headings and lists', '# big\n- one\n> quote\n1. two'],
    ['emphasis and spoilers', '*a* **b** _c_ ~~d~~ ||e||'],
    ['backslashes', '\\*not escaped\\'],
  ])('shows %s literally', async (_, text) => {
    const { Article, Path } = await fieldsOf({ article: text, path: text });
    for (const value of [Article!, Path!]) {
      expect(value.replace(/\\(.)/gu, '$1')).toBe(text.replace(/\s+/g, ' '));
      expect(value.replace(/\\./gu, '')).not.toMatch(/[`*_~|>#[\]()<@:]/);
    }
  });

  test.each([
    ['10,000 characters', 'x'.repeat(10_000)],
    ['10,000 characters to escape', '*'.repeat(10_000)],
    ['surrogate pairs', '😀'.repeat(5_000)],
    ['an odd start before pairs', `x${'😀'.repeat(5_000)}`],
    ['surrogate halves', '\uD83D'.repeat(5_000)],
  ])('gets a cut text for %s', async (_, text) => {
    const { Article: value } = await fieldsOf({ article: text });
    expect(value!.length).toBeLessThanOrEqual(1024);
    expect(value!.isWellFormed()).toBe(true);
    expect(value!.replace(/…$/, '')).not.toMatch(/(?<!\\)(?:\\\\)*\\$/);
  });

  test('gets no bidirectional controls and no line breaks', async () => {
    const { Article: value } = await fieldsOf({ article: 'a\u202Eb\u2066c\u200Fd\ne\r\nf\u0007g\u2028h' });
    expect(value).toBe('abcd e fg h');
  });
});

test('a Slack webhook gets plain text without mentions', async () => {
  const { upstream, chat, body } = await prepare('slack', { status: 200, body: 'ok' });
  await chat.send({ ...message, article: '<!channel> & <https://evil.example|free>', path: undefined });
  expect(upstream.seen[0]!.path).toBe(path);
  const text = JSON.stringify(body());
  expect(text).toContain('Article: &lt;!channel&gt; &amp; &lt;https://evil.example|free&gt;');
  expect(text).toContain('Path: Unknown path');
  expect(text).toContain('Helpful: Yes');
  expect(text).not.toContain('mrkdwn');
});

test('a Mattermost webhook gets an attachment without mentions', async () => {
  const { chat, body } = await prepare('mattermost', { status: 200, body: 'ok' });
  await chat.send({ ...message, article: '@all [free](https://evil.example) `x`' });
  const text = JSON.stringify(body());
  expect(text).not.toMatch(/@all/);
  expect(text).toContain(String.raw`\\[free\\]\\(https\\:`);
  expect(text).toContain('2026-11-20T12:34:56.789Z');
});

describe('a message', () => {
  const limited = (seconds: number): Answer => ({ status: 429, headers: { 'retry-after': String(seconds) } });

  test('is sent again after a 429 with a short wait', async () => {
    const { upstream, chat } = await prepare();
    upstream.fail(limited(0), () => upstream.seen.length === 1);
    await chat.send(message);
    expect(upstream.seen).toHaveLength(2);
  });

  test.each<[string, Answer, number]>([
    ['for more than 2 s', limited(3), 1],
    ['without a duration', { status: 429, body: '<html>blocked</html>' }, 1],
    ['twice', limited(0), 2],
  ])('is dropped after a rate limit %s', async (_, answer, times) => {
    const { upstream, chat } = await prepare();
    upstream.fail(answer);
    await failureOf(chat.send(message));
    expect(upstream.seen).toHaveLength(times);
  });

  test.each<[string, Fault]>([
    ['400', { status: 400, body: '{"code":50035}' }],
    ['401', { status: 401 }],
    ['404', { status: 404, body: '{"code":10015,"message":"Unknown Webhook"}' }],
    ['500', { status: 500 }],
    ['a redirect', { status: 302, headers: { location: '/elsewhere' } }],
    ['a dropped connection', 'drop'],
    ['garbage', 'garbage'],
    ['50 MB', 'huge'],
  ])('with the answer %s is sent once, and the error has no part of the webhook URL', async (_, fault) => {
    const { upstream, chat } = await prepare();
    upstream.fail(typeof fault === 'object' ? { ...fault, body: `${fault.body} ${upstream.url}${path}` } : fault);
    const error = await failureOf(chat.send(message));
    expect(upstream.seen).toHaveLength(1);
    expect(`${error.message} ${String(error.cause)}`).not.toContain(token);
  });

  test('is not sent again if the time limit is shorter than the wait', async () => {
    const { upstream, chat } = await prepare();
    const advance = stopClock();
    stopTimeouts();
    upstream.fail(limited(1.6));
    const arrived = upstream.hold();
    const failure = failureOf(chat.send(message));
    const release = await arrived;
    advance(3000);
    release();
    await failure;
    expect(upstream.seen).toHaveLength(1);
  });

  test('leaks no credential in the query of a webhook URL', async () => {
    const { upstream } = await prepare();
    const url = `${upstream.url}/hook?key=SUPERSECRETVALUE1234`;
    const chat = createChat('slack', url, '1.2.3');
    onTestFinished(() => chat.close());
    upstream.fail({ status: 500 });
    expect(String((await failureOf(chat.send(message))).cause)).not.toContain('SUPERSECRET');
  });

  test('without an answer times out', async () => {
    const { upstream, chat } = await prepare();
    const arrived = upstream.hold();
    const advance = stopTimeouts();
    const failure = failureOf(chat.send(message));
    await arrived;
    advance(4500);
    expect(String((await failure).cause)).not.toContain(token);
    expect(upstream.seen).toHaveLength(1);
  });
});

test.each(Object.keys(chatKinds))('%s can be configured', (kind) => {
  expect(readEnv({ CHAT_FEEDBACK_WEBHOOK_KIND: kind }).CHAT_FEEDBACK_WEBHOOK_KIND).toBe(kind);
});
