import type { LookupFunction } from 'node:net';

/** Resolves the name of this machine to both loopback addresses, whatever the hosts file says. */
export const lookupLoopback: LookupFunction = (_name, { family, all }, done) => {
  const both = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ];
  const found = both.filter((one) => !family || one.family === family);
  if (all) done(null, found);
  else done(null, found[0]!.address, found[0]!.family);
};
