import { request as requestHttp } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { Seen, Visit } from './types.ts';

/** Longer than any answer of the service takes; then a proxy in between has given up or holds the request. */
const timeoutMs = 30_000;
/** The checks use up a small limit of the client: then they go on as it grows again. */
const maxWaitSeconds = 30;
const maxBytes = 64 * 1024 * 1024;

/**
 * Creates the client of the checks. It is a plain one: it follows no redirect, decodes nothing, and keeps repeated headers
 * apart, since what proxies do to these is what the checks look for.
 */
export function createVisit(base: URL, lookup?: LookupFunction): Visit {
  const request = base.protocol === 'https:' ? requestHttps : requestHttp;
  const send: Visit = (target, { method = 'GET', headers = {}, body, family } = {}) =>
    new Promise((resolve, reject) => {
      const url = new URL(base);
      const options = { method, headers, agent: false, family, lookup, path: pathOf(base, target) } as const;
      const sent = request(url, options, (response) => {
        readBody(response).then((bytes) => resolve(toSeen(response, bytes)), reject);
      });
      sent.setTimeout(timeoutMs, () => sent.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
      sent.on('error', reject);
      sent.end(body);
    });
  return async (target, options) => {
    const seen = await send(target, options);
    const wait = Number(seen.header('retry-after'));
    if (seen.status !== 429 || !(wait <= maxWaitSeconds)) return seen;
    await sleep(wait * 1000);
    return send(target, options);
  };
}

/** The path of a target below a base, which may have a path of its own. */
export function pathOf(base: URL, target: string): string {
  return `${base.pathname.replace(/\/$/, '')}${target}`;
}

async function readBody(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) throw new Error('the answer is larger than 64 MiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function toSeen({ statusCode = 0, rawHeaders }: IncomingMessage, bytes: Buffer): Seen {
  const all = (name: string): string[] =>
    rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]!.toLowerCase() === name.toLowerCase());
  const header = (name: string): string => all(name).join(', ');
  const text = (): string => decode(bytes, header('content-encoding')).toString();
  const json = (): unknown => {
    try {
      return JSON.parse(text());
    } catch {
      return undefined;
    }
  };
  return { status: statusCode, all, header, bytes, text, json };
}

function decode(bytes: Buffer, encoding: string): Buffer {
  try {
    if (encoding === 'gzip') return gunzipSync(bytes);
    if (encoding === 'br') return brotliDecompressSync(bytes);
  } catch {
    // The check of encodings reports it.
  }
  return bytes;
}
