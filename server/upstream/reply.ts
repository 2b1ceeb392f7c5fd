import type { z } from 'zod';
import { problems } from '#contract/problem.ts';
import type { Reply } from './client.ts';
import { ProviderError } from './error.ts';
import type { Outcome } from './error.ts';

/** The message where a command is for a server that is not running. */
export const offline = 'The server must be online to receive commands';

/** What the reader of a console sees where the mistake is ours. */
export const notAvailable = 'console is not available';

/** A failure that an upstream answered with; its words go into the cause alone, which is for the log. */
export function toProviderError(
  reply: Reply,
  outcome: Outcome,
  { code = 'provider_error', message = problems[code].message }: Partial<Pick<ProviderError, 'code' | 'message'>> = {},
): ProviderError {
  return new ProviderError(message, { code, outcome, cause: new Error(reply.describe()) });
}

/** A failure before anything was asked of the upstream; the detail is for the log. */
export function toRefusal(detail: string, message: string = problems.provider_error.message): ProviderError {
  return new ProviderError(message, { outcome: 'refused', cause: new Error(detail) });
}

/** Awaits a look-up that comes before an action: whatever became of it, the action was not sent. */
export async function lookUp(request: Promise<Reply>): Promise<Reply> {
  try {
    return await request;
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    throw new ProviderError(error.message, { outcome: 'refused', cause: error.cause });
  }
}

/** The JSON of a text as a schema has it; undefined where it is anything else. */
export function parseJson<Schema extends z.ZodType>(text: string, schema: Schema): z.infer<Schema> | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
