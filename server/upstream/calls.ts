import { createEvent } from '../events.ts';

/** How a call of an upstream ended. The first ones are answers, the last ones failures to get one. */
export type CallOutcome =
  | 'ok'
  | 'not_found'
  | 'credential_refused'
  | 'forbidden'
  | 'rate_limited'
  | 'rejected'
  | 'server_error'
  | 'invalid'
  | 'timeout'
  | 'unreachable'
  | 'broken';

/** A call of an upstream that has ended. */
export interface UpstreamCall {
  /** The name of the upstream: one of the settings or of the program. */
  readonly upstream: string;
  /** The same for all calls with one credential. */
  readonly credential: symbol;
  readonly outcome: CallOutcome;
  readonly ms: number;
  /** Undefined if it was no call of HTTP. */
  readonly http: HttpCall | undefined;
}

interface HttpCall {
  readonly method: 'GET' | 'POST';
  /** Undefined if there was no answer. */
  readonly status?: number;
}

/** The names of upstreams, once for each credential, before its first call. */
export const openedUpstreams = createEvent<string>('upstream-opened');

/** The calls of upstreams. */
export const endedCalls = createEvent<UpstreamCall>('upstream-called');

/** Announces an upstream. Returns what publishes the calls with one of its credentials. */
export function announceUpstream(upstream: string) {
  const credential = Symbol(upstream);
  openedUpstreams.publish(upstream);
  return (outcome: CallOutcome, ms: number, http?: HttpCall): void =>
    endedCalls.publish({ upstream, credential, outcome, ms, http });
}

/** The upstreams that the program names. */
const ownNames = new Set([
  'rdap',
  'rdap-bootstrap',
  'whois',
  'das',
  'dns',
  'uptime-kuma',
  'chat',
  'whmcs',
  'fossbilling',
]);

/** The name under which the calls of a provider are counted: never one of the program. No provider may have a colon. */
export const nameProvider = (name: string): string => (ownNames.has(name) ? `provider:${name}` : name);

const outcomes: ReadonlyMap<number, CallOutcome> = new Map([
  [403, 'forbidden'],
  [404, 'not_found'],
  [429, 'rate_limited'],
]);

/** The outcome of a call that got an answer. */
export function toCallOutcome(status: number, credentialStatuses: readonly number[] = [401]): CallOutcome {
  if (credentialStatuses.includes(status)) return 'credential_refused';
  if (status < 400) return 'ok';
  return outcomes.get(status) ?? (status < 500 ? 'rejected' : 'server_error');
}
