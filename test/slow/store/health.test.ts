import { expect, onTestFinished, test } from 'vitest';
import { createStoreHealth } from '../../../server/store/health.ts';
import { eventually } from '../../server/shared.ts';

test('a store that does not answer a check within 3 s is unready, and is not asked again until it answers', async () => {
  const lines: string[] = [];
  const write = (_: unknown, message?: string): void => void lines.push(message!);
  const health = createStoreHealth({ error: write, info: write });
  onTestFinished(() => health.stop());
  const pending = Promise.withResolvers<void>();
  let checks = 0;
  health.watch(async () => {
    checks += 1;
    if (checks === 1) await pending.promise;
  });
  await expect.poll(() => health.answers(), eventually).toBe(false);
  expect(checks).toBe(1);
  expect(lines).toEqual(['the store does not answer']);
  pending.resolve();
  await expect.poll(() => health.answers(), eventually).toBe(true);
  await expect.poll(() => lines, eventually).toEqual(['the store does not answer', 'the store answers again']);
});
