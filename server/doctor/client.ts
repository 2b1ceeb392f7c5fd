import type { IncomingMessage, RequestOptions } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { collect } from '#common/streams.ts';
import { isLoopback } from '../upstream/address.ts';
import { parseJson } from '../upstream/client.ts';
import { exchange } from '../upstream/exchange.ts';
import { fault, ok } from './run.ts';
import type { DoctorResult } from './run.ts';

/** Sends a request and reads the response; throws if the service does not respond. */
export type Visit = ReturnType<typeof createVisit>;

/** The raw response. */
export type Seen = Awaited<ReturnType<typeof readAnswer>>;

type VisitOptions = Pick<RequestOptions, 'method' | 'headers' | 'family'> & { readonly body?: string };

/** The time limit of a check. A service that takes longer hangs, or trickles bytes. */
const timeoutMs = 30_000;
/** Wait for the rate limit to refill instead of failing. */
const maxWaitSeconds = 30;
const maxBytes = 64 * 1024 * 1024;
/** 13 MB of gzip can decompress to 13 GB. */
const maxOutputLength = 16 * 1024 * 1024;

/**
 * Creates the client of a check, whose visits share a time limit of 30 s. It follows no redirects and keeps repeated
 * headers apart: the checks look for changes by proxies.
 */
export function createVisit(base: URL, rejectUnauthorized = true) {
  let deadline = performance.now() + timeoutMs;
  const send = async (target: string, options: VisitOptions): Promise<Seen> => {
    const signal = AbortSignal.timeout(Math.max(0, Math.ceil(deadline - performance.now())));
    try {
      const path = base.pathname.replace(/\/$/, '') + target;
      return await readAnswer(await exchange(base, { ...options, path, rejectUnauthorized, signal }));
    } catch (error) {
      if (signal.aborted) throw new Error(`no complete response within ${timeoutMs / 1000} s`, { cause: error });
      throw error;
    }
  };
  return async (target: string, options: VisitOptions = {}): Promise<Seen> => {
    const seen = await send(target, options);
    const wait = Number(seen.header('retry-after'));
    if (seen.status !== 429 || !(wait <= maxWaitSeconds)) return seen;
    await sleep(wait * 1000);
    deadline += wait * 1000;
    return send(target, options);
  };
}

async function readAnswer(response: IncomingMessage) {
  const { statusCode: status = 0, headersDistinct } = response;
  const socket = response.socket as Partial<TLSSocket>;
  const isLocal = isLoopback(socket.remoteAddress ?? '');
  /** The version of TLS and the expiry of the certificate; undefined without TLS. */
  const tls = socket.getPeerCertificate && {
    protocol: socket.getProtocol!() ?? 'TLS',
    end: Date.parse(socket.getPeerCertificate().valid_to),
  };
  /** The body as sent, perhaps compressed. */
  const bytes = await collect(response, maxBytes).catch((cause: unknown) => {
    throw new Error('the connection ends before the response does', { cause });
  });
  if (!bytes) throw new Error('the response is larger than 64 MiB');
  /** Returns the values of a repeated header. */
  const all = (name: string): string[] => headersDistinct[name] ?? [];
  /** Returns the values of a header, joined by commas; empty if missing. */
  const header = (name: string): string => all(name).join(', ');
  const text = decode(bytes, header('content-encoding')).toString();
  /** The parsed body; undefined if the body is no JSON. */
  const json = parseJson(text, z.unknown());
  /** The fields of a JSON object; empty for other bodies. */
  const fields: Readonly<Record<string, unknown>> = { ...(json as object | undefined) };
  return { status, tls, isLocal, all, header, bytes, text, json, fields };
}

function decode(bytes: Buffer, encoding: string): Buffer {
  try {
    if (encoding === 'gzip') return gunzipSync(bytes, { maxOutputLength });
    if (encoding === 'br') return brotliDecompressSync(bytes, { maxOutputLength });
  } catch (error) {
    if (codeOf(error) === 'ERR_BUFFER_TOO_LARGE')
      throw new Error('the response is larger than 16 MiB when decompressed', { cause: error });
    // The check of encodings reports other failures.
  }
  return bytes;
}

/** Generous: a Date header has whole seconds and may come from a cache. */
const maxSkewMs = 30_000;

/** The remedy for a wrong clock. */
export const setClock = 'set the clock by NTP (timedatectl set-ntp true), and start NTP at boot';

/** Judges a clock by how far it is ahead of ours. */
export function judgeSkew(whose: string, skewMs: number, maximumMs = maxSkewMs): DoctorResult {
  if (Math.abs(skewMs) <= maximumMs) return ok(`agrees with ${whose} within ${Math.ceil(maximumMs / 1000)} s`);
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  return fault(`${whose} is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} this machine`, setClock);
}

/** Judges the certificate of a response by its expiry. */
export function judgeCertificate({ tls }: Seen): DoctorResult {
  if (!tls) return ok('responds');
  const days = Math.floor((tls.end - Date.now()) / 86_400_000);
  // ACME clients renew certificates 30 days before they expire.
  if (days >= 14) return ok(`${tls.protocol}, valid for ${days} days`);
  return fault(`the certificate expires in ${days} days`, 'renew it, and find out why the automatic renewal failed');
}

/**
 * Opens a websocket, sends a token and expects an event, and then with `stays` a ping, which the service sends every 30 s:
 * proxies often close silent streams. Waits for the rate limit like {@link createVisit}.
 */
export async function judgeStream(
  address: URL,
  token: string,
  event: string,
  means: string,
  stays = false,
): Promise<DoctorResult> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = new WebSocket(address, { handshakeTimeout: 10_000 });
  const seconds = stays ? 45 : 15;
  const timer = setTimeout(() => resolve(`does not respond within ${seconds} s`), seconds * 1000);
  let wait = Infinity;
  let silence = '';
  socket.on('unexpected-response', (_request, { statusCode, headers }) => {
    if (statusCode === 429) wait = Number(headers['retry-after']);
    resolve(`is refused with ${statusCode}`);
  });
  socket.on('error', (error) => resolve(`fails: ${codeOf(error)}`));
  socket.on('close', (code) => resolve(`is closed with ${code}${silence}`));
  socket.on('open', () => socket.send(JSON.stringify({ event: 'auth', args: [token] })));
  socket.on('message', (data: Buffer) => {
    const message = parseJson(data.toString(), z.unknown()) as { event?: unknown } | undefined;
    if (stays && message?.event === event) silence = ' while it is silent';
    else if (silence === '') resolve(message ? `sends ${String(message.event)}` : 'sends no JSON');
  });
  socket.on('ping', () => silence && resolve(`sends ${event}`));
  const seen = await promise;
  clearTimeout(timer);
  socket.terminate();
  if (seen === `sends ${event}`) return ok(means);
  if (wait <= maxWaitSeconds) {
    await sleep(wait * 1000);
    return await judgeStream(address, token, event, means, stays);
  }
  const advice =
    'forward the websocket handshake (nginx: proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; ' +
    'proxy_set_header Connection "upgrade"), and allow streams to be idle for a minute (proxy_read_timeout 90s)';
  return fault(`the websocket ${seen}`, advice);
}

/** Returns the code of an error: messages of Node.js repeat the address. */
export function codeOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}

/** Tests for a certificate that clients refuse. */
export const isCertificateError = (code: string): boolean => /CERT|SELF_SIGNED|VERIFY|ALTNAME/.test(code);

/** The remedy for a certificate that clients refuse. To a wrong clock, a valid certificate seems expired. */
export const installCertificate =
  'install a certificate for this host name, with its intermediate certificates; if it is valid, check the clock here';
