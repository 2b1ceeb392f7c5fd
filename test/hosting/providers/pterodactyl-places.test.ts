import { expect, test } from 'vitest';
import { failureOf } from '../../helpers/fault-suite.ts';
import { openProvider } from '../../helpers/provider.ts';
import { failure, panelKeys } from '../../helpers/upstream-panel.ts';
import { createUpstream, json, until } from '../../helpers/upstream.ts';
import type { Seen } from '../../helpers/upstream.ts';

const always = Number.POSITIVE_INFINITY;
const [one, two, three, healthy] = ['aaaa0001', 'aaaa0002', 'aaaa0003', 'bbbb0001'] as const;
const isHung = ({ path }: Seen): boolean => /servers\/aaaa.*(?:resources|contents)/.test(path);
const toListed = (ref: string) => {
  const node = ref.startsWith('aaaa') ? 'Node 1' : 'Node 2';
  return { attributes: { identifier: ref, uuid: ref, server_owner: false, node } };
};
const listed = [one, two, three, healthy].map(toListed);
const noAnswer = failure(504, 'DaemonConnectionException', 'Could not establish a connection');

/** Starts a panel with a node whose reads can be held; a held read is slow once the clock has passed. */
async function prepare() {
  const upstream = await createUpstream(({ method, path }) => {
    if (method === 'POST') return { status: 204 };
    if (path.includes('resources')) return json(200, { attributes: { current_state: 'running' } });
    if (path.includes('contents')) return { status: 200, headers: { 'content-type': 'text/plain' }, body: 'log' };
    if (path.endsWith('/account')) return json(200, { attributes: { id: 1, admin: false } });
    return json(200, { data: listed, meta: { pagination: { total: listed.length } } });
  });
  const { provider, game, clock } = openProvider({ type: 'pterodactyl', url: upstream.url, token: panelKeys.write });
  const countOf = (matches: (request: Seen) => boolean): number => upstream.seen.filter(matches).length;
  const state = async (ref: string): Promise<string> => (await game.state(ref, always)).state;
  /** Reads a state that the panel gives up after a time. */
  const readSlowly = async (ref: string, ms = 15_000): Promise<void> => {
    const arrived = upstream.hold(isHung);
    const reading = failureOf(game.state(ref, always));
    const release = await arrived;
    clock.pass(ms);
    upstream.fail(noAnswer, isHung);
    release();
    await reading;
    upstream.fail(undefined);
  };
  const lists = () => countOf(({ path }) => path.includes('page=1'));
  return { upstream, provider, game, clock, state, readSlowly, asked: () => countOf(isHung), lists };
}

test('three reads are under way; without a place, the last state counts for a minute', async () => {
  const { upstream, state, clock, asked } = await prepare();
  expect(await state(healthy)).toBe('running');
  clock.pass(30_000);
  const held = [one, two, three].map((ref) => {
    const arrived = upstream.hold(isHung);
    return { arrived, reading: state(ref) };
  });
  const releases = await Promise.all(held.map(({ arrived }) => arrived));
  expect(await state(healthy)).toBe('running');
  clock.pass(30_001);
  expect(await state(healthy)).toBe('unknown');
  expect(asked()).toBe(3);
  releases.forEach((release) => release());
  await Promise.all(held.map(({ reading }) => reading));
  clock.pass(1);
  expect(await state(healthy)).toBe('running');
});

test('a server pauses after a slow read: its state is unknown, its log is refused, and its actions are sent', async () => {
  const { state, readSlowly, game, asked } = await prepare();
  await readSlowly(one);
  // A failed read is shared for 5 s.
  await failureOf(game.state(one, always));
  expect(await failureOf(game.latestLog(one, null))).toMatchObject({ headers: { 'Retry-After': '30' } });
  expect(asked()).toBe(1);
  expect(await state(healthy)).toBe('running');
  await game.power(one, 'restart');
  expect(await game.latestLog(one, null)).toBe('log');
});

test('the servers of a slow node share one place, with their logs', async () => {
  const { upstream, provider, state, readSlowly, game, asked, lists } = await prepare();
  await readSlowly(one);
  await until('the nodes are listed', () => lists() === 1);
  await provider.listRefs!();
  const arrived = upstream.hold(isHung);
  const reading = state(two);
  const release = await arrived;
  expect(await state(three)).toBe('unknown');
  await failureOf(game.latestLog(three, null));
  expect(asked()).toBe(2);
  release();
  expect(await reading).toBe('running');
  // The node answers again, so its other servers no longer pause.
  expect(await game.latestLog(one, null)).toBe('log');
});

test('pauses double up to 5 minutes until a read is answered', async () => {
  const { game, state, readSlowly, clock } = await prepare();
  for (const seconds of [30, 60, 120, 240, 300, 300]) {
    // oxlint-disable no-await-in-loop
    await readSlowly(one);
    clock.pass(seconds * 1000 - 1);
    expect(await state(one)).toBe('unknown');
    clock.pass(1);
    // oxlint-enable no-await-in-loop
  }
  expect(await state(one)).toBe('running');
  await readSlowly(two);
  expect((await failureOf(game.latestLog(two, null))).headers).toEqual({ 'Retry-After': '30' });
});

test('a read that is found slow while it is under way starts one pause', async () => {
  const { upstream, game, state, clock } = await prepare();
  const arrived = upstream.hold(isHung);
  const reading = failureOf(game.state(one, always));
  const release = await arrived;
  clock.pass(4000);
  expect(await state(healthy)).toBe('running');
  clock.pass(11_000);
  upstream.fail(noAnswer, isHung);
  release();
  await reading;
  expect((await failureOf(game.latestLog(one, null))).headers).toEqual({ 'Retry-After': '19' });
});

test.each([
  [3999, 'running'],
  [4000, 'unknown'],
])('a read of %i ms is slow or not: %s', async (ms, expected) => {
  const { clock, readSlowly, state } = await prepare();
  await readSlowly(one, ms);
  clock.pass(5000);
  expect(await state(one)).toBe(expected);
});

test('the nodes of servers are listed at most every 10 minutes', async () => {
  const { clock, readSlowly, lists } = await prepare();
  await readSlowly(one);
  await until('the list was read', () => lists() === 1);
  clock.pass(600_000 - 15_000 - 1);
  await readSlowly(healthy.replace('bbbb', 'aaaa'));
  expect(lists()).toBe(1);
  await readSlowly(two);
  await until('the list was read again', () => lists() === 2);
});
