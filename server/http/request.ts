import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP, isIPv4 } from 'node:net';
import type { BlockList } from 'node:net';
import ipaddr from 'ipaddr.js';
import { createEvent } from '../events.ts';
import type { Logger } from '../log.ts';
import { Problem } from '../problem.ts';
import type { LocalBucket, RateLimitResult } from '../token-bucket.ts';
import { readTrace } from '../trace.ts';
import type { Trace } from '../trace.ts';

/** What is known of a request, whichever way it takes: a file of a release, h3, or a websocket. */
export interface RequestContext {
  readonly request: IncomingMessage;
  readonly id: string;
  /** Rate limits count by `key`: the address, or the /64 network of an IPv6 address, which belongs to one customer. */
  readonly client: { readonly address: string; readonly key: string };
  readonly trace: Trace | undefined;
  /** By performance.now(). */
  readonly startedAt: number;
  /** The path of its endpoint, with the names of parameters, once it is found. */
  route: string | undefined;
  /** The headers of the rate limits. Only responses that no cache keeps have them: others are seen by other clients. */
  limits: readonly string[];
  clientLimit: RateLimitResult | undefined;
  /** An error on our side, for the log. */
  failure: unknown;
}

interface AnsweredRequest {
  /** The path of its endpoint, with the names of parameters. */
  readonly route: string | undefined;
  /** As sent; a client may make it up. */
  readonly method: string | undefined;
  readonly status: number;
  /** Until the end of the response; undefined for a stream, which lasts as long as its client wants. */
  readonly ms?: number;
}

/** The answered requests: all but those that Node.js refuses are begun by {@link createRequests}. */
export const answeredRequests = createEvent<AnsweredRequest>('request-answered');

interface RequestsOptions {
  readonly trustedProxies: BlockList;
  /** Called once, with the address of a socket that is not a trusted proxy but forwards for others. */
  readonly onUntrusted?: (address: string) => void;
  /** The origins that may read, `*` for all; and whether loopback origins may on any port. */
  readonly cors?: { readonly origins: readonly string[]; readonly allowLocal: boolean };
  /** Whether the Host of a request is one of this service; default: any is. */
  readonly isOwnHost?: ((request: IncomingMessage) => boolean) | undefined;
  readonly limit: LocalBucket;
  /** Not needed for requests without a response. */
  readonly log?: Logger;
}

/**
 * Creates the check of the Host on a server that browsers of its machine reach: an IP address, localhost, HOST or that
 * of PUBLIC_URL. An attacker's name may resolve to this machine too, and his page would be of the same origin.
 */
export function createHostCheck({ HOST, PUBLIC_URL }: { HOST: string; PUBLIC_URL?: string | undefined }) {
  const names = ['localhost', HOST.toLowerCase(), PUBLIC_URL && new URL(PUBLIC_URL).hostname];
  return ({ headers: { host } }: IncomingMessage): boolean => {
    const name = URL.parse(`http://${host}`)?.hostname ?? '';
    return host === undefined || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 || names.includes(name);
  };
}

/** What all requests have in common. */
export type Requests = ReturnType<typeof createRequests>;

/** The context of a request is a property of it: a WeakMap would cost the garbage collector more than the request. */
const contextKey = Symbol('context');
type Begun = IncomingMessage & { [contextKey]?: RequestContext };

/** Creates {@link Requests}. */
export function createRequests(options: RequestsOptions) {
  const { trustedProxies, onUntrusted, cors = { origins: [], allowLocal: false }, limit, log } = options;
  const { isOwnHost = () => true } = options;
  const identify = createIdentify(trustedProxies, onUntrusted);
  const corsOf = createCors(cors);

  const logRequest = (context: RequestContext, { writableFinished, statusCode }: ServerResponse): void => {
    const { id, client, trace, request, route, failure } = context;
    const { method, headers } = request;
    const status = writableFinished ? statusCode : 499;
    const ms = performance.now() - context.startedAt;
    if (answeredRequests.hasSubscribers) answeredRequests.publish({ route, method, status, ms });
    if (!log || (failure === undefined && !log.isLevelEnabled('info'))) return;
    const target = request.url!;
    const line = {
      id,
      trace_id: trace?.id,
      ip: client.address,
      method,
      url: (logsQuery.test(target) ? target : target.split('?', 1)[0]!).slice(0, maxText),
      status,
      ms: Math.round(ms * 100) / 100,
      agent: headers['user-agent']?.slice(0, maxText),
    };
    if (failure === undefined) log.info(line, 'request');
    else log.error({ ...line, err: failure }, 'request failed');
  };
  return {
    /** Begins a request, once: reads its target, id, client and trace, and logs it when its response has ended. */
    begin(request: Begun, response?: ServerResponse): RequestContext {
      const begun = request[contextKey];
      if (begun) return begun;
      request.url = isOwnHost(request) ? readTarget(request) : unreadable;
      const context = (request[contextKey] = identify(request));
      response?.on('close', () => logRequest(context, response));
      return context;
    },
    /** The headers of every response, as alternating names and values: the id, and CORS. */
    headersOf({ id, request }: RequestContext, isKeyed: boolean): string[] {
      return ['X-Request-Id', id, 'X-Content-Type-Options', 'nosniff', ...corsOf(request.headers.origin, isKeyed)];
    },
    /** Throws 421 if the Host is not one of this service; such a request has no target. */
    assertOwnHost({ request }: RequestContext): void {
      if (!isOwnHost(request)) throw new Problem('misdirected_request');
    },
    consume(context: RequestContext): RateLimitResult {
      return (context.clientLimit ??= limit.consume(context.client.key));
    },
  };
}

/** Keeps the headers of a rate limit for the response, and throws 429 if the limit is exceeded. */
export function assertAllowed(context: RequestContext, { allowed, headers, retryAfter }: RateLimitResult): void {
  context.limits = [...context.limits, ...headers];
  if (!allowed) throw new Problem('rate_limited', undefined, { headers: { 'Retry-After': String(retryAfter) } });
}

/**
 * Creates the function that identifies a request. Behind trusted proxies, the client is the right-most address of
 * X-Forwarded-For that is none of them: addresses left of it can be forged.
 */
export function createIdentify(trustedProxies: BlockList, onUntrusted?: (address: string) => void) {
  let isReported = false;
  const isTrusted = (address: string) => trustedProxies.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  const findAddress = ({ headers, socket: { remoteAddress = '' } }: IncomingMessage): string => {
    const forwardedFor = headers['x-forwarded-for'];
    const isDirect = forwardedFor === undefined && headers.forwarded === undefined;
    if (isDirect && isIPv4(remoteAddress)) return remoteAddress;
    let address = normalize(remoteAddress) ?? '0.0.0.0';
    if (isDirect) return address;
    if (!isTrusted(address)) {
      // The socket of a client that has left has no address.
      if (!isReported && remoteAddress !== '') {
        isReported = true;
        onUntrusted?.(address);
      }
      return address;
    }
    const hops = String(forwardedFor ?? '').split(',');
    for (const hop of hops.toReversed()) {
      const next = normalize(hop.trim());
      if (next === undefined) break;
      address = next;
      if (!isTrusted(next)) break;
    }
    return address;
  };
  return (request: IncomingMessage): RequestContext => {
    const { headers } = request;
    const id = headers['x-request-id'];
    const address = findAddress(request);
    return {
      request,
      id: typeof id === 'string' && /^[A-Za-z0-9._-]{8,64}$/.test(id) ? id : randomUUID(),
      client: { address, key: isIPv4(address) ? address : toNetwork(address) },
      trace: headers.traceparent === undefined ? undefined : readTrace(headers),
      startedAt: performance.now(),
      route: undefined,
      limits: [],
      clientLimit: undefined,
      failure: undefined,
    };
  };
}

/** An address without brackets, port and zone; IPv4-mapped IPv6 becomes IPv4. */
function normalize(text: string): string | undefined {
  const bare = text
    .replace(/^\[([^\]]+)\](?::\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1')
    .replace(/%.*$/, '');
  if (isIP(bare) !== 6) return isIP(bare) ? bare : undefined;
  const address = ipaddr.process(bare);
  return address.kind() === 'ipv4' ? address.toString() : bare;
}

function toNetwork(address: string): string {
  const network = ipaddr.IPv6.parse(address).parts.slice(0, 4);
  return `${network.map((part) => part.toString(16)).join(':')}::/64`;
}

const exposed =
  'Accept-Ranges, Action-Outcome, Content-Location, Content-Range, ETag, Idempotent-Replayed, Idempotent-Request-Id, ' +
  'RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Domain-Unicode, X-Request-Id';
const local = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/** CORS by the Origin of a request. For endpoints with an API key, `*` does not count. */
function createCors({ origins, allowLocal }: NonNullable<RequestsOptions['cors']>) {
  const forAnyone = ['Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', exposed];
  const varies = ['Vary', 'Origin'];
  const open = origins.includes('*');
  const listed = new Set(origins.filter((origin) => origin !== '*'));
  return (origin: string | undefined, isKeyed: boolean): readonly string[] => {
    if (open && !isKeyed) return forAnyone;
    if (origin === undefined || !(listed.has(origin) || (allowLocal && local.test(origin)))) return varies;
    return ['Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', exposed, ...varies];
  };
}

const requestHeaders = 'Accept, Content-Type, If-None-Match, If-Range, Range, Traceparent, Tracestate, X-Request-Id';

/** The headers of the answer to a preflight, as alternating names and values; undefined for all other requests. */
export function preflightHeaders({ method, headers }: IncomingMessage, methods: string, isKeyed: boolean) {
  const { origin, 'access-control-request-method': requested } = headers;
  if (method !== 'OPTIONS' || origin === undefined || requested === undefined) return undefined;
  const allowed = isKeyed ? `${requestHeaders}, Authorization, Idempotency-Key` : requestHeaders;
  const named = ['Access-Control-Allow-Methods', methods, 'Access-Control-Allow-Headers', allowed];
  return [...named, 'Access-Control-Max-Age', '86400'];
}

/** The maximum length of a client's text in a log line. */
const maxText = 256;

/** Where the query is logged: elsewhere it may be a wanted domain, or a misplaced key or token. */
const logsQuery = /^\/v1\/(?:blog|kb|info|plans)(?:\/[a-z]+)?\?/;

/** Replaces the target of a request that no route may see. */
export const unreadable = '*';

/**
 * The path and query of a request (RFC 9112 3.2). In a path with invalid percent-encoding, the percent signs are
 * escaped, so that it matches no route. {@link unreadable} if it is neither a path nor an http URL, or HTTP/1.1 has no
 * Host.
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
 * The rest of a target's path, for a pattern such as `/media/{path*}`. It is decoded once: generated clients write its
 * slashes as %2F, and h3 keeps %2F and %252F, so that decoding its parameter would decode others twice.
 */
export function readRest(target: string, pattern: string): string | undefined {
  if (!pattern.endsWith('*}')) return undefined;
  const { pathname } = new URL(target, 'http://localhost');
  return decodeURIComponent(pathname).slice(pattern.indexOf('{'));
}
