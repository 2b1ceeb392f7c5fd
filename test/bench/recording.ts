import { once } from 'node:events';
import { globSync, statSync } from 'node:fs';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { publicFolder } from './checkouts.ts';
import type { Recorded, Recording, Refusal } from './peers/answers.ts';

/** A request that is sent to all servers, and the status of its response. */
export interface Case {
  readonly name: string;
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
  /** Its recorded response. */
  readonly recorded: Recorded;
}

/** Headers that every server writes itself. */
const own = /^(?:date|connection|keep-alive)$/i;

/** Sends one request and records the response. */
export async function record(
  port: number,
  target: string,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
): Promise<Recorded> {
  const sent = request({ port, host: '127.0.0.1', path: target, headers, method }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const { rawHeaders } = response;
  const pairs = rawHeaders.flatMap((name, index): [string, string][] =>
    index % 2 === 0 && !own.test(name) ? [[name, rawHeaders[index + 1]!]] : [],
  );
  return { status: response.statusCode!, headers: pairs, body: (await buffer(response)).toString('base64') };
}

/** A header of a response; it must have it. */
export function headerOf({ headers }: Recorded, name: string): string {
  return headers.find(([other]) => other.toLowerCase() === name)![1];
}

/** The target of an article of about 10 kB in a release. Throws if the knowledge base has no article. */
export function findTarget(dist: string): string {
  const folder = join(publicFolder(join(dist, 'current')), 'v1/kb/article');
  const distance = (file: string): number => Math.abs(statSync(join(folder, file)).size - 10_000);
  const [nearest] = globSync('*/*.json', { cwd: folder }).toSorted((a, b) => distance(a) - distance(b));
  if (nearest === undefined) throw new Error('the corpus has no article of the knowledge base');
  return `/v1/kb/article?path=/knowledgebase/${nearest.slice(0, -'.json'.length)}`;
}

const limitedTarget = '/v1/kb/list';
const absent = '/v1/kb/article?path=/knowledgebase/nowhere/nothing';

/**
 * Records one response of our server for each case, so that peers send the same bytes. A second server allows one
 * request a day; its response to the next request is the recorded 429.
 */
export async function recordAnswers(
  port: number,
  limitedPort: number,
  dist: string,
): Promise<{ recording: Recording; cases: Case[] }> {
  const target = findTarget(dist);
  const refusal = async (at: number, method: string, refused: string): Promise<Refusal> => ({
    method,
    target: refused,
    recorded: await record(at, refused, {}, method),
  });
  const identity = await record(port, target);
  const etag = headerOf(identity, 'etag');
  const gzipOnly = { 'Accept-Encoding': 'gzip' };
  await record(limitedPort, limitedTarget);
  const recording = {
    target,
    identity,
    gzip: await record(port, target, gzipOnly),
    unchanged: await record(port, target, { 'If-None-Match': etag }),
    missing: await record(port, absent),
    info: await record(port, '/v1/info'),
    refusals: await Promise.all([
      refusal(port, 'DELETE', '/v1/plans'),
      refusal(limitedPort, 'GET', limitedTarget),
      refusal(port, 'GET', '/v1/hosting/game/logs/demo/latest'),
    ]),
  };
  const toCase = (name: string, status: number, recorded: Recorded, changes: Partial<Case> = {}): Case => ({
    name,
    method: 'GET',
    target,
    headers: {},
    status,
    recorded,
    ...changes,
  });
  const cases = [
    toCase('gzip', 200, recording.gzip, { headers: gzipOnly }),
    toCase('304', 304, recording.unchanged, { headers: { 'If-None-Match': etag } }),
    toCase('404', 404, recording.missing, { target: absent }),
    ...recording.refusals.map(({ method, target: refused, recorded }, index) => {
      const status = [405, 429, 401][index]!;
      return toCase(String(status), status, recorded, { method, target: refused });
    }),
    toCase('/v1/info', 200, recording.info, { target: '/v1/info' }),
  ];
  return { recording, cases };
}
