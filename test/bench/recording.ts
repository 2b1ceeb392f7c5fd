import { once } from 'node:events';
import { globSync, statSync } from 'node:fs';
import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Recorded, Recording } from './peers/answers.ts';

/** A request that all servers are asked, and the status of its answer. */
export interface Case {
  readonly name: string;
  /** The request, to the last byte. */
  readonly request: string;
  readonly status: number;
}

/** What every server writes itself. */
const own = /^(?:date|connection|keep-alive)$/i;

async function record(port: number, path: string, headers: Readonly<Record<string, string>>): Promise<Recorded> {
  const [response] = (await once(get({ port, host: '127.0.0.1', path, headers }), 'response')) as [IncomingMessage];
  const { rawHeaders } = response;
  const pairs = rawHeaders.flatMap((name, index): [string, string][] =>
    index % 2 === 0 && !own.test(name) ? [[name, rawHeaders[index + 1]!]] : [],
  );
  return { status: response.statusCode!, headers: pairs, body: (await buffer(response)).toString('base64') };
}

/** Asks our server once for everything, so that its peers answer with the same bytes: an article of about 10 kB. */
export async function recordAnswers(port: number, dist: string): Promise<{ recording: Recording; cases: Case[] }> {
  const folder = join(dist, 'current/v1/kb/article');
  const distance = (file: string): number => Math.abs(statSync(join(folder, file)).size - 10_000);
  const [nearest] = globSync('*/*.json', { cwd: folder }).toSorted((a, b) => distance(a) - distance(b));
  if (nearest === undefined) throw new Error('the corpus has no article of the knowledge base');
  const path = `/v1/kb/article?path=/knowledgebase/${nearest.slice(0, -'.json'.length)}`;
  const absent = '/v1/kb/article?path=/knowledgebase/nowhere/nothing';

  const identity = await record(port, path, {});
  const [, etag] = identity.headers.find(([name]) => name.toLowerCase() === 'etag')!;
  const recording = {
    path,
    identity,
    gzip: await record(port, path, { 'Accept-Encoding': 'gzip' }),
    unchanged: await record(port, path, { 'If-None-Match': etag }),
    missing: await record(port, absent, {}),
    info: await record(port, '/v1/info', {}),
  };
  const toCase = (name: string, role: Exclude<keyof Recording, 'path'>, target: string, header = ''): Case => ({
    name,
    request: `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${header}\r\n`,
    status: recording[role].status,
  });
  const kilobytes = (role: 'identity' | 'gzip'): string =>
    `${(Buffer.from(recording[role].body, 'base64').length / 1000).toFixed(1)} kB`;
  const cases = [
    toCase(`article, ${kilobytes('identity')}`, 'identity', path),
    toCase(`gzip, ${kilobytes('gzip')}`, 'gzip', path, 'Accept-Encoding: gzip\r\n'),
    toCase('304', 'unchanged', path, `If-None-Match: ${etag}\r\n`),
    toCase('404', 'missing', absent),
    toCase('/v1/info', 'info', '/v1/info'),
  ];
  return { recording, cases };
}
