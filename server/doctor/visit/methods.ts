import { fault, ok } from '../finding.ts';
import type { Check } from './types.ts';

/** Whether methods arrive as they were sent. */
export const methods: Check = {
  name: 'methods',
  async run({ visit }) {
    const { status, header } = await visit('/v1/plans', { method: 'DELETE' });
    if (status !== 405 || !/\bGET\b/.test(header('allow'))) {
      return fault(
        `DELETE /v1/plans is answered ${status}${header('allow') ? '' : ' without Allow'}, not 405`,
        'pass on all methods (nginx: no limit_except): the service refuses those that it does not know',
      );
    }
    const head = await visit('/v1/plans', { method: 'HEAD' });
    if (head.status === 200 && head.bytes.length === 0) return ok('405 with Allow, HEAD without a body');
    return fault(
      `HEAD is answered ${head.status}`,
      'pass on HEAD (nginx: proxy_cache_convert_head off without a cache)',
    );
  },
};

/** The longest body that the service reads of a command or an action. */
const bodyBytes = 16_000;

/** Whether a body of the size that the service accepts arrives. It is sent without a key, so nothing is done. */
export const largeBodies: Check = {
  name: 'request bodies',
  async run({ visit }) {
    const body = JSON.stringify({ doctor: 'x'.repeat(bodyBytes) });
    const headers = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
    const { status } = await visit('/v1/hosting/game/console/doctor/command', { method: 'POST', headers, body });
    if (status === 401) return ok('16 kB arrive');
    if (status === 413) {
      return fault('a body of 16 kB is refused (413)', 'allow 64 kB (nginx: client_max_body_size 64k)');
    }
    return fault(`POST without a key is answered ${status}, not 401`, 'pass on POST and its body to the service');
  },
};
