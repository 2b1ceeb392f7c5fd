import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { gzipSync } from 'node:zlib';
import { createMemoryPack } from '../releases/pack.ts';
import type { Loan } from '../releases/pack.ts';
import type { Span } from '../releases/load.ts';
import type { StoredFile } from '../releases/service.ts';
import { createNegotiator } from './encoding.ts';

/** An answer with bytes that are kept. */
export interface StoredReply {
  readonly status: 200 | 304;
  /** Names and values in turn, as `writeHead` takes them fastest. */
  readonly headers: readonly string[];
  /** Lends the bytes. */
  readonly lend: (() => Loan) | null;
}

/** The answers of a file in one encoding. */
interface Replies {
  readonly etag: string;
  readonly found: StoredReply;
  readonly unchanged: StoredReply;
}

/** The answers that a file can give: each is made when it is first asked for, and then a request only picks. */
export interface Stored {
  /** Picks the encoding for an Accept-Encoding header. */
  readonly negotiate: (header: string) => string;
  readonly replies: (encoding: string) => Replies;
}

/** JSON that is answered again and again, as bytes that are served like those of a file. */
export function toStoredJson(json: unknown, cacheControl?: string): Stored {
  const bytes = Buffer.from(`${JSON.stringify(json)}\n`);
  const gzipped = gzipSync(bytes);
  return toStored({
    mediaType: 'application/json',
    identity: toSpan(bytes, 0),
    gzip: toSpan(gzipped, bytes.length),
    ...(cacheControl !== undefined && { cacheControl }),
    reader: createMemoryPack(new Uint8Array(Buffer.concat([bytes, gzipped])).buffer).reader,
  });
}

function toSpan(bytes: Buffer, offset: number): Span {
  return { offset, size: bytes.length, version: hash('sha256', bytes).slice(0, 32) };
}

/** Picks the answer to a request: in the encoding that the client takes, or 304 where the client has that version. */
export function toStoredReply({ negotiate, replies }: Stored, headers: IncomingHttpHeaders): StoredReply {
  const accepted = headers['accept-encoding'];
  const { etag, found, unchanged } = replies(accepted ? negotiate(accepted) : 'identity');
  const match = headers['if-none-match'];
  return match !== undefined && matches(match, etag) ? unchanged : found;
}

/** RFC 9110 13.1.2: a list of validators, compared weakly, or `*`. */
function matches(ifNoneMatch: string, etag: string): boolean {
  return (
    ifNoneMatch === etag ||
    ifNoneMatch.trim() === '*' ||
    ifNoneMatch.split(',').some((part) => part.trim().replace(/^W\//, '') === etag)
  );
}

/** What a CDN may keep for a minute, and serve for a day when this service is down. */
const usualCacheControl = 'public, max-age=60, stale-while-revalidate=600, stale-if-error=86400';

const negotiators = {
  both: createNegotiator(['br', 'gzip']),
  br: createNegotiator(['br']),
  gzip: createNegotiator(['gzip']),
  none: createNegotiator([]),
};

/** Prepares the answers that a file can give. */
export function toStored(file: StoredFile): Stored {
  const { identity, gzip, br } = file;
  const known: { [encoding: string]: Replies | undefined } = { identity: undefined, gzip: undefined, br: undefined };
  return {
    negotiate: br ? (gzip ? negotiators.both : negotiators.br) : gzip ? negotiators.gzip : negotiators.none,
    replies: (encoding) =>
      (known[encoding] ??= toReplies(file, encoding, encoding === 'br' ? br! : encoding === 'gzip' ? gzip! : identity)),
  };
}

function toReplies(file: StoredFile, encoding: string, span: Span): Replies {
  const etag = `"${span.version}"`;
  const validators = ['ETag', etag, 'Cache-Control', file.cacheControl ?? usualCacheControl];
  if (file.gzip ?? file.br) validators.push('Vary', 'Accept-Encoding');
  if (file.canonical) validators.push('Content-Location', file.canonical);
  const headers = ['Content-Type', file.mediaType, 'Content-Length', String(span.size), ...validators];
  if (encoding !== 'identity') headers.push('Content-Encoding', encoding);
  // An SVG that is opened by itself is a document of this origin: nothing in it may run or load.
  if (file.name === 'media')
    headers.push('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox");
  return {
    etag,
    found: { status: 200, headers, lend: file.reader(span) },
    unchanged: { status: 304, headers: validators, lend: null },
  };
}
