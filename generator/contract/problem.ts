import { z } from 'zod';
import { schemas } from '#contract/primitives.ts';

/** All errors of the API. The code determines the status; the message is the default for problems thrown without one. */
export const problems = {
  validation_error: { status: 400, message: 'Request validation failed' },
  confirmation_required: { status: 400, message: 'This action requires force=true' },
  path_required: { status: 400, message: 'Path is required' },
  invalid_feedback: { status: 400, message: 'Feedback must be a JSON object with the field helpful' },
  invalid_domain: { status: 400, message: 'The domain is not a valid domain name' },
  unauthorized: { status: 401, message: 'A valid API key is required' },
  forbidden: { status: 403, message: 'You do not have access to this server' },
  insufficient_scope: { status: 403, message: 'This API key lacks the required scope' },
  provider_permission_denied: { status: 403, message: 'Console commands are not available for this server' },
  not_found: { status: 404, message: 'Endpoint not found' },
  article_not_found: { status: 404, message: 'Article not found' },
  media_not_found: { status: 404, message: 'Media file not found' },
  tld_not_found: { status: 404, message: 'The TLD is not in the public catalog' },
  method_not_allowed: { status: 405, message: 'Method not allowed' },
  request_timeout: { status: 408, message: 'The request body did not arrive in time' },
  in_progress: { status: 409, message: 'A request with this Idempotency-Key is still running' },
  unsupported_media_type: { status: 415, message: 'Content type must be application/json' },
  range_not_satisfiable: { status: 416, message: 'The range is outside of the file' },
  idempotency_mismatch: { status: 422, message: 'This Idempotency-Key was used with another request' },
  upgrade_required: { status: 426, message: 'This address is a websocket: send a websocket handshake' },
  headers_too_long: { status: 431, message: 'The request headers are too long' },
  rate_limited: { status: 429, message: 'Rate limit exceeded' },
  internal_error: { status: 500, message: 'Something went wrong on our side' },
  content_unavailable: { status: 500, message: 'Content could not be loaded' },
  pricing_unavailable: { status: 500, message: 'Domain pricing is not available' },
  server_unavailable: { status: 500, message: 'The server could not be loaded' },
  feedback_not_built: { status: 500, message: 'Feedback message could not be built' },
  provider_error: { status: 502, message: 'The request could not be completed' },
  feedback_not_delivered: { status: 502, message: 'Feedback could not be delivered' },
} as const satisfies Record<string, { status: number; message: string }>;

/** The machine code of an error. */
export type ProblemCode = keyof typeof problems;

/** The format of an endpoint's errors: a JSON ErrorResponse or one sentence of plain text. */
export type ErrorStyle = 'json' | 'text';

/** The JSON error body. */
export const ErrorResponse = z
  .strictObject({
    success: z.literal(false).describe('Always false.'),
    error: z.string().describe('The code of the error, for programs.'),
    message: z.string().describe('The reason, in a sentence for people.'),
  })
  .register(schemas, {
    id: 'ErrorResponse',
    description: 'An error, with a machine-readable code and a human-readable message.',
  });
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
