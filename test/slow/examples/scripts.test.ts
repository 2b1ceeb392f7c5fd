import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request as send } from 'node:http';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { startDemo } from '../../helpers/demo.ts';
import { runProgram, temporaryFolder } from '../../helpers/project.ts';
import { serve } from '../../helpers/upstream.ts';

const folder = resolve(import.meta.dirname, '../../../examples/clients');

const runBash = (args: readonly string[], env: Record<string, string>, cwd = temporaryFolder()) =>
  runProgram('bash', args, { cwd, env: { PATH: process.env.PATH, ...env } });

/** Runs a script with a curl wrapper that records its arguments. */
async function runScript(name: string, args: string[], env: Record<string, string>) {
  const bin = temporaryFolder();
  const curl = (await runBash(['-c', 'command -v curl'], {})).stdout.trim();
  writeFileSync(join(bin, 'curl'), `#!/bin/sh\nprintf '%s\\n' "$@" >> '${bin}/arguments'\nexec '${curl}' "$@"\n`);
  chmodSync(join(bin, 'curl'), 0o755);
  writeFileSync(join(bin, 'arguments'), '');
  const PATH = `${bin}:${process.env.PATH}`;
  const result = await runBash([join(folder, name), ...args], { PATH, ...env });
  const given = readFileSync(join(bin, 'arguments'), 'utf8');
  expect(given).not.toContain('hk_');
  return { ...result, arguments: given };
}

/** The proxy's response in place of the service's; the request may still be forwarded. Default: no response. */
interface Fault {
  readonly isForwarded?: boolean;
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/**
 * A proxy in front of a service. The faults of `METHOD path` hit its requests in order, and the last fault hits all
 * later requests; `undefined` means no fault.
 */
async function startFaultyProxy(service: string, faults: Record<string, (Fault | undefined)[]>) {
  const requests: string[] = [];
  const url = await serve((request, response) => {
    const { method, url: target, headers } = request;
    requests.push(`${method} ${target}`);
    const [, left = []] = Object.entries(faults).find(([start]) => `${method} ${target}`.startsWith(start)) ?? [];
    const fault = left.length > 1 ? left.shift() : left[0];
    const fail = ({ status, headers: own = {}, body = '' }: Fault): void => {
      if (status === undefined) request.socket.destroy();
      else response.writeHead(status, own).end(body);
    };
    if (fault && !fault.isForwarded) return fail(fault);
    const forwarded = send(`${service}${target}`, { method, headers }, (real) => {
      if (fault) return fail(fault);
      response.writeHead(real.statusCode!, real.headers);
      real.pipe(response);
    });
    request.pipe(forwarded);
  });
  return { url, requests };
}

/** Lists the actions of the key, oldest first. */
async function readActivity(url: string, key: string): Promise<string[]> {
  const response = await fetch(`${url}/v1/hosting/activity`, { headers: { Authorization: `Bearer ${key}` } });
  const { activity } = (await response.json()) as { activity: { action: string; status: string }[] };
  return activity.map(({ action, status }) => `${action} ${status}`).toReversed();
}

test('curl.sh makes the first calls, and never passes the key as an argument', async () => {
  const { url, key } = await startDemo();
  const result = await runScript('curl.sh', ['demo'], { API_URL: url, HOSTING_API_KEY: key });
  expect(result).toMatchObject({ status: 0 });
  const [caller, state, started, outcome, recent, log] = result.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(caller).toMatchObject({ servers: ['game:demo', 'vps:demo'] });
  expect(state).toMatchObject({ state: 'offline' });
  expect(started).toMatchObject({ action: 'start', status: 'requested' });
  expect(outcome).toMatchObject({ action: 'start', server: 'game:demo', status: 'accepted' });
  expect(recent).toMatchObject({ activity: [{ request_id: outcome!['request_id'] }] });
  expect(log).toMatchObject({ server_id: 'demo' });
  expect(result.arguments).toMatch(/^Idempotency-Key: \d+-\d+$/m);
});

test('curl.sh reports what is wrong', async () => {
  const { url, key } = await startDemo();
  const run = (server: string, env: Record<string, string>) => runScript('curl.sh', [server], env);
  const noKey = 'Set the environment variable HOSTING_API_KEY to your key, hk_...\n';
  expect(await run('demo', { API_URL: url })).toMatchObject({ status: 1, stdout: '', stderr: noKey });
  const wrong = await run('demo', { API_URL: url, HOSTING_API_KEY: `${key.slice(0, -1)}!` });
  expect(wrong).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^GET \/v1\/key was answered with 401: \{/m),
  });
  const other = await run('other', { API_URL: url, HOSTING_API_KEY: key });
  expect(other.stderr).toMatch(/^GET \/v1\/hosting\/game\/power\/other was answered with 403: .*"forbidden"/m);
  expect(other.status).toBe(1);
  const nowhere = await run('demo', { API_URL: 'http://127.0.0.1:1', HOSTING_API_KEY: key });
  expect(nowhere).toMatchObject({ status: 1, stderr: expect.stringContaining('http://127.0.0.1:1 does not answer') });
});

describe('restart.sh', () => {
  const restart = 'POST /v1/hosting/game/power/demo/restart';
  const outcome = 'GET /v1/hosting/actions/';
  const state = 'GET /v1/hosting/game/power/demo';
  const json = (body: object): Fault => ({ status: 200, body: JSON.stringify(body) });

  /** Runs the script through a faulty proxy. */
  const run = async (faults: Record<string, (Fault | undefined)[]>, seconds = '60') => {
    const { url, key } = await startDemo({ READ_RATELIMIT_BURST: '1000' });
    const proxy = await startFaultyProxy(url, faults);
    const result = await runScript('restart.sh', ['demo', seconds], { API_URL: proxy.url, HOSTING_API_KEY: key });
    const count = (name: string) => proxy.requests.filter((request) => request.startsWith(name)).length;
    return { ...result, count, activity: await readActivity(url, key) };
  };

  test('restarts the server and waits until it is running', async () => {
    const starting = json({ state: 'starting' });
    const result = await run({ [state]: [starting, { status: 502 }, { status: 429 }, undefined] });
    expect(result).toMatchObject({ status: 0, activity: ['restart accepted'] });
    expect(result.stdout).toMatch(/\ndemo runs after \d+ seconds\.\n$/);
    expect(result.count(state)).toBe(4);
    expect(result.count(outcome)).toBe(0);
  });

  test('waits as long as a 429 says', async () => {
    const started = performance.now();
    const result = await run({ [restart]: [{ status: 429, headers: { 'Retry-After': '3' } }, undefined] });
    expect(result).toMatchObject({ status: 0, activity: ['restart accepted'] });
    expect(result.count(restart)).toBe(2);
    expect(performance.now() - started).toBeGreaterThan(3000);
  });

  test.each<[string, Fault]>([
    ['a 502 in place of the answer', { isForwarded: true, status: 502 }],
    ['no answer', { isForwarded: true }],
  ])('looks up the outcome after %s, and does not send the action twice', async (_, fault) => {
    const result = await run({
      [restart]: [fault],
      [outcome]: [{ status: 502 }, json({ status: 'running' }), undefined],
    });
    expect(result).toMatchObject({ status: 0, activity: ['restart accepted'] });
    expect(result.count(restart)).toBe(1);
    expect(result.count(outcome)).toBe(3);
  });

  test('resends the action if it never arrived', async () => {
    const result = await run({ [restart]: [{ status: 502 }, undefined] });
    expect(result).toMatchObject({ status: 0, activity: ['restart accepted'] });
    expect(result.count(restart)).toBe(2);
    expect(result.count(outcome)).toBe(1);
    const sent = result.arguments.match(/^Idempotency-Key: .+$/gm)!;
    expect(new Set(sent).size).toBe(1);
  });

  test.each([
    ['failed', 'The restart failed and changed nothing.\n'],
    ['unknown', 'The restart may have been done: check the server before you try again.\n'],
  ])('fails if the outcome is %s', async (status, stderr) => {
    const result = await run({ [restart]: [{ status: 502 }], [outcome]: [json({ status })] });
    expect(result).toMatchObject({ status: 1, stderr });
    expect(result.count(restart)).toBe(1);
  });

  test('fails at the deadline, and at once with a wrong key', async () => {
    const late = await run({ [state]: [json({ state: 'starting' })] }, '10');
    expect(late).toMatchObject({ status: 1, activity: ['restart accepted'] });
    expect(late.stderr).toMatch(
      /^demo does not run after \d+ seconds\. The last answer: 200 \{"state":"starting"\}\n$/,
    );
    const { url } = await startDemo();
    const env = { API_URL: url, HOSTING_API_KEY: 'hk_no' };
    const wrong = await runScript('restart.sh', ['demo'], env);
    expect(wrong).toMatchObject({ status: 1, stderr: expect.stringMatching(/^The restart was refused: 401 /) });
  });
});

test('the workflow restarts the server by the script', async () => {
  const { jobs } = parse(readFileSync(join(folder, 'restart.yml'), 'utf8')) as {
    jobs: { restart: { steps: { run?: string; env?: Record<string, string> }[] } };
  };
  const [step, ...others] = jobs.restart.steps.filter((each) => each.run !== undefined);
  expect(others).toEqual([]);
  expect(step!.env).toEqual({
    API_URL: '${{ vars.API_URL }}',
    HOSTING_API_KEY: '${{ secrets.HOSTING_API_KEY }}',
    SERVER: '${{ vars.SERVER }}',
  });
  const { url, key } = await startDemo();
  const checkout = temporaryFolder();
  mkdirSync(join(checkout, 'scripts'));
  copyFileSync(join(folder, 'restart.sh'), join(checkout, 'scripts/restart.sh'));
  const env = { API_URL: url, HOSTING_API_KEY: key, SERVER: 'demo' };
  const result = await runBash(['-eo', 'pipefail', '-c', step!.run!], env, checkout);
  expect(result).toMatchObject({ status: 0, stdout: expect.stringMatching(/demo runs after/) });
  expect(await readActivity(url, key)).toEqual(['restart accepted']);
});
