import dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import { onTestFinished, vi } from 'vitest';
import type { TestContext } from 'vitest';

const lookup: LookupFunction = (_name, { family, all }, done) => {
  const both = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ];
  const found = both.filter((one) => !family || one.family === family);
  if (all) done(null, found);
  else done(null, found[0]!.address, found[0]!.family);
};

/** Finds an address of this machine other than loopback; without one, skips the test. */
export function findOwnAddress(context: TestContext): string {
  const found = Object.values(networkInterfaces())
    .flat()
    .find((each) => !each!.internal && each!.family === 'IPv4');
  return found?.address ?? context.skip('this machine has no address but loopback');
}

/** Resolves every name to both loopback addresses until the test ends, whatever the hosts file says. */
export function resolveToLoopback(): void {
  const resolver = vi.spyOn(dns, 'lookup').mockImplementation(lookup as never);
  onTestFinished(() => resolver.mockRestore());
}
