import { Agent as HttpAgent } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { collect } from '#common/streams.ts';
import { formatError } from './client.ts';
import type { Reply, RequestOptions, Upstream } from './client.ts';
import { exchange } from './exchange.ts';

/** Options of an action. */
export interface ActionOptions extends RequestOptions {
  /** Sent as JSON. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** Called once the connection stands. A rejection fails the action, and nothing is sent. */
  readonly confirm?: (() => Promise<void>) | undefined;
}

/** The maximum number of actions under way. */
const maxSockets = 32;

/** Creates a client for actions. Each has a new connection: an upstream may close an idle one as the action arrives. */
export function createActionClient({ baseUrl, ca, prepare, close }: Upstream) {
  const isSecure = baseUrl.startsWith('https:');
  const agent = isSecure ? new HttpsAgent({ maxSockets, ca }) : new HttpAgent({ maxSockets });
  return {
    /** Sends an action once. Throws a {@link ProviderError}: `refused` if nothing was sent, else `unknown`. */
    async post(path: string, options: ActionOptions = {}): Promise<Reply> {
      const { url, headers, signal, maxBytes, begin } = prepare('POST', path, options);
      const call = begin();
      let isSent = false;
      let objection: unknown;
      const confirm = async (): Promise<void> => {
        await options.confirm?.().catch((error: unknown) => {
          objection = error;
          throw error;
        });
        isSent = true;
      };
      const type = options.body && { 'content-type': 'application/json' };
      const body = options.body && JSON.stringify(options.body);
      const request = { method: 'POST', headers: { ...type, ...headers }, body, agent, signal, confirm };
      let response: IncomingMessage;
      let bytes: Buffer | undefined;
      try {
        response = await exchange(url, request);
        bytes = await collect(response, maxBytes);
      } catch (error) {
        if (error === objection) {
          call.cancel();
          throw error;
        }
        const lost = isSent ? 'broken' : 'unreachable';
        throw call.fail(signal.aborted ? 'timeout' : lost, isSent ? 'unknown' : 'refused', formatError(error));
      }
      const { statusCode: status = 0, statusMessage: statusText = '', headersDistinct } = response;
      const received = new Headers();
      for (const [name, values = []] of Object.entries(headersDistinct)) received.set(name, values.join(', '));
      return call.answer({ status, statusText, headers: received }, bytes);
    },
    close,
  };
}
