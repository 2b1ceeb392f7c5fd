import { expect, test } from 'vitest';
import type { Availability, DomainName } from '../../server/domains/types.ts';
import { createAvailability } from '../../server/domains/availability.ts';

/** Registries behind domain-types.ts: each answer is given by the test. */
function createAsked() {
  const asked: { name: string; answer: (availability: Availability) => void; fail: (error: Error) => void }[] = [];
  let now = 0;
  const service = createAvailability(
    {
      check: ({ name }) =>
        new Promise((answer, fail) => {
          asked.push({ name, answer, fail });
        }),
    },
    () => now,
  );
  return { service, asked, turn: (ms: number) => (now += ms) };
}

const domain: DomainName = { name: 'example.com', tld: 'com' };

test('a taken name is known for 10 minutes, and a free one for one', async () => {
  for (const [availability, ms] of [
    ['taken', 600_000],
    ['free', 60_000],
  ] as const) {
    const { service, asked, turn } = createAsked();
    const first = service.check(domain, undefined);
    asked[0]!.answer(availability);
    expect(await first).toBe(availability);
    turn(ms - 1);
    expect(await service.check(domain, undefined)).toBe(availability);
    expect(asked).toHaveLength(1);
    turn(1);
    void service.check(domain, undefined);
    expect(asked).toHaveLength(2);
  }
});

test('what is not known is asked for again at once', async () => {
  const { service, asked } = createAsked();
  const first = service.check(domain, undefined);
  asked[0]!.answer('unknown');
  expect(await first).toBe('unknown');
  const second = service.check(domain, undefined);
  asked[1]!.answer('taken');
  expect(await second).toBe('taken');
});

test('200 searches of one name at once are one look-up', async () => {
  const { service, asked } = createAsked();
  const answers = Array.from({ length: 200 }, () => service.check({ ...domain }, undefined));
  expect(asked).toHaveLength(1);
  asked[0]!.answer('free');
  expect(new Set(await Promise.all(answers))).toEqual(new Set(['free']));
});

test('a look-up that fails against its promise fails its searches, and the next one asks anew', async () => {
  const { service, asked } = createAsked();
  const answers = Promise.allSettled([service.check(domain, undefined), service.check(domain, undefined)]);
  asked[0]!.fail(new Error('a defect'));
  expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  void service.check(domain, undefined);
  expect(asked).toHaveLength(2);
});

test('a name that is asked for elsewhere from now on is asked for anew', async () => {
  const { service, asked } = createAsked();
  const first = service.check(domain, undefined);
  asked[0]!.answer('free');
  expect(await first).toBe('free');
  const second = service.check(domain, 'none');
  asked[1]!.answer('unknown');
  expect(await second).toBe('unknown');
  expect(await service.check(domain, undefined)).toBe('free');
});

test('what is kept is bounded', async () => {
  const { service, asked } = createAsked();
  for (let count = 0; count < 50_001; count += 1) {
    const answer = service.check({ name: `n${count}.com`, tld: 'com' }, undefined);
    asked[count]!.answer('taken');
    await answer;
  }
  void service.check({ name: 'n0.com', tld: 'com' }, undefined);
  expect(asked).toHaveLength(50_002);
  expect(await service.check({ name: 'n50000.com', tld: 'com' }, undefined)).toBe('taken');
});
