import type { z } from 'zod';
import { problems } from '#contract/problem.ts';
import type { Reply } from './client.ts';
import { ProviderError } from './error.ts';
import type { Outcome } from './error.ts';

/** The message for a command to a server that is not running. */
export const offline = 'The server must be online to receive commands';

/** What console viewers read when our configuration is wrong. */
export const notAvailable = 'console is not available';

/** Turns an error reply of an upstream into a ProviderError. Only its cause, for the log, quotes the upstream. */
export function toProviderError(
  reply: Reply,
  outcome: Outcome,
  { code = 'provider_error', message = problems[code].message }: Partial<Pick<ProviderError, 'code' | 'message'>> = {},
): ProviderError {
  return new ProviderError(message, { code, outcome, cause: new Error(reply.describe()) });
}

/** Creates the error for a request that was not sent; the detail is for the log. */
export function toRefusal(detail: string, message: string = problems.provider_error.message): ProviderError {
  return new ProviderError(message, { outcome: 'refused', cause: new Error(detail) });
}

/** Awaits a read that precedes an action. If it fails, the outcome is `refused`, since the action was not sent. */
export async function readBeforeAction(request: Promise<Reply>): Promise<Reply> {
  try {
    return await request;
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    throw new ProviderError(error.message, { outcome: 'refused', cause: error.cause });
  }
}

/** Parses JSON with a schema; undefined if the text is not JSON or does not match. */
export function parseJson<Schema extends z.ZodType>(text: string, schema: Schema): z.infer<Schema> | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
