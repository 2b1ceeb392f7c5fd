import { fault, ok } from '../finding.ts';
import type { Check } from './types.ts';

const origin = 'https://doctor.example';
/** Takes an API key. */
const keyed = '/v1/hosting/game/logs/doctor/latest';
const leaveIt = 'remove the CORS headers of the proxy: the service sets them, by CORS_ORIGINS';

/** Whether websites of others may read what is public, and only that. */
export const crossOrigin: Check = {
  name: 'CORS',
  async run({ visit }) {
    const seen = await visit('/v1/plans', { headers: { Origin: origin } });
    const allowed = seen.all('access-control-allow-origin');
    if (allowed.length > 1 || allowed.some((value) => value.includes(','))) {
      return fault('Access-Control-Allow-Origin is there twice, so browsers refuse the answer', leaveIt);
    }
    // Without `*` in CORS_ORIGINS, the service says that the answer depends on the origin.
    const isRestricted = allowed.length === 0 && /\borigin\b/i.test(seen.header('vary'));
    if (allowed.length === 0 && !isRestricted) {
      return fault('/v1/plans has no Access-Control-Allow-Origin', 'let the proxy keep the headers of the service');
    }
    if (allowed[0] === origin || seen.header('access-control-allow-credentials') !== '') {
      return fault('any origin is allowed by its name, as if it were listed', leaveIt);
    }
    const closed = await visit(keyed, { headers: { Origin: origin } });
    if (closed.all('access-control-allow-origin').length > 0) {
      return fault('any website may call the endpoints that take an API key', leaveIt);
    }
    return ok(isRestricted ? 'only the origins of CORS_ORIGINS' : `${allowed[0]}, and nothing with a key`);
  },
};

/** Whether the question that browsers ask first reaches the service. */
export const preflight: Check = {
  name: 'CORS preflight',
  async run({ visit }) {
    const headers = { Origin: origin, 'Access-Control-Request-Method': 'GET' };
    const { status, header } = await visit('/v1/plans', { method: 'OPTIONS', headers });
    if (status === 204 && /\bGET\b/.test(header('access-control-allow-methods'))) return ok('204 with the methods');
    return fault(
      `OPTIONS is answered ${status}${header('access-control-allow-methods') ? '' : ' without the methods'}`,
      'pass on OPTIONS to the service',
    );
  },
};
