import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The trace of a request (W3C Trace Context). It is only passed on: this service makes up none. */
export interface Trace {
  readonly id: string;
  readonly isSampled: boolean;
  /** What the systems of the trace keep in it. */
  readonly state: string | undefined;
}

const traceparent = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-([\da-f]{2})$/;

/** One line of visible text; an upstream has rules of its own for its members. */
const tracestate = /^[\x20-\x7e]{1,512}$/;

/** Reads the trace of a request; undefined without a `traceparent` of its form. */
export function readTrace(headers: IncomingHttpHeaders): Trace | undefined {
  const [, id, flags = ''] = traceparent.exec(String(headers['traceparent'])) ?? [];
  if (id === undefined) return undefined;
  const state = String(headers['tracestate'] ?? '');
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1;
  return { id, isSampled, state: tracestate.test(state) ? state : undefined };
}

/** The headers of a call that is made for a request: the same trace, and a span of its own. */
export function toTraceHeaders({ id, isSampled, state }: Trace): Record<string, string> {
  const parent = `00-${id}-${randomBytes(8).toString('hex')}-${isSampled ? '01' : '00'}`;
  return { traceparent: parent, ...(state !== undefined && { tracestate: state }) };
}
