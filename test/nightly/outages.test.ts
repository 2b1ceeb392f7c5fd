import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { createSecret } from '../../server/keys/authorize.ts';
import { offline, unlimited } from '../helpers/app.ts';
import { openClient } from '../helpers/console-client.ts';
import { findFreePort } from '../helpers/free-port.ts';
import { createHostingWorld, ownServers } from '../helpers/hosting.ts';
import { describeNginx } from '../helpers/nginx.ts';
import { describePostgres, setReadOnly } from '../helpers/postgres.ts';
import type { PostgresServer } from '../helpers/postgres.ts';
import { article, buildProject, temporaryFolder, writeFiles } from '../helpers/project.ts';
import { createUpstream, until } from '../helpers/upstream.ts';
import { startProcess } from '../server/process.ts';
import { copyProject } from '../server/shared.ts';
import { rotateKey } from '../store/samples.ts';

/** Duration of the traffic. Before a release, run ten minutes: `OUTAGE_SECONDS=600 vitest run outages`. */
const seconds = Number(process.env.OUTAGE_SECONDS ?? 50);
/** Number of rounds of all outages. */
const rounds = Math.ceil(seconds / 100);
/** Pause between two outages. A database outage lasts half as long. */
const pause = (seconds * 1000) / rounds / 18;
/** A stream must end after its secret or key, far sooner than its token; usually within 5 s. */
const streamEndMs = 60_000;

interface Reply {
  /** 0 if the connection failed. */
  readonly status: number;
  readonly text: string;
}

async function ask(
  url: string,
  { method = 'GET', key, body, headers }: { method?: string; key?: string; body?: string; headers?: object } = {},
): Promise<Reply> {
  const all = { ...(key && { authorization: `Bearer ${key}` }), 'content-type': 'application/json', ...headers };
  try {
    const response = await fetch(url, { method, headers: all, ...(body && { body }) });
    return { status: response.status, text: await response.text() };
  } catch {
    return { status: 0, text: '' };
  }
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Counts by status. */
type Tally = Record<string, number>;
const count = (tally: Tally, status: number): void => void (tally[status] = (tally[status] ?? 0) + 1);

describePostgres((postgres) => {
  describeNginx((run) => {
    test(
      'two instances lose no GET, send nothing twice and survive every outage',
      { timeout: (seconds + 300) * 1000 },
      async () => {
        const world = await createWorld(await postgres().createDatabase());
        const instances = await Promise.all([startInstance(world), startInstance(world)]);
        const ports = instances.map(({ port }) => port);
        const nginx = await run()((_, port) => balance(port, ports));
        const url = `http://127.0.0.1:${nginx.port}`;
        const deployment: Deployment = { ...world, url, instances, ends: Date.now() + seconds * 1000 };

        const content = followContent(deployment);
        const commands = sendCommands(deployment);
        const reads = repeat(deployment, 700, () => ask(`${url}/v1/hosting/game/logs/mine/latest`, { key: world.key }));
        const votes = repeat(deployment, 500, () =>
          ask(`${url}/v1/kb/feedback`, {
            method: 'POST',
            body: '{"helpful":true,"slug":"/knowledgebase/vps/ssh"}',
          }),
        );
        const outages = causeOutages(deployment, postgres());
        const { lost, wrong, answered } = await content;
        const sent = await commands;
        const { streams, killed, afterRevocation } = await outages;
        const figures = {
          gets: answered,
          lost: lost.length,
          wrong,
          commands: sent.tally,
          reads: await reads,
          votes: await votes,
          streams,
        };
        console.log(JSON.stringify(figures));

        expect({ lost, wrong }).toEqual({ lost: [], wrong: 0 });
        const received = Map.groupBy(world.panel.commands, (command) => command);
        expect([...received].filter(([, all]) => all.length > 1)).toEqual([]);
        expect(sent.accepted.filter((command) => !received.has(command))).toEqual([]);
        expect(afterRevocation.filter((command) => received.has(command))).toEqual([]);
        expect(killed.map(({ status }) => status)).toEqual(Array(rounds).fill(502));
        const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 16 * 60_000);
        const entries = await Array.fromAsync(world.store.audit.entries({}));
        clock.mockRestore();
        const outcomes = Map.groupBy(entries, ({ detail }) => detail);
        const outcomesOf = (command: string) => (outcomes.get(command) ?? []).map(({ outcome }) => outcome);
        const missing = [...received.keys()].filter((command) => outcomesOf(command).every((outcome) => !outcome));
        expect(missing).toEqual([]);
        for (const { command } of killed) expect(outcomesOf(command)).toContain('unknown');
        // Everything has recovered.
        for (const { port } of deployment.instances) {
          await expect.poll(() => ask(`http://127.0.0.1:${port}/ready`)).toMatchObject({ status: 200 });
        }
        expect((await ask(`${url}/v1/hosting/game/logs/mine/latest`, { key: world.key })).status).toBe(200);
      },
    );
  });
});

type World = Awaited<ReturnType<typeof createWorld>>;
type Instance = Awaited<ReturnType<typeof startInstance>>;

interface Deployment extends World {
  /** The address of nginx. */
  readonly url: string;
  readonly instances: readonly Instance[];
  /** End of the traffic, as a Unix time in milliseconds. */
  readonly ends: number;
}

/** Forwards to these instances; a request with `X-Instance` goes only to the instance on that port. */
function balance(port: number, instances: readonly number[]): string {
  return `
  map $http_x_instance $target { default api; ~^[0-9]+$ 127.0.0.1:$http_x_instance; }
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  upstream api {
    ${instances.map((instance) => `server 127.0.0.1:${instance} max_fails=0;`).join('\n    ')}
    keepalive 16;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://$target;
      proxy_http_version 1.1;
      proxy_connect_timeout 1s;
      proxy_read_timeout 60s;
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
    }
  }
`;
}

const paths = ['/v1/blog/list', '/v1/blog/article?path=/blog/news/first', '/v1/plans', '/v1/kb/list'];

async function createWorld(databaseUrl: string) {
  const root = await copyProject();
  const hosting = await createHostingWorld(temporaryFolder(), { databaseUrl });
  hosting.panel.tokensPerMinute = 1000;
  const chat = await createUpstream(() => ({ status: 200, body: '{}' }));
  const settings = {
    ...hosting.settings,
    DIST_DIR: join(root, 'dist'),
    ...offline,
    ...unlimited,
    FEEDBACK_RATELIMIT_BURST: '100000',
    TRUSTED_PROXIES: '127.0.0.1',
    CHAT_FEEDBACK_WEBHOOK_URL: `${chat.url}/api/webhooks/1/token-of-the-tests`,
  };
  return {
    ...hosting,
    root,
    settings,
    key: await hosting.issueKey(),
    /** Digests of all valid bodies of a path. */
    bodies: new Map(paths.map((path) => [path, new Set<string>()])),
  };
}

async function startInstance({ settings, root }: World, port?: number) {
  const chosen = port ?? (await findFreePort());
  const process = startProcess({ ...settings, PORT: String(chosen), DATA_DIR: temporaryFolder() }, { cwd: root });
  await process.listening();
  return { port: chosen, process };
}

/** Repeats a request until the end of the traffic, and counts the statuses. */
async function repeat({ ends }: Deployment, everyMs: number, work: () => Promise<Reply>): Promise<Tally> {
  const tally: Tally = {};
  while (Date.now() < ends) {
    count(tally, (await work()).status);
    await sleep(everyMs);
  }
  return tally;
}

/** Reads content constantly: every response must be 200, with the body of some release. */
async function followContent({ url, bodies, ends }: Deployment) {
  const found = { answered: 0, lost: [] as string[] };
  const digests = new Map<string, Set<string>>(paths.map((path) => [path, new Set()]));
  const read = async (): Promise<void> => {
    while (Date.now() < ends) {
      for (const path of paths) {
        const { status, text } = await ask(url + path);
        if (status === 200) digests.get(path)!.add(digest(text));
        else found.lost.push(`${path} ${status} at ${new Date().toISOString()}`);
        found.answered += 1;
      }
      await sleep(10);
    }
  };
  await Promise.all([read(), read(), read()]);
  const wrong = paths.flatMap((path) => [...digests.get(path)!.difference(bodies.get(path)!)]).length;
  return { ...found, wrong };
}

/** Sends commands with unique texts. */
async function sendCommands(deployment: Deployment) {
  const accepted: string[] = [];
  let number = 0;
  const tally = await repeat(deployment, 150, async () => {
    const command = `say ${(number += 1)}`;
    const reply = await sendCommand(deployment, deployment.key, command);
    if (reply.status === 200) accepted.push(command);
    return reply;
  });
  return { tally, accepted };
}

function sendCommand({ url }: Deployment, key: string, command: string, headers: object = {}): Promise<Reply> {
  return ask(`${url}/v1/hosting/game/console/mine/command`, {
    method: 'POST',
    key,
    body: JSON.stringify({ command }),
    headers,
  });
}

/** Causes one outage after another; each ends before the next begins. */
async function causeOutages(deployment: Deployment, postgres: PostgresServer) {
  const { instances, ends } = deployment;
  const streams: number[] = [];
  const killed: { command: string; status: number }[] = [];
  const afterRevocation: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await publish(deployment, 3 * round);
    await sleep(pause);
    streams.push(await rotateUnderStream(deployment));
    for (const signal of ['SIGINT', 'SIGKILL'] as const) {
      await postgres.end(signal);
      await sleep(pause / 2);
      await postgres.start();
      await sleep(pause);
    }
    // Like a managed database with a full disk.
    await setReadOnly(postgres.url('postgres'), 'on');
    await sleep(pause);
    await setReadOnly(postgres.url('postgres'), 'off');
    await sleep(pause);
    await publish(deployment, 3 * round + 1);
    afterRevocation.push(...(await revokeUnderCommands(deployment)));
    for (const instance of instances) await replace(deployment, instance, 'SIGTERM');
    await publish(deployment, 3 * round + 2);
    await sleep(pause);
    killed.push(await killUnderCommand(deployment, instances[1]!, round));
    await sleep(pause);
    // Nobody reads the log of an instance any more.
    instances[0]!.process.child.stdout.pause();
    streams.push(await rotateUnderStream(deployment));
    await sleep(pause);
    instances[0]!.process.child.stdout.resume();
  }
  while (Date.now() < ends) await sleep(100);
  return { streams, killed, afterRevocation };
}

async function publish({ root, bodies, url, instances }: Deployment, version: number): Promise<void> {
  writeFiles(root, { 'content/blog/news/first.md': article({ title: `First ${version}` }, '## Details\n') });
  // Both bodies are valid until all instances have the new release, so read the new bodies from a separate server.
  const { release } = await buildProject(root, { out: join(root, 'next') });
  const next = startProcess({ PORT: '0', DIST_DIR: join(root, 'next'), DATA_DIR: temporaryFolder(), ...offline });
  const port = await next.listening();
  for (const path of paths) bodies.get(path)!.add(digest((await ask(`http://127.0.0.1:${port}${path}`)).text));
  next.child.kill('SIGKILL');
  if (version === 0) for (const path of paths) bodies.get(path)!.add(digest((await ask(url + path)).text));
  await buildProject(root);
  expect(release).toBeDefined();
  for (const instance of instances) {
    await expect
      .poll(async () => (await ask(`http://127.0.0.1:${instance.port}/v1/blog/list`)).text)
      .toContain(`First ${version}`);
  }
}

/** Ends an instance and restarts it on the same port. */
async function replace(deployment: Deployment, instance: Instance, signal: NodeJS.Signals): Promise<void> {
  instance.process.child.kill(signal);
  await instance.process.ended();
  instance.process = (await startInstance(deployment, instance.port)).process;
}

/** Opens a stream, rotates its key without overlap, and returns the milliseconds until the stream ended. */
async function rotateUnderStream({ store, url, issueKey }: Deployment): Promise<number> {
  const key = await issueKey();
  const bootstrap = await ask(`${url}/v1/hosting/game/console/mine/websocket`, { key });
  const { websocket } = JSON.parse(bootstrap.text) as { websocket: { socket_url: string; token: string } };
  const client = await openClient(new URL(new URL(websocket.socket_url).pathname, url.replace('http', 'ws')).href);
  expect(await client.auth(websocket.token)).toEqual(['auth success']);
  const usual = { widenedBy: [], managesKeys: false };
  const { record } = createSecret('hk', { label: '', servers: ownServers, scopes: [], expiresAt: null, ...usual });
  await rotateKey(store.apiKeys, key.split('_')[1]!, record.secretHash, Date.now());
  const rotated = performance.now();
  const ended = await Promise.race([client.ended, sleep(streamEndMs, 'open', { ref: false })]);
  expect(ended).toMatchObject({ code: 4003 });
  return Math.round(performance.now() - rotated);
}

/** Revokes a key in the middle of its commands, and returns the commands requested later. */
async function revokeUnderCommands(deployment: Deployment): Promise<string[]> {
  const key = await deployment.issueKey();
  const late: string[] = [];
  let isRevoked = false;
  const sending = (async () => {
    for (let number = 0; late.length < 10; number += 1) {
      const command = `say with the key ${key.split('_')[1]} ${number}`;
      if (isRevoked) late.push(command);
      const { status } = await sendCommand(deployment, key, command);
      if (late.includes(command)) expect(status).toBe(401);
    }
  })();
  await sleep(300);
  await deployment.store.apiKeys.revoke(key.split('_')[1]!, Date.now());
  isRevoked = true;
  await sending;
  return late;
}

/** Kills an instance while the panel delays its answer to a command from this instance. */
async function killUnderCommand(deployment: Deployment, instance: Instance, round: number) {
  const command = `say nothing yet ${round}`;
  deployment.panel.fail('hang', ({ body }) => body.includes(command));
  const reply = sendCommand(deployment, deployment.key, command, { 'x-instance': String(instance.port) });
  await until('the panel has the command', () => deployment.panel.seen.some(({ body }) => body.includes(command)));
  await replace(deployment, instance, 'SIGKILL');
  deployment.panel.fail(undefined);
  return { command, status: (await reply).status };
}
