import { subscribe } from 'node:diagnostics_channel';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { renderOpenApi } from '#contract/openapi.ts';
import type { OpenApi, Operation } from '#contract/openapi.ts';
import { document } from '../contract/document.ts';
import { describeEndpoint, endpointAt } from './targets.ts';

/** An answer as a client sees it. */
export interface Described {
  readonly method: string;
  readonly target: string;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

type Response = Operation['responses'][string];

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addSchema(document, 'api');
const operators = JSON.parse(JSON.stringify(renderOpenApi({ parameters: {}, bodies: {} }, {}, false))) as OpenApi;
ajv.addSchema(operators, 'operators');

/** Finds the operation of the operators' port, of any method if the port has not this one. */
function findOperator(method: string, target: string): Operation | undefined {
  const [path] = target.split('?');
  const found = Object.entries(operators.paths).find(([template]) =>
    new RegExp(`^${template.replace(/\{\w+\}/, '[^/]+')}$`).test(path!),
  )?.[1];
  const own = found?.[method.toLowerCase().replace('head', 'get') as 'get'];
  return own ?? Object.values(found ?? {})[0];
}

const validators = new Map<object, ValidateFunction>();
/** Bodies with an ETag never change. */
const validated = new Set<string>();

/** Differences between answers and the OpenAPI document. */
const differences: string[] = [];
let count = 0;

/** Returns the number of answers compared since the last call; throws if any differs from the OpenAPI document. */
export function takeComparison(): number {
  const compared = count;
  count = 0;
  assertSame();
  return compared;
}

function assertSame(): void {
  const found = differences.splice(0);
  if (found.length > 0) throw new Error([...new Set(found)].join('\n'));
}

/** The ports of servers in this process, whose answers are compared as they are sent. */
const ports = new Set<number>();

/** The operators' ports of servers, whose answers another document describes. */
export const operatorPorts = new Set<number>();

/** Compares an answer of a server in another process; throws if the answer differs. */
export function compareRemote(port: number, answer: Described): void {
  if (ports.has(port)) return;
  compare(answer, port);
  assertSame();
}

// Every answer of a server in this process passes here; simulated services send no request id.
subscribe('http.server.request.start', (message) => {
  const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
  const { method = '', url = '', headers, socket } = request;
  // A request without Host reaches no endpoint.
  const target = headers.host === undefined ? '*' : url;
  const isPreflight = method === 'OPTIONS' && 'access-control-request-method' in headers;
  const port = socket.localPort;
  // `keys explain` sends requests without a port, within the process.
  if (isPreflight || port === undefined) return;
  const chunks: Buffer[] = [];
  const keep = (chunk: unknown, encoding: unknown): void => {
    if (typeof chunk === 'string') chunks.push(Buffer.from(chunk, encoding as BufferEncoding));
    else if (chunk instanceof Uint8Array && isText(readHead(response))) chunks.push(Buffer.from(chunk));
  };
  const write = response.write.bind(response) as (...args: unknown[]) => boolean;
  const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
  response.write = (...args: [unknown, ...unknown[]]) => {
    const written = write(...args);
    keep(args[0], args[1]);
    return written;
  };
  response.end = (...args: [unknown?, ...unknown[]]) => {
    end(...args);
    keep(args[0], args[1]);
    const sent = readHead(response);
    if (!('x-request-id' in sent)) return response;
    ports.add(port);
    compare({ method, target, status: response.statusCode, headers: sent, body: Buffer.concat(chunks) }, port);
    return response;
  };
});

/** Reads the headers as sent, also a list given to `writeHead`. */
function readHead(response: ServerResponse): Record<string, string> {
  const { _header: head } = response as ServerResponse & { readonly _header: string | null };
  const lines = head?.split('\r\n').slice(1).filter(Boolean) ?? [];
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
}

function isText({ 'content-type': type = '' }: Record<string, string>): boolean {
  return /^(?:application\/json|text\/plain)/.test(type);
}

/** Compares the status, the headers, the media type and a JSON body. */
function compare(answer: Described, port: number): void {
  const { method, target, status } = answer;
  count += 1;
  const name = endpointAt(target, method.replace('HEAD', 'GET'));
  const report = (text: string): void => {
    differences.push(`${name ?? `${method} ${target}`}: ${status} ${text}`);
  };
  if (operatorPorts.has(port)) {
    const operation = findOperator(method, target);
    // Paths of the public port are unknown here, and each path may be asked with a wrong Host.
    if (!operation || status === 421) return compareBody(answer, status >= 400 ? anyError : {}, report);
    return compareResponse(operation.responses[status], answer, report, 'operators');
  }
  if (!name || describeEndpoint(name).isPage) return compareBody(answer, status >= 400 ? anyError : {}, report);
  const { path, method: own } = describeEndpoint(name);
  const { responses } = document.paths[path.replace('*}', '}')]![own.toLowerCase() as 'get']!;
  compareResponse(responses[status], answer, report);
}

function compareResponse(
  response: Response | undefined,
  answer: Described,
  report: (text: string) => void,
  of: 'api' | 'operators' = 'api',
): void {
  const { headers } = answer;
  if (!response) return report('is not described');
  for (const missing of missingHeaders(response, headers)) report(`lacks ${missing}`);
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  const { [type]: exact, '*/*': any, ...others } = response.content ?? {};
  const content = exact ?? any;
  if (!content && (type !== '' || Object.keys(others).length > 0)) return report(`has the type ${type}`);
  compareBody(answer, content?.schema ?? {}, report, of);
}

/** A path without an operation answers with an error. */
const anyError = { $ref: '#/components/schemas/ErrorResponse' };

/** Headers that this service sends only in some responses; no CDN drops the others here. */
const occasional = new Set(
  'Content-Location Optional-Retry-After WWW-Authenticate Idempotent-Replayed Idempotent-Request-Id Action-Outcome X-Domain-Unicode'.split(
    ' ',
  ),
);

function missingHeaders({ headers: described }: Response, sent: Described['headers']): string[] {
  return Object.entries(described).flatMap(([name, { $ref }]) =>
    occasional.has($ref.split('/').at(-1)!) || name.toLowerCase() in sent ? [] : [name],
  );
}

/** Compares a JSON body with its schema. Other bodies are any text or bytes. */
function compareBody(
  { method, status, headers, body }: Described,
  schema: object,
  report: (text: string) => void,
  of: 'api' | 'operators' = 'api',
): void {
  if (method === 'HEAD' || headers['content-type'] !== 'application/json') return;
  const known = `${status} ${JSON.stringify(schema)} ${headers.etag}`;
  if (headers.etag !== undefined && validated.has(known)) return;
  const validate = validators.get(schema) ?? ajv.compile(toAbsolute(schema, of));
  validators.set(schema, validate);
  try {
    if (!validate(JSON.parse(decode(body, headers['content-encoding'])))) report(ajv.errorsText(validate.errors));
  } catch (error) {
    // Keep the error for later: the server must return from `end`.
    report(`has a broken body: ${String(error)}`);
  }
  validated.add(known);
}

function toAbsolute(schema: object, of: 'api' | 'operators'): object {
  return '$ref' in schema ? { $ref: `${of}${String(schema.$ref)}` } : schema;
}

function decode(body: Buffer, encoding: unknown): string {
  if (encoding === 'br') return brotliDecompressSync(body).toString();
  return (encoding === 'gzip' ? gunzipSync(body) : body).toString();
}
