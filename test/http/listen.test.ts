import { expect, test } from 'vitest';
import { describeListenError } from '../../server/http/listen.ts';

// Only these two cannot be caused on every machine; test/slow/http/refusal.test.ts causes the others.
test.each([
  ['EACCES', 'PORT: this user may not listen on port 80: use one above 1023, or permit it (CAP_NET_BIND_SERVICE)'],
  ['EMFILE', 'cannot listen on port 80 of 127.0.0.1 (EMFILE)'],
])('an address that cannot be used because of %s is named with the reason', (code, message) => {
  expect(describeListenError(code, { host: '127.0.0.1', port: 80 })).toBe(message);
});
