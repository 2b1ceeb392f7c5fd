import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The trace that a request belongs to (W3C Trace Context). It is only passed on: this service makes up none. */
export interface Trace {
  /** 32 hexadecimal digits. */
  readonly id: string;
  readonly isSampled: boolean;
  /** What the systems of the trace keep in it. */
  readonly state: string | undefined;
}

const traceparent = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const onlyZeros = /^0+$/;

const maxStateLength = 512;
const maxMembers = 32;
const member =
  /^(?:[a-z][\d_a-z\-*/]{0,255}|[a-z\d][\d_a-z\-*/]{0,240}@[a-z][\d_a-z\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** Reads the trace of a request; undefined if there is none, or `traceparent` is invalid. An invalid `tracestate` is dropped. */
export function readTrace({ traceparent: parent, tracestate }: IncomingHttpHeaders): Trace | undefined {
  if (typeof parent !== 'string') return undefined;
  const [, version, id = '', span = '', flags = '', rest] = traceparent.exec(parent) ?? [];
  // Later versions may append fields; this one has none.
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (onlyZeros.test(id) || onlyZeros.test(span)) return undefined;
  return { id, isSampled: (Number.parseInt(flags, 16) & 1) === 1, state: toState(String(tracestate ?? '')) };
}

/** The headers of a call that is made for a request: the same trace, and a span of its own. */
export function toTraceHeaders({ id, isSampled, state }: Trace): Record<string, string> {
  const parent = `00-${id}-${toSpan()}-${isSampled ? '01' : '00'}`;
  return { traceparent: parent, ...(state !== undefined && { tracestate: state }) };
}

function toSpan(): string {
  const span = randomBytes(8).toString('hex');
  return onlyZeros.test(span) ? toSpan() : span;
}

function toState(text: string): string | undefined {
  if (text.length > maxStateLength) return undefined;
  const members = text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
  const keys = new Set(members.map((part) => part.slice(0, part.indexOf('='))));
  const isValid =
    members.length <= maxMembers && keys.size === members.length && members.every((part) => member.test(part));
  return isValid && members.length > 0 ? members.join(',') : undefined;
}
