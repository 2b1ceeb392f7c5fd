import { expect, test } from 'vitest';
import type { Availability } from '../../server/domains/lookup/query.ts';
import type { DomainName } from '../../server/domains/names.ts';
import { createAvailability } from '../../server/domains/service.ts';

/** An availability service with a fake registry; the test answers each check. */
function createService() {
  const checks: { name: string; answer: (availability: Availability) => void; fail: (error: Error) => void }[] = [];
  let now = 1000;
  const service = createAvailability(
    {
      check: ({ name }) =>
        new Promise((answer, fail) => {
          checks.push({ name, answer, fail });
        }),
    },
    () => now,
  );
  return { service, checks, advance: (ms: number) => (now += ms) };
}

const domain: DomainName = { name: 'example.com', tld: 'com' };

test('a taken name is cached for 10 minutes, and a free one for one minute', async () => {
  for (const [availability, ms] of [
    ['taken', 600_000],
    ['free', 60_000],
  ] as const) {
    const { service, checks, advance } = createService();
    const first = service.check(domain, undefined);
    checks[0]!.answer(availability);
    expect(await first).toBe(availability);
    advance(ms);
    expect(await service.check(domain, undefined)).toBe(availability);
    expect(checks).toHaveLength(1);
    advance(1);
    void service.check(domain, undefined);
    expect(checks).toHaveLength(2);
  }
});

test('an unknown result is not cached', async () => {
  const { service, checks } = createService();
  const first = service.check(domain, undefined);
  checks[0]!.answer('unknown');
  expect(await first).toBe('unknown');
  const second = service.check(domain, undefined);
  checks[1]!.answer('taken');
  expect(await second).toBe('taken');
});

test('200 concurrent searches for one name cause one lookup', async () => {
  const { service, checks } = createService();
  const answers = Array.from({ length: 200 }, () => service.check({ ...domain }, undefined));
  expect(checks).toHaveLength(1);
  checks[0]!.answer('free');
  expect(new Set(await Promise.all(answers))).toEqual(new Set(['free']));
});

test('a lookup that throws fails its searches, and the next search repeats it', async () => {
  const { service, checks } = createService();
  const answers = Promise.allSettled([service.check(domain, undefined), service.check(domain, undefined)]);
  checks[0]!.fail(new Error('a defect'));
  expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  void service.check(domain, undefined);
  expect(checks).toHaveLength(2);
});

test('each lookup source has its own cache entry', async () => {
  const { service, checks } = createService();
  const first = service.check(domain, undefined);
  checks[0]!.answer('free');
  expect(await first).toBe('free');
  const second = service.check(domain, 'none');
  checks[1]!.answer('unknown');
  expect(await second).toBe('unknown');
  expect(await service.check(domain, undefined)).toBe('free');
});

test('the cache is bounded', async () => {
  const { service, checks } = createService();
  for (let count = 0; count < 50_001; count += 1) {
    const answer = service.check({ name: `n${count}.com`, tld: 'com' }, undefined);
    checks[count]!.answer('taken');
    await answer;
  }
  void service.check({ name: 'n0.com', tld: 'com' }, undefined);
  expect(checks).toHaveLength(50_002);
  expect(await service.check({ name: 'n50000.com', tld: 'com' }, undefined)).toBe('taken');
});
