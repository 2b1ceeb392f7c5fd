import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { negotiateEncoding } from './encoding.ts';
import type { Encoding } from './encoding.ts';

/** One encoding of a stored file. */
export interface Variant {
  readonly bytes: number;
  /** SHA-256 in hexadecimal. */
  readonly sha256: string;
}

/** A response whose bytes exist before the request, so it has an ETag. */
export interface StoredFile<Stored extends Variant = Variant> {
  readonly mediaType: string;
  readonly variants: { readonly identity: Stored; readonly gzip?: Stored; readonly br?: Stored };
  /** Cache-Control, if not the default. */
  readonly cacheControl?: string;
  /** Content-Location: the current target, if the request used a former one. */
  readonly location?: string;
  /** Content-Security-Policy, if a browser may display it as a document. */
  readonly policy?: string;
  /** The bytes of a variant, if they are in memory. */
  inMemory(variant: Stored): Buffer | undefined;
  /** Reads the bytes of a variant. Rejects if they have changed since they were stored. */
  read(variant: Stored): Promise<Buffer | Readable>;
  /** A cache of response headers by encoding. */
  readonly prepared: { [encoding in Encoding]?: Prepared };
}

/** The headers of the 200 and 304 responses of a variant, as alternating names and values for `writeHead`. */
interface Prepared {
  readonly etag: string;
  readonly okHeaders: readonly string[];
  readonly notModifiedHeaders: readonly string[];
}

/**
 * Picks the response: 200 in the client's preferred encoding, or 304 if the client has that version. Without a variant, the
 * response has no body.
 */
export function toStoredReply<Stored extends Variant>(
  file: StoredFile<Stored>,
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
) {
  const encoding = negotiateEncoding(headers['accept-encoding'], file.variants);
  const { etag, okHeaders, notModifiedHeaders } = (file.prepared[encoding] ??= prepare(file, encoding));
  const match = headers['if-none-match'];
  if (match !== undefined && matches(match, etag))
    return { status: 304, headers: notModifiedHeaders, variant: undefined };
  return { status: 200, headers: okHeaders, variant: method === 'HEAD' ? undefined : file.variants[encoding] };
}

/** RFC 9110 13.1.2: a list of validators, which are compared weakly, or `*`. */
function matches(ifNoneMatch: string, etag: string): boolean {
  return (
    ifNoneMatch === etag ||
    ifNoneMatch.trim() === '*' ||
    ifNoneMatch.split(',').some((part) => part.trim().replace(/^W\//, '') === etag)
  );
}

/** A CDN may cache it for a minute, and serve it for a day while this service is down. */
const defaultCacheControl = 'public, max-age=60, stale-while-revalidate=600, stale-if-error=86400';

function prepare(file: StoredFile, encoding: Encoding): Prepared {
  const { variants, mediaType, cacheControl, location, policy } = file;
  const { bytes, sha256 } = variants[encoding]!;
  const etag = `"${sha256.slice(0, 32)}"`;
  const validators = ['ETag', etag, 'Cache-Control', cacheControl ?? defaultCacheControl];
  if (variants.gzip ?? variants.br) validators.push('Vary', 'Accept-Encoding');
  if (location !== undefined) validators.push('Content-Location', location);
  const okHeaders = ['Content-Type', mediaType, 'Content-Length', String(bytes), ...validators];
  if (encoding !== 'identity') okHeaders.push('Content-Encoding', encoding);
  if (policy !== undefined) okHeaders.push('Content-Security-Policy', policy);
  return { etag, okHeaders, notModifiedHeaders: validators };
}

/** JSON for many responses, stored in memory with its gzip variant. */
export function toStoredJson(json: unknown, cacheControl?: string): StoredFile {
  const content = Buffer.from(`${JSON.stringify(json)}\n`);
  const gzipped = gzipSync(content);
  const [identity, gzip] = [toVariant(content), toVariant(gzipped)];
  const contentOf = (variant: Variant): Buffer => (variant === gzip ? gzipped : content);
  return {
    mediaType: 'application/json',
    variants: { identity, gzip },
    ...(cacheControl !== undefined && { cacheControl }),
    inMemory: contentOf,
    read: (variant) => Promise.resolve(contentOf(variant)),
    prepared: {},
  };
}

function toVariant(content: Buffer): Variant {
  return { bytes: content.length, sha256: hash('sha256', content) };
}
