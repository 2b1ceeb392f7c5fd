import { expect, test } from 'vitest';
import { parseApiKey } from '../../server/keys/authorize.ts';
import type { HostingWorld } from '../helpers/hosting.ts';
import { call } from './operators.ts';
import type { OperatorAnswer, serveOperators } from './operators.ts';

interface Race {
  readonly count: number;
  readonly ask: (at: number) => readonly [method: string, path: string, body?: unknown];
  /** The expected number of answers by status. */
  readonly statuses?: Readonly<Record<number, number>>;
  readonly before?: readonly [method: string, path: string, body?: unknown];
  readonly check?: (answers: readonly OperatorAnswer[], world: HostingWorld) => void | Promise<void>;
}

const servers = '/v1/operator/servers';
const keys = '/v1/operator/keys';
const record = { provider: 'panel', ref: '1a7ce9aa' };
const permissions = { servers: ['game:mine'], scopes: ['game-power:read'] };

const races: Record<string, Race> = {
  'put 70 servers with one ref': {
    count: 70,
    ask: (at) => ['PUT', `${servers}/game:${at}`, record],
    statuses: { 201: 1, 409: 69 },
    check: (answers) => {
      const refused = answers.filter(({ status }) => status === 409);
      expect(new Set(refused.map(({ json }) => `${String(json['error'])} ${String(json['server'])}`)).size).toBe(1);
      expect(refused[0]!.json).toMatchObject({ error: 'conflict', server: expect.stringMatching(/^game:\d+$/) });
    },
  },
  'put one server 70 times': {
    count: 70,
    ask: () => ['PUT', `${servers}/game:1`, record],
    statuses: { 200: 69, 201: 1 },
  },
  'replace one server 40 times with other refs': {
    count: 40,
    before: ['PUT', `${servers}/game:1`, record],
    ask: (at) => ['PUT', `${servers}/game:1`, { provider: 'panel', ref: `2a7ce9${10 + at}`, replace: true }],
    statuses: { 200: 40 },
  },
  'suspend one server 20 times': {
    count: 20,
    before: ['PUT', `${servers}/game:1`, record],
    ask: () => ['POST', `${servers}/game:1/suspend`],
    statuses: { 200: 20 },
  },
  'remove one server 20 times': {
    count: 20,
    before: ['PUT', `${servers}/game:1`, record],
    ask: () => ['DELETE', `${servers}/game:1`],
    statuses: { 200: 1, 404: 19 },
  },
  'put one key 40 times': {
    count: 40,
    ask: () => ['PUT', `${keys}/one`, permissions],
    statuses: { 200: 39, 201: 1 },
    check: (answers) => {
      expect(answers.filter(({ json }) => typeof json.key === 'string')).toHaveLength(1);
      expect(new Set(answers.map(({ json }) => json['id'])).size).toBe(1);
    },
  },
  'rotate one key 10 times': {
    count: 10,
    before: ['PUT', `${keys}/one`, permissions],
    ask: () => ['POST', `${keys}/one/rotate`, {}],
    // A request that reads the key after the end of another rotation is another one.
    check: async (answers, { store }) => {
      const { secretHash } = (await store.apiKeys.findActive('one', Date.now()))!;
      const made = answers.flatMap(({ status, json }) => (status === 200 ? parseApiKey(json.key)!.secretHash : []));
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(10 - made.length);
      expect(made).toContain(secretHash);
      const audited = await Array.fromAsync(store.audit.entries({}));
      const rotated = audited.filter(({ action, outcome }) => action === 'keys rotate' && outcome === 'ok');
      expect(rotated).toHaveLength(made.length);
    },
  },
  'revoke one key 20 times': {
    count: 20,
    before: ['PUT', `${keys}/one`, permissions],
    ask: () => ['DELETE', `${keys}/one`],
    statuses: { 200: 20 },
  },
};

/** Tests requests at the same time, for every kind of store; `toPorts` returns the ports of all instances. */
export function racesSuite(
  serve: () => Promise<
    Pick<Awaited<ReturnType<typeof serveOperators>>, 'token' | 'world'> & { readonly ports: readonly number[] }
  >,
): void {
  test.each(Object.keys(races))('%s at the same time', async (name) => {
    const { count, ask, statuses, before, check } = races[name]!;
    const { ports, token, world } = await serve();
    const send = (port: number, [method, path, body]: ReturnType<Race['ask']>) => call(port, token, method, path, body);
    if (before) await send(ports[0]!, before);
    const answers = await Promise.all(
      Array.from({ length: count }, (_, at) => send(ports[at % ports.length]!, ask(at))),
    );
    const found = Object.fromEntries(
      Object.entries(Object.groupBy(answers, ({ status }) => status)).map(([status, all]) => [status, all!.length]),
    );
    expect(found).toEqual(statuses ?? found);
    await check?.(answers, world);
  });
}
