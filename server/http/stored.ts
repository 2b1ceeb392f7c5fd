import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { createLru } from '../lru.ts';
import { Problem } from '../problem.ts';
import type { HeaderFields } from '../problem.ts';

type Encoding = 'identity' | 'gzip' | 'br';

/** One encoding of a stored file. */
export interface Variant {
  readonly bytes: number;
  readonly sha256: string;
}

/** A response whose bytes exist before the request, with an ETag. */
export interface StoredFile<Stored extends Variant = Variant> {
  readonly mediaType: string;
  readonly variants: { readonly identity: Stored; readonly gzip?: Stored; readonly br?: Stored };
  readonly cacheControl?: string;
  /** Content-Location: the current target, for a request by a former target. */
  readonly location?: string;
  /** Headers for browsers that display the file as a document, such as a CSP. */
  readonly documentHeaders?: HeaderFields;
  /** Supports Range requests. */
  readonly hasRanges?: boolean;
  inMemory(variant: Stored): Buffer | undefined;
  /** Reads a variant, or streams a range of it. Rejects if the stored bytes have changed. */
  read(variant: Stored, range?: ByteRange): Promise<Buffer | Readable>;
  /** Caches response headers by encoding. */
  readonly prepared: { [encoding in Encoding]?: ReturnType<typeof prepare> };
}

/** A range of a file; both ends are inclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Picks the response: 200 in the preferred encoding, 206 for a range, or 304; without a variant, it has no body. Throws a
 * Problem for a range outside the file. In a preview, browsers must revalidate: files change at each save.
 */
export function toStoredReply<Stored extends Variant>(
  file: StoredFile<Stored>,
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  isPreview = false,
) {
  const encoding = negotiateEncoding(headers['accept-encoding'], file.variants);
  const prepared = (file.prepared[encoding] ??= prepare(file, encoding, isPreview));
  const { etag, okHeaders, notModifiedHeaders, rangeHeaders } = prepared;
  const match = headers['if-none-match'];
  if (match !== undefined && matches(match, etag)) return { status: 304, headers: notModifiedHeaders };
  if (method === 'HEAD') return { status: 200, headers: okHeaders };
  const variant = file.variants[encoding]!;
  const { bytes } = variant;
  const range = file.hasRanges ? readRange(headers, etag, bytes) : undefined;
  if (!range) return { status: 200, headers: okHeaders, variant };
  const { start, end } = range;
  if (start > end) {
    throw new Problem('range_not_satisfiable', undefined, { headers: { 'Content-Range': `bytes */${bytes}` } });
  }
  const length = { 'Content-Length': String(end - start + 1), 'Content-Range': `bytes ${start}-${end}/${bytes}` };
  return { status: 206, headers: { ...rangeHeaders, ...length }, variant, range };
}

/** Caches parsed Accept-Encoding headers: clients send few different ones, and parsing is half of the negotiation. */
const parsed = createLru<string, readonly Encoding[]>(100, { memoMethod: parseAccepted });

/** Picks the first accepted encoding that is available; falls back to `identity`. */
function negotiateEncoding(header: string | undefined, available: StoredFile['variants']): Encoding {
  return (header && parsed.memo(header).find((encoding) => available[encoding])) || 'identity';
}

/** Lists the encodings of an Accept-Encoding by weight (RFC 9110 12.5.3), and those of the same weight by size. */
function parseAccepted(header: string): Encoding[] {
  const parts = header.toLowerCase().matchAll(/([^\s,;]+)\s*(?:;\s*q=([\d.]+))?/g);
  const weights = new Map(Array.from(parts, ([, coding = '', weight = '1']) => [coding, Number(weight)]));
  const weightOf = (encoding: Encoding): number =>
    weights.get(encoding) ?? (encoding === 'identity' ? 0 : weights.get('*')) ?? 0;
  const accepted = (['br', 'gzip', 'identity'] as const).filter((encoding) => weightOf(encoding) > 0);
  return accepted.toSorted((one, other) => weightOf(other) - weightOf(one));
}

/** Parses Range (RFC 9110 14.2). Invalid ranges are ignored; an unsatisfiable range is returned empty. */
function readRange(headers: IncomingMessage['headers'], etag: string, bytes: number): ByteRange | undefined {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/i.exec(headers.range ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (headers['if-range'] !== undefined && headers['if-range'] !== etag) return undefined;
  if (first === '') return { start: Math.max(0, bytes - Number(last)), end: bytes - 1 };
  const start = Number(first);
  if (last === '') return { start, end: bytes - 1 };
  return start > Number(last) ? undefined : { start, end: Math.min(Number(last), bytes - 1) };
}

/** Compares If-None-Match weakly with an ETag (RFC 9110 13.1.2). */
function matches(ifNoneMatch: string, etag: string): boolean {
  return (
    ifNoneMatch === etag ||
    ifNoneMatch.trim() === '*' ||
    ifNoneMatch.split(',').some((part) => part.trim().replace(/^W\//, '') === etag)
  );
}

/** CDNs may cache for a minute, and serve stale for a day while this service is down. */
const defaultCacheControl = 'public, max-age=60, stale-while-revalidate=600, stale-if-error=86400';

function prepare(file: StoredFile, encoding: Encoding, isPreview: boolean) {
  const { variants, mediaType, cacheControl, location, documentHeaders, hasRanges } = file;
  const { bytes, sha256 } = variants[encoding]!;
  const etag = `"${sha256.slice(0, 32)}"`;
  const validators: HeaderFields = {
    ETag: etag,
    'Cache-Control': isPreview ? 'no-cache' : (cacheControl ?? defaultCacheControl),
    ...((variants.gzip ?? variants.br) && { Vary: 'Accept-Encoding' }),
    ...(location !== undefined && { 'Content-Location': location }),
  };
  /** The headers of a 206 but Content-Length and Content-Range. */
  const rangeHeaders: HeaderFields = {
    'Content-Type': mediaType,
    ...validators,
    ...(encoding !== 'identity' && { 'Content-Encoding': encoding }),
    ...documentHeaders,
    ...(hasRanges && { 'Accept-Ranges': 'bytes' }),
  };
  const okHeaders = { ...rangeHeaders, 'Content-Length': String(bytes) };
  return { etag, okHeaders, notModifiedHeaders: validators, rangeHeaders };
}

/** Renders JSON and its gzip variant into memory, to serve many times. */
export function toStoredJson(json: unknown, cacheControl?: string) {
  const content = Buffer.from(`${JSON.stringify(json)}\n`);
  return {
    mediaType: 'application/json',
    variants: { identity: toVariant(content), gzip: toVariant(gzipSync(content)) },
    ...(cacheControl !== undefined && { cacheControl }),
    inMemory: (variant) => variant.content,
    read: (variant) => Promise.resolve(variant.content),
    prepared: {},
  } satisfies StoredFile<ReturnType<typeof toVariant>>;
}

const toVariant = (content: Buffer) => ({ bytes: content.length, sha256: hash('sha256', content), content });
