import { describe, expect, test } from 'vitest';
import { ProviderError } from '../../server/upstream/client.ts';
import type { Outcome } from '../../server/upstream/client.ts';
import type { Provider } from '../../server/hosting/providers/types.ts';
import type { ProviderSettings } from '../../server/hosting/providers.ts';
import { stopTimeouts } from './clock.ts';
import { openProvider } from './provider.ts';
import { isPost, until } from './upstream.ts';
import type { Answer, Fault, Seen, Upstream } from './upstream.ts';

/** An action and the single request that it sends, apart from look-ups. */
interface FaultCall {
  readonly name: string;
  run(provider: Provider): Promise<unknown>;
  readonly method: string;
  readonly path: string;
  /** The expected body; undefined for no body. */
  readonly body?: unknown;
  /** Headers that the upstream requires. */
  readonly headers: Readonly<Record<string, unknown>>;
}

/** An upstream and the settings of its provider. */
interface FaultHarness extends Harness {
  readonly upstream: Upstream & { readonly settings: ProviderSettings };
}

const words = 'secret words of the upstream';

/** Tests every action against every upstream fault. */
export function testFaults(name: string, calls: readonly FaultCall[], setUp: () => Promise<FaultHarness>): void {
  const prepare = async () => {
    const harness = await setUp();
    return { ...harness, provider: openProvider(harness.upstream.settings).provider };
  };

  describe.each(calls)(`${name}: $name`, (call) => {
    const isAction = ({ method, path }: Seen): boolean => method === call.method && path === call.path;
    test('reaches the upstream once, with the right method, path, headers and body', async () => {
      const { upstream, provider } = await prepare();
      await call.run(provider);
      const actions = upstream.seen.filter(isAction);
      expect(actions).toHaveLength(1);
      expect(actions[0]!.headers).toMatchObject({ accept: 'application/json', ...call.headers });
      // A panel requires a CSRF token for requests with an Origin or a cookie.
      expect(actions[0]!.headers).not.toHaveProperty('origin');
      expect(actions[0]!.headers).not.toHaveProperty('cookie');
      expect(actions[0]!.body && (JSON.parse(actions[0]!.body) as unknown)).toEqual(call.body ?? '');
      expect(upstream.seen.filter(isPost)).toEqual(actions);
    });

    const answers = (status: number, more: Partial<Answer> = {}): Answer => ({ status, body: words, ...more });
    const table: readonly (readonly [string, Fault, Outcome])[] = [
      ['a 400', answers(400), 'refused'],
      ['a 401', answers(401), 'refused'],
      ['a 404', answers(404), 'refused'],
      ['a 421, which fetch would answer with a second request', answers(421), 'refused'],
      ['a 422', answers(422), 'refused'],
      ['a 429', answers(429, { headers: { 'retry-after': '1' } }), 'refused'],
      ['a 500', answers(500), 'unknown'],
      ['a 502', answers(502), 'unknown'],
      ['a 503', answers(503), 'unknown'],
      ['a page with the status 200', answers(200, { body: `<html>${words}</html>` }), 'unknown'],
      ['JSON of another shape', answers(200, { body: '{"data":null,"action":{"status":"error"}}' }), 'unknown'],
      ['a 302 to another page', answers(302, { headers: { location: '/elsewhere' } }), 'refused'],
      ['a 307, which would repeat the action', answers(307, { headers: { location: '/elsewhere' } }), 'refused'],
      ['a dropped connection', 'drop', 'unknown'],
      ['a connection that is cut in the body', 'cut', 'unknown'],
      ['bytes in another protocol', 'garbage', 'unknown'],
      ['50 MB', 'huge', 'unknown'],
      ['no answer in time', 'hang', 'unknown'],
      ['an answer that never ends', 'stall', 'unknown'],
    ];
    test.each(table)(
      '%s: the request is sent once, and the error has no text from upstream',
      async (_, fault, outcome) => {
        const { provider, ...harness } = await prepare();
        const error = await meetFault(fault, harness, isAction, () => call.run(provider));
        expect(error).toMatchObject({ code: 'provider_error', outcome, message: 'The request could not be completed' });
        expect(harness.upstream.seen.filter(isAction)).toHaveLength(1);
        expect(String(error.cause)).toContain(call.path);
      },
    );

    test('an unreachable upstream: the outcome is `refused`', async () => {
      const { provider, ...harness } = await prepare();
      const error = await meetNobody(harness, () => call.run(provider));
      expect(error).toMatchObject({ outcome: 'refused', message: 'The request could not be completed' });
    });
  });
}

/** An upstream, and values that must not appear in errors. */
interface Harness {
  readonly upstream: Upstream;
  readonly secrets: readonly string[];
}

/** Runs a call while the upstream answers with a fault; returns the error, which must have no text from upstream. */
export async function meetFault(
  fault: Fault,
  { upstream, secrets }: Harness,
  matches: (seen: Seen) => boolean,
  run: () => Promise<unknown>,
): Promise<ProviderError> {
  const advance = stopTimeouts();
  const isText = typeof fault === 'object' && !(fault.status === 200 && fault.body?.startsWith('{'));
  upstream.fail(isText ? { ...fault, body: [fault.body, ...secrets].join(' ') } : fault, matches);
  const arrived = upstream.hold(matches);
  const failure = failureOf(run());
  const release = await arrived;
  if (fault !== 'hang') release();
  if (fault === 'hang' || fault === 'stall') advance(20_000);
  const error = await failure;
  expect(upstream.seen.map(({ path }) => path)).not.toContain('/elsewhere');
  for (const secret of secrets) expect(String(error.cause)).not.toContain(secret);
  await until('the rest of a huge answer was left', () => upstream.wasLeft() === (fault === 'huge'));
  return error;
}

/** Runs a call while the upstream is unreachable; returns the error. */
export async function meetNobody({ upstream, secrets }: Harness, run: () => Promise<unknown>): Promise<ProviderError> {
  await upstream.stop();
  const error = await failureOf(run());
  expect(String(error.cause)).toContain('ECONNREFUSED');
  for (const secret of secrets) expect(String(error.cause)).not.toContain(secret);
  return error;
}

/** Returns the error of a call, and throws if the call succeeds. */
export async function failureOf(call: Promise<unknown>): Promise<ProviderError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ProviderError)) throw new Error('a ProviderError was expected', { cause: error });
  return error;
}
