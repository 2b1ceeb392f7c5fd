import { request as requestHttp } from 'node:http';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { WebSocket } from 'ws';
import { fault, ok } from './run.ts';
import type { DoctorResult } from './run.ts';

/** Sends one request and reads the answer; throws if there is none. */
export type Visit = ReturnType<typeof createVisit>;

/** An answer as it was on the wire. */
export type Seen = Awaited<ReturnType<typeof readAnswer>>;

type VisitOptions = Pick<RequestOptions, 'method' | 'headers' | 'family'> & { readonly body?: string };

/** For all visits of a check: longer than the service takes; a proxy in between has given up, or sends byte after byte. */
const timeoutMs = 30_000;
/** The checks use up a small limit of the client: then they go on as it grows again. */
const maxWaitSeconds = 30;
const maxBytes = 64 * 1024 * 1024;
/** 13 MB of gzip may be 13 GB of text. */
const maxOutputLength = 16 * 1024 * 1024;

/**
 * Creates the client of a check, whose visits may take 30 s together. It follows no redirect, decodes nothing, and
 * keeps repeated headers apart, since what proxies do to these is what the checks look for.
 */
export function createVisit(base: URL, lookup?: LookupFunction, rejectUnauthorized = true) {
  const request = base.protocol === 'https:' ? requestHttps : requestHttp;
  let deadline = performance.now() + timeoutMs;
  const send = (target: string, { body, ...given }: VisitOptions) =>
    new Promise<Seen>((resolve, reject) => {
      const options = { ...given, path: pathOf(base, target), agent: false, lookup, rejectUnauthorized };
      const sent = request(base, options, (response) => void readAnswer(response).then(resolve, reject));
      const giveUp = (): void => {
        reject(new Error(`no whole answer within ${timeoutMs / 1000} s`));
        sent.destroy();
      };
      const timer = setTimeout(giveUp, deadline - performance.now());
      sent.on('error', reject).on('close', () => clearTimeout(timer));
      sent.end(body);
    });
  return async (target: string, options: VisitOptions = {}): Promise<Seen> => {
    const seen = await send(target, options);
    const wait = Number(seen.header('retry-after'));
    if (seen.status !== 429 || !(wait <= maxWaitSeconds)) return seen;
    await sleep(wait * 1000);
    deadline += wait * 1000;
    return send(target, options);
  };
}

/** The path of a target below a base, which may have a path of its own. */
const pathOf = (base: URL, target: string): string => base.pathname.replace(/\/$/, '') + target;

async function readAnswer(response: IncomingMessage) {
  const { statusCode: status = 0, headersDistinct } = response;
  const socket = response.socket as Partial<TLSSocket>;
  /** The version of TLS, and the end of the certificate; undefined without TLS. */
  const tls = socket.getPeerCertificate && {
    protocol: socket.getProtocol!() ?? 'TLS',
    end: Date.parse(socket.getPeerCertificate().valid_to),
  };
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) throw new Error('the answer is larger than 64 MiB');
    chunks.push(chunk);
  }
  /** The body as it was sent, perhaps compressed. */
  const bytes = Buffer.concat(chunks);
  /** The values of a header, one for each time that it was sent. */
  const all = (name: string): string[] => headersDistinct[name] ?? [];
  /** The values of a header, joined by commas; empty if it is missing. */
  const header = (name: string): string => all(name).join(', ');
  const text = decode(bytes, header('content-encoding')).toString();
  /** The body as JSON; undefined if it is not JSON. */
  const json = parseJson(text);
  /** The fields of a JSON object; none if the body is something else. */
  const fields: Readonly<Record<string, unknown>> = { ...(json as object | undefined) };
  return { status, tls, all, header, bytes, text, json, fields };
}

function decode(bytes: Buffer, encoding: string): Buffer {
  try {
    if (encoding === 'gzip') return gunzipSync(bytes, { maxOutputLength });
    if (encoding === 'br') return brotliDecompressSync(bytes, { maxOutputLength });
  } catch (error) {
    if (codeOf(error) === 'ERR_BUFFER_TOO_LARGE')
      throw new Error('the answer has more than 16 MiB when decompressed', { cause: error });
    // The check of encodings reports it.
  }
  return bytes;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * How far the clock of a service is ahead of this one, in milliseconds; NaN if it does not say. Its certificate is not looked
 * at, which a wrong clock makes invalid; no credential is sent.
 */
export async function askTime(base: URL, target: string, lookup?: LookupFunction): Promise<number> {
  return await readSkew(createVisit(base, lookup, false), target).catch(() => Number.NaN);
}

/** How far the clock of a service is ahead of this one, in milliseconds; NaN if it sends no Date. */
export async function readSkew(visit: Visit, target: string): Promise<number> {
  const asked = Date.now();
  const { header } = await visit(target);
  return Date.parse(header('date')) - (asked + Date.now()) / 2;
}

/** A Date header has whole seconds, and may come from a cache. */
export const maxSkewMs = 30_000;

/** What to do about a clock that is wrong. */
export const setClock = 'set the clock by NTP (timedatectl set-ntp true), and see that it starts with the machine';

/** The outcome for a clock that is ahead of this one by some time. */
export function judgeSkew(whose: string, skewMs: number, maximumMs: number): DoctorResult {
  if (Math.abs(skewMs) <= maximumMs) return ok(`agrees with ${whose} within ${Math.ceil(maximumMs / 1000)} s`);
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  return fault(`${whose} is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} this machine`, setClock);
}

/** The outcome for the certificate of an answer, which may end soon. */
export function judgeCertificate({ tls }: Seen): DoctorResult {
  if (!tls) return ok('it answers');
  const days = Math.floor((tls.end - Date.now()) / 86_400_000);
  // Certificates that renew themselves are renewed 30 days before their end.
  if (days >= 14) return ok(`${tls.protocol}, valid for ${days} days`);
  return fault(`the certificate ends in ${days} days`, 'renew it, and see why it was not renewed by itself');
}

/** The outcome for a websocket that gets a token, and must answer with an event. */
export async function judgeStream(address: URL, token: string, event: string, means: string): Promise<DoctorResult> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = new WebSocket(address, { handshakeTimeout: 10_000 });
  const timer = setTimeout(() => resolve('does not answer within 15 s'), 15_000);
  socket.on('unexpected-response', (_request, { statusCode }) => resolve(`is answered ${statusCode}`));
  socket.on('error', (error) => resolve(`fails: ${codeOf(error)}`));
  socket.on('close', (code) => resolve(`is closed with ${code}`));
  socket.on('open', () => socket.send(JSON.stringify({ event: 'auth', args: [token] })));
  socket.on('message', (data: Buffer) => {
    const message = parseJson(data.toString()) as { event?: unknown } | undefined;
    resolve(message ? `answers ${String(message.event)}` : 'answers something else than JSON');
  });
  const seen = await promise;
  clearTimeout(timer);
  socket.terminate();
  if (seen === `answers ${event}`) return ok(means);
  const advice =
    'pass on the websocket handshake (nginx: proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; ' +
    'proxy_set_header Connection "upgrade"), and let streams be silent for a minute (proxy_read_timeout 90s)';
  return fault(`the websocket ${seen}`, advice);
}

/** Describes a failed request by its code, since messages of Node.js repeat the address. */
export function codeOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}

/** Whether a certificate is refused for its dates, which the clock of this machine decides. */
export const isDateError = (code: string): boolean => /CERT_(?:HAS_EXPIRED|NOT_YET_VALID)/.test(code);

/** Whether a request failed since clients refuse the certificate. */
export const isCertificateError = (code: string): boolean => /CERT|SELF_SIGNED|VERIFY|ALTNAME/.test(code);
