import { fault, ok, skipped } from '../finding.ts';
import type { Check } from './types.ts';

/** Whether API keys reach the service, and its questions for them the client. */
export const authorization: Check = {
  name: 'Authorization',
  async run({ visit }) {
    const target = '/v1/key';
    const bare = await visit(target);
    if (bare.status !== 401) {
      return fault(`${target} without a key is answered ${bare.status}, not 401`, 'pass on the paths below /v1/');
    }
    if (bare.header('www-authenticate') === '') {
      return fault('the 401 has no WWW-Authenticate', 'let the proxy keep the headers of the service');
    }
    const wrong = await visit(target, { headers: { Authorization: 'Bearer doctor' } });
    if (wrong.header('www-authenticate').includes('invalid_token')) return ok('a wrong key is called invalid');
    return fault(
      'a wrong key is called a missing one',
      'pass on Authorization (nginx: no proxy_set_header Authorization; no login of the proxy on these paths)',
    );
  },
};

/** Whether the given key works, and what it may read can be read. */
export const keyedReads: Check = {
  name: 'API key',
  async run({ visit, key }) {
    if (key === undefined) return skipped('no --key-file, or no TLS to send it by');
    const headers = { Authorization: `Bearer ${key}` };
    const seen = await visit('/v1/key', { headers });
    if (seen.status !== 200) {
      const advice = 'see `keys list`: it may be revoked or expired, or belong to another installation';
      return fault(`/v1/key answers ${seen.status} to this key`, advice);
    }
    const { servers = [] } = (seen.json() ?? {}) as { servers?: readonly string[] };
    const unread: string[] = [];
    for (const server of servers.slice(0, 5)) {
      const [kind, id] = server.split(':') as [string, string];
      const target = kind === 'vps' ? `/v1/hosting/cloud/vps-custom/${id}` : `/v1/hosting/game/power/${id}`;
      // oxlint-disable-next-line no-await-in-loop
      const { status } = await visit(target, { headers });
      // 403: the key has no scope for it.
      if (status !== 200 && status !== 403) unread.push(`${server} ${status}`);
    }
    if (unread.length === 0)
      return ok(`it is good, for ${servers.length === 1 ? '1 server' : `${servers.length} servers`}`);
    return fault(
      `the state could not be read: ${unread.join(', ')}`,
      'read the log: it says what the provider answered',
    );
  },
};
