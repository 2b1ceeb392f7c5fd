import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { serve } from '../../helpers/upstream.ts';

/** What the proxy does with a request in place of forwarding it. */
export type Fault =
  /** It forwards the request, and answers with this status in place of the real answer. */
  | { readonly forwarded: true; readonly status: number }
  /** It forwards the request, and closes the connection without an answer. */
  | { readonly forwarded: true; readonly status: 'none' }
  /** It answers itself. */
  | OwnAnswer;

interface OwnAnswer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/**
 * A proxy in front of a service. The faults of `METHOD path` hit its requests in their order, and the last one all later
 * ones; `undefined` is no fault.
 */
export async function startFaultyProxy(service: string, faults: Record<string, (Fault | undefined)[]>) {
  const requests: string[] = [];
  const take = (name: string): Fault | undefined => {
    const key = Object.keys(faults).find((start) => name.startsWith(start));
    const left = key === undefined ? [] : faults[key]!;
    return left.length > 1 ? left.shift() : left[0];
  };
  const send = (response: ServerResponse, { status, headers = {}, body = '' }: OwnAnswer): void =>
    void response.writeHead(status, headers).end(body);
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method, url } = request;
    requests.push(`${method} ${url}`);
    const fault = take(`${method} ${url}`);
    if (fault && !('forwarded' in fault)) return send(response, fault);
    const { host: _, connection: __, ...headers } = request.headers;
    const body = await text(request);
    const init = { method: method!, headers: headers as Record<string, string>, ...(body && { body }) };
    const real = await fetch(`${service}${url}`, init);
    if (fault?.status === 'none') return void request.socket.destroy();
    if (fault) return send(response, { status: fault.status });
    const { 'content-encoding': ___, ...answered } = Object.fromEntries(real.headers);
    return send(response, { status: real.status, headers: answered, body: await real.text() });
  };
  return { url: await serve((request, response) => void answer(request, response)), requests };
}
