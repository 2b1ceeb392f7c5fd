import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { negotiateEncoding } from './encoding.ts';
import type { Encoding } from './encoding.ts';

/** One encoding of a stored file. */
export interface Form {
  readonly bytes: number;
  /** SHA-256 in hexadecimal digits. */
  readonly sha256: string;
}

/** What is answered with bytes that exist before the request, and so with an ETag. */
export interface StoredFile<Stored extends Form = Form> {
  readonly mediaType: string;
  readonly forms: { readonly identity: Stored; readonly gzip?: Stored; readonly br?: Stored };
  /** How long a cache may keep it, where that is not as long as usual. */
  readonly cacheControl?: string;
  /** Content-Location: the target that it is known by, where it was asked for by a former one. */
  readonly location?: string;
  /** Content-Security-Policy, where a browser may show it as a document. */
  readonly policy?: string;
  /** The bytes of one of its forms, where they are in memory. */
  inMemory(form: Stored): Buffer | undefined;
  /** The same from wherever they are. Rejects where they are not what they were when they were stored. */
  read(form: Stored): Promise<Buffer | Readable>;
  /** The answers that were prepared for its forms. */
  readonly prepared: { [encoding in Encoding]?: Prepared };
}

/** Both answers of a form; headers are names and values in turn, as `writeHead` takes them. */
interface Prepared {
  readonly etag: string;
  readonly found: readonly string[];
  readonly unchanged: readonly string[];
}

/**
 * Picks the answer: in the encoding that the client prefers, or 304 where the client has that version. Without a form, it
 * has no body.
 */
export function toStoredReply<Stored extends Form>(
  file: StoredFile<Stored>,
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
) {
  const encoding = negotiateEncoding(headers['accept-encoding'], file.forms);
  const { etag, found, unchanged } = (file.prepared[encoding] ??= prepare(file, encoding));
  const match = headers['if-none-match'];
  if (match !== undefined && matches(match, etag)) return { status: 304, headers: unchanged, form: undefined };
  return { status: 200, headers: found, form: method === 'HEAD' ? undefined : file.forms[encoding] };
}

/** RFC 9110 13.1.2: a list of validators, compared weakly, or `*`. */
function matches(ifNoneMatch: string, etag: string): boolean {
  return (
    ifNoneMatch === etag ||
    ifNoneMatch.trim() === '*' ||
    ifNoneMatch.split(',').some((part) => part.trim().replace(/^W\//, '') === etag)
  );
}

/** A CDN may keep it for a minute, and serve it for a day while this service is down. */
const usualCacheControl = 'public, max-age=60, stale-while-revalidate=600, stale-if-error=86400';

function prepare(file: StoredFile, encoding: Encoding): Prepared {
  const { forms, mediaType, cacheControl, location, policy } = file;
  const { bytes, sha256 } = forms[encoding]!;
  const etag = `"${sha256.slice(0, 32)}"`;
  const validators = ['ETag', etag, 'Cache-Control', cacheControl ?? usualCacheControl];
  if (forms.gzip ?? forms.br) validators.push('Vary', 'Accept-Encoding');
  if (location !== undefined) validators.push('Content-Location', location);
  const found = ['Content-Type', mediaType, 'Content-Length', String(bytes), ...validators];
  if (encoding !== 'identity') found.push('Content-Encoding', encoding);
  if (policy !== undefined) found.push('Content-Security-Policy', policy);
  return { etag, found, unchanged: validators };
}

/** JSON that is answered again and again, stored in memory with its gzip form. */
export function toStoredJson(json: unknown, cacheControl?: string): StoredFile {
  const content = Buffer.from(`${JSON.stringify(json)}\n`);
  const gzipped = gzipSync(content);
  const [identity, gzip] = [toForm(content), toForm(gzipped)];
  const contentOf = (form: Form): Buffer => (form === gzip ? gzipped : content);
  return {
    mediaType: 'application/json',
    forms: { identity, gzip },
    ...(cacheControl !== undefined && { cacheControl }),
    inMemory: contentOf,
    read: (form) => Promise.resolve(contentOf(form)),
    prepared: {},
  };
}

function toForm(content: Buffer): Form {
  return { bytes: content.length, sha256: hash('sha256', content) };
}
