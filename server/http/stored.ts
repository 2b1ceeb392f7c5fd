import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { StoredFile, Variant } from '../services/releases.ts';
import { negotiateEncoding } from './encoding.ts';

/** An answer made from a file of the release. */
export interface StoredReply {
  readonly status: 200 | 304;
  /** Names and values in turn, as `writeHead` takes them fastest. */
  readonly headers: readonly string[];
  readonly body: Buffer | null;
}

/** The answers that a file can give, made once; what a request costs is to pick one. */
interface Prepared {
  readonly encodings: string[];
  readonly replies: Readonly<
    Record<string, { readonly etag: string; readonly found: StoredReply; readonly unchanged: StoredReply }>
  >;
}

const prepared = new WeakMap<StoredFile, Prepared>();

/** JSON that is answered again and again, as bytes that are served like those of a file. */
export function toStoredJson(json: unknown): StoredFile {
  const bytes = Buffer.from(`${JSON.stringify(json)}\n`);
  return { mediaType: 'application/json', identity: toVariant(bytes), gzip: toVariant(gzipSync(bytes)) };
}

function toVariant(bytes: Buffer): Variant {
  return { version: hash('sha256', bytes).slice(0, 32), bytes };
}

/** Answers with a file: in the encoding that the client takes, or with 304 where the client has that version. */
export function toStoredReply(file: StoredFile, headers: IncomingHttpHeaders): StoredReply {
  let known = prepared.get(file);
  if (!known) {
    known = prepare(file);
    prepared.set(file, known);
  }
  const accepted = headers['accept-encoding'];
  const encoding = accepted ? negotiateEncoding(accepted, known.encodings) : 'identity';
  const { etag, found, unchanged } = known.replies[encoding]!;
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

function prepare(file: StoredFile): Prepared {
  const variants = { br: file.br, gzip: file.gzip, identity: file.identity };
  const present = Object.entries(variants).filter((entry): entry is [string, Variant] => entry[1] !== undefined);
  return {
    encodings: present.map(([encoding]) => encoding).filter((encoding) => encoding !== 'identity'),
    replies: Object.fromEntries(present.map(([encoding, variant]) => [encoding, toReplies(file, encoding, variant)])),
  };
}

function toReplies(file: StoredFile, encoding: string, { version, bytes }: Variant): Prepared['replies'][string] {
  const etag = `"${version}"`;
  const validators = ['ETag', etag, 'Cache-Control', file.cacheControl ?? usualCacheControl];
  if (file.gzip ?? file.br) validators.push('Vary', 'Accept-Encoding');
  if (file.canonical) validators.push('Content-Location', file.canonical);
  const headers = ['Content-Type', file.mediaType, 'Content-Length', String(bytes.length), ...validators];
  if (encoding !== 'identity') headers.push('Content-Encoding', encoding);
  // An SVG that is opened by itself is a document of this origin: nothing in it may run or load.
  if (file.name === 'media')
    headers.push('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox");
  return {
    etag,
    found: { status: 200, headers, body: bytes },
    unchanged: { status: 304, headers: validators, body: null },
  };
}
