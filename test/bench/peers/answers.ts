import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';

/** A recorded response of the product, which peers repeat byte for byte. */
export interface Recorded {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** In Base64. */
  readonly body: string;
}

/** A request to a server. */
export interface Request {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A measured request and its recorded response. */
export interface Case extends Request {
  readonly name: string;
  readonly recorded: Recorded;
}

/** A response ready to send; `flat` alternates names and values of headers. */
export type Answer = ReturnType<typeof prepare>;

function prepare({ status, headers, body }: Recorded) {
  const [, etag] = headers.find(([name]) => name.toLowerCase() === 'etag') ?? [];
  return {
    status,
    flat: headers.flat(),
    headers: Object.fromEntries(headers) as Record<string, string>,
    etag,
    body: Buffer.from(body, 'base64'),
  };
}

const [file, portText] = process.argv.slice(2) as [string, string];
/** All cases, with prepared responses. */
export const cases = (JSON.parse(readFileSync(file, 'utf8')) as Case[]).map(({ name, method, target, recorded }) => ({
  name,
  method,
  target,
  answer: prepare(recorded),
}));
const find = (wanted: string) => cases.find(({ name }) => name === wanted)!;
const { target: article, answer: identity } = find('identity');
const articles = new Map([[article, { identity, gzip: find('gzip').answer, unchanged: find('304').answer }]]);

/** The response for an article that does not exist. */
export const missing = find('404').answer;
/** The response of the dynamic route, whose body is built for each request. */
export const info = find('/v1/info').answer;
/** The version in the dynamic route's response. */
export const version = (JSON.parse(info.body.toString()) as { version: string }).version;
/** The port of the servers. */
export const port = Number(portText);

/** Finds the response for an article by target, Accept-Encoding and If-None-Match. */
export function findArticle(
  target: string,
  headers: Pick<IncomingHttpHeaders, 'accept-encoding' | 'if-none-match'>,
): Answer {
  const found = articles.get(target);
  if (!found) return missing;
  const answer = headers['accept-encoding']?.includes('gzip') ? found.gzip : found.identity;
  return headers['if-none-match'] === answer.etag ? found.unchanged : answer;
}
