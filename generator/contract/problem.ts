import { z } from 'zod';
import { object } from '#contract/primitives.ts';

/** Why a request has no valid API key. Only who has the secret of a key learns that it has ended. */
export const keyProblems = {
  missing: 'No Authorization header',
  otherHeader: 'No Authorization header; X-Api-Key is not read',
  noScheme: 'Write Bearer before the API key',
  malformed: 'This is not a whole API key',
  unknown: 'This API key is not known',
  expired: 'This API key has expired',
  revoked: 'This API key was revoked',
} as const;

/**
 * All errors of the API. The code determines the status; the message is the default for problems thrown without one; the
 * advice says to people what to do.
 */
export const problems = {
  validation_error: {
    status: 400,
    message: 'Request validation failed',
    advice: 'Correct what the message names. The request was not carried out.',
  },
  confirmation_required: {
    status: 400,
    message: 'This action requires force=true',
    advice: 'Send force=true, if you mean it.',
  },
  path_required: {
    status: 400,
    message: 'Path is required',
    advice: 'Add the query parameter path.',
  },
  invalid_feedback: {
    status: 400,
    message: 'Feedback must be a JSON object with the field helpful',
    advice: 'Send a JSON object with helpful: true or false.',
  },
  invalid_domain: {
    status: 400,
    message: 'The domain is not a valid domain name',
    advice: 'Send a full domain name, without protocol, path or port.',
  },
  unauthorized: {
    status: 401,
    message: keyProblems.missing,
    advice: 'Send the header Authorization: Bearer hk_... with a whole key; the message says what is wrong with it.',
  },
  forbidden: {
    status: 403,
    message: 'You do not have access to this server',
    advice: 'Use a key that has this server. If yours has it, the server is suspended: ask the provider.',
  },
  insufficient_scope: {
    status: 403,
    message: 'This API key lacks the required scope',
    advice: 'Use a key with the scope that WWW-Authenticate names.',
  },
  provider_permission_denied: {
    status: 403,
    message: 'Console commands are not available for this server',
    advice: 'Ask the provider: its panel does not allow commands for this server.',
  },
  not_found: {
    status: 404,
    message: 'Endpoint not found',
    advice: 'Check the path against the reference.',
  },
  article_not_found: {
    status: 404,
    message: 'Article not found',
    advice: 'Read the list again: the article has been removed.',
  },
  media_not_found: {
    status: 404,
    message: 'Media file not found',
    advice: 'Read the article again: the file has been removed.',
  },
  tld_not_found: {
    status: 404,
    message: 'The TLD is not in the public catalog',
    advice: 'Search only the TLDs of /v1/domains/tlds.',
  },
  method_not_allowed: {
    status: 405,
    message: 'Method not allowed',
    advice: 'Use a method that the header Allow names.',
  },
  request_timeout: {
    status: 408,
    message: 'The request body did not arrive in time',
    advice: 'Send the whole body within 30 seconds.',
  },
  in_progress: {
    status: 409,
    message: 'A request with this Idempotency-Key is still running',
    advice: 'Wait for Retry-After, then repeat the request with the same Idempotency-Key.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'Content type must be application/json',
    advice: 'Send Content-Type: application/json, without Content-Encoding.',
  },
  range_not_satisfiable: {
    status: 416,
    message: 'The range is outside of the file',
    advice: 'Ask for a part of the file: Content-Range has its size.',
  },
  misdirected_request: {
    status: 421,
    message: 'This host name is not one of this service',
    advice: 'Use the address of the service, or name it in PUBLIC_URL, if it is yours.',
  },
  idempotency_mismatch: {
    status: 422,
    message: 'This Idempotency-Key was used with another request',
    advice: 'Use a new Idempotency-Key for each new request.',
  },
  upgrade_required: {
    status: 426,
    message: 'This address is a websocket: send a websocket handshake',
    advice: 'Open the address with a websocket client.',
  },
  headers_too_long: {
    status: 431,
    message: 'The request headers are too long',
    advice: 'Send fewer or shorter headers.',
  },
  rate_limited: {
    status: 429,
    message: 'Rate limit exceeded',
    advice: 'Wait for the seconds of Retry-After.',
  },
  internal_error: {
    status: 500,
    message: 'Something went wrong on our side',
    advice: 'Try again later. If it happens again, send the X-Request-Id to the support.',
  },
  content_unavailable: {
    status: 500,
    message: 'Content could not be loaded',
    advice: 'Try again later. If it happens again, send the X-Request-Id to the support.',
  },
  pricing_unavailable: {
    status: 500,
    message: 'Domain pricing is not available',
    advice: 'Try again later: no prices are known at the moment.',
  },
  server_unavailable: {
    status: 500,
    message: 'The server could not be loaded',
    advice: 'Send the X-Request-Id to the support: the record of the server cannot be loaded.',
  },
  feedback_not_built: {
    status: 500,
    message: 'Feedback message could not be built',
    advice: 'Send the X-Request-Id to the support.',
  },
  provider_error: {
    status: 502,
    message: 'The request could not be completed',
    advice:
      'Action-Outcome says whether an action was not sent, or may have been done: then look at the server before you repeat it. A read or a domain search can be repeated.',
  },
  feedback_not_delivered: {
    status: 502,
    message: 'Feedback could not be delivered',
    advice: 'Nothing: the vote was counted.',
  },
} as const satisfies Record<string, { status: number; message: string; advice: string }>;

/** The machine code of an error. */
export type ProblemCode = keyof typeof problems;

/** The format of an endpoint's errors: a JSON ErrorResponse or one sentence of plain text. */
export type ErrorStyle = 'json' | 'text';

/** The JSON error body. */
export const ErrorResponse = object(
  'ErrorResponse',
  'An error, with a machine-readable code and a human-readable message.',
  {
    success: z.literal(false).describe('Always false.'),
    error: z.string().describe('The code of the error, for programs.'),
    message: z.string().describe('The reason, in a sentence for people.'),
  },
);
export type ErrorResponse = z.infer<typeof ErrorResponse>;

/** The content type of each error style. */
export const errorMediaTypes: Record<ErrorStyle, string> = {
  json: 'application/json',
  text: 'text/plain; charset=utf-8',
};

/** Renders the body of an error. A text body is one sentence, starting in lower case, and a newline. */
export function renderProblem(style: ErrorStyle, code: ProblemCode, message: string = problems[code].message): string {
  if (style === 'text') return `${message.charAt(0).toLowerCase()}${message.slice(1)}\n`;
  const body: ErrorResponse = { success: false, error: code, message };
  return `${JSON.stringify(body)}\n`;
}
