import { hash } from 'node:crypto';
import { connect } from 'node:net';
import type { Env } from '../../env.ts';
import type { Release } from '../../releases/load.ts';
import type { Finding, Outcome } from '../finding.ts';
import { fault, ok, skipped } from '../finding.ts';
import type { Visit } from '../visit/types.ts';
import { createVisit } from '../visit/client.ts';

/** Files that change with every release, but for one whose only change is a picture. */
const compared = ['/v1/blog/list', '/v1/kb/list', '/v1/plans', '/v1/kb/search.json', '/v1/openapi.json'];

/** Whether a server of this installation runs. */
export interface Listening {
  readonly isRunning: boolean;
  readonly findings: readonly Finding[];
}

/** Looks whether our server answers on HOST and PORT, with the version and the release of this installation. */
export async function checkListening(env: Env, release: Release | undefined): Promise<Listening> {
  const check = 'server';
  const only = (isRunning: boolean, outcome: Outcome): Listening => ({ isRunning, findings: [{ check, ...outcome }] });
  const { PORT: port } = env;
  if (port === 0) return only(false, skipped('PORT is 0, so its port is not known'));
  const host = toReachable(env.HOST);
  if (!(await isTaken(host, port))) return only(false, ok('it does not run; its port is free'));
  const visit = createVisit(toUrl(host, port));
  const health = await visit('/health').then(
    (seen) => seen.json() as { status?: unknown; version?: unknown } | undefined,
    () => undefined,
  );
  if (health?.status !== 'healthy') {
    const advice = 'set another PORT, or end the program: `ss -tlnp` names it';
    return only(false, fault(`another program listens on port ${port}`, advice));
  }
  const outcome = await compare(visit, health.version, env, release).catch(() =>
    skipped('it stopped answering while it was looked at'),
  );
  return only(true, outcome);
}

async function compare(visit: Visit, version: unknown, env: Env, release: Release | undefined): Promise<Outcome> {
  if (version !== env.SERVICE_VERSION) {
    return fault(`it runs another version than ${env.SERVICE_VERSION}, which is installed here`, 'restart it');
  }
  if (release) {
    const answers = await Promise.all(
      compared.map(async (target) => {
        const expected = release.find(target)?.variants.identity.sha256;
        const { bytes, status } = await visit(target);
        return expected === undefined || status !== 200 || hash('sha256', bytes) === expected;
      }),
    );
    if (answers.includes(false)) {
      const advice = 'see its log for "new release rejected", and whether it has the same DIST_DIR';
      return fault('it serves another release than DIST_DIR/current', advice);
    }
  }
  const { status } = await visit('/ready');
  if (status === 200) return ok(`it runs with version ${env.SERVICE_VERSION}${release ? ' and this release' : ''}`);
  return fault(`/ready answers ${status}`, 'its store does not answer, or it is being stopped: see its log');
}

/** Looks whether METRICS_PORT is free for a server that does not run, and answers with metrics where one runs. */
export async function checkMetrics({ METRICS_PORT: port, HOST }: Env, isRunning: boolean): Promise<Outcome> {
  if (port === undefined) return skipped('METRICS_PORT is not set');
  if (port === 0) return skipped('METRICS_PORT is 0, so its port is not known');
  const host = toReachable(HOST);
  if (!(await isTaken(host, port))) {
    if (!isRunning) return ok('its port is free');
    return fault(`the server has no metrics on port ${port}`, 'restart it, so that it takes up METRICS_PORT');
  }
  const found = await createVisit(toUrl(host, port))('/metrics').catch(() => undefined);
  if (isRunning && found?.status === 200) return ok('the server answers with them');
  return fault(`another program listens on METRICS_PORT ${port}`, 'set another METRICS_PORT, or end the program');
}

/** A server on all addresses is reached on this machine. */
function toReachable(host: string): string {
  return { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
}

function toUrl(host: string, port: number): URL {
  return new URL(`http://${host.includes(':') ? `[${host}]` : host}:${port}`);
}

/** Whether a program accepts connections. */
function isTaken(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (taken: boolean): void => {
      socket.destroy();
      resolve(taken);
    };
    socket.setTimeout(5000, () => end(false));
    socket.on('connect', () => end(true)).on('error', () => end(false));
  });
}
