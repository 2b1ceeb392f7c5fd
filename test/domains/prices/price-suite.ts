import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestListener } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { PriceSource } from '../../../server/domains/prices/source.ts';
import { until } from '../../helpers/upstream.ts';
import type { Answer, Fault, Seen, Upstream } from '../../helpers/upstream.ts';
import { stopTimeouts } from '../../helpers/clock.ts';
import { failureOf } from '../../helpers/fault-suite.ts';

/** A billing system that sells `com` and `co.uk`, with its price source. */
export interface PriceHarness {
  readonly upstream: Upstream;
  create(timeoutMs: number): PriceSource;
  /** Values that no error may contain. */
  readonly secrets: readonly string[];
}

/** A request that each read sends. */
export interface PriceRequest {
  readonly name: string;
  readonly matches: (seen: Seen) => boolean;
}

const words = 'words of the upstream';
const timeoutMs = 20_000;
const page = '<!DOCTYPE html><html><body><h1>Down for maintenance</h1></body></html>';
const warning = '<br />\n<b>Warning</b>: Undefined array key in <b>/srv/www/api.php</b><br />\n';

/** Fails each request of a read with every fault. */
export function testPriceSource(
  name: string,
  requests: readonly PriceRequest[],
  setUp: () => Promise<PriceHarness>,
): void {
  const prepare = async (): Promise<PriceHarness & { source: PriceSource }> => {
    const harness = await setUp();
    const source = harness.create(timeoutMs);
    onTestFinished(() => source.close());
    return { ...harness, source };
  };

  describe.each(requests)(`${name}: $name`, ({ matches }) => {
    const answer = (status: number, body = words, headers: Record<string, string> = {}): Answer => ({
      status,
      body,
      headers,
    });
    const faults: readonly (readonly [string, Fault])[] = [
      ['a 400', answer(400)],
      ['a 401', answer(401)],
      ['a 403', answer(403)],
      ['a 403 with JSON', answer(403, '{"result":"error","message":"Invalid IP 192.0.2.1","error":null}')],
      ['a 404', answer(404)],
      ['a 421, which fetch would answer with a second request', answer(421)],
      ['a 429', answer(429, words, { 'retry-after': '1' })],
      ['a 500', answer(500)],
      ['a 503 with a page', answer(503, page)],
      ['a page with the status 200', answer(200, page)],
      ['a PHP warning before the JSON', answer(200, `${warning}{"result":[],"error":null}`)],
      ['an empty body', answer(200, '')],
      ['JSON of another shape', answer(200, '{"result":{},"currencies":{}}')],
      ['null', answer(200, 'null')],
      ['JSON that is cut', answer(200, '{"result":"success","currencies":{"currency":[{"id":')],
      ['a 301 to another path', answer(301, '', { location: '/elsewhere' })],
      ['a 307, which would repeat the request', answer(307, '', { location: '/elsewhere' })],
      ['a dropped connection', 'drop'],
      ['a connection that is cut in the body', 'cut'],
      ['bytes in another protocol', 'garbage'],
      ['50 MB', 'huge'],
    ];
    const check = async (fault: Fault): Promise<void> => {
      const { upstream, source, secrets } = await prepare();
      const advance = stopTimeouts();
      upstream.fail(
        typeof fault === 'object' ? { ...fault, body: `${fault.body}${secrets.join(' ')}` } : fault,
        matches,
      );
      const failure = failureOf(source.read());
      if (fault === 'hang' || fault === 'stall') {
        await until('it was requested', () => upstream.seen.some(matches));
        advance(timeoutMs);
      }
      const error = await failure;
      expect(error).toMatchObject({ code: 'provider_error', message: 'The request could not be completed' });
      expect(upstream.seen.map(({ path }) => path)).not.toContain('/elsewhere');
      const detail = String(error.cause);
      expect(detail).toContain(upstream.url);
      for (const secret of secrets) expect(detail).not.toContain(secret);
      await until('the rest of a huge answer was left', () => upstream.wasLeft() === (fault === 'huge'));
      upstream.fail(undefined);
      expect([...(await source.read()).keys()]).toEqual(['com', 'co.uk']);
    };
    test.each(faults)('%s is an error without upstream text, and the next read succeeds', async (_, fault) => {
      await expect(check(fault)).resolves.toBeUndefined();
    });

    test.each(['hang', 'stall'] as const)('a %s times out', async (fault) => {
      await expect(check(fault)).resolves.toBeUndefined();
    });
  });

  test(`${name}: a slow answer is read`, async () => {
    const { upstream, source } = await prepare();
    const [listener] = upstream.server.listeners('request') as RequestListener[];
    upstream.server.removeAllListeners('request');
    upstream.server.on('request', (request, response) => void sleep(150).then(() => listener!(request, response)));
    expect(await source.read()).toHaveProperty('size', 2);
  });

  test(`${name}: a billing system that is unreachable is an error`, async () => {
    const { upstream, source, secrets } = await prepare();
    await upstream.stop();
    const error = await failureOf(source.read());
    expect(String(error.cause)).toContain('ECONNREFUSED');
    for (const secret of secrets) expect(String(error.cause)).not.toContain(secret);
  });

  test(`${name}: closing the source aborts a running read`, async () => {
    const { upstream, source } = await prepare();
    upstream.fail('hang');
    const reading = failureOf(source.read());
    await until('it was requested', () => upstream.seen.length === 1);
    await source.close();
    expect(await reading).toMatchObject({ code: 'provider_error' });
  });
}
