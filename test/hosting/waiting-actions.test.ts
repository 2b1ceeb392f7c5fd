import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { keyProblems, renderProblem } from '#contract/problem.ts';
import { runHere } from '../commands/run-command.ts';
import { stopTimeouts } from '../helpers/clock.ts';
import { createHostingWorld } from '../helpers/hosting.ts';
import type { HostingWorld } from '../helpers/hosting.ts';
import { temporaryFolder } from '../helpers/project.ts';
import { panelKeys } from '../helpers/upstream-panel.ts';
import { isPost } from '../helpers/upstream.ts';
import type { Seen } from '../helpers/upstream.ts';
import { askEndpoint } from '../server/ask.ts';
import { borrowHosting, serveHosting } from '../server/shared.ts';
import type { Served } from '../server/shared.ts';
import { openStream } from './instances.ts';

type Kind = 'game' | 'vps';

type Waiting = Awaited<ReturnType<typeof waitForTurn>>;

/** Starts an action that the upstream does not answer, and a second action that waits for the first. */
async function waitForTurn(kind: Kind) {
  const { app, world } = await borrowHosting();
  const upstream = kind === 'game' ? world.panel : world.hetzner;
  const arrived = upstream.hold(isPost);
  const first = askEndpoint(app, kind === 'game' ? 'startGameServer' : 'startVps');
  await arrived;
  const second = askEndpoint(app, kind === 'game' ? 'killGameServer' : 'stopVps');
  await expect.poll(() => Array.fromAsync(world.store.audit.entries({}))).toHaveLength(2);
  return {
    world,
    keyId: app.key.split('_')[1]!,
    /** Lets the first action fail, and returns the answer to the second. */
    async finish() {
      upstream.server.closeAllConnections();
      expect((await first).status).toBe(502);
      const { status, text, headers } = await second;
      return { status, text, authenticate: headers['www-authenticate'] };
    },
  };
}

/** Returns the actions that reached an upstream after the first. */
function sentAfter({ panel, hetzner }: HostingWorld): Seen[] {
  return [...panel.seen, ...hetzner.seen].filter(isPost).slice(1);
}

async function run({ settings }: HostingWorld, ...args: string[]): Promise<void> {
  expect(await runHere(args, settings)).toMatchObject({ status: 0 });
}

const unauthorized = (mistake: keyof typeof keyProblems) =>
  [401, renderProblem('json', 'unauthorized', keyProblems[mistake]), 'Bearer error="invalid_token"'] as const;
const forbidden = (message: string) => [403, renderProblem('json', 'forbidden', message), 'Bearer'] as const;
const notSent = renderProblem('json', 'provider_error', 'Failed to send the power action');

describe.each<Kind>(['game', 'vps'])('an action on a %s server that waits for another is not sent', (kind) => {
  const server = `${kind}:mine` as const;
  const noun = kind === 'vps' ? 'VPS' : 'game server';
  const setKey = (change: string) => (waiting: Waiting) =>
    waiting.world.change(`UPDATE hosting_api_keys SET ${change}`);
  const readOnly = renderProblem('json', 'insufficient_scope', 'This API key only has read scope');
  test.each<[string, (waiting: Waiting) => unknown, number, string, string | undefined]>([
    ['its key is revoked', ({ world, keyId }) => run(world, 'keys', 'revoke', keyId), ...unauthorized('revoked')],
    ['its key is rotated', ({ world, keyId }) => run(world, 'keys', 'rotate', keyId), ...unauthorized('unknown')],
    ['its key expires', setKey('expires_at = 1'), ...unauthorized('expired')],
    [
      'its key loses the scope',
      setKey(`scopes = '["${kind}-power:read"]'`),
      403,
      readOnly,
      `Bearer error="insufficient_scope", scope="${kind}-power:read_write"`,
    ],
    [
      'its key loses the server',
      setKey(`servers = '["${kind}:theirs"]'`),
      ...forbidden(`You do not have access to this ${noun}`),
    ],
    [
      'its server is suspended',
      ({ world }) => run(world, 'servers', 'suspend', server),
      ...forbidden(`This ${noun} is suspended`),
    ],
    [
      'its server is removed',
      ({ world }) => run(world, 'servers', 'remove', server),
      kind === 'vps' ? 500 : 502,
      kind === 'vps' ? renderProblem('json', 'server_unavailable') : notSent,
      undefined,
    ],
  ])('if %s', async (_, harm, status, text, authenticate) => {
    const waiting = await waitForTurn(kind);
    await harm(waiting);
    expect(await waiting.finish()).toEqual({ status, text, authenticate });
    expect(sentAfter(waiting.world)).toEqual([]);
    const entries = await Array.fromAsync(waiting.world.store.audit.entries({ server }));
    expect(entries.findLast(({ phase }) => phase === 'finished')).toMatchObject({
      action: kind === 'game' ? 'kill' : 'stop',
      outcome: (JSON.parse(text) as { error: string }).error,
    });
  });
});

test('a waiting action is sent to the current ref of its server', async () => {
  const waiting = await waitForTurn('vps');
  await run(waiting.world, 'servers', 'add', 'vps:mine', '--provider', 'cloud', '--ref', '43', '--replace');
  await waiting.finish();
  expect(sentAfter(waiting.world).map(({ path }) => path)).toEqual(['/v1/servers/43/actions/shutdown']);
});

test('a waiting action is a 500 and not sent if the store fails', async () => {
  const waiting = await waitForTurn('game');
  waiting.world.change('DROP TABLE hosting_api_keys');
  expect(await waiting.finish()).toMatchObject({ status: 500, text: renderProblem('json', 'internal_error') });
  expect(sentAfter(waiting.world)).toEqual([]);
});

/** Sends an action that waits for a connection to the panel, does harm, and checks that nothing was sent. */
async function harmBeforeConnection({ app, world }: Served, harm: () => Promise<void>) {
  stopTimeouts();
  // The maximum number of actions under way.
  const commands = Array.from({ length: 32 }, () => {
    const arrived = world.panel.hold(isPost);
    return { arrived, answer: askEndpoint(app, 'sendGameCommand') };
  });
  await Promise.all(commands.map(({ arrived }) => arrived));
  const power = askEndpoint(app, 'killGameServer');
  const isWaiting = async () =>
    (await Array.fromAsync(world.store.audit.entries({}))).some(({ action }) => action === 'kill');
  await expect.poll(isWaiting).toBe(true);
  await sleep(700);
  await harm();
  world.panel.server.closeAllConnections();
  const { status, text } = await power;
  await Promise.all(commands.map(({ answer }) => answer));
  expect(world.panel.signals).toEqual([]);
  return { status, text };
}

test('an action that waits for a connection is not sent if its key is revoked', async () => {
  const served = await borrowHosting();
  const revoke = () => run(served.world, 'keys', 'revoke', served.app.key.split('_')[1]!);
  const text = renderProblem('json', 'unauthorized', keyProblems.revoked);
  expect(await harmBeforeConnection(served, revoke)).toEqual({ status: 401, text });
});

test('an action that waits for a connection is not sent if its server moves to another provider with the same ref', async () => {
  const world = await createHostingWorld(temporaryFolder());
  const spare = `  spare: { type: pterodactyl, url: "${world.panel.url}", token: "${panelKeys.write}" }\n`;
  appendFileSync(world.settings.PROVIDERS_FILE!, spare);
  const move = ['servers', 'add', 'game:mine', '--provider', 'spare', '--ref', world.panel.wings.uuid, '--replace'];
  const served = await serveHosting({}, { world });
  expect(await harmBeforeConnection(served, () => run(world, ...move))).toEqual({ status: 502, text: notSent });
});

test('a waiting command of a stream is not sent if its key is rotated', async () => {
  const { app, world } = await borrowHosting();
  const stream = await openStream(app);
  const arrived = world.panel.hold(isPost);
  stream.send('send command', 'first');
  stream.send('send command', 'second');
  await arrived;
  await run(world, 'keys', 'rotate', app.key.split('_')[1]!);
  world.panel.server.closeAllConnections();
  expect(await stream.ended).toMatchObject({ code: 4003 });
  expect(sentAfter(world)).toEqual([]);
});
