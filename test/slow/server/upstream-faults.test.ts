import { describe, expect, test } from 'vitest';
import { renderProblem } from '#contract/problem.ts';
import { createTestApp } from '../../helpers/app.ts';
import { createHostingWorld } from '../../helpers/hosting.ts';
import type { HostingWorld } from '../../helpers/hosting.ts';
import { temporaryFolder } from '../../helpers/project.ts';
import { hetznerToken } from '../../helpers/upstream-hetzner.ts';
import { panelKeys } from '../../helpers/upstream-panel.ts';
import type { Fault, Seen } from '../../helpers/upstream.ts';
import { askEndpoint } from '../../server/ask.ts';
import type { Answer } from '../../server/ask.ts';
import type { SharedApp } from '../../server/shared.ts';
import { sharedProject } from '../../server/shared.ts';

const words = 'secret words of the upstream';
const node = '/srv/daemon/10.0.0.7';
const powerFailed = renderProblem('json', 'provider_error', 'Failed to send the power action');
const consoleFailed = renderProblem('json', 'provider_error', 'The console or log request failed');
const stateFailed = renderProblem('json', 'provider_error', 'The state could not be read');

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

const isVps = (name: Action['name']): boolean => name.includes('Vps');

interface Served {
  readonly app: SharedApp;
  readonly world: HostingWorld;
  /** The upstream requests of an action. */
  seen(action: Action): Seen[];
}

async function serve(settings: Record<string, string> = {}): Promise<Served> {
  const world = await createHostingWorld(temporaryFolder());
  const app = await createTestApp({ root: await sharedProject(), settings: { ...world.settings, ...settings } });
  const key = await world.issueKey();
  return {
    app: { ...app, key },
    world,
    seen: ({ name, method, path }) => {
      const { hetzner, panel } = world;
      const upstream = isVps(name) ? hetzner : panel;
      return upstream.seen.filter((request) => request.method === method && request.path.endsWith(path));
    },
  };
}

/** Makes the action fail; a fault with a body also echoes the token. */
function failOn({ world: { hetzner, panel } }: Served, { name, path }: Action, fault: Fault): void {
  const [upstream, token] = isVps(name) ? [hetzner, hetznerToken] : [panel, panelKeys.write];
  const echoing = typeof fault === 'object' ? { ...fault, body: `${fault.body} ${token}` } : fault;
  upstream.fail(echoing, (request) => request.path.endsWith(path));
}

/** Checks that the answer has no upstream details, and neither it nor the log has a secret. */
function expectNoDetails({ app, world: { hetzner, panel } }: Served, answer: string): void {
  const log = JSON.stringify(app.log());
  for (const secret of [hetznerToken, panelKeys.write, panelKeys.read, app.key, app.key.slice(16)]) {
    expect(answer).not.toContain(secret);
    expect(log).not.toContain(secret);
  }
  for (const detail of [words, node, hetzner.url, panel.url, new URL(panel.url).host, panel.wings.uuid]) {
    expect(answer).not.toContain(detail);
  }
}

const answers: readonly (readonly [string, number, Record<string, string>?])[] = [
  ['a 400', 400],
  ['a 401', 401],
  ['a 403', 403],
  ['a 404', 404],
  ['a 409', 409],
  ['a 422', 422],
  ['a 429', 429, { 'retry-after': '1' }],
  ['a 500', 500],
  ['a 502', 502],
  ['a 504', 504],
  ['a 302', 302, { location: '/elsewhere' }],
  ['a 308', 308, { location: '/elsewhere' }],
];
const faults: readonly (readonly [string, Fault])[] = [
  ...answers.map(([name, status, headers = {}]) => [name, { status, headers, body: `${words} ${node}` }] as const),
  ['a dropped connection', 'drop'],
  ['a connection that is cut', 'cut'],
  ['bytes in another protocol', 'garbage'],
  ['50 MB', 'huge'],
];

const emptyLog = JSON.stringify({ success: true, server_id: 'mine', empty: true, content: '' });

/** The 502 of an action. */
function failureOf({ name, path }: Action, { headers }: Pick<Answer, 'headers'>): string {
  if (name.endsWith('State')) return stateFailed;
  if (!/power|actions/.test(path)) return consoleFailed;
  if (headers['action-outcome'] === 'not_sent') return powerFailed;
  const message = `The power action may have been done; see /v1/hosting/actions/${String(headers['x-request-id'])}`;
  return renderProblem('json', 'provider_error', message);
}

/** The header of an action's 502. */
const outcomeOf = ({ method }: Action, outcome: string) => (method === 'POST' ? outcome : undefined);

/** The expected answer to a client. */
function answerTo(action: Action, fault: Fault, answer: Answer): { status: number; text: string } {
  const { name } = action;
  const status = typeof fault === 'object' ? fault.status : undefined;
  // A log without read permission is no error: the console's recent lines replace it.
  if (name === 'getLatestGameLog' && status === 403) return { status: 200, text: `${emptyLog}\n` };
  if (name === 'sendGameCommand' && status === 403) {
    return { status, text: renderProblem('json', 'provider_permission_denied') };
  }
  return { status: 502, text: failureOf(action, answer) };
}

describe.each(actions)('$name', (action) => {
  test('sends one upstream request in the documented format', async () => {
    const served = await serve();
    const { status } = await askEndpoint(served.app, action.name);
    expect(status).toBe(200);
    const token = isVps(action.name) ? hetznerToken : panelKeys.write;
    expect(served.seen(action)).toEqual([expect.objectContaining({ body: action.body })]);
    expect(served.seen(action)[0]!.headers).toMatchObject({ authorization: `Bearer ${token}` });
    expect(served.seen(action)[0]!.headers).not.toHaveProperty('x-request-id');
  });

  test.each(faults)('after %s: one upstream request, and an answer without its details', async (_, fault) => {
    const served = await serve();
    failOn(served, action, fault);
    const answer = await askEndpoint(served.app, action.name);
    const { status, text } = answer;
    expect({ status, text }).toEqual(answerTo(action, fault, answer));
    expect(served.seen(action)).toHaveLength(1);
    expect([...served.world.panel.seen, ...served.world.hetzner.seen].map(({ path }) => path)).not.toContain(
      '/elsewhere',
    );
    expectNoDetails(served, text);
  });

  test.each(['hang', 'stall'] as const)('after a %s of the upstream: times out without a retry', async (fault) => {
    const served = await serve({ UPSTREAM_TIMEOUT_SECONDS: '1' });
    failOn(served, action, fault);
    const started = performance.now();
    const answer = await askEndpoint(served.app, action.name);
    const { status, text, headers } = answer;
    expect({ status, text }).toEqual({ status: 502, text: failureOf(action, answer) });
    expect(headers['action-outcome']).toBe(outcomeOf(action, 'unknown'));
    expect(performance.now() - started).toBeGreaterThan(900);
    expect(served.seen(action)).toHaveLength(1);
    expectNoDetails(served, text);
  });

  test('with an unreachable upstream: answers 502 and logs the reason', async () => {
    const served = await serve();
    await Promise.all([served.world.panel.stop(), served.world.hetzner.stop()]);
    const answer = await askEndpoint(served.app, action.name);
    const { status, text, headers } = answer;
    expect({ status, text }).toEqual({ status: 502, text: failureOf(action, answer) });
    expect(headers['action-outcome']).toBe(outcomeOf(action, 'not_sent'));
    expectNoDetails(served, text);
    expect(JSON.stringify(served.app.log())).toContain('ECONNREFUSED');
  });
});

describe('a command refused by the panel', () => {
  const [, , , , , , , command] = actions;

  test('for a missing permission has its own error code', async () => {
    const served = await serve();
    const { panel } = served.world;
    panel.users.get(panelKeys.write)!.permissions = ['websocket.connect'];
    const { status, headers, text } = await askEndpoint(served.app, command.name);
    expect(headers['www-authenticate']).toBe('Bearer');
    expect({ status, text }).toEqual({ status: 403, text: renderProblem('json', 'provider_permission_denied') });
  });

  test('for an offline server has its own message', async () => {
    const served = await serve();
    served.world.panel.wings.become('offline');
    const { status, text } = await askEndpoint(served.app, command.name);
    const message = 'The server must be online to receive commands';
    expect({ status, text }).toEqual({ status: 502, text: renderProblem('json', 'provider_error', message) });
  });
});

test('a log that the panel does not have is empty', async () => {
  const served = await serve();
  served.world.panel.files.clear();
  const { status, text } = await askEndpoint(served.app, 'getLatestGameLog');
  expect({ status, text }).toEqual({ status: 200, text: `${emptyLog}\n` });
});
