import type { z } from 'zod';
import type { Scope, ServerKind } from '#contract/api-keys.ts';
import { schemas } from '#contract/primitives.ts';
import type { ErrorStyle, ProblemCode } from '#contract/problem.ts';

/** The limits that single endpoints have. */
export type LimitName = 'domains' | 'feedback';

/** One operation of the service. */
export interface Endpoint {
  readonly method: 'GET' | 'POST';
  /** The path; `{name}` is a segment, `{name*}` the rest of the path. */
  readonly path: string;
  readonly summary: string;
  /**
   * Whether it is answered with bytes that are kept, and so with an ETag: those of a file of the release, of which
   * `resources.ts` says more, or bytes in memory that were made when data changed.
   */
  readonly stored: 'file' | 'memory' | false;
  readonly errorStyle: ErrorStyle;
  /** The query parameters; an empty value counts as missing. */
  readonly query?: z.ZodObject;
  /** The JSON body, and whether there must be one. */
  readonly body?: {
    readonly schema: z.ZodType;
    readonly required: boolean;
    /** What one that is not of its form is answered with; a `validation_error` if left out. */
    readonly invalid?: ProblemCode;
    /** Whether one of another media type, or compressed, is refused as such (415). */
    readonly strict?: boolean;
  };
  /** What a parameter or body that is required and missing is answered with; a `validation_error` if left out. */
  readonly missing?: { readonly code: ProblemCode; readonly message?: string };
  /** What a query that says two things, or is not of its form, is answered with; a `validation_error` if left out. */
  readonly malformed?: ProblemCode;
  /** A limit of its own by client address, beside the one that spans every endpoint. */
  readonly limit?: LimitName;
  /** Hosting controls only: the kind of server that the path names, and the scope that a key needs for it. */
  readonly access?: { readonly kind: ServerKind; readonly scope: Scope };
  /** Answers by status. */
  readonly replies: Readonly<Record<number, Reply>>;
  /** The errors of its own; 405, the 429 of {@link isLimited}, 401 and 403 of {@link access} and {@link failure} go without saying. */
  readonly problems: readonly ProblemCode[];
  /** What an unexpected failure is answered with. */
  readonly failure: ProblemCode;
}

/** Whether the rate limit of the client's address holds for a path: it spans every endpoint below /v1. */
export function isLimited(path: string): boolean {
  return path.startsWith('/v1/');
}

/** Whether an endpoint heeds an Idempotency-Key: the ones that act on a customer's server do. */
export function takesIdempotencyKey({ method, access }: Endpoint): boolean {
  return method === 'POST' && access !== undefined;
}

/** A successful answer of an endpoint. */
export interface Reply {
  readonly description: string;
  /** What a JSON body must be; without it the body is described by `mediaType` alone. */
  readonly schema?: z.ZodType;
  readonly mediaType: string;
  readonly example?: unknown;
}

/** An answer of JSON, with the example of its shape. */
export const json = (description: string, schema: z.ZodType, example = schemas.get(schema)?.example): Reply => ({
  description,
  schema,
  mediaType: 'application/json',
  example,
});
