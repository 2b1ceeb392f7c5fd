import { request } from 'node:http';
import type { Agent, IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { EndpointName } from '#contract/endpoints.ts';
import { document } from '../contract/document.ts';
import type { SharedApp } from './shared.ts';
import { describeEndpoint, endpointAt, requestOf } from './targets.ts';

/** An answer in its raw form: not decoded, redirects not followed. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
}

/** The options of a request. */
export interface Question {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** The client's address, which may be any of 127.0.0.0/8. */
  readonly from?: string;
  readonly agent?: Agent;
  readonly body?: string | undefined;
}

/**
 * Sends a request with an unchanged target. Throws if the status, a header or the content type of the answer
 * is not in /v1/openapi.json, so that every test checks the documentation.
 */
export async function ask(app: { readonly port: number }, target: string, question: Question = {}): Promise<Answer> {
  const answer = await send(app.port, target, question);
  const name = endpointAt(target);
  if (name && !isPreflight(question)) assertDocumented(name, answer);
  return answer;
}

/** Sends an endpoint a valid request, with changes. */
export function askEndpoint(app: SharedApp, name: EndpointName, question: Question = {}): Promise<Answer> {
  const { target, headers, ...usual } = requestOf(name, app);
  return ask(app, target, { ...usual, ...question, headers: { ...headers, ...question.headers } });
}

function send(
  port: number,
  target: string,
  { method = 'GET', headers = {}, from, agent, body }: Question,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { port, method, path: target, headers, agent: agent ?? false };
    const sent = request({ host: '127.0.0.1', ...options, ...(from && { localAddress: from }) }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const received = Buffer.concat(chunks);
        resolve({ status: response.statusCode!, headers: response.headers, body: received, text: received.toString() });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function isPreflight({ method, headers = {} }: Question): boolean {
  return method === 'OPTIONS' && 'Access-Control-Request-Method' in headers;
}

interface Operation {
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly headers: Readonly<Record<string, { readonly required?: boolean }>>;
        readonly content?: Readonly<Record<string, unknown>>;
      }
    >
  >;
}

const { headers: documentedHeaders } = document.components;
const documented = document.paths as Readonly<Record<string, Readonly<Record<string, Operation>>>>;

function assertDocumented(name: EndpointName, { status, headers }: Answer): void {
  const { path, method } = describeEndpoint(name);
  const response = documented[path.replace('*}', '}')]?.[method.toLowerCase()]?.responses[status];
  if (!response) throw new Error(`${name} answered ${status}, which its description does not have`);
  // A reference to a header of the components has no `required` of its own.
  const required = Object.entries(response.headers).flatMap(([header, inline]) =>
    (inline.required ?? documentedHeaders[header]!.required) ? [header] : [],
  );
  const missing = required.filter((header) => !(header.toLowerCase() in headers));
  if (missing.length > 0) throw new Error(`${name} answered ${status} without ${missing.join(', ')}`);
  const types = Object.keys(response.content ?? {});
  const [type] = headers['content-type']?.split(';') ?? [];
  if (type === undefined ? types.length > 0 : !types.includes(type) && !types.includes('*/*')) {
    throw new Error(`${name} answered ${status} with ${type}, where its description has ${types.join(', ')}`);
  }
}
