import { request } from 'node:http';
import type { Agent, IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { EndpointName } from '#contract/endpoints.ts';
import { compareRemote } from './described.ts';
import type { SharedApp } from './shared.ts';
import { requestOf } from './targets.ts';

/** An answer in its raw form: not decoded, redirects not followed. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
}

/** An answer in JSON, parsed. */
interface JsonAnswer<Json> extends Pick<Answer, 'status' | 'headers'> {
  readonly json: Json;
}

/** The options of a request. */
export interface Question {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** The API key. */
  readonly key?: string;
  /** The client's address, which may be any of 127.0.0.0/8. */
  readonly from?: string;
  readonly agent?: Agent;
  readonly body?: string | undefined;
}

/** Sends a request with an unchanged target, and compares the answer with the OpenAPI document. */
export async function ask(app: { readonly port: number }, target: string, question: Question = {}): Promise<Answer> {
  const answer = await send(app.port, target, question);
  const { status, headers, body } = answer;
  if (!isPreflight(question))
    compareRemote(app.port, { method: question.method ?? 'GET', target, status, headers, body });
  return answer;
}

/** Sends a request and parses the JSON of its answer, whose shape is the caller's claim. */
export async function askJson<Json = Record<string, unknown>>(
  app: { readonly port: number },
  target: string,
  question?: Question,
): Promise<JsonAnswer<Json>> {
  const { status, headers, text } = await ask(app, target, question);
  return { status, headers, json: JSON.parse(text) as Json };
}

/** Sends an endpoint a valid request, with changes. */
export function askEndpoint(app: SharedApp, name: EndpointName, question: Question = {}): Promise<Answer> {
  const { target, headers, ...usual } = requestOf(name, app);
  return ask(app, target, { ...usual, ...question, headers: { ...headers, ...question.headers } });
}

/** Sends a request whose answer the OpenAPI document does not describe. */
export function send(
  port: number,
  target: string,
  { method = 'GET', headers = {}, key, from, agent, body }: Question,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const all = { ...headers, ...(key && { Authorization: `Bearer ${key}` }) };
    const options = { port, method, path: target, headers: all, agent: agent ?? false };
    const sent = request({ host: '127.0.0.1', ...options, ...(from && { localAddress: from }) }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const received = Buffer.concat(chunks);
        resolve({
          status: response.statusCode!,
          headers: response.headers,
          body: received,
          // Decoded only when read: videos took half of the time of their tests.
          get text() {
            return received.toString();
          },
        });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function isPreflight({ method, headers = {} }: Question): boolean {
  return method === 'OPTIONS' && 'Access-Control-Request-Method' in headers;
}
