import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { BlockList } from 'node:net';
import { expect, onTestFinished, vi } from 'vitest';
import type { ClientOptions } from 'ws';
import type { ServerName } from '#contract/api-keys.ts';
import { unknownStats } from '#contract/console-stream.ts';
import type { ConsoleStats } from '#contract/console-stream.ts';
import type { Access, ConsoleClaim } from '../../../server/keys/authorize.ts';
import { isWebsocket } from '../../../server/http/listen.ts';
import { createRelay } from '../../../server/hosting/console/relay.ts';
import type { RelayDependencies } from '../../../server/hosting/console/relay.ts';
import { createStreamTokens } from '../../../server/hosting/console/stream.ts';
import type { StreamCommand } from '../../../server/hosting/console/stream.ts';
import { handleUpgrades } from '../../../server/hosting/console/upgrade.ts';
import { createRequests } from '../../../server/http/request.ts';
import { Problem } from '../../../server/problem.ts';
import { createTokenBucket } from '../../../server/token-bucket.ts';
import type { ConsoleEvents } from '../../../server/hosting/providers/types.ts';
import { openClient } from '../../helpers/console-client.ts';
import { listen } from '../../helpers/free-port.ts';
import type { Message, TestClient } from '../../helpers/console-client.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { createTestLog } from '../../helpers/upstream.ts';
import { openTestStore } from '../../store/target.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Hashes of two secrets of API keys. */
export const [secretHash, newSecretHash] = ['a'.repeat(64), 'b'.repeat(64)];

/** The access of a revoked key. */
export const denied = new Problem('unauthorized', 'This API key was revoked');

/** A fake console source; tests call its event methods. */
export interface FakeSource extends ConsoleEvents {
  readonly server: ServerName;
  /** Opened without its backlog. */
  readonly isResumed: boolean;
  closed: boolean;
}

/** Options of a token or stream. */
export type StreamOptions = Partial<Omit<ConsoleClaim, 'server'>> & { readonly server?: string };

/** A relay with its websocket endpoint on a real port. */
export type TestRelay = Awaited<ReturnType<typeof createTestRelay>>;

export interface TestRelayOptions extends Pick<Partial<RelayDependencies>, 'limits'> {
  readonly ttlSeconds?: number;
  /** The burst limit of upgrades per client. */
  readonly upgrades?: number;
}

/** Starts a relay with fake consoles, which allows all access and commands. Its clock stands still, and its jitter is 0. */
export async function createTestRelay(options: TestRelayOptions = {}) {
  const { upgrades = 100_000, ttlSeconds = 600, limits = {} } = options;
  const clock = stopTime();
  const sources: FakeSource[] = [];
  const commands: StreamCommand[] = [];
  const accessChecks: string[] = [];
  const failures: unknown[] = [];
  const behaviour = {
    open: (_source: FakeSource): Promise<void> | void => undefined,
    access: (_keyId: string, _secretHash: string): Promise<Access> | Access => 'ok',
    command: (_command: StreamCommand): Promise<void> | void => undefined,
    stats: (): Promise<ConsoleStats> | ConsoleStats => unknownStats,
    /** Consoles have replayed their backlog when they are open. */
    isLoaded: true,
  };
  const store = await openTestStore({ DATA_DIR: temporaryFolder() });
  const tokens = createStreamTokens(store.streamTokens, ttlSeconds);
  const relay = createRelay({
    limits,
    tokens,
    async openSource(server, events, isResumed) {
      const source: FakeSource = { server, isResumed, closed: false, ...events };
      sources.push(source);
      await behaviour.open(source);
      if (behaviour.isLoaded) source.loaded();
      return { stats: async () => await behaviour.stats(), close: () => (source.closed = true) };
    },
    async checkAccess(claim) {
      accessChecks.push(`${claim.keyId} ${claim.server} ${claim.mode}`);
      return behaviour.access(claim.keyId, claim.secretHash);
    },
    async sendCommand(command) {
      commands.push(command);
      await behaviour.command(command);
    },
    report: () => (error) => failures.push(error),
  });
  const { log, lines } = createTestLog('info');
  const bucket = createTokenBucket({ name: 'default', rps: upgrades, burst: upgrades });
  const requests = createRequests({ trustedProxies: new BlockList(), limits: { client: bucket, content: bucket } });
  const http = createServer((request, response) => response.end(`plain ${request.url}`));
  Object.assign(http, { shouldUpgradeCallback: isWebsocket });
  const closeStreams = handleUpgrades(http, { relay, requests, log });
  const connections = new Set<Socket>();
  http.on('connection', (socket: Socket) => connections.add(socket));
  const port = await listen(http);

  const stop = async (): Promise<void> => {
    await closeStreams();
    if (!http.listening) return;
    http.close();
    http.closeAllConnections();
    await once(http, 'close');
  };
  onTestFinished(stop);

  const url = (server = 'mc') => `ws://127.0.0.1:${port}/v1/hosting/game/console/${server}/stream`;
  const token = ({ server = 'mc', mode = 'read', ...secret }: StreamOptions = {}) =>
    tokens.issue({ keyId: 'key', secretHash, ...secret, server: `game:${server}`, mode });
  const connect = (server?: string, client?: ClientOptions) => openClient(url(server), client);
  return {
    clock,
    relay,
    port,
    sources,
    commands,
    accessChecks,
    failures,
    behaviour,
    url,
    store,
    tokens,
    token,
    connect,
    stop,
    /** Counts the bytes read from clients. */
    bytesRead: () => [...connections].reduce((sum, { bytesRead }) => sum + bytesRead, 0),
    /** Ends all connections without a close frame. */
    terminate: () => connections.forEach((socket) => socket.destroy()),
    /** Opens an authenticated stream, and reads `auth success`. */
    async open(stream: StreamOptions = {}): Promise<TestClient> {
      const client = await connect(stream.server);
      const answer: Message = await client.auth(await token(stream));
      if (answer[0] !== 'auth success') throw new Error(`auth was answered with ${answer.join(' ')}`);
      return client;
    },
    /** Closes a stream, and waits until it is gone. */
    async leave({ socket }: TestClient): Promise<void> {
      const { viewers } = relay.stats();
      socket.close();
      await expect.poll(() => relay.stats().viewers).toBe(viewers - 1);
    },
    /** Holds each opening of a console until `resolve` or `reject`. */
    holdOpening() {
      const opening = Promise.withResolvers<void>();
      behaviour.open = () => opening.promise;
      return opening;
    },
    log: lines,
  };
}

/** Opens an authenticated stream of a new relay. */
export async function openTestStream(stream: StreamOptions = {}, options: TestRelayOptions = {}) {
  const { clock, ...relay } = await createTestRelay(options);
  return { clock, relay, client: await relay.open(stream) };
}

/**
 * Stops the time, the jitter and the timers of consoles until the test ends. Timers of less than 50 ms stay real, as they
 * send output, and so do the timers of ws, which call no `unref`.
 */
function stopTime() {
  const clock = createTestClock();
  const { setTimeout: start, clearTimeout: stop } = globalThis;
  const cancels = new Map<unknown, () => void>();
  const startStopped = (...[run, ms = 0, ...args]: Parameters<typeof start>) => {
    const timer = start(run, ms, ...args);
    if (ms < 50) return timer;
    timer.unref = () => {
      stop(timer);
      cancels.set(
        timer,
        clock.after(ms, () => run(...args)),
      );
      return timer;
    };
    return timer;
  };
  globalThis.setTimeout = Object.assign(startStopped, start);
  globalThis.clearTimeout = (timer) => (cancels.get(timer) ?? (() => stop(timer)))();
  const clocks = [vi.spyOn(Date, 'now'), vi.spyOn(performance, 'now')];
  const mocks = [
    ...clocks.map((one) => one.mockImplementation(clock.now)),
    vi.spyOn(Math, 'random').mockReturnValue(1),
  ];
  onTestFinished(() => {
    Object.assign(globalThis, { setTimeout: start, clearTimeout: stop });
    for (const mock of mocks) mock.mockRestore();
  });
  return clock;
}

/** Creates a clock that only `advance` moves. */
export function createTestClock() {
  const timers = new Map<symbol, { at: number; run: () => void }>();
  let now = Math.ceil(Date.now() / 1000) * 1000;
  const earliest = (until: number) =>
    [...timers].filter(([, { at }]) => at <= until).toSorted(([, one], [, other]) => one.at - other.at)[0];
  return {
    now: () => now,
    after(ms: number, run: () => void) {
      const id = Symbol('timer');
      timers.set(id, { at: now + ms, run });
      return () => timers.delete(id);
    },
    /** Advances the clock and runs due timers in order; each gets a turn of the event loop. */
    async advance(seconds: number) {
      const until = now + seconds * 1000;
      for (let due = earliest(until); due; due = earliest(until)) {
        const [id, { at, run }] = due;
        timers.delete(id);
        now = Math.max(now, at);
        run();
        await nextTurn();
      }
      now = until;
    },
    pending: () => timers.size,
  };
}
