import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';

/** A recorded response of the product; peers send the same bytes. */
export interface Recorded {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** In Base64. */
  readonly body: string;
}

/** A request that is refused, and its recorded response. */
export interface Refusal {
  readonly method: string;
  readonly target: string;
  readonly recorded: Recorded;
}

/** The recorded responses, by their role. */
export interface Recording extends Readonly<Record<'identity' | 'gzip' | 'unchanged' | 'missing' | 'info', Recorded>> {
  /** The target of the article. */
  readonly target: string;
  readonly refusals: readonly Refusal[];
}

/** A response that is ready to be sent. */
export interface Answer {
  readonly status: number;
  /** Alternating names and values. */
  readonly flat: string[];
  readonly headers: Record<string, string>;
  readonly body: Buffer<ArrayBuffer>;
}

const [file, portText] = process.argv.slice(2) as [string, string];
const recording = JSON.parse(readFileSync(file, 'utf8')) as Recording;

function prepare({ status, headers, body }: Recorded): Answer {
  return { status, flat: headers.flat(), headers: Object.fromEntries(headers), body: Buffer.from(body, 'base64') };
}

const etagOf = ({ headers }: Recorded): string => headers.find(([name]) => name.toLowerCase() === 'etag')![1];

const articles = new Map([
  [
    recording.target,
    { identity: prepare(recording.identity), gzip: prepare(recording.gzip), unchanged: prepare(recording.unchanged) },
  ],
]);
const etags = new Map([[recording.target, { identity: etagOf(recording.identity), gzip: etagOf(recording.gzip) }]]);

/** The response for an article that does not exist. */
export const missing: Answer = prepare(recording.missing);
/** The response of the dynamic route; its body is built for each request. */
export const info: Answer = prepare(recording.info);
/** Requests that are refused, each with its response. */
export const refusals = recording.refusals.map(({ method, target, recorded }) => ({
  method,
  target,
  answer: prepare(recorded),
}));
/** The version that the dynamic route sends. */
export const version = (JSON.parse(info.body.toString()) as { version: string }).version;
/** The port of the servers. */
export const port = Number(portText);

/** Finds the response to a request for an article by its target, Accept-Encoding and If-None-Match. */
export function findArticle(
  target: string,
  headers: Pick<IncomingHttpHeaders, 'accept-encoding' | 'if-none-match'>,
): Answer {
  const article = articles.get(target);
  if (!article) return missing;
  const encoding = headers['accept-encoding']?.includes('gzip') ? 'gzip' : 'identity';
  return headers['if-none-match'] === etags.get(target)![encoding] ? article.unchanged : article[encoding];
}
