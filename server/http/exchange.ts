import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Client } from './client-ip.ts';
import type { Verdict } from '../token-bucket.ts';
import type { Loan } from '../releases/pack.ts';
import { toStoredReply } from './stored.ts';
import type { Stored } from './stored.ts';

/** One request and its answer, as every part of the server knows it. */
export interface Exchange {
  readonly id: string;
  /** When it began, by performance.now(). */
  readonly began: number;
  /** What was asked for, as the client wrote it. */
  readonly target: string;
  readonly client: Client;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** What every answer to it carries: names and values in turn. */
  readonly headers: string[];
  /** Its CORS headers, likewise: those of what is public, until it is known to be for an endpoint that is not. */
  cors: readonly string[];
  /** The bytes that are sent, where they are lent. */
  loan?: Loan;
  /** The rate limit's word, once it was asked. */
  verdict?: Verdict;
  /** What went wrong, for the log; clients are never told. */
  failure?: unknown;
}

/**
 * A property and no WeakMap, which V8 goes through at every young collection: with one, an article took a fifth more CPU,
 * and p99 was 10 ms instead of 4.
 */
const own = Symbol('exchange');

/** A request that came through the listener. */
interface KnownRequest extends IncomingMessage {
  [own]?: Exchange;
}

/** Remembers an exchange while its request lives. */
export function keepExchange(exchange: Exchange): void {
  const request: KnownRequest = exchange.request;
  request[own] = exchange;
}

/** The exchange of a Node.js request. Throws where the request came in by another door than the listener. */
export function exchangeOf(request: KnownRequest | undefined): Exchange {
  const exchange = request?.[own];
  if (!exchange) throw new Error('the request did not come through the listener');
  return exchange;
}

/** Answers with a status, more headers as names and values in turn, and a body, which HEAD is told of alone. */
export function answer(
  { request, response, headers, cors }: Exchange,
  status: number,
  more: readonly string[],
  body: string | Buffer | null,
): void {
  response.writeHead(status, [...headers, ...cors, ...more]);
  if (body === null || request.method === 'HEAD') response.end();
  else response.end(body);
}

/** Answers with bytes that are kept; where they are sent, they are given back when the exchange ends. */
export function answerStored(exchange: Exchange, stored: Stored): void {
  const { status, headers, lend } = toStoredReply(stored, exchange.request.headers);
  if (lend && exchange.request.method !== 'HEAD') exchange.loan = lend();
  answer(exchange, status, headers, exchange.loan?.bytes ?? null);
}
