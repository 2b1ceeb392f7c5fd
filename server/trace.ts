import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The trace of a request (W3C Trace Context). Only passed on: this service starts no traces. */
export interface Trace {
  readonly id: string;
  readonly isSampled: boolean;
  /** The `tracestate` header, data of the tracing systems. */
  readonly state: string | undefined;
}

const traceparent = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-([\da-f]{2})$/;

/** One line of printable text; each tracing system has other rules for its members. */
const tracestate = /^[\x20-\x7e]{1,512}$/;

/** Reads the trace of a request; undefined without a valid `traceparent`. */
export function readTrace(headers: IncomingHttpHeaders): Trace | undefined {
  const [, id, flags = ''] = traceparent.exec(String(headers['traceparent'])) ?? [];
  if (id === undefined) return undefined;
  const state = String(headers['tracestate'] ?? '');
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1;
  return { id, isSampled, state: tracestate.test(state) ? state : undefined };
}

/** Returns the headers of a call for a request: the same trace with a new span. */
export function toTraceHeaders({ id, isSampled, state }: Trace): Record<string, string> {
  const parent = `00-${id}-${randomBytes(8).toString('hex')}-${isSampled ? '01' : '00'}`;
  return { traceparent: parent, ...(state !== undefined && { tracestate: state }) };
}
