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

/** Called when a call has ended, with its method and the status of its answer if it was one of HTTP. */
export type OnCall = (outcome: CallOutcome, ms: number, http?: HttpCall) => void;

interface HttpCall {
  readonly method: 'GET' | 'POST';
  /** Undefined if there was no answer. */
  readonly status?: number;
}

/** Returns what is called for one credential of an upstream. The name is one of the settings or of the program. */
export type WatchCalls = (upstream: string) => OnCall;

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
