import { randomUUID } from 'node:crypto';
import { IncomingMessage } from 'node:http';
import type { ServerResponse } from 'node:http';
import { BlockList, Socket, isIP, isIPv4 } from 'node:net';
import type { Duplex } from 'node:stream';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import type { Endpoint } from '#contract/endpoint.ts';
import { createEvent } from '../events.ts';
import { ownAgent, redactKeys } from '../log.ts';
import type { Logger } from '../log.ts';
import { Problem } from '../problem.ts';
import type { HeaderFields } from '../problem.ts';
import { List } from '../settings.ts';
import type { SharedSettings } from '../settings.ts';
import type { LocalBucket, RateLimitResult } from '../token-bucket.ts';
import { readTrace } from '../trace.ts';
import type { Trace } from '../trace.ts';

const Origins = List.refine(
  (origins) =>
    origins.every((origin) => origin === '*' || (!origin.includes('*') && URL.parse(origin)?.origin === origin)),
  'must be *, or origins such as https://www.example.com, separated by commas',
);

/** Parses IP addresses and networks such as 10.0.0.0/8; undefined if one is invalid. */
export function toBlockList(networks: readonly string[]): BlockList | undefined {
  const list = new BlockList();
  for (const network of networks) {
    const [, address = '', prefix] = /^([^/]+)(?:\/(\d+))?$/.exec(network) ?? [];
    const version = isIP(address);
    const most = version === 6 ? 128 : 32;
    const bits = Number(prefix ?? most);
    if (version === 0 || bits > most) return undefined;
    list.addSubnet(address, bits, version === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** Checks whether networks include an address. */
export const includesAddress = (list: BlockList, address: string): boolean =>
  list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Throws 403 unless one of the networks of a key includes the client, if it has any. */
export function assertNetwork(networks: readonly string[], { client }: RequestContext, name = 'API key'): void {
  if (networks.length === 0 || includesAddress(toBlockList(networks)!, client.address)) return;
  throw new Problem('forbidden', `This ${name} may not be used from ${client.address}`);
}

const Networks = List.transform((networks, context) => {
  const trusted = toBlockList(networks);
  if (trusted) return trusted;
  context.addIssue('must be IP addresses and networks such as 10.0.0.0/8, separated by commas');
  return z.NEVER;
});

/** The settings of origins and proxies. */
export const RequestSettings = z.object({
  CORS_ORIGINS: Origins.default([]).describe(
    'Origins whose pages may use endpoints that need a key, separated by commas. Every origin may use the other endpoints; `npm run dev` limits them to this machine and these origins, too.',
  ),
  ALLOW_LOCAL_ORIGINS: z
    .stringbool('must be true or false')
    .default(false)
    .describe('Allows origins on any port of localhost, too.'),
  TRUSTED_PROXIES: Networks.default(() => new BlockList()).describe(
    'IP addresses and networks of proxies whose `X-Forwarded-For` is trusted, separated by commas.',
  ),
});
export type RequestSettings = z.infer<typeof RequestSettings>;

/** Lists the origins whose pages may use API keys. Earlier versions used `*` in CORS_ORIGINS; it has no effect. */
export const keyedOrigins = (listed: readonly string[], publicUrl: string | undefined): string[] =>
  [...listed, ...(publicUrl === undefined ? [] : [new URL(publicUrl).origin])].filter((origin) => origin !== '*');

/** The context of a request, shared by the fast path, h3 and upgrades. */
export interface RequestContext {
  readonly request: IncomingMessage;
  /** The path and query; {@link unreadable} without a valid target. */
  readonly target: string;
  readonly id: string;
  /**
   * Rate limits count by `key`: the address, or the /64 network of an IPv6 address, which belongs to one customer; behind
   * a NAT64 translator, the IPv4 address.
   */
  readonly client: { readonly address: string; readonly key: string };
  readonly trace: Trace | undefined;
  /** By performance.now(). */
  readonly startedAt: number;
  /** The path template of the endpoint, once found. */
  route: string | undefined;
  /** The headers of the rate limits, for uncached responses only: a cached response reaches other clients. */
  readonly limits: HeaderFields[];
  /** The tool that an agent called, for the log. */
  tool?: string | undefined;
  clientLimit: RateLimitResult | undefined;
  /** The server-side error, for the log. */
  failure: unknown;
}

interface AnsweredRequest {
  /** The path template of the endpoint. */
  readonly route: string | undefined;
  /** As sent; may be any text. */
  readonly method: string | undefined;
  readonly status: number;
  /** Time to the end of the response; undefined for a stream. */
  readonly ms?: number;
}

/** Publishes each answered request, and each request that Node.js refuses. */
export const answeredRequests = createEvent<AnsweredRequest>('request-answered');

interface RequestsOptions {
  readonly trustedProxies: BlockList;
  /** Called once, for the first untrusted socket that sends X-Forwarded-For. */
  readonly onUntrusted?: (address: string) => void;
  /** The origins that may use keyed endpoints, and all others if `isPrivate`; `allowLocal` adds every port of loopback. */
  readonly cors?: { readonly origins: readonly string[]; readonly allowLocal: boolean; readonly isPrivate: boolean };
  /** Accepts the Host of a request; default: any Host. */
  readonly isOwnHost?: ((request: IncomingMessage) => boolean) | undefined;
  readonly limits: Readonly<Record<'client' | 'content', LocalBucket>>;
  /** The access log; unused for requests without a response. */
  readonly log?: Logger;
}

/**
 * Returns a function that accepts an IP address, localhost, HOST or the host of PUBLIC_URL. It stops DNS rebinding: a
 * page of an attacker whose name resolves to this machine would have the same origin.
 */
export function createHostCheck({ HOST, PUBLIC_URL }: Pick<SharedSettings, 'HOST' | 'PUBLIC_URL'>) {
  const names = ['localhost', HOST.toLowerCase(), PUBLIC_URL && new URL(PUBLIC_URL).hostname];
  return ({ headers: { host } }: IncomingMessage): boolean => {
    const name = URL.parse(`http://${host}`)?.hostname ?? '';
    return host === undefined || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 || names.includes(name);
  };
}

/** The steps shared by the fast path, h3 and upgrades. */
export type Requests = ReturnType<typeof createRequests>;

/** Stores the context on its request; a WeakMap costs more garbage collection than the request itself. */
const contextKey = Symbol('context');
type Begun = IncomingMessage & { [contextKey]?: RequestContext };

/** Creates {@link Requests}. */
export function createRequests(options: RequestsOptions) {
  const { trustedProxies, onUntrusted, limits, log, isOwnHost = () => true } = options;
  const { cors = { origins: [], allowLocal: false, isPrivate: false } } = options;
  const findAddress = createFindAddress(trustedProxies, onUntrusted);
  const corsOf = createCors(cors);

  const logRequest = (context: RequestContext, { writableFinished, statusCode }: ServerResponse): void => {
    const { id, client, trace, request, target, route, failure } = context;
    const { method, headers } = request;
    const status = writableFinished ? statusCode : 499;
    const ms = performance.now() - context.startedAt;
    if (answeredRequests.hasSubscribers) answeredRequests.publish({ route, method, status, ms });
    const level = headers['user-agent'] === ownAgent ? 'debug' : 'info';
    if (!log || (failure === undefined && !log.isLevelEnabled(level))) return;
    const line = {
      id,
      trace_id: trace?.id,
      ip: client.address,
      method,
      url: toLogged(target),
      tool: context.tool,
      status,
      ms: Math.round(ms * 100) / 100,
      agent: headers['user-agent']?.slice(0, maxText),
    };
    if (failure === undefined) log[level](line, 'request');
    else log.error({ ...line, err: failure }, 'request failed');
  };
  return {
    /** Creates the context of a request, once; logs the request at the end of its response. */
    begin(request: Begun, response?: ServerResponse): RequestContext {
      const begun = request[contextKey];
      if (begun) return begun;
      const { headers } = request;
      const id = headers['x-request-id'];
      const address = findAddress(request);
      const context: RequestContext = (request[contextKey] = {
        request,
        target: isOwnHost(request) ? readTarget(request) : unreadable,
        id: typeof id === 'string' && /^[A-Za-z0-9._-]{8,64}$/.test(id) ? id : randomUUID(),
        client: { address, key: isIPv4(address) ? address : toKey(address) },
        trace: headers.traceparent === undefined ? undefined : readTrace(headers),
        startedAt: performance.now(),
        route: undefined,
        limits: [],
        clientLimit: undefined,
        failure: undefined,
      });
      response?.on('close', () => logRequest(context, response));
      return context;
    },
    /** The headers of every response: request id, nosniff and CORS. */
    headersOf({ id, request }: RequestContext, isKeyed: boolean): HeaderFields {
      const { origin } = request.headers;
      return { 'X-Request-Id': id, 'X-Content-Type-Options': 'nosniff', ...corsOf(origin, isKeyed) };
    },
    /** Throws 421 if the Host does not belong to this service. */
    assertOwnHost({ request }: RequestContext): void {
      if (!isOwnHost(request)) throw new Problem('misdirected_request');
    },
    /** Consumes a token of the client, once for each request. */
    consume(context: RequestContext, isContent: boolean): RateLimitResult {
      return (context.clientLimit ??= limits[isContent ? 'content' : 'client'].consume(context.client.key));
    },
  };
}

/** Creates the context of a request without a body, on behalf of the client of another one and counted with it. */
export function nest(outer: RequestContext, method: string, target: string): RequestContext {
  const { host, authorization, 'idempotency-key': idempotencyKey } = outer.request.headers;
  const request = new IncomingMessage(new Socket());
  Object.assign(request, { method, url: target, httpVersion: '1.1', complete: true });
  request.headers = { host, authorization, 'idempotency-key': idempotencyKey };
  // The end of the body.
  request.push(null);
  return { ...outer, request, target, route: undefined, limits: [], failure: undefined };
}

/** Adds the headers of a rate limit to the context; throws 429 if the limit is exceeded. */
export function assertAllowed(context: RequestContext, { allowed, headers, retryAfter }: RateLimitResult): void {
  context.limits.push(headers);
  if (!allowed) throw new Problem('rate_limited', undefined, { headers: { 'Retry-After': String(retryAfter) } });
}

/**
 * Returns a function that finds the client address of a request. Behind trusted proxies, the client is the right-most
 * untrusted address of X-Forwarded-For: addresses left of it can be forged.
 */
function createFindAddress(trustedProxies: BlockList, onUntrusted?: (address: string) => void) {
  let isReported = false;
  const isTrusted = (address: string) => includesAddress(trustedProxies, address);
  return ({ headers, socket: { remoteAddress = '' } }: IncomingMessage): string => {
    const forwardedFor = headers['x-forwarded-for'];
    const isDirect = forwardedFor === undefined && headers.forwarded === undefined;
    if (isDirect && isIPv4(remoteAddress)) return remoteAddress;
    let address = normalizeAddress(remoteAddress) ?? '0.0.0.0';
    if (isDirect) return address;
    if (!isTrusted(address)) {
      // A closed socket has no address.
      if (!isReported && remoteAddress !== '') {
        isReported = true;
        onUntrusted?.(address);
      }
      return address;
    }
    const hops = String(forwardedFor ?? '').split(',');
    for (const hop of hops.toReversed()) {
      const next = normalizeAddress(hop.trim());
      if (next === undefined) break;
      address = next;
      if (!isTrusted(next)) break;
    }
    return address;
  };
}

/** Removes brackets, port and zone of an address; IPv4-mapped IPv6 becomes IPv4. */
function normalizeAddress(text: string): string | undefined {
  const bare = text
    .replace(/^\[([^\]]+)\](?::\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1')
    .replace(/%.*$/, '');
  if (isIP(bare) !== 6) return isIP(bare) ? bare : undefined;
  const address = ipaddr.process(bare);
  return address.kind() === 'ipv4' ? address.toString() : bare;
}

const nat64 = ipaddr.parseCIDR('64:ff9b::/96');

function toKey(text: string): string {
  const address = ipaddr.IPv6.parse(text);
  if (address.match(nat64)) {
    const inner = new ipaddr.IPv4(address.toByteArray().slice(12));
    // A client must not share the limit of this machine.
    if (inner.range() !== 'loopback') return inner.toString();
  }
  const network = address.parts.slice(0, 4);
  return `${network.map((part) => part.toString(16)).join(':')}::/64`;
}

const exposed =
  'Accept-Ranges, Action-Outcome, Content-Location, Content-Range, ETag, Idempotent-Replayed, Idempotent-Request-Id, ' +
  'RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Domain-Unicode, X-Request-Id';
const local = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/** Returns a function from an Origin to CORS headers. */
function createCors({ origins, allowLocal, isPrivate }: NonNullable<RequestsOptions['cors']>) {
  const forAnyone = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': exposed };
  const varies = { Vary: 'Origin' };
  const listed = new Set(origins);
  return (origin: string | undefined, isKeyed: boolean): HeaderFields => {
    if (!isKeyed && !isPrivate) return forAnyone;
    if (origin === undefined || !(listed.has(origin) || (allowLocal && local.test(origin)))) return varies;
    return { ...forAnyone, 'Access-Control-Allow-Origin': origin, ...varies };
  };
}

const keyedHeaders =
  'Accept, Authorization, Baggage, Content-Type, Idempotency-Key, If-None-Match, If-Range, Range, Sentry-Trace, ' +
  'Traceparent, Tracestate, X-Request-Id';

/**
 * The headers that answer a CORS preflight; undefined for other requests. Endpoints without a key allow any header:
 * monitoring scripts add their own to each request of a page.
 */
export function preflightHeaders({ method, headers }: IncomingMessage, methods: string, isKeyed: boolean) {
  const { origin, 'access-control-request-method': requested } = headers;
  if (method !== 'OPTIONS' || origin === undefined || requested === undefined) return undefined;
  const allowed = (isKeyed ? undefined : headers['access-control-request-headers']) ?? keyedHeaders;
  const named = { 'Access-Control-Allow-Methods': methods, 'Access-Control-Allow-Headers': allowed };
  return { ...named, 'Access-Control-Max-Age': '86400' };
}

const lingerLimits = { bytes: 1_048_576, ms: 5000 };

/**
 * Closes a connection after the written response, and drops the bytes that still arrive, within limits: if the system
 * closes a connection with unread bytes, it resets the connection, and the client loses the response.
 */
export function linger(socket: Duplex): void {
  let left = lingerLimits.bytes;
  let end: NodeJS.Timeout | undefined;
  // Without the HTTP parser.
  socket.removeAllListeners('data');
  socket.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.destroy();
  });
  socket.once('close', () => clearTimeout(end));
  socket.end(() => {
    if (socket.destroyed || socket.readableEnded) {
      socket.destroy();
      return;
    }
    socket.once('end', () => socket.destroy());
    end = setTimeout(() => socket.destroy(), lingerLimits.ms);
  });
  socket.resume();
}

/** The maximum length of a client's text in a log line. */
const maxText = 256;

/** Logs the query of these paths only: others may hold a wanted domain, or a misplaced key or token. */
const logsQuery = /^\/v1\/(?:blog|kb|info|plans)(?:\/[a-z]+)?\?/;

/** Converts a target for the log. */
export const toLogged = (target: string): string =>
  redactKeys(logsQuery.test(target) ? target : target.split('?', 1)[0]!).slice(0, maxText);

/** The target of a request that must reach no route. */
export const unreadable = '*';

/**
 * Reads the path and query of a request (RFC 9112 3.2). Escapes the percent signs of an invalid percent-encoding, to
 * match no route. {@link unreadable} unless the target is a path or an http URL, and HTTP/1.1 has a Host.
 */
function readTarget({ url: target = '', headers, httpVersion }: IncomingMessage): string {
  if (headers.host === undefined && httpVersion === '1.1') return unreadable;
  if (target.startsWith('/') && !target.includes('%')) return target;
  const [, path, query = ''] = /^(?:https?:\/\/[^/?#]*|(?=\/))\/?([^?]*)(.*)$/i.exec(target) ?? [];
  if (path === undefined) return unreadable;
  try {
    decodeURI(path);
    return `/${path}${query}`;
  } catch {
    return `/${path.replaceAll('%', '%25')}${query}`;
  }
}

/**
 * Reads `{path*}`, or a `{name}` with a form, from a target, decoded once. Generated clients send slashes as %2F; h3 keeps
 * some escapes in a parameter but decodes others, which would then be decoded twice.
 */
export function readRest(target: string, { path, segment }: Pick<Endpoint, 'path' | 'segment'>): string | undefined {
  if (!segment && !path.endsWith('*}')) return undefined;
  const at = path.split('/').findIndex((part) => part.startsWith('{'));
  const parts = new URL(target, 'http://localhost').pathname.split('/').slice(at);
  return decodeURIComponent(segment ? parts[0]! : parts.join('/'));
}
