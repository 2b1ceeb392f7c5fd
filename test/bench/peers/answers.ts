import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';

/** An answer of the product, as it was recorded: peers give the same bytes. */
export interface Recorded {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** In Base64. */
  readonly body: string;
}

/** The answer to one request, whatever else it says. */
export interface Refusal {
  readonly method: string;
  readonly target: string;
  readonly recorded: Recorded;
}

/** The recorded answers, by their role. */
export interface Recording extends Readonly<Record<'identity' | 'gzip' | 'unchanged' | 'missing' | 'info', Recorded>> {
  /** The target of the article. */
  readonly target: string;
  readonly refusals: readonly Refusal[];
}

/** An answer that is ready to be sent. */
export interface Answer {
  readonly status: number;
  /** Names and values in turn. */
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

/** The answer where there is no such article. */
export const missing: Answer = prepare(recording.missing);
/** The answer of the dynamic route; its body is made again for each request. */
export const info: Answer = prepare(recording.info);
/** Requests that are refused, each with its answer. */
export const refusals = recording.refusals.map(({ method, target, recorded }) => ({
  method,
  target,
  answer: prepare(recorded),
}));
/** What the dynamic route tells. */
export const version = (JSON.parse(info.body.toString()) as { version: string }).version;
/** Where the servers listen. */
export const port = Number(portText);

/** Finds the answer to a request for an article: by its target, what the client takes and what it has. */
export function findArticle(
  target: string,
  headers: Pick<IncomingHttpHeaders, 'accept-encoding' | 'if-none-match'>,
): Answer {
  const article = articles.get(target);
  if (!article) return missing;
  const encoding = headers['accept-encoding']?.includes('gzip') ? 'gzip' : 'identity';
  return headers['if-none-match'] === etags.get(target)![encoding] ? article.unchanged : article[encoding];
}
