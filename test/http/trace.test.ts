import { expect, test } from 'vitest';
import { createUpstream } from '../helpers/upstream.ts';
import type { Seen } from '../helpers/upstream.ts';
import { ask, askEndpoint } from '../server/ask.ts';
import { eventually, serveHosting } from '../server/shared.ts';

const id = '4bf92f3577b34da6a3ce929d0e0e4736';
const span = '00f067aa0ba902b7';
const valid = `00-${id}-${span}-01`;

/** Starts a server with real upstreams, and records their requests after the checks of the start. */
async function serve() {
  const chat = await createUpstream(() => ({ status: 200, body: '{}' }));
  const { app, world } = await serveHosting({
    CHAT_FEEDBACK_WEBHOOK_URL: `${chat.url}/api/webhooks/1/token-of-the-tests`,
  });
  const { panel, hetzner } = world;
  await expect.poll(() => panel.seen.length >= 7 && hetzner.seen.length > 0, eventually).toBe(true);
  const marks = new Map([panel, hetzner, chat].map((upstream) => [upstream, upstream.seen.length]));
  const sent = (): Seen[] => [...marks].flatMap(([upstream, from]) => upstream.seen.slice(from));
  return { app, sent };
}

type Served = Awaited<ReturnType<typeof serve>>;

/** Finds the access log line of a request by its id. */
async function lineOf({ app }: Served, requestId: string) {
  const find = () => app.log().find((line) => line['id'] === requestId);
  await expect.poll(find, eventually).toBeDefined();
  return find()!;
}

test.each(['startGameServer', 'sendGameCommand', 'startVps', 'sendFeedback'] as const)(
  'a call for one request alone is in its trace, with a span of its own: %s',
  async (name) => {
    const served = await serve();
    const headers = { traceparent: valid, tracestate: 'congo=t61rcWkgMzE', 'X-Request-Id': 'traced-request' };
    expect((await askEndpoint(served.app, name, { headers })).status).toBe(200);
    const calls = served.sent();
    expect(calls.length).toBeGreaterThan(0);
    const spans = calls.map((call) => {
      const [, found] = new RegExp(`^00-${id}-([0-9a-f]{16})-01$`).exec(String(call.headers['traceparent'])) ?? [];
      expect(call.headers['tracestate']).toBe('congo=t61rcWkgMzE');
      return found;
    });
    expect(new Set([...spans, span, undefined]).size).toBe(calls.length + 2);
    expect(await lineOf(served, 'traced-request')).toMatchObject({ trace_id: id, status: 200 });
  },
);

test('without a trace, no trace is created', async () => {
  const served = await serve();
  await askEndpoint(served.app, 'startGameServer', {
    headers: { 'X-Request-Id': 'a-plain-request', tracestate: 'a=b' },
  });
  const [call] = served.sent();
  expect(call!.headers).not.toHaveProperty('traceparent');
  expect(call!.headers).not.toHaveProperty('tracestate');
  expect(await lineOf(served, 'a-plain-request')).not.toHaveProperty('trace_id');
});

test('a shared call has no trace', async () => {
  const served = await serve();
  const headers = { traceparent: valid };
  for (const name of ['getGameServerState', 'getVpsState', 'getLatestGameLog'] as const) {
    expect((await askEndpoint(served.app, name, { headers })).status).toBe(200);
  }
  expect(served.sent().length).toBeGreaterThan(2);
  expect(served.sent().filter((call) => call.headers['traceparent'] !== undefined)).toEqual([]);
});

test('files, unknown paths and refused upgrades are logged with their trace', async () => {
  const served = await serve();
  const upgrade = { Connection: 'Upgrade', Upgrade: 'websocket' };
  for (const [requestId, path, more] of [
    ['a-file-first', '/v1/blog/list', {}],
    ['a-file-again', '/v1/blog/list', {}],
    ['an-unknown-path', '/nothing', {}],
    ['a-refused-upgrade', '/v1/hosting/game/console/mine/stream', upgrade],
  ] as const) {
    await ask(served.app, path, { headers: { ...more, traceparent: valid, 'X-Request-Id': requestId } });
    expect(await lineOf(served, requestId), requestId).toMatchObject({ trace_id: id });
  }
});

const members = (count: number): string => Array.from({ length: count }, (_, index) => `k${index}=v`).join(',');

test('an invalid trace is ignored and not passed on', async () => {
  const served = await serve();
  const act = async (headers: Record<string, string | string[]>) => {
    const before = served.sent().length;
    expect((await askEndpoint(served.app, 'startGameServer', { headers })).status).toBe(200);
    const { traceparent, tracestate } = served.sent()[before]!.headers;
    return { id: String(traceparent).split('-')[1], flags: String(traceparent).split('-')[3], tracestate };
  };
  for (const traceparent of [
    `00-${id}-${span}`,
    `00-${id}-${span}-01-more`,
    `00-${id.toUpperCase()}-${span}-01`,
    `01-${id}-${span}-03-later`,
    `${valid}, ${valid}`,
    ` ${id}`,
    'x'.repeat(4000),
  ]) {
    const none = { id: undefined, flags: undefined, tracestate: undefined };
    expect(await act({ traceparent, tracestate: 'a=b' }), traceparent).toEqual(none);
  }
  expect(await act({ traceparent: `00-${id}-${span}-fe` })).toMatchObject({ id, flags: '00' });
  expect(await act({ traceparent: `01-${id}-${span}-03` })).toMatchObject({ id, flags: '01' });
  for (const tracestate of ['a=ü', 'a=\tb', members(100)]) {
    expect(await act({ traceparent: valid, tracestate }), tracestate).toEqual({
      id,
      flags: '01',
      tracestate: undefined,
    });
  }
  for (const tracestate of ['a=b', 'rojo=1,t@vendor=x y', members(32)]) {
    expect(await act({ traceparent: valid, tracestate }), tracestate).toEqual({ id, flags: '01', tracestate });
  }
  expect(await act({ traceparent: valid, tracestate: ['a=1', 'b=2'] })).toMatchObject({ tracestate: 'a=1, b=2' });
});
