import { fault, ok } from '../finding.ts';
import type { Check } from './types.ts';

/** Whether a request can be found in the log by the id that its client sees. */
export const requestIds: Check = {
  name: 'request ids',
  async run({ visit }) {
    const sent = `doctor-${Date.now()}`;
    const given = await visit('/v1/info', { headers: { 'X-Request-Id': sent } });
    const [received, ...more] = given.all('x-request-id');
    if (received === undefined) {
      return fault('answers have no X-Request-Id', 'let the proxy keep the header (nginx: no proxy_hide_header)');
    }
    if (more.length > 0) {
      return fault('answers have X-Request-Id twice', 'let the proxy pass on the header of the service alone');
    }
    if (received === sent) return ok('an id that a client sends comes back');
    return fault(
      'an id that a client sends is replaced',
      'pass on X-Request-Id of the request; an id of the proxy belongs there only if the client sent none',
    );
  },
};

/** Whether browsers take each answer for what it is. */
export const contentTypes: Check = {
  name: 'nosniff',
  async run({ visit }) {
    for (const target of ['/v1/plans', '/v1/info', '/v1/doctor']) {
      // oxlint-disable-next-line no-await-in-loop
      const { all } = await visit(target);
      if (all('x-content-type-options').some((value) => value === 'nosniff')) continue;
      return fault(`${target} has no X-Content-Type-Options`, 'let the proxy keep the headers of the service');
    }
    return ok('on content, service and errors');
  },
};
