import type { z } from 'zod';
import type { Scope, ServerKind } from '#contract/api-keys.ts';
import { schemas } from '#contract/primitives.ts';
import { problems } from '#contract/problem.ts';
import type { ErrorStyle, ProblemCode } from '#contract/problem.ts';

/** The rate limits of single endpoints. */
export type LimitName = 'domains' | 'feedback';

/** An operation of the API. */
export interface Endpoint {
  readonly method: 'GET' | 'POST';
  /** The path; `{name}` is a segment, `{name*}` the rest of the path. */
  readonly path: string;
  readonly summary: string;
  /** Whether the response is stored and has an ETag: in a file of the release (see `resources.ts`) or in memory. */
  readonly stored: 'file' | 'memory' | false;
  readonly errorStyle: ErrorStyle;
  /** The query parameters; an empty value counts as missing. */
  readonly query?: z.ZodObject;
  /** The JSON body. */
  readonly body?: {
    readonly schema: z.ZodType;
    readonly required: boolean;
    /** The error for an invalid body; `validation_error` if left out. */
    readonly invalid?: ProblemCode;
    /** Whether another media type or a compressed body is an error (415). */
    readonly strict?: boolean;
  };
  /** The error for a missing required parameter or body; `validation_error` if left out. */
  readonly missing?: { readonly code: ProblemCode; readonly message?: string };
  /** The error for an invalid or repeated query parameter; `validation_error` if left out. */
  readonly malformed?: ProblemCode;
  /** An additional rate limit by client address. */
  readonly limit?: LimitName;
  /** Hosting controls only: the kind of server in the path, and the scope that the key needs. */
  readonly access?: { readonly kind: ServerKind; readonly scope: Scope };
  /** Successful responses by status. */
  readonly replies: Readonly<Record<number, Reply>>;
  /** Errors in addition to 405, the 429 of {@link isLimited}, the 401 and 403 of {@link access}, and {@link failure}. */
  readonly problems: readonly ProblemCode[];
  /** The messages of errors that say more than the default of their code. */
  readonly messages?: Readonly<Partial<Record<ProblemCode, string>>>;
  /** The error for an unexpected failure. */
  readonly failure: ProblemCode;
}

/** Whether the rate limit by client address applies to a path; it covers every path below /v1, also unknown ones. */
export function isLimited(path: string): boolean {
  return path.startsWith('/v1/');
}

/** Whether an endpoint supports Idempotency-Key; those that act on a customer's server do. */
export function takesIdempotencyKey({ method, access }: Endpoint): boolean {
  return method === 'POST' && access !== undefined;
}

/** The message of an endpoint's error that is thrown without one. */
export function messageOf(endpoint: Endpoint | undefined, code: ProblemCode): string {
  return endpoint?.messages?.[code] ?? problems[code].message;
}

/** A successful response of an endpoint. */
export interface Reply {
  readonly description: string;
  /** The schema of a JSON body; other bodies have a `mediaType` only. */
  readonly schema?: z.ZodType;
  readonly mediaType: string;
  readonly example?: unknown;
  /** Headers of this response alone; the OpenAPI document describes them. */
  readonly headers?: readonly string[];
}

/** Creates a JSON response, by default with the example of its schema. */
export const json = (description: string, schema: z.ZodType, example = schemas.get(schema)?.example): Reply => ({
  description,
  schema,
  mediaType: 'application/json',
  example,
});
