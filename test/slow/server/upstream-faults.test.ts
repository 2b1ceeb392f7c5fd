import { describe, expect, test } from 'vitest';
import { renderProblem } from '#contract/problem.ts';
import { hetznerToken } from '../../helpers/upstream-hetzner.ts';
import { panelKeys } from '../../helpers/upstream-panel.ts';
import type { Fault } from '../../helpers/upstream.ts';
import { askEndpoint } from '../../server/ask.ts';
import type { Answer } from '../../server/ask.ts';
import { serveHosting } from '../../server/shared.ts';

const words = 'secret words of the upstream';
const node = '/srv/daemon/10.0.0.7';

/** The upstream request of each endpoint's action, not counting lookups. */
const actions = [
  { name: 'startVps', method: 'POST', path: '/v1/servers/42/actions/poweron', body: '' },
  { name: 'stopVps', method: 'POST', path: '/v1/servers/42/actions/shutdown', body: '' },
  { name: 'resetVps', method: 'POST', path: '/v1/servers/42/actions/reset', body: '' },
  { name: 'startGameServer', method: 'POST', path: '/power', body: '{"signal":"start"}' },
  { name: 'stopGameServer', method: 'POST', path: '/power', body: '{"signal":"stop"}' },
  { name: 'restartGameServer', method: 'POST', path: '/power', body: '{"signal":"restart"}' },
  { name: 'killGameServer', method: 'POST', path: '/power', body: '{"signal":"kill"}' },
  { name: 'sendGameCommand', method: 'POST', path: '/command', body: '{"command":"say Hello"}' },
  { name: 'getLatestGameLog', method: 'GET', path: '/files/contents?file=%2Flogs%2Flatest.log', body: '' },
  { name: 'getVpsState', method: 'GET', path: '/v1/servers?per_page=50&page=1', body: '' },
  { name: 'getGameServerState', method: 'GET', path: '/resources', body: '' },
] as const;
type Action = (typeof actions)[number];

/** Sends the request of an action, while its upstream has a fault that echoes the token. Nothing shows a secret. */
async function askFaulty({ name, method, path }: Action, fault?: Fault | 'stopped', settings?: Record<string, string>) {
  const { app, world } = await serveHosting(settings);
  const { hetzner, panel } = world;
  const [upstream, token] = name.includes('Vps') ? [hetzner, hetznerToken] : [panel, panelKeys.write];
  const echoing = typeof fault === 'object' ? { ...fault, body: `${fault.body} ${token}` } : fault;
  if (echoing === 'stopped') await upstream.stop();
  else upstream.fail(echoing, (request) => request.path.endsWith(path));
  const answer = await askEndpoint(app, name);
  const log = JSON.stringify(app.log());
  for (const secret of [hetznerToken, panelKeys.write, panelKeys.read, app.key, app.key.slice(16)]) {
    expect(answer.text).not.toContain(secret);
    expect(log).not.toContain(secret);
  }
  for (const detail of [words, node, hetzner.url, panel.url, new URL(panel.url).host, panel.wings.uuid]) {
    expect(answer.text).not.toContain(detail);
  }
  const seen = upstream.seen.filter((request) => request.method === method && request.path.endsWith(path));
  expect([...panel.seen, ...hetzner.seen].map((request) => request.path)).not.toContain('/elsewhere');
  return { answer, log, seen, token };
}

const statuses = [400, 401, 403, 404, 409, 422, 429, 500, 502, 504, 302, 308];
const headersOf = (status: number): Record<string, string> =>
  status === 429 ? { 'retry-after': '1' } : { ...(status < 400 && { location: '/elsewhere' }) };
const faults: readonly Fault[] = [
  ...statuses.map((status) => ({ status, headers: headersOf(status), body: `${words} ${node}` })),
  'drop',
  'cut',
  'garbage',
  'huge',
];

const emptyLog = JSON.stringify({ success: true, server_id: 'mine', empty: true, content: '' });

/** The 502 of an action. */
function failureOf({ name, path }: Action, { headers }: Answer): string {
  const fail = (message: string): string => renderProblem('json', 'provider_error', message);
  if (name.endsWith('State')) return fail('The state could not be read');
  if (!/power|actions/.test(path)) return fail('The console or log request failed');
  if (headers['action-outcome'] === 'not_sent') return fail('Failed to send the power action');
  return fail(`The power action may have been done; see /v1/hosting/actions/${String(headers['x-request-id'])}`);
}

/** The header of an action's 502. */
const outcomeOf = ({ method }: Action, outcome: string) => (method === 'POST' ? outcome : undefined);

/** The expected answer to a client. */
function answerTo(action: Action, fault: Fault, answer: Answer): { status: number; text: string } {
  const status = typeof fault === 'object' ? fault.status : undefined;
  // A log without read permission is no error: the console's recent lines replace it.
  if (action.name === 'getLatestGameLog' && status === 403) return { status: 200, text: `${emptyLog}\n` };
  if (action.name === 'sendGameCommand' && status === 403) {
    return { status, text: renderProblem('json', 'provider_permission_denied') };
  }
  return { status: 502, text: failureOf(action, answer) };
}

describe.each(actions)('$name', (action) => {
  test('sends one upstream request in the documented format', async () => {
    const { answer, seen, token } = await askFaulty(action);
    expect(answer.status).toBe(200);
    expect(seen).toEqual([expect.objectContaining({ body: action.body })]);
    expect(seen[0]!.headers).toMatchObject({ authorization: `Bearer ${token}` });
    expect(seen[0]!.headers).not.toHaveProperty('x-request-id');
  });

  test.each(faults)('after %j: one upstream request, and an answer without its details', async (fault) => {
    const { answer, seen } = await askFaulty(action, fault);
    expect(answer).toMatchObject(answerTo(action, fault, answer));
    expect(seen).toHaveLength(1);
  });

  test.each(['hang', 'stall'] as const)('after a %s of the upstream: times out without a retry', async (fault) => {
    const started = performance.now();
    const { answer, seen } = await askFaulty(action, fault, { UPSTREAM_TIMEOUT_SECONDS: '1' });
    expect(answer).toMatchObject({ status: 502, text: failureOf(action, answer) });
    expect(answer.headers['action-outcome']).toBe(outcomeOf(action, 'unknown'));
    expect(performance.now() - started).toBeGreaterThan(900);
    expect(seen).toHaveLength(1);
  });

  test('with an unreachable upstream: answers 502 and logs the reason', async () => {
    const { answer, log } = await askFaulty(action, 'stopped');
    expect(answer).toMatchObject({ status: 502, text: failureOf(action, answer) });
    expect(answer.headers['action-outcome']).toBe(outcomeOf(action, 'not_sent'));
    expect(log).toContain('ECONNREFUSED');
  });
});

test('a command that the panel refuses for a missing permission has its own error code', async () => {
  const { app, world } = await serveHosting();
  world.panel.users.get(panelKeys.write)!.permissions = ['websocket.connect'];
  const { status, headers, text } = await askEndpoint(app, 'sendGameCommand');
  expect(headers['www-authenticate']).toBe('Bearer');
  expect({ status, text }).toEqual({ status: 403, text: renderProblem('json', 'provider_permission_denied') });
});

test('a command to an offline server has its own message', async () => {
  const { app, world } = await serveHosting();
  world.panel.wings.become('offline');
  const text = renderProblem('json', 'provider_error', 'The server must be online to receive commands');
  expect(await askEndpoint(app, 'sendGameCommand')).toMatchObject({ status: 502, text });
});

test('a log that the panel does not have is empty', async () => {
  const { app, world } = await serveHosting();
  world.panel.files.clear();
  expect(await askEndpoint(app, 'getLatestGameLog')).toMatchObject({ status: 200, text: `${emptyLog}\n` });
});
