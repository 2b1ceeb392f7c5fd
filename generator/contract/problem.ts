import { z } from 'zod';
import { object, text } from '#contract/primitives.ts';

/** Messages of a 401. Only a caller with the right secret is told that the key expired or was revoked. */
export const keyProblems = {
  missing: 'No Authorization header',
  otherHeader: 'No Authorization header; X-Api-Key is not read',
  noScheme: 'Write Bearer before the API key',
  malformed: 'Malformed API key: incomplete or mistyped',
  unknown: 'This API key is not known',
  expired: 'This API key has expired',
  revoked: 'This API key was revoked',
} as const;

/** Creates a kind of error: status, default message, and advice for the documentation. */
const problem = (status: number, message: string, advice: string) => ({ status, message, advice });

const later = 'Try again later. If the error persists, send the X-Request-Id to support.';

/** All errors of the API by code. */
export const problems = {
  validation_error: problem(
    400,
    'Request validation failed',
    'Correct the request as the message says. The request had no effect.',
  ),
  confirmation_required: problem(400, 'This action requires force=true', 'Send force=true to confirm the action.'),
  path_required: problem(400, 'Path is required', 'Add the query parameter path.'),
  invalid_feedback: problem(
    400,
    'Feedback must be a JSON object with the field helpful',
    'Send a JSON object with helpful: true or false.',
  ),
  invalid_domain: problem(
    400,
    'The domain is not a valid domain name',
    'Send a full domain name without protocol, path or port.',
  ),
  unauthorized: problem(
    401,
    keyProblems.missing,
    'Send the header Authorization: Bearer hk_... with the full key. The message names the fault.',
  ),
  forbidden: problem(
    403,
    'You do not have access to this server',
    'Use a key for this server, or do as the message says. If your key includes the server, it is suspended: contact support.',
  ),
  insufficient_scope: problem(
    403,
    'This API key lacks the required scope',
    'Use a key with the scope in WWW-Authenticate.',
  ),
  provider_permission_denied: problem(
    403,
    'Console commands are not available for this server',
    'Contact support: the panel does not allow commands for this server.',
  ),
  not_found: problem(404, 'Endpoint not found', 'Compare the path with the reference.'),
  article_not_found: problem(404, 'Article not found', 'Fetch the list again: the article has been removed.'),
  media_not_found: problem(404, 'Media file not found', 'Fetch the article again: the file has been removed.'),
  tld_not_found: problem(404, 'The TLD is not in the public catalog', 'Search only TLDs from /v1/domains/tlds.'),
  method_not_allowed: problem(405, 'Method not allowed', 'Use a method from the header Allow.'),
  request_timeout: problem(408, 'The request body did not arrive in time', 'Send the whole body within 30 seconds.'),
  in_progress: problem(
    409,
    'A request with this Idempotency-Key is still running',
    'Wait for Retry-After seconds, then repeat the request with the same Idempotency-Key.',
  ),
  conflict: problem(409, 'The request conflicts with an existing record', 'Do as the message says.'),
  unsupported_media_type: problem(
    415,
    'Content type must be application/json',
    'Send Content-Type: application/json without Content-Encoding.',
  ),
  range_not_satisfiable: problem(
    416,
    'The range is outside of the file',
    'Request a range within the file. Content-Range has its size.',
  ),
  misdirected_request: problem(
    421,
    'This host name is not one of this service',
    'Use the address of the service. As its operator, set PUBLIC_URL to this address.',
  ),
  idempotency_mismatch: problem(
    422,
    'This Idempotency-Key was used with another request',
    'Use a new Idempotency-Key for each new request.',
  ),
  upgrade_required: problem(
    426,
    'This address is a websocket: send a websocket handshake',
    'Connect with a websocket client.',
  ),
  headers_too_long: problem(431, 'The request headers are too long', 'Send fewer or shorter headers.'),
  rate_limited: problem(429, 'Rate limit exceeded', 'Wait for Retry-After seconds.'),
  internal_error: problem(500, 'Something went wrong on our side', later),
  content_unavailable: problem(500, 'Content could not be loaded', later),
  pricing_unavailable: problem(
    500,
    'Domain pricing is not available',
    'Try again later: there are no prices at the moment.',
  ),
  server_unavailable: problem(
    500,
    'The server could not be loaded',
    'Send the X-Request-Id to support: the record of the server cannot be loaded.',
  ),
  feedback_not_counted: problem(
    500,
    'The vote could not be counted',
    'Send the vote again after the time in Retry-After.',
  ),
  feedback_not_built: problem(500, 'Feedback message could not be built', 'Send the X-Request-Id to support.'),
  provider_error: problem(
    502,
    'The request could not be completed',
    'If Action-Outcome is unknown, the action may have been done: check the server before you repeat it. Any other request can be repeated.',
  ),
  feedback_not_delivered: problem(502, 'Feedback could not be delivered', 'No action needed: the vote was counted.'),
};

export type ProblemCode = keyof typeof problems;

/** The format of errors: a JSON ErrorResponse or one sentence of plain text. */
export type ErrorStyle = 'json' | 'text';

export const ErrorResponse = object(
  'ErrorResponse',
  'An error, with a machine-readable code and a human-readable message.',
  {
    success: z.literal(false).describe('Always false.'),
    error: text('The error code, for programs.'),
    message: text('The reason, as a sentence for people.'),
  },
);
export type ErrorResponse = z.infer<typeof ErrorResponse>;

export const OperatorConflictResponse = object('OperatorConflictResponse', 'A conflict with an existing record.', {
  ...ErrorResponse.shape,
  server: text('The server that has the ref, if the ref is taken.').optional(),
});

export const errorMediaTypes: Record<ErrorStyle, string> = {
  json: 'application/json',
  text: 'text/plain; charset=utf-8',
};

/** Renders the body of an error. A text body is one sentence that starts in lower case. */
export function renderProblem(style: ErrorStyle, code: ProblemCode, message = problems[code].message, fields = {}) {
  if (style === 'text') return `${message.charAt(0).toLowerCase()}${message.slice(1)}\n`;
  const body: ErrorResponse = { success: false, error: code, message, ...fields };
  return `${JSON.stringify(body)}\n`;
}
