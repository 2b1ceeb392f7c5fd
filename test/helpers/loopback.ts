import dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import { onTestFinished, vi } from 'vitest';

const lookup: LookupFunction = (_name, { family, all }, done) => {
  const both = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ];
  const found = both.filter((one) => !family || one.family === family);
  if (all) done(null, found);
  else done(null, found[0]!.address, found[0]!.family);
};

/** Resolves every name to both loopback addresses until the test ends, whatever the hosts file says. */
export function resolveToLoopback(): void {
  const resolver = vi.spyOn(dns, 'lookup').mockImplementation(lookup as never);
  onTestFinished(() => resolver.mockRestore());
}
